"""What every optimizer does: it keeps numbers beside each weight, and changes the weights against their gradients."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from copy import deepcopy
from typing import Any, NamedTuple, Self

from nbtf import distribute
from nbtf._graph.trial import in_earnest
from nbtf._locks import new_lock
from nbtf._ops.arrays.creation import convert_to_tensor, zeros, zeros_like
from nbtf._ops.linalg.norms import clip_by_global_norm, clip_by_norm
from nbtf._ops.math.arithmetic import add, multiply
from nbtf._ops.math.magnitude import clip_by_value
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._ops.trackable import Trackable
from nbtf._ops.variables.creation import beside
from nbtf._runtime.context import open_graph
from nbtf._runtime.device import device
from nbtf._runtime.phases import SLOTS, UPDATE, during, keeping
from nbtf.keras.generation import is_legacy, of_keras_2
from nbtf.keras.naming import auto_name, checked_name, inside, snake_case
from nbtf.keras.optimizers.copies import Copy, Leader, bare, copies_of, values_of
from nbtf.keras.optimizers.schedules import LearningRateSchedule
from nbtf.keras.optimizers.schedules import deserialize as _schedule_of
from nbtf.keras.registry import serialized
from nbtf.keras.variables import Variable

_BUILDING = new_lock()
"""One for all optimizers, which are pickled and copied, and built once."""


class Step(NamedTuple):
    """What the formula of an optimizer needs to know of a step: its number, from 1, and the learning rate."""

    number: int
    rate: float


_OPTIONS = (
    "weight_decay clipnorm global_clipnorm clipvalue use_ema ema_momentum ema_overwrite_frequency loss_scale_factor "
    "gradient_accumulation_steps"
).split()
"""What every optimizer can be told."""


class Optimizer(Trackable):
    """Subclass it, name the numbers kept beside each weight in `SLOTS`, and write `update`.

    In a replica of a strategy gradients are added up over all replicas first, and each changes its own copy of the
    weights; across replicas all copies are changed.

    Args:
      learning_rate: a number, a schedule, or a function without arguments.
      weight_decay: how much of each weight is taken away in a step, times the learning rate.
      clipnorm: the longest gradient of a weight.
      clipvalue: the largest element of a gradient.
      global_clipnorm: the longest gradient of all weights together.
      use_ema: whether averages of the weights are kept.
      ema_momentum: how slowly these follow.
      ema_overwrite_frequency: after how many steps the weights become their averages.
      loss_scale_factor: by which the loss was multiplied, and gradients are divided.
      gradient_accumulation_steps: how many gradients are averaged for one step.
      name: of the optimizer.

    Raises:
      ValueError: two ways of clipping at once, or an argument that nobody knows.
    """

    SLOTS: tuple[str, ...] = ()
    _config: tuple[str, ...] = ()
    """The attributes that say how an optimizer was made, beside those of all optimizers."""

    def __copy__(self) -> Self:
        """Returns a deep copy: objects of Keras share no variables."""
        return deepcopy(self)

    def __init__(
        self,
        learning_rate: Any,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Makes the counter of steps and the learning rate; what is kept beside weights comes with `build`."""
        if "lr" in kwargs and is_legacy():
            learning_rate = kwargs.pop("lr")
        if kwargs.pop("decay", None) is not None:
            warnings.warn("Argument `decay` is no longer supported and will be ignored.", stacklevel=3)
        if kwargs:
            error = ValueError(f"Argument(s) not recognized: {kwargs}")
            raise of_keras_2(error) if "lr" in kwargs else error
        _check_steps(use_ema, ema_momentum, ema_overwrite_frequency, gradient_accumulation_steps)
        clips = [clip for clip in (clipnorm, clipvalue, global_clipnorm) if clip is not None]
        if len(clips) > 1:
            raise ValueError(
                "Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set. Received: "
                f"clipnorm={clipnorm}, clipvalue={clipvalue}, global_clipnorm={global_clipnorm}"
            )
        self.name: str = checked_name(auto_name(snake_case(type(self).__name__)) if name is None else name)
        self.weight_decay: float | None = weight_decay
        self.clipnorm: float | None = clipnorm
        self.clipvalue: float | None = clipvalue
        self.global_clipnorm: float | None = global_clipnorm
        self.loss_scale_factor: float | None = loss_scale_factor
        self.use_ema: bool = use_ema
        self.ema_momentum: float = ema_momentum
        self.ema_overwrite_frequency: int | None = ema_overwrite_frequency
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.built = False
        self._strategy = distribute.get_strategy()
        self._no_decay: list[str] = []
        self._weights: list[Any] = []
        self._places: dict[int, int] = {}
        self._slots: list[list[Variable]] = []
        with inside(self.name):
            self._iterations = Variable(
                0, dtype="int64", trainable=False, name="iteration", aggregation="only_first_replica"
            )
            self._rate = self._as_rate(learning_rate)

    def _as_rate(self, learning_rate: Any) -> Any:
        if callable(learning_rate):
            return learning_rate
        if not isinstance(learning_rate, float):
            raise ValueError(
                "Argument `learning_rate` should be float, or an instance of LearningRateSchedule, or a callable (that "
                "takes in the current iteration value and returns the corresponding learning rate value). Received "
                f"instead: learning_rate={learning_rate}"
            )
        return Variable(
            learning_rate,
            dtype="float32",
            trainable=False,
            name="learning_rate",
            aggregation="only_first_replica",
        )

    # ---- what it keeps

    @property
    def iterations(self) -> Variable:
        """How many steps were made."""
        return self._iterations

    @property
    def learning_rate(self) -> Any:
        """The learning rate: a variable, or the present value of a schedule. A number or a schedule can be set."""
        if isinstance(self._rate, Variable):
            return self._rate
        return self._rate(self._iterations) if isinstance(self._rate, LearningRateSchedule) else self._rate()

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        if callable(value):
            self._rate = value
        elif not isinstance(self._rate, Variable):
            raise TypeError(
                "This optimizer was created with a `LearningRateSchedule` object as its `learning_rate` constructor "
                "argument, hence its learning rate is not settable. If you need the learning rate to be settable, you "
                "should instantiate the optimizer with a float `learning_rate` argument."
            )
        else:
            self._rate.assign(value)

    @property
    def lr(self) -> Any:
        """The learning rate as Keras 2 calls it; Keras 3 has no such attribute."""
        self._check_legacy()
        return self.learning_rate

    @lr.setter
    def lr(self, value: Any) -> None:
        self._check_legacy()  # Keras 3 would keep the number and go on with the old rate
        self.learning_rate = value

    def _check_legacy(self) -> None:
        if not is_legacy():
            raise of_keras_2(AttributeError(f"{type(self).__name__!r} object has no attribute 'lr'"))

    @property
    def variables(self) -> list[Variable]:
        """All numbers it keeps: steps, learning rate, and what is kept beside each weight, weight by weight."""
        first = [self._iterations, *([self._rate] if isinstance(self._rate, Variable) else [])]
        return first + [slot for slots in self._slots for slot in slots]

    def build(self, variables: Iterable[Any]) -> None:
        """Makes what is kept beside each weight.

        It is stored beside the weight; where a function is traced, on the device that is asked for, as in TensorFlow.

        Args:
          variables: the weights, as Keras or as `tf.Variable`.

        Raises:
          RuntimeError: if the optimizer was made in the scope of another strategy.
        """
        is_traced = open_graph() is not None
        with _BUILDING, in_earnest():  # threads that share the optimizer come to their first step together
            if not self.built:
                keeping(SLOTS, self._build, list(variables), is_traced)

    def _build(self, weights: list[Any], is_traced: bool) -> None:
        """Makes all of it before it shows any: whoever comes between sees an optimizer that is not built."""
        names = self._slot_names()
        slots: list[list[Variable]] = []
        if weights:
            self.check_strategy()
        for weight in weights:
            is_beside = not is_traced and not distribute.has_strategy()
            with beside(values_of(weight)[0]) if is_beside else nullcontext():
                slots.append([self._slot(weight, name) for name in names])
        self._weights, self._slots = weights, slots
        self._number_weights()
        self.built: bool = True

    def _number_weights(self) -> None:
        self._places = {id(bare(weight)): index for index, weight in enumerate(self._weights)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes what a copy or a pickle is made of; its weights are not those of the original."""
        self.__dict__.update(state)
        if self.built:
            self._number_weights()

    def check_strategy(self) -> None:
        """Raises an error if slots would belong to a strategy that is not the optimizer's.

        Raises:
          RuntimeError: if the optimizer was made in the scope of another strategy than the one that is open.
        """
        if self._slot_names():
            self._strategy.check_open()

    def _slot_names(self) -> tuple[str, ...]:
        names = (*self.SLOTS, *(("average",) if self.use_ema else ()))
        return (*names, "gradient_accumulator") if self.gradient_accumulation_steps else names

    def _slot(self, weight: Any, name: str) -> Variable:
        """Makes one number beside each element of a weight."""
        value = bare(weight)
        path = getattr(weight, "path", None) or value.name
        with inside(self.name):
            return Variable(
                value.read_value() if name == "average" else self.first(name, value),
                trainable=False,
                name=f"{path.replace('/', '_').replace(':', '_')}_{name}",
            )

    def first(self, slot: str, variable: Any) -> Any:
        """Returns what a slot begins with."""
        return zeros(variable.shape, variable.dtype)

    def exclude_from_weight_decay(self, var_list: Any = None, var_names: Sequence[str] | None = None) -> None:
        """Has weights not decay: those given, and those whose names contain a text."""
        self._no_decay += [*(variable.path for variable in var_list or ()), *(var_names or ())]

    # ---- steps

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]], **ignored: Any) -> Variable:
        """Changes weights against their gradients.

        Args:
          grads_and_vars: pairs of gradient and weight; pairs without a gradient are left out.
          **ignored: accepted for older programs.

        Returns:
          The counter of steps.

        Raises:
          ValueError: there is no gradient at all, or a weight that is not one of those it was built for.
        """
        pairs = list(grads_and_vars)
        self.apply([grad for grad, _ in pairs], [weight for _, weight in pairs])
        return self._iterations

    def apply(self, grads: Sequence[Any], trainable_variables: Sequence[Any] | None = None) -> None:
        """Changes weights against their gradients.

        Args:
          grads: the gradients; None for a weight that has none.
          trainable_variables: the weights; those it was built for when None.

        Raises:
          ValueError: there is no gradient at all, or a weight that is not one of those it was built for.
        """
        weights = self._weights if trainable_variables is None else list(trainable_variables)
        if len(grads) != len(weights):
            raise ValueError(
                f"There are {len(grads)} gradients for {len(weights)} variables; each variable takes one, or None."
            )
        if all(grad is None for grad in grads):
            raise ValueError("No gradients provided for any variable.")
        context = distribute.get_replica_context()
        if context is not None and context.num_replicas_in_sync > 1:
            self._check_strategy(context.strategy, weights)
            context.merge_in_the_end(self._apply_all, args=(list(grads), weights))
        else:
            self._apply_all(distribute.get_strategy(), grads, weights)

    @during(UPDATE)
    def _apply_all(self, strategy: Any, grads: Sequence[Any], weights: Sequence[Any]) -> None:
        """Is called outside of replicas: all copies are within reach."""
        if not self.built:
            self.build(weights)
        graph = open_graph()
        if not hasattr(graph, "call_with"):
            self._apply_sums(self._summed(strategy, grads, weights), weights)
            return
        # The formulas take Python numbers, such as that of the step: they are no ops of the graph, as sums are.
        graph.call_with("ApplyGradients", self._apply_sums, self._summed(strategy, grads, weights), list(weights))

    def _check_strategy(self, strategy: Any, weights: Sequence[Any]) -> None:
        """Refuses weights and an optimizer that were not made for the strategy whose replicas train.

        Raises:
          RuntimeError: if what it keeps beside weights would belong to another strategy, in TensorFlow's words.
          ValueError: if what it keeps would be beside a weight of no strategy, in TensorFlow's words.
          AssertionError: if a weight has no copy for each replica: it would be changed once a replica.
        """
        self.check_strategy()
        for weight in map(bare, weights):
            if self.SLOTS and not self.built and not strategy.extended.variable_created_in_scope(weight):
                raise ValueError(
                    "`colocate_vars_with` must only be passed a variable created in this "
                    f"tf.distribute.Strategy.scope(), not: {weight!r}"
                )
            strategy._copies_of(weight)

    def _summed(self, strategy: Any, grads: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        """Returns the gradients, those of several replicas added up."""
        sums = list(grads)
        distributed = [number for number, grad in enumerate(grads) if isinstance(grad, distribute.DistributedValues)]
        if strategy.num_replicas_in_sync > 1 and distributed:
            pairs = [(grads[number], bare(weights[number])) for number in distributed]
            totals = strategy.extended.batch_reduce_to("SUM", pairs)
            for number, total in zip(distributed, totals, strict=True):
                sums[number] = total
        return sums

    def _apply_sums(self, grads: Sequence[Any], weights: Sequence[Any]) -> None:
        """Changes all copies of the weights that have a gradient."""
        grads_and_slots = [
            (grad, self._slot_of(weight)) for grad, weight in zip(grads, weights, strict=True) if grad is not None
        ]
        self._apply_here([grad for grad, _ in grads_and_slots], [slot for _, slot in grads_and_slots])

    def _slot_of(self, weight: Any) -> int:
        slot = self._places.get(id(bare(weight)))
        if slot is None:
            raise ValueError(
                f"Unknown variable: {weight}. This optimizer can only be called for the variables it was originally "
                "built with. When working with a new set of variables, you should recreate a new optimizer instance."
            )
        return slot

    def _apply_here(self, grads: Sequence[Any], slots: Sequence[int]) -> None:
        number = int(self._iterations.numpy()) + 1
        if self.gradient_accumulation_steps:
            grads = self._accumulated(grads, slots, number, self.gradient_accumulation_steps)
        if grads:
            step = Step(self._updates_before(number), float(self.learning_rate))
            weights = [self._weights[slot] for slot in slots]
            self._change_all(step, weights, copies_of(grads, weights, [self._slots[slot] for slot in slots]))
        self._count_step()

    def _count_step(self) -> None:
        counters = values_of(self._iterations)
        for counter in counters:
            with device(counter.device) if len(counters) > 1 else nullcontext():
                counter.assign_add(1)

    def _updates_before(self, number: int) -> int:
        every = self.gradient_accumulation_steps
        return number // every if every else number

    def _change_all(self, step: Step, weights: list[Any], copies: Iterable[Copy]) -> None:
        """Changes all copies of weights."""
        spread = isinstance(bare(weights[0]), distribute.DistributedValues)
        leader: Leader | None = None
        for copy in copies:
            if leader is not None and copy.follow(leader):
                continue
            arrays = copy.arrays() if spread and leader is None and self._repeats(weights) else None
            with device(copy.weights[0].device) if spread else nullcontext():
                self._change(step, weights, *copy)
            leader = leader if arrays is None else Leader(copy, arrays)

    def _repeats(self, weights: list[Any]) -> bool:
        """Tells whether equal numbers are changed alike: what others have written may do more than compute."""
        constraints = [getattr(weight, "constraint", None) for weight in weights]
        return self.update.__module__.startswith("nbtf.") and constraints.count(None) == len(constraints)

    def _change(self, step: Step, names: list[Any], grads: list[Any], weights: list[Any], slots: list[Any]) -> None:
        """Changes the copies of all weights on one device."""
        slot_count = len(self.SLOTS)
        grads = self._clipped([_dense(grad) for grad in grads])
        for name, grad, weight, weight_slots in zip(names, grads, weights, slots, strict=True):
            if self.loss_scale_factor is not None:
                grad = multiply(grad, 1.0 / self.loss_scale_factor)
            if self.weight_decay is not None and self._decays(getattr(name, "path", weight.name)):
                weight.assign_sub(multiply(weight, self.weight_decay * step.rate))
            self.update(step, grad, weight, *weight_slots[:slot_count])
            if self.use_ema:
                self._average(step, weight, weight_slots[slot_count])
            constraint = getattr(name, "constraint", None)
            if constraint is not None:
                weight.assign(constraint(weight.value()))

    def _average(self, step: Step, weight: Any, average: Any) -> None:
        momentum = 0.0 if step.number == 1 else self.ema_momentum
        average.assign(add(multiply(average, momentum), multiply(weight, 1.0 - momentum)))
        if self.ema_overwrite_frequency and step.number % self.ema_overwrite_frequency == 0:
            weight.assign(average.value())

    def _decays(self, path: str) -> bool:
        return not any(text in path for text in self._no_decay)

    def _clipped(self, grads: list[Any]) -> list[Any]:
        if self.clipnorm is not None:
            return [clip_by_norm(grad, self.clipnorm) for grad in grads]
        if self.global_clipnorm is not None:
            return list(clip_by_global_norm(grads, self.global_clipnorm)[0])
        if self.clipvalue is not None:
            return [clip_by_value(grad, -self.clipvalue, self.clipvalue) for grad in grads]
        return grads

    def _accumulated(self, grads: Sequence[Any], slot_indices: Sequence[int], number: int, every: int) -> list[Any]:
        """Returns the mean of the last gradients when it is time for a step; nothing before."""
        last = number % every == 0
        means: list[Any] = []
        for grad, slot_index in zip(grads, slot_indices, strict=True):
            sums = self._slots[slot_index][-1]
            sums.value.assign_add(grad if isinstance(grad, distribute.DistributedValues) else _dense(grad))
            if last:
                means.append(multiply(sums.value, 1.0 / every))
                sums.value.assign(zeros_like(sums.value))
        return means

    def update(self, step: Step, gradient: Any, variable: Any, *slots: Any) -> None:
        """Changes one weight in place: the formula of the optimizer.

        Args:
          step: its number and the learning rate.
          gradient: of the weight's shape.
          variable: the weight, a `tf.Variable` on one device.
          *slots: what is kept beside it, in the order of `SLOTS`.
        """
        raise NotImplementedError

    def minimize(self, loss: Any, var_list: Any, tape: Any = None, **ignored: Any) -> Variable:
        """Computes gradients and applies them.

        Args:
          loss: a function without arguments; or a tensor, with the tape that recorded it.
          var_list: the weights, or a function that returns them.
          tape: the tape that recorded a tensor `loss`.
          **ignored: accepted for older programs.

        Returns:
          The counter of steps.

        Raises:
          ValueError: `loss` is a tensor and there is no tape.
        """
        from nbtf.autodiff import GradientTape

        if not callable(loss) and tape is None:
            raise ValueError(f"`tape` is required when a `Tensor` loss is passed. Received: loss={loss!r}, tape=None.")
        if callable(loss):
            with tape or GradientTape() as tape:
                loss_value: Any = loss()
        else:
            loss_value = loss
        variables: Any = var_list() if callable(var_list) else var_list
        weights: list[Any] = list(variables)
        return self.apply_gradients(zip(tape.gradient(loss_value, weights), weights, strict=True))

    def scale_loss(self, loss: Any) -> Any:
        """Returns the loss times `loss_scale_factor`: what gradients are taken of."""
        return loss if self.loss_scale_factor is None else multiply(loss, self.loss_scale_factor)

    def finalize_variable_values(self, var_list: Any) -> None:
        """Gives the weights their averages at the end of training, if these are kept."""
        if self.use_ema:
            for weight in var_list:
                average = self._slots[self._slot_of(weight)][len(self.SLOTS)]
                bare(weight).assign(bare(average).read_value())

    # ---- saving

    def save_own_variables(self, store: dict[str, Any]) -> None:
        """Writes the values of all variables into a dictionary."""
        for number, variable in enumerate(self.variables):
            store[str(number)] = variable.numpy()

    def load_own_variables(self, store: dict[str, Any]) -> None:
        """Takes the values of all variables from a dictionary."""
        for number, variable in enumerate(self.variables):
            variable.assign(store[str(number)])

    def get_config(self) -> dict[str, Any]:
        """Returns what it takes to make another."""
        rate = self._rate
        config = {"name": self.name, "learning_rate": float(rate) if isinstance(rate, Variable) else serialized(rate)}
        return config | {name: getattr(self, name) for name in (*_OPTIONS, *self._config)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Optimizer:
        """Makes one from what `get_config` gave."""
        rate = config.get("learning_rate")
        return cls(**({**config, "learning_rate": _schedule_of(rate)} if isinstance(rate, dict) else config))


def _check_steps(use_ema: bool, momentum: Any, frequency: Any, accumulated: Any) -> None:
    """Refuses averages and accumulated gradients that make no sense, in the words of Keras."""
    if accumulated and accumulated < 2:
        raise ValueError(
            "`gradient_accumulation_steps` must be an integer >= 2. "
            f"Received: gradient_accumulation_steps={accumulated}"
        )
    if use_ema and not 0 <= momentum <= 1:
        raise ValueError(f"`ema_momentum` must be in the range [0, 1]. Received: ema_momentum={momentum}")
    if use_ema and frequency and (not isinstance(frequency, int) or frequency < 1):
        raise ValueError(
            f"`ema_overwrite_frequency` must be an integer >= 1 or None. Received: ema_overwrite_frequency={frequency}"
        )


def _dense(grad: Any) -> Any:
    return convert_to_tensor(grad) if isinstance(grad, IndexedSlices) else grad

"""The base class of optimizers, which update weights by their gradients."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from copy import deepcopy
from typing import Any, NamedTuple, Self

from nbtf import distribute
from nbtf._ops.arrays.creation import convert_to_tensor
from nbtf._ops.linalg.norms import clip_by_global_norm, clip_by_norm
from nbtf._ops.math.arithmetic import multiply
from nbtf._ops.math.magnitude import clip_by_value
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._runtime.context import open_graph
from nbtf._runtime.device import placed
from nbtf._runtime.phases import UPDATE, during
from nbtf._runtime.placement import STRATEGY_UPDATE
from nbtf.keras.border import advised
from nbtf.keras.generation import is_legacy, of_keras_2
from nbtf.keras.naming import auto_name, checked_name, inside, snake_case
from nbtf.keras.optimizers.copies import Copy, Leader, bare, copies_of, values_of
from nbtf.keras.optimizers.schedules import LearningRateSchedule
from nbtf.keras.optimizers.schedules import deserialize as _schedule_of
from nbtf.keras.optimizers.slots import Slots
from nbtf.keras.registry import serialized
from nbtf.keras.variables import Variable

_OPTIONS = ("weight_decay", "clipnorm", "global_clipnorm", "clipvalue")
"""The arguments of every optimizer."""


class Step(NamedTuple):
    """The arguments of a formula that concern a step: its number, counted from 1, and the learning rate."""

    number: int
    rate: float


class Optimizer(Slots):
    """Base class of optimizers. Subclass it, list the slots kept for each weight in `SLOTS`, and define `update`.

    In a replica of a strategy, gradients are first added up over all replicas, and then each replica updates its own
    copy of the weights. In cross-replica context all copies are updated.

    Args:
      learning_rate: a number, a schedule, or a function without arguments.
      weight_decay: fraction of each weight to subtract per step, multiplied by the learning rate.
      clipnorm: largest norm of the gradient of a weight.
      clipvalue: largest absolute value of an element of a gradient.
      global_clipnorm: largest norm of all gradients together.
      name: name of the optimizer.

    Raises:
      ValueError: if more than one clipping argument is set, or if an argument is unknown.
    """

    _config: tuple[str, ...] = ()
    """The attributes that define how an optimizer was created, besides those of all optimizers."""

    def __copy__(self) -> Self:
        """Returns a deep copy, because Keras objects share no variables."""
        return deepcopy(self)

    def __init__(
        self,
        learning_rate: Any,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Creates the step counter and the learning rate; `build` creates the slots."""
        if "lr" in kwargs and is_legacy():
            learning_rate = kwargs.pop("lr")
        if kwargs.pop("decay", None) is not None:
            warnings.warn("Argument `decay` is no longer supported and will be ignored.", stacklevel=3)
        if kwargs:
            error = ValueError(f"Argument(s) not recognized: {kwargs}")
            raise of_keras_2(error) if "lr" in kwargs else advised(error, *kwargs)
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
        self.built = False
        self._strategy = distribute.get_strategy()
        self._no_decay: list[str] = []
        self._weights, self._indices, self._slots = [], {}, []
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

    # ---- Variables

    @property
    def iterations(self) -> Variable:
        """The number of completed steps."""
        return self._iterations

    @property
    def learning_rate(self) -> Any:
        """The learning rate: a variable, or the current value of a schedule. Can be set to a number or a schedule."""
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
        """The learning rate by its name in Keras 2; Keras 3 has no such attribute."""
        self._check_legacy()
        return self.learning_rate

    @lr.setter
    def lr(self, value: Any) -> None:
        self._check_legacy()  # Keras 3 would store the number and keep the old rate
        self.learning_rate = value

    def _check_legacy(self) -> None:
        if not is_legacy():
            raise of_keras_2(AttributeError(f"{type(self).__name__!r} object has no attribute 'lr'"))

    @property
    def variables(self) -> list[Variable]:
        """All variables: step counter, learning rate, and the slots of each weight in order."""
        first = [self._iterations, *([self._rate] if isinstance(self._rate, Variable) else [])]
        return first + [slot for slots in self._slots for slot in slots]

    def exclude_from_weight_decay(self, var_list: Any = None, var_names: Sequence[str] | None = None) -> None:
        """Excludes weights from weight decay: the given ones, and those whose names contain a given text."""
        self._no_decay += [*(variable.path for variable in var_list or ()), *(var_names or ())]

    # ---- Steps

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]], **ignored: Any) -> Variable:
        """Updates weights by their gradients.

        Args:
          grads_and_vars: pairs of gradient and weight; pairs without a gradient are skipped.
          **ignored: arguments of older programs.

        Returns:
          The step counter.

        Raises:
          ValueError: if all gradients are None, or if the optimizer was built without one of the weights.
        """
        pairs = list(grads_and_vars)
        self.apply([grad for grad, _ in pairs], [weight for _, weight in pairs])
        return self._iterations

    def apply(self, grads: Sequence[Any], trainable_variables: Sequence[Any] | None = None) -> None:
        """Updates weights by their gradients.

        Args:
          grads: the gradients; None for a weight without a gradient.
          trainable_variables: the weights; by default those for which the optimizer was built.

        Raises:
          ValueError: if all gradients are None, or if the optimizer was built without one of the weights.
        """
        weights = self._weights if trainable_variables is None else list(trainable_variables)
        if len(grads) != len(weights):
            raise ValueError(
                f"Received {len(grads)} gradients for {len(weights)} variables. Pass one gradient or None for each."
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
        """Updates all copies, outside of the replicas, where every copy can be reached."""
        if not self.built:
            self.build(weights)
        graph = open_graph()
        if not hasattr(graph, "call_with"):
            self._apply_sums(self._summed(strategy, grads, weights), weights)
            return
        # The formulas use Python numbers, such as the step number; unlike the sums, they are not ops of the graph.
        graph.call_with("ApplyGradients", self._apply_sums, self._summed(strategy, grads, weights), list(weights))

    def _summed(self, strategy: Any, grads: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        """Returns the gradients, added up over the replicas."""
        sums = list(grads)
        distributed = [number for number, grad in enumerate(grads) if isinstance(grad, distribute.DistributedValues)]
        if strategy.num_replicas_in_sync > 1 and distributed:
            pairs = [(grads[number], bare(weights[number])) for number in distributed]
            totals = strategy.extended.batch_reduce_to("SUM", pairs)
            for number, total in zip(distributed, totals, strict=True):
                sums[number] = total
        return sums

    def _apply_sums(self, grads: Sequence[Any], weights: Sequence[Any]) -> None:
        """Updates all copies of the weights that have a gradient."""
        grads_and_slots = [
            (grad, self._slot_of(weight)) for grad, weight in zip(grads, weights, strict=True) if grad is not None
        ]
        self._apply_here([grad for grad, _ in grads_and_slots], [slot for _, slot in grads_and_slots])

    def _apply_here(self, grads: Sequence[Any], slots: Sequence[int]) -> None:
        step = Step(int(self._iterations.numpy()) + 1, float(self.learning_rate))
        weights = [self._weights[slot] for slot in slots]
        self._change_all(step, weights, copies_of(grads, weights, [self._slots[slot] for slot in slots]))
        self._count_step()

    def _count_step(self) -> None:
        counters = values_of(self._iterations)
        for counter in counters:
            with placed(counter.device, STRATEGY_UPDATE) if len(counters) > 1 else nullcontext():
                counter.assign_add(1)

    def _change_all(self, step: Step, weights: list[Any], copies: Iterable[Copy]) -> None:
        """Updates all copies of the weights."""
        spread = isinstance(bare(weights[0]), distribute.DistributedValues)
        leader: Leader | None = None
        for copy in copies:
            if leader is not None and copy.follow(leader):
                continue
            arrays = copy.arrays() if spread and leader is None and self._repeats(weights) else None
            with placed(copy.weights[0].device, STRATEGY_UPDATE) if spread else nullcontext():
                self._change(step, weights, *copy)
            leader = leader if arrays is None else Leader(copy, arrays)

    def _repeats(self, weights: list[Any]) -> bool:
        """Returns whether equal copies get equal updates; code from elsewhere may do more than compute."""
        constraints = [getattr(weight, "constraint", None) for weight in weights]
        return self.update.__module__.startswith("nbtf.") and constraints.count(None) == len(constraints)

    def _change(self, step: Step, names: list[Any], grads: list[Any], weights: list[Any], slots: list[Any]) -> None:
        """Updates the copies of all weights on one device."""
        grads = self._clipped([convert_to_tensor(grad) if isinstance(grad, IndexedSlices) else grad for grad in grads])
        for name, grad, weight, weight_slots in zip(names, grads, weights, slots, strict=True):
            if self.weight_decay is not None and self._decays(getattr(name, "path", weight.name)):
                weight.assign_sub(multiply(weight, self.weight_decay * step.rate))
            self.update(step, grad, weight, *weight_slots)
            constraint = getattr(name, "constraint", None)
            if constraint is not None:
                weight.assign(constraint(weight.value()))

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

    def update(self, step: Step, gradient: Any, variable: Any, *slots: Any) -> None:
        """Updates one weight in place by the formula of the optimizer.

        Args:
          step: number of the step and learning rate.
          gradient: gradient in the shape of the weight.
          variable: the weight, a `tf.Variable` on one device.
          *slots: slots of the weight, in the order of `SLOTS`.
        """
        raise NotImplementedError

    def minimize(self, loss: Any, var_list: Any, tape: Any = None, **ignored: Any) -> Variable:
        """Computes gradients and applies them.

        Args:
          loss: a function without arguments, or a tensor together with the tape that recorded it.
          var_list: the weights, or a function that returns them.
          tape: the tape that recorded a tensor `loss`.
          **ignored: arguments of older programs.

        Returns:
          The step counter.

        Raises:
          ValueError: if `loss` is a tensor and no tape is given.
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
        """Returns the loss from which gradients are computed: unchanged, unless `LossScaleOptimizer` scales it."""
        return loss

    # ---- Saving

    def save_own_variables(self, store: dict[str, Any]) -> None:
        """Stores the values of all variables in a dictionary."""
        for number, variable in enumerate(self.variables):
            store[str(number)] = variable.numpy()

    def load_own_variables(self, store: dict[str, Any]) -> None:
        """Loads the values of all variables from a dictionary."""
        for number, variable in enumerate(self.variables):
            variable.assign(store[str(number)])

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor arguments as a dictionary."""
        rate = self._rate
        config = {"name": self.name, "learning_rate": float(rate) if isinstance(rate, Variable) else serialized(rate)}
        return config | {name: getattr(self, name) for name in (*_OPTIONS, *self._config)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Optimizer:
        """Creates an optimizer from the result of `get_config`."""
        rate = config.get("learning_rate")
        return cls(**({**config, "learning_rate": _schedule_of(rate)} if isinstance(rate, dict) else config))

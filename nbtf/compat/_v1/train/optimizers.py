"""The optimizers of TensorFlow 1, with their slots and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbtf._ops.math.arithmetic import cast, multiply
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._ops.variables.variable import Variable as EagerVariable
from nbtf._runtime.conversion import as_tensor
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._training import updates
from nbtf.compat._v1._training.apply_op import Update
from nbtf.compat._v1._training.slots import beside, is_of_graph
from nbtf.compat._v1._variables.assigning import scatter_sub
from nbtf.compat._v1._variables.variable_classes import ResourceVariable, Variable
from nbtf.compat._v1.train.optimizer import Optimizer, graph_of


class GradientDescentOptimizer(Optimizer):
    """Plain gradient descent.

    Args:
      learning_rate: length of a step: a number, a tensor, or a function without arguments.
    """

    SETTINGS: tuple[str, ...] = ("learning_rate",)
    update: Update = updates.GRADIENT_DESCENT

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _apply(self, grad: Any, variable: Any) -> Any:
        if not isinstance(grad, IndexedSlices) or not is_of_graph(variable):
            return super()._apply(grad, variable)
        update = scatter_sub(variable, grad.indices, multiply(grad.values, self._settings["learning_rate"], name="mul"))
        return update.op


class MomentumOptimizer(Optimizer):
    """Gradient descent with momentum.

    Args:
      learning_rate: length of a step.
      momentum: fraction of the running sum of gradients that is kept in each step.
      use_nesterov: whether to use Nesterov momentum, which looks one step ahead.
    """

    SLOTS: tuple[str, ...] = ("momentum",)
    SETTINGS: tuple[str, ...] = ("learning_rate", "momentum")
    update: Update = updates.MOMENTUM

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum, self._use_nesterov = learning_rate, momentum, use_nesterov

    def _attrs(self) -> dict[str, Any]:
        return {"use_nesterov": self._use_nesterov}


class AdamOptimizer(Optimizer):
    """Adam: normalizes steps by moving averages of the gradient and of its square.

    Args:
      learning_rate: length of a step.
      beta1: decay of the gradient's moving average.
      beta2: decay of the squared gradient's moving average.
      epsilon: keeps the division finite; the paper's `epsilon hat`, in the formula just before section 2.1.
    """

    SLOTS: tuple[str, ...] = ("m", "v")
    SETTINGS: tuple[str, ...] = ("learning_rate", "beta1", "beta2", "epsilon")
    update: Update = updates.ADAM

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon

    def _create_slots(self, variables: Sequence[Any]) -> None:
        first = min(variables, key=lambda variable: variable.name)
        for name, value in (("beta1_power", self._beta1), ("beta2_power", self._beta2)):
            if (name, graph_of(first)) not in self._others:
                self._others[name, graph_of(first)] = _number_beside(first, value, name)
        super()._create_slots(variables)

    def _with_settings(self, variable: Any) -> list[Any]:
        *slots, rate, beta1, beta2, epsilon = super()._with_settings(variable)
        powers: list[Any] = [as_tensor(power) for power in self._powers(variable)]
        powers = [power if power._dtype is rate._dtype else cast(power, rate._dtype) for power in powers]
        return [*slots, *powers, rate, beta1, beta2, epsilon]

    def _powers(self, variable: Any) -> list[Any]:
        return [self._others[name, graph_of(variable)] for name in ("beta1_power", "beta2_power")]

    def _finish_step(self, updates: Sequence[Any], variables: Sequence[Any]) -> list[Any]:
        powers = self._powers(variables[0])
        betas = [self._settings["beta1"], self._settings["beta2"]]
        graph = building()
        if graph is None or not is_of_graph(powers[0]):
            for power, beta in zip(powers, betas, strict=True):
                power.assign(multiply(power, beta))
            return list(updates)
        with graph.control_dependencies(updates), beside(powers[0]):
            power_updates = [
                power.assign(multiply(power.value(), beta, name="mul"), read_value=False)
                for power, beta in zip(powers, betas, strict=True)
            ]
        return [*updates, *power_updates]


def _number_beside(variable: Any, value: Any, name: str) -> Any:
    """Returns a new variable that holds a number, on the device of another variable."""
    if callable(value):
        value = value()
    if not is_of_graph(variable):
        return EagerVariable(as_tensor(value, variable.dtype), trainable=False, name=name)
    with beside(variable):
        return Variable(
            value,
            trainable=False,
            name=name,
            use_resource=isinstance(variable, ResourceVariable),
            dtype=variable.dtype.base_dtype,
        )


class AdagradOptimizer(Optimizer):
    """Adagrad: takes shorter steps for elements with large past gradients.

    Args:
      learning_rate: length of a step.
      initial_accumulator_value: initial sum of squared gradients; must be positive.

    Raises:
      ValueError: if `initial_accumulator_value` is not positive.
    """

    SLOTS: tuple[str, ...] = ("accumulator",)
    SETTINGS: tuple[str, ...] = ("learning_rate",)
    update: Update = updates.ADAGRAD

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate, self._starts = learning_rate, {"accumulator": initial_accumulator_value}


class RMSPropOptimizer(Optimizer):
    """RMSProp: divides steps by a moving average of the gradient's magnitude.

    Args:
      learning_rate: length of a step.
      decay: decay of the moving average.
      momentum: fraction of the previous step that is added.
      epsilon: keeps the division finite.
      centered: whether to subtract the mean of the gradient, which normalizes by its variance.
    """

    SETTINGS: tuple[str, ...] = ("learning_rate", "decay", "momentum", "epsilon")
    _starts: Mapping[str, float] = {"rms": 1.0}  # a default shared by the class, never modified

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._decay, self._momentum, self._epsilon = learning_rate, decay, momentum, epsilon
        self.SLOTS: tuple[str, ...] = ("mg", "rms", "momentum") if centered else ("rms", "momentum")
        self.update: Update = updates.CENTERED_RMS_PROP if centered else updates.RMS_PROP

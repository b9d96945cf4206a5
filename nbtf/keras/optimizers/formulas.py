"""The optimizers and the formulas by which they update a weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbtf._ops.arrays.creation import convert_to_tensor
from nbtf._ops.math.arithmetic import add, multiply, subtract
from nbtf._ops.math.exponentials import pow, sqrt
from nbtf._ops.math.magnitude import abs, clip_by_value, maximum, square
from nbtf.keras.optimizers.optimizer import Optimizer, Step


def _bias_correction(beta: float, number: int, variable: Any) -> Any:
    """Returns `1 - beta**number` in the dtype of a weight, as Keras computes it."""
    dtype = variable.dtype.np_dtype.type
    return dtype(1) - dtype(beta) ** dtype(number)


def _bias_free_rate(step: Step, beta_1: float, beta_2: float, variable: Any) -> float:
    """Returns the learning rate corrected for running means that start at 0."""
    rate = np.sqrt(_bias_correction(beta_2, step.number, variable)) / _bias_correction(beta_1, step.number, variable)
    return float(variable.dtype.np_dtype.type(step.rate) * rate)


class SGD(Optimizer):
    """Implements gradient descent, optionally with momentum.

    Args:
      momentum: fraction of the previous update that is repeated; 0 by default.
      nesterov: whether to use Nesterov momentum; false by default.

    >>> w = tf.Variable(1.0)
    >>> _ = tf.keras.optimizers.SGD(0.5).apply_gradients([(tf.constant(1.0), w)])
    >>> w.numpy()
    np.float32(0.5)
    """

    _config = ("momentum", "nesterov")

    def __init__(self, learning_rate: Any = 0.01, momentum: float = 0.0, nesterov: bool = False, **kwargs: Any) -> None:
        if not isinstance(momentum, float) or not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be a float between [0, 1].")
        self.momentum: float = momentum
        self.nesterov: bool = nesterov
        self.SLOTS: tuple[str, ...] = ("momentum",) if momentum else ()
        super().__init__(learning_rate, **kwargs)

    def update(self, step: Step, gradient: Any, variable: Any, *slots: Any) -> None:
        change = multiply(gradient, step.rate)
        if not self.momentum:
            variable.assign_sub(change)
            return
        moving = subtract(multiply(slots[0], self.momentum), change)
        slots[0].assign(moving)
        variable.assign_add(subtract(multiply(moving, self.momentum), change) if self.nesterov else moving)


class _Moments(Optimizer):
    """Base class of optimizers that keep a running mean of the gradient and a measure of its size."""

    _config = ("beta_1", "beta_2", "epsilon")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **kwargs: Any,
    ) -> None:
        self.beta_1: float = beta_1
        self.beta_2: float = beta_2
        self.epsilon: float = epsilon
        super().__init__(learning_rate, **kwargs)


class Adam(_Moments):
    """Implements Adam, which scales updates by running means of the gradient and of its square.

    Args:
      beta_1: decay rate of the mean of the gradient; 0.9 by default.
      beta_2: decay rate of the mean of its square; 0.999 by default.
      epsilon: number that keeps the division finite; 1e-7 by default.
      amsgrad: whether to use the largest mean of squares so far; false by default.
    """

    _config = (*_Moments._config, "amsgrad")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **kwargs: Any,
    ) -> None:
        self.amsgrad: bool = amsgrad
        self.SLOTS: tuple[str, ...] = ("momentum", "velocity", "velocity_hat") if amsgrad else ("momentum", "velocity")
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **kwargs)

    def update(self, step: Step, gradient: Any, variable: Any, *slots: Any) -> None:
        mean, squares = slots[0], slots[1]
        rate = _bias_free_rate(step, self.beta_1, self.beta_2, variable)
        mean.assign_add(multiply(subtract(gradient, mean), 1 - self.beta_1))
        squares.assign_add(multiply(subtract(square(gradient), squares), 1 - self.beta_2))
        if self.amsgrad:
            slots[2].assign(maximum(slots[2], squares))
            squares = slots[2]
        variable.assign_sub(multiply(mean, rate) / add(sqrt(squares), self.epsilon))


class AdamW(Adam):
    """Implements `Adam` with weight decay.

    Args:
      weight_decay: fraction of each weight to subtract per step, multiplied by the learning rate.
      **kwargs: as in `Adam`.
    """

    def __init__(self, learning_rate: Any = 0.001, weight_decay: float = 0.004, **kwargs: Any) -> None:
        super().__init__(learning_rate, weight_decay=weight_decay, **kwargs)
        if self.weight_decay is None:
            raise ValueError("Argument `weight_decay` must be a float. Received: weight_decay=None")


class Adamax(_Moments):
    """Implements `Adam` with the largest gradient instead of the mean of squares.

    Args:
      beta_1: decay rate of the mean of the gradient; 0.9 by default.
      beta_2: decay rate of the largest gradient; 0.999 by default.
      epsilon: number that keeps the division finite; 1e-7 by default.
    """

    SLOTS: tuple[str, ...] = ("momentum", "norm")

    def update(self, step: Step, gradient: Any, variable: Any, *slots: Any) -> None:
        mean, largest = slots
        mean.assign_add(multiply(subtract(gradient, mean), 1 - self.beta_1))
        largest.assign(maximum(multiply(largest, self.beta_2), abs(gradient)))
        rate = float(step.rate / _bias_correction(self.beta_1, step.number, variable))
        variable.assign_sub(multiply(mean, rate) / add(largest, self.epsilon))


class Nadam(_Moments):
    """Implements `Adam` with Nesterov momentum.

    Args:
      beta_1: decay rate of the mean of the gradient; 0.9 by default.
      beta_2: decay rate of the mean of its square; 0.999 by default.
      epsilon: number that keeps the division finite; 1e-7 by default.
    """

    SLOTS: tuple[str, ...] = ("momentum", "velocity")

    _product = (0, 1.0)

    def _share(self, number: int) -> float:
        return self.beta_1 * (1.0 - 0.5 * 0.96**number)

    def _product_up_to(self, number: int) -> float:
        """Returns the product of the momentum factors of all steps, recomputed only if the step number went back."""
        counted, product = self._product if self._product[0] <= number else (0, 1.0)
        for step in range(counted + 1, number + 1):
            product *= self._share(step)
        self._product = (number, product)
        return product

    def update(self, step: Step, gradient: Any, variable: Any, *slots: Any) -> None:
        mean, squares = slots
        now, ahead = self._share(step.number), self._share(step.number + 1)
        product = self._product_up_to(step.number)
        mean.assign_add(multiply(subtract(gradient, mean), 1 - self.beta_1))
        squares.assign_add(multiply(subtract(square(gradient), squares), 1 - self.beta_2))
        direction = add(multiply(mean, ahead / (1 - product * ahead)), multiply(gradient, (1 - now) / (1 - product)))
        spread = multiply(squares, float(1 / _bias_correction(self.beta_2, step.number, variable)))
        variable.assign_sub(multiply(direction, step.rate) / add(sqrt(spread), self.epsilon))


class RMSprop(Optimizer):
    """Divides gradients by the root of a running mean of their squares.

    Args:
      rho: decay rate of the mean; 0.9 by default.
      momentum: fraction of the previous update that is repeated; 0 by default.
      epsilon: number that keeps the division finite; 1e-7 by default.
      centered: whether to use the variance of the gradient instead of its mean square; false by default.
    """

    _config = ("rho", "momentum", "epsilon", "centered")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        **kwargs: Any,
    ) -> None:
        self.rho: float = rho
        self.momentum: float = momentum
        self.epsilon: float = epsilon
        self.centered: bool = centered
        self.SLOTS: tuple[str, ...] = (
            "velocity",
            *(("momentum",) if momentum else ()),
            *(("average_gradient",) if centered else ()),
        )
        super().__init__(learning_rate, **kwargs)

    def update(self, step: Step, gradient: Any, variable: Any, *slots: Any) -> None:
        squares = slots[0]
        squares.assign(add(multiply(squares, self.rho), multiply(square(gradient), 1 - self.rho)))
        spread: Any = squares
        if self.centered:
            slots[-1].assign(add(multiply(slots[-1], self.rho), multiply(gradient, 1 - self.rho)))
            spread = subtract(squares, square(slots[-1]))
        change = multiply(gradient, step.rate) / sqrt(add(spread, self.epsilon))
        if self.momentum:
            slots[1].assign(add(multiply(slots[1], self.momentum), change))
            change = slots[1]
        variable.assign_sub(change)


class _Accumulating(Optimizer):
    """Base class of optimizers with a sum per weight that need not start at 0."""

    initial_accumulator_value: float

    def first(self, slot: str, variable: Any) -> Any:
        """Returns the initial value of a slot."""
        start = self.initial_accumulator_value if slot == "accumulator" else 0.0
        return super().first(slot, variable) + convert_to_tensor(start, variable.dtype)


class Adagrad(_Accumulating):
    """Divides gradients by the root of the sum of all their squares so far.

    Args:
      initial_accumulator_value: initial value of the sum; 0.1 by default.
      epsilon: number that keeps the division finite; 1e-7 by default.
    """

    SLOTS: tuple[str, ...] = ("accumulator",)
    _config = ("initial_accumulator_value", "epsilon")

    def __init__(
        self, learning_rate: Any = 0.001, initial_accumulator_value: float = 0.1, epsilon: float = 1e-7, **kwargs: Any
    ) -> None:
        self.initial_accumulator_value: float = initial_accumulator_value
        self.epsilon: float = epsilon
        super().__init__(learning_rate, **kwargs)

    def update(self, step: Step, gradient: Any, variable: Any, *slots: Any) -> None:
        slots[0].assign_add(square(gradient))
        variable.assign_sub(multiply(gradient, step.rate) / sqrt(add(slots[0], self.epsilon)))


class Adadelta(Optimizer):
    """Implements Adadelta, whose updates are in proportion to the size of previous ones.

    Args:
      rho: decay rate of the means; 0.95 by default.
      epsilon: number that keeps the division finite; 1e-7 by default.
    """

    SLOTS: tuple[str, ...] = ("accumulated_grad", "accumulated_delta_var")
    _config = ("rho", "epsilon")

    def __init__(self, learning_rate: Any = 0.001, rho: float = 0.95, epsilon: float = 1e-7, **kwargs: Any) -> None:
        self.rho: float = rho
        self.epsilon: float = epsilon
        super().__init__(learning_rate, **kwargs)

    def update(self, step: Step, gradient: Any, variable: Any, *slots: Any) -> None:
        squares, changes = slots
        squares.assign(add(multiply(squares, self.rho), multiply(square(gradient), 1 - self.rho)))
        change = multiply(multiply(gradient, sqrt(add(changes, self.epsilon)) / sqrt(add(squares, self.epsilon))), -1.0)
        changes.assign(add(multiply(changes, self.rho), multiply(square(change), 1 - self.rho)))
        variable.assign_add(multiply(change, step.rate))


_NEVER_NEGATIVE = (
    "initial_accumulator_value",
    "l1_regularization_strength",
    "l2_regularization_strength",
    "l2_shrinkage_regularization_strength",
)
"""Arguments of `Ftrl`. Source: Keras 3, `keras/src/optimizers/ftrl.py`."""


class Ftrl(_Accumulating):
    """Implements FTRL ("follow the regularized leader"), which keeps weights small or at zero.

    Args:
      learning_rate_power: power of the sum of squares by which updates shrink; -0.5 by default.
      initial_accumulator_value: initial value of the sum; 0.1 by default.
      l1_regularization_strength: penalty for absolute values; 0 by default.
      l2_regularization_strength: penalty for squares; 0 by default.
      l2_shrinkage_regularization_strength: penalty for squares in the gradient alone; 0 by default.
      beta: number added to the root of the sum; 0 by default.
    """

    SLOTS: tuple[str, ...] = ("accumulator", "linear")
    _config = (
        "learning_rate_power",
        "initial_accumulator_value",
        "l1_regularization_strength",
        "l2_regularization_strength",
        "l2_shrinkage_regularization_strength",
        "beta",
    )

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        **kwargs: Any,
    ) -> None:
        self.learning_rate_power: float = learning_rate_power
        self.initial_accumulator_value: float = initial_accumulator_value
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength
        self.l2_shrinkage_regularization_strength: float = l2_shrinkage_regularization_strength
        self.beta: float = beta
        for argument in _NEVER_NEGATIVE:
            if getattr(self, argument) < 0.0:
                text = f"`{argument}` needs to be positive or zero. Received: {argument}={getattr(self, argument)}."
                raise ValueError(text)
        if learning_rate_power > 0.0:
            text = f"`learning_rate_power` needs to be negative or zero. Received: {learning_rate_power=}."
            raise ValueError(text)
        super().__init__(learning_rate, **kwargs)

    def update(self, step: Step, gradient: Any, variable: Any, *slots: Any) -> None:
        sums, linear = slots
        power = -self.learning_rate_power
        ridge = self.l2_regularization_strength + self.beta / (2.0 * step.rate)
        pulled = add(gradient, multiply(variable, 2.0 * self.l2_shrinkage_regularization_strength))
        grown = add(sums, square(gradient))
        change = multiply(subtract(pow(grown, power), pow(sums, power)), 1 / step.rate)
        linear.assign_add(subtract(pulled, multiply(change, variable)))
        quadratic = add(multiply(pow(grown, power), 1 / step.rate), 2 * ridge)
        limit = self.l1_regularization_strength
        variable.assign(subtract(clip_by_value(linear, -limit, limit), linear) / quadratic)
        sums.assign(grown)

"""Learning rates that change with the step number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from nbtf._ops.arrays.creation import constant
from nbtf._runtime.arguments import check_number
from nbtf._runtime.tensor import Tensor
from nbtf.keras import border as _border
from nbtf.keras.configured import Configured
from nbtf.keras.registry import deserialized, serialized


class LearningRateSchedule(Configured):
    """A function of the step number that returns the learning rate. Subclass it and define `__call__`."""

    def __call__(self, step: Any) -> Any:
        """Returns the learning rate at a step."""
        raise NotImplementedError(
            f"Learning rate schedule '{type(self).__name__}' must override `__call__(self, step)`."
        )

    def get_config(self) -> dict[str, Any]:
        if not fields(self):
            name = type(self).__name__
            raise NotImplementedError(
                f"Learning rate schedule '{name}' must override `get_config()` in order to be serializable."
            )
        return super().get_config()


class _Formula(LearningRateSchedule):
    """Base class of schedules that are a formula of a Python number."""

    def __call__(self, step: Any) -> Tensor:
        return constant(self._at(float(step)), "float32")

    def _at(self, step: float) -> float:
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class _Decay(_Formula):
    """Base class of schedules that decrease an initial rate over a number of steps."""

    initial_learning_rate: float
    decay_steps: float

    def __post_init__(self) -> None:
        if check_number(self.decay_steps, "decay_steps") <= 0:
            raise ValueError(f"Argument `decay_steps` must be > 0. Received: decay_steps={self.decay_steps}")


@dataclass(eq=False, repr=False)
class _Times(_Decay):
    """Base class of schedules that depend on how many times `decay_steps` have passed."""

    decay_rate: float
    staircase: bool = False

    def _times(self, step: float) -> float:
        times = step / self.decay_steps
        return math.floor(times) if self.staircase else times


@dataclass(eq=False, repr=False)
class ExponentialDecay(_Times):
    """Computes `initial_learning_rate * decay_rate ** (step / decay_steps)`.

    Args:
      initial_learning_rate: learning rate at step 0.
      decay_steps: number of steps after which `decay_rate` has been applied once.
      decay_rate: factor of the learning rate.
      staircase: whether to apply the factor all at once, every `decay_steps` steps; false by default.

    >>> rate = tf.keras.optimizers.schedules.ExponentialDecay(0.1, decay_steps=10, decay_rate=0.5)
    >>> rate(20).numpy()
    np.float32(0.025)
    """

    name: str = "ExponentialDecay"

    def _at(self, step: float) -> float:
        return self.initial_learning_rate * self.decay_rate ** self._times(step)


@dataclass(eq=False, repr=False)
class InverseTimeDecay(_Times):
    """Computes `initial_learning_rate / (1 + decay_rate * step / decay_steps)`.

    Args:
      initial_learning_rate: learning rate at step 0.
      decay_steps: number of steps in one unit of time.
      decay_rate: strength of the decay.
      staircase: whether to change the rate only every `decay_steps` steps; false by default.
    """

    name: str = "InverseTimeDecay"

    def _at(self, step: float) -> float:
        return self.initial_learning_rate / (1 + self.decay_rate * self._times(step))


@dataclass(eq=False, repr=False)
class PiecewiseConstantDecay(_Formula):
    """Uses a constant rate up to each boundary, and then the next one.

    Args:
      boundaries: step numbers in ascending order.
      values: learning rates, one more than boundaries.
    """

    boundaries: Sequence[float]
    values: Sequence[float]
    name: str = "PiecewiseConstant"

    def __post_init__(self) -> None:
        boundaries, values = self.boundaries, self.values
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                "The length of boundaries should be 1 less than the length of values. Received: "
                f"boundaries={boundaries} of length {len(boundaries)}, and values={values} of length {len(values)}."
            )

    def _at(self, step: float) -> float:
        return self.values[sum(step > boundary for boundary in self.boundaries)]

    def get_config(self) -> dict[str, Any]:
        return {"boundaries": list(self.boundaries), "values": list(self.values), "name": self.name}


@dataclass(eq=False, repr=False)
class PolynomialDecay(_Decay):
    """Changes the rate from one value to another by a power of the remaining steps.

    Args:
      initial_learning_rate: learning rate at step 0.
      decay_steps: number of steps until the end value is reached.
      end_learning_rate: end value of the learning rate; 0.0001 by default.
      power: exponent; 1, the default, decreases the rate linearly.
      cycle: whether to restart with a longer decay when the end is reached; false by default.
    """

    end_learning_rate: float = 0.0001
    power: float = 1.0
    cycle: bool = False
    name: str = "PolynomialDecay"

    def _at(self, step: float) -> float:
        length = self.decay_steps
        if self.cycle:
            length *= max(1, math.ceil(step / self.decay_steps))
        progress = min(step, length) / length
        return (self.initial_learning_rate - self.end_learning_rate) * (
            1 - progress
        ) ** self.power + self.end_learning_rate


@dataclass(eq=False, repr=False)
class CosineDecay(_Decay):
    """Decreases the rate along half a cosine wave, after an optional linear warm-up.

    Args:
      initial_learning_rate: learning rate at the start of the decay, or of the warm-up if there is one.
      decay_steps: number of steps of the decay.
      alpha: final learning rate, as a fraction of the rate at the start of the decay.
      warmup_target: learning rate at the end of the warm-up; None for no warm-up.
      warmup_steps: number of steps of the warm-up; 0 by default.
    """

    alpha: float = 0.0
    name: str = "CosineDecay"
    warmup_target: float | None = None
    warmup_steps: float = 0

    def _at(self, step: float) -> float:
        top = self.initial_learning_rate
        if self.warmup_target is not None:
            if step < self.warmup_steps:
                return top + (self.warmup_target - top) * step / self.warmup_steps
            top, step = self.warmup_target, step - self.warmup_steps
        wave = 0.5 * (1 + math.cos(math.pi * min(step, self.decay_steps) / self.decay_steps))
        return top * ((1 - self.alpha) * wave + self.alpha)


_KNOWN: dict[str, Any] = {
    name: value
    for name, value in globals().items()
    if isinstance(value, type) and issubclass(value, LearningRateSchedule)
}


def serialize(learning_rate_schedule: Any) -> Any:
    """Returns a schedule as plain data."""
    return serialized(learning_rate_schedule)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Creates a schedule from the result of `serialize`."""
    return deserialized(config, custom_objects, _KNOWN)


_border.guard(__name__)

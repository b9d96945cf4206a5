"""Learning rates that change with the number of steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from nbtf._ops.arrays.creation import constant
from nbtf._public import public_names as _public_names
from nbtf._runtime.arguments import check_number
from nbtf._runtime.tensor import Tensor
from nbtf.keras.configured import Configured
from nbtf.keras.registry import deserialized, serialized


class LearningRateSchedule(Configured):
    """Is called with the number of steps, and returns the learning rate. Subclass it and write `__call__`."""

    def __call__(self, step: Any) -> Any:
        """Returns the learning rate of a step."""
        raise NotImplementedError(
            f"Learning rate schedule '{type(self).__name__}' must override `__call__(self, step)`."
        )

    def get_config(self) -> dict[str, Any]:
        """Returns what it takes to make another."""
        if not fields(self):
            name = type(self).__name__
            raise NotImplementedError(
                f"Learning rate schedule '{name}' must override `get_config()` in order to be serializable."
            )
        return super().get_config()


class _Formula(LearningRateSchedule):
    """A schedule that is a formula of a Python number."""

    def __call__(self, step: Any) -> Tensor:
        return constant(self._at(float(step)), "float32")

    def _at(self, step: float) -> float:
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class _Decay(_Formula):
    """A schedule that falls from a first rate in a number of steps."""

    initial_learning_rate: float
    decay_steps: float

    def __post_init__(self) -> None:
        if check_number(self.decay_steps, "decay_steps") <= 0:
            raise ValueError(f"Argument `decay_steps` must be > 0. Received: decay_steps={self.decay_steps}")


@dataclass(eq=False, repr=False)
class _Times(_Decay):
    """A schedule of how often `decay_steps` have gone by."""

    decay_rate: float
    staircase: bool = False

    def _times(self, step: float) -> float:
        times = step / self.decay_steps
        return math.floor(times) if self.staircase else times


@dataclass(eq=False, repr=False)
class ExponentialDecay(_Times):
    """`initial_learning_rate * decay_rate ** (step / decay_steps)`.

    Args:
      initial_learning_rate: at step 0.
      decay_steps: after how many steps the factor has been applied once.
      decay_rate: the factor.
      staircase: whether it is applied at once, every `decay_steps` steps.

    >>> rate = tf.keras.optimizers.schedules.ExponentialDecay(0.1, decay_steps=10, decay_rate=0.5)
    >>> rate(20).numpy()
    np.float32(0.025)
    """

    name: str = "ExponentialDecay"

    def _at(self, step: float) -> float:
        return self.initial_learning_rate * self.decay_rate ** self._times(step)


@dataclass(eq=False, repr=False)
class InverseTimeDecay(_Times):
    """`initial_learning_rate / (1 + decay_rate * step / decay_steps)`.

    Args:
      initial_learning_rate: at step 0.
      decay_steps: how long a unit of time is.
      decay_rate: how fast it falls.
      staircase: whether it falls at once, every `decay_steps` steps.
    """

    name: str = "InverseTimeDecay"

    def _at(self, step: float) -> float:
        return self.initial_learning_rate / (1 + self.decay_rate * self._times(step))


@dataclass(eq=False, repr=False)
class PiecewiseConstantDecay(_Formula):
    """One rate up to each boundary, then the next.

    Args:
      boundaries: numbers of steps, rising.
      values: one rate more than there are boundaries.
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
    """From one rate to another along a power of the remaining steps.

    Args:
      initial_learning_rate: at step 0.
      decay_steps: when the end is reached.
      end_learning_rate: there.
      power: 1 is a straight line.
      cycle: whether it begins anew, more slowly, at the end.
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
    """Along half a wave of the cosine down to `alpha`, after an optional straight way up.

    Args:
      initial_learning_rate: where the way down begins, or the way up if there is one.
      decay_steps: how long the way down is.
      alpha: what is left at the end, as a part of the rate where it began.
      warmup_target: where the way up ends; None for no way up.
      warmup_steps: how long it is.
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


@dataclass(eq=False, repr=False)
class CosineDecayRestarts(_Formula):
    """Waves of `CosineDecay`, each longer and lower than the one before.

    Args:
      initial_learning_rate: at step 0.
      first_decay_steps: the length of the first wave.
      t_mul: how much longer each wave is.
      m_mul: how high each begins, as a part of the one before.
      alpha: what is left at the end of each, as a part of the first rate.
    """

    initial_learning_rate: float
    first_decay_steps: float
    t_mul: float = 2.0
    m_mul: float = 1.0
    alpha: float = 0.0
    name: str = "SGDRDecay"

    def __post_init__(self) -> None:
        if check_number(self.first_decay_steps, "first_decay_steps") <= 0:
            raise ValueError(f"Argument `first_decay_steps` must be > 0. Received: {self.first_decay_steps}")

    def _at(self, step: float) -> float:
        length, height = self.first_decay_steps, 1.0
        while step >= length:
            step, length, height = step - length, length * self.t_mul, height * self.m_mul
        wave = 0.5 * height * (1 + math.cos(math.pi * step / length))
        return self.initial_learning_rate * ((1 - self.alpha) * wave + self.alpha)


_KNOWN: dict[str, Any] = {
    name: value
    for name, value in globals().items()
    if isinstance(value, type) and issubclass(value, LearningRateSchedule)
}


def serialize(learning_rate_schedule: Any) -> Any:
    """Returns a schedule as plain data."""
    return serialized(learning_rate_schedule)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Makes a schedule of what `serialize` returned."""
    return deserialized(config, custom_objects, _KNOWN)


def __dir__() -> list[str]:
    return _public_names(__name__)

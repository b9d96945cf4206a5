"""`tf.keras.constraints`: constraints that are applied to weights after each update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.comparison import greater_equal
from nbtf._ops.math.exponentials import sqrt
from nbtf._ops.math.magnitude import clip_by_value, maximum, square
from nbtf._ops.reductions.sums import reduce_sum
from nbtf.keras import border as _border
from nbtf.keras.configured import Configured
from nbtf.keras.dtypes import epsilon
from nbtf.keras.registry import deserialized, look_up, serialized


class Constraint(Configured):
    """A function of a weight that returns the constrained value."""

    def __call__(self, w: Any) -> Any:
        """Returns the constrained value of the weight."""
        raise NotImplementedError


def _lengths(w: Any, axis: Any) -> Any:
    return sqrt(reduce_sum(square(w), axis=axis, keepdims=True))


@dataclass(eq=False, repr=False)
class MaxNorm(Constraint):
    """Limits the length of vectors.

    >>> tf.keras.constraints.MaxNorm(2.0)(tf.constant([[3.0], [4.0]])).numpy().round(4).tolist()
    [[1.2000000476837158], [1.600000023841858]]
    """

    max_value: float = 2
    axis: Any = 0

    def __call__(self, w: Any) -> Any:
        lengths = _lengths(w, self.axis)
        return w * (clip_by_value(lengths, 0.0, float(self.max_value)) / (lengths + epsilon()))


class NonNeg(Constraint):
    """Replaces negative values with 0."""

    def __call__(self, w: Any) -> Any:
        return w * cast(greater_equal(w, 0.0), w.dtype)


@dataclass(eq=False, repr=False)
class UnitNorm(Constraint):
    """Scales vectors to length 1."""

    axis: Any = 0

    def __call__(self, w: Any) -> Any:
        return w / maximum(_lengths(w, self.axis), epsilon())


max_norm = MaxNorm
non_neg = NonNeg
unit_norm = UnitNorm
_KNOWN: dict[str, Any] = {
    name: value for name, value in globals().items() if isinstance(value, type) and issubclass(value, Constraint)
}


def get(identifier: Any) -> Any:
    """Returns the constraint for a name, a config, a class or a function; None for None."""
    return look_up(identifier, _KNOWN, "constraint")


def serialize(constraint: Any) -> Any:
    """Returns a constraint as plain data."""
    return serialized(constraint)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Creates a constraint from the result of `serialize`."""
    return deserialized(config, custom_objects, _KNOWN)


_border.guard(__name__)

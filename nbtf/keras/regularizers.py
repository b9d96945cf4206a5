"""`tf.keras.regularizers`: penalties for large weights."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from nbtf._ops.math.arithmetic import multiply
from nbtf._ops.math.magnitude import abs, square
from nbtf._ops.reductions.sums import reduce_sum
from nbtf.keras import border as _border
from nbtf.keras.configured import Configured
from nbtf.keras.registry import deserialized, look_up, serialized


class Regularizer(Configured):
    """A function of a weight that returns a penalty to be added to the loss."""

    def __call__(self, x: Any) -> Any:
        """Returns the penalty of the weight."""
        return 0.0

    def get_config(self) -> dict[str, Any]:
        if not fields(self):
            raise NotImplementedError(f"{self} does not implement get_config()")
        return super().get_config()


def _check_strength(value: Any) -> float:
    if isinstance(value, int | float) and value >= 0:
        return float(value)
    raise ValueError(
        f"Invalid value for L1 or L2 regularization. Expected a float that is not negative. Received: {value}"
    )


@dataclass(eq=False, repr=False)
class L1(Regularizer):
    """Computes the penalty `l1 * sum(abs(x))`."""

    l1: float = 0.01

    def __post_init__(self) -> None:
        self.l1 = _check_strength(0.01 if self.l1 is None else self.l1)  # pyright: ignore[reportUnnecessaryComparison]

    def __call__(self, x: Any) -> Any:
        return multiply(reduce_sum(abs(x)), self.l1)


@dataclass(eq=False, repr=False)
class L2(Regularizer):
    """Computes the penalty `l2 * sum(x ** 2)`.

    >>> tf.keras.regularizers.L2(0.1)(tf.constant([1.0, 2.0])).numpy()
    np.float32(0.5)
    """

    l2: float = 0.01

    def __post_init__(self) -> None:
        self.l2 = _check_strength(0.01 if self.l2 is None else self.l2)  # pyright: ignore[reportUnnecessaryComparison]

    def __call__(self, x: Any) -> Any:
        return multiply(reduce_sum(square(x)), self.l2)


@dataclass(eq=False, repr=False)
class L1L2(Regularizer):
    """Computes the penalty `l1 * sum(abs(x)) + l2 * sum(x ** 2)`."""

    l1: float = 0.0
    l2: float = 0.0

    def __post_init__(self) -> None:
        self.l1, self.l2 = _check_strength(self.l1 or 0.0), _check_strength(self.l2 or 0.0)

    def __call__(self, x: Any) -> Any:
        return multiply(reduce_sum(abs(x)), self.l1) + multiply(reduce_sum(square(x)), self.l2)


def l1_l2(l1: float = 0.0, l2: float = 0.0) -> L1L2:
    """Returns `L1L2(l1, l2)`."""
    return L1L2(l1, l2)


l1 = L1
l2 = L2
_KNOWN: dict[str, Any] = {
    "L1": L1,
    "L2": L2,
    "L1L2": L1L2,
    "l1": L1,
    "l2": L2,
    "l1_l2": l1_l2(),
}


def get(identifier: Any) -> Any:
    """Returns the regularizer for a name, a config, a class or a function; None for None."""
    return look_up(identifier, _KNOWN, "regularizer")


def serialize(regularizer: Any) -> Any:
    """Returns a regularizer as plain data."""
    return serialized(regularizer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Creates a regularizer from the result of `serialize`."""
    return deserialized(config, custom_objects, _KNOWN)


_border.guard(__name__)

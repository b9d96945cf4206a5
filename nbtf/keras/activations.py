"""`tf.keras.activations`: elementwise functions that layers apply to their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf import nn
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.math.arithmetic import multiply
from nbtf._ops.math.comparison import greater, where
from nbtf._ops.math.exponentials import exp
from nbtf._ops.math.exponentials import sigmoid as _sigmoid
from nbtf._ops.math.exponentials import tanh as _tanh
from nbtf._ops.math.magnitude import clip_by_value
from nbtf.keras import border as _border
from nbtf.keras.catalogue import public_functions as _public_functions
from nbtf.keras.dtypes import as_floats as _as_floats
from nbtf.keras.registry import deserialized, look_up, serialized
from nbtf.keras.symbolic import take_symbols as _take_symbols


def linear(x: Any) -> Any:
    """Returns the input unchanged."""
    return x


def relu(x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Any:
    """Returns the larger of each element and 0.

    Args:
      x: a tensor of floats.
      negative_slope: slope below `threshold`; 0 by default.
      max_value: the largest result; None for no limit.
      threshold: elements below this value are treated as negative; 0 by default.

    >>> tf.keras.activations.relu(tf.constant([-2.0, 3.0]), negative_slope=0.5).numpy()
    array([-1.,  3.], dtype=float32)
    """
    if max_value is None and not threshold:
        return nn.leaky_relu(x, negative_slope) if negative_slope else nn.relu(x)
    if threshold:
        above = where(greater(x, threshold), x, zeros_like(x))
    else:
        above = nn.relu6(x) if max_value == 6 else nn.relu(x)
    if max_value is not None and (threshold or max_value != 6):  # `relu6` has limited it already, with slope 0 at 6
        above = clip_by_value(above, 0.0, float(max_value))
    return above - multiply(nn.relu(threshold - x), negative_slope) if negative_slope else above


def leaky_relu(x: Any, negative_slope: float = 0.2) -> Any:
    """Returns positive elements unchanged and negative ones times `negative_slope`."""
    return nn.leaky_relu(x, negative_slope)


def softmax(x: Any, axis: int = -1) -> Any:
    """Returns positive numbers that add up to 1 along an axis."""
    return nn.softmax(x, axis=axis)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """Returns positive elements unchanged and `alpha * (exp(x) - 1)` for negative ones."""
    activated = nn.elu(x)
    return activated if alpha == 1.0 else where(greater(x, 0.0), activated, multiply(activated, alpha))


def selu(x: Any) -> Any:
    """Returns `elu`, scaled by constants that preserve mean and variance."""
    return nn.selu(x)


def softplus(x: Any) -> Any:
    """Returns `log(exp(x) + 1)`."""
    return nn.softplus(x)


def softsign(x: Any) -> Any:
    """Returns `x / (abs(x) + 1)`."""
    return nn.softsign(x)


def silu(x: Any) -> Any:
    """Returns `x * sigmoid(x)`."""
    return nn.silu(x)


def gelu(x: Any, approximate: bool = False) -> Any:
    """Returns each element times the probability that a standard normal number is smaller."""
    return nn.gelu(x, approximate)


def tanh(x: Any) -> Any:
    """Returns the hyperbolic tangent."""
    return _tanh(_as_floats(x))


def sigmoid(x: Any) -> Any:
    """Returns `1 / (1 + exp(-x))`."""
    return _sigmoid(x)


def exponential(x: Any) -> Any:
    """Returns `exp(x)`."""
    return exp(_as_floats(x))


def hard_sigmoid(x: Any) -> Any:
    """Returns `x / 6 + 0.5`, clipped to the range from 0 to 1."""
    return nn.relu6(x + 3.0) / 6.0


_take_symbols(globals())
swish: Callable[..., Any] = silu

_KNOWN: dict[str, Any] = _public_functions(globals())


def get(identifier: Any) -> Callable[..., Any]:
    """Returns the activation for a name, a config or a function; `linear` for None.

    >>> tf.keras.activations.get("relu")(tf.constant([-1.0, 2.0])).numpy()
    array([0., 2.], dtype=float32)
    """
    return linear if identifier is None else look_up(identifier, _KNOWN, "activation function")


def serialize(activation: Any) -> Any:
    """Returns an activation as plain data: its name if it is a built-in activation."""
    return serialized(activation)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Returns the activation described by the result of `serialize`."""
    return get(config) if isinstance(config, str) else deserialized(config, custom_objects, _KNOWN)


_border.guard(__name__)

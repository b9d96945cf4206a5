"""Layers that only apply a function, elementwise or along an axis."""

from __future__ import annotations

from typing import Any

from nbtf import nn
from nbtf._ops.math.arithmetic import cast, multiply
from nbtf._runtime.arguments import check_number
from nbtf.keras import activations
from nbtf.keras.layers.same_shape import SameShape


class ReLU(SameShape):
    """Returns the larger of each element and 0.

    Args:
      max_value: the largest result; None for no limit.
      negative_slope: slope below `threshold`; 0 by default.
      threshold: elements below this value are treated as negative; 0 by default.

    Raises:
      ValueError: if an argument is negative.
    """

    _config = ("max_value", "negative_slope", "threshold")

    def __init__(
        self, max_value: float | None = None, negative_slope: float = 0.0, threshold: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if max_value is not None and check_number(max_value, "max_value") < 0.0:
            raise ValueError(f"max_value of a ReLU layer cannot be a negative value. Received: max_value={max_value}")
        for name, value in (("negative_slope", negative_slope), ("threshold", threshold)):
            if check_number(value, name) < 0.0:
                raise ValueError(f"{name} of a ReLU layer cannot be a negative value. Received: {name}={value}")
        self.max_value: float | None = max_value
        self.negative_slope: float = negative_slope
        self.threshold: float = threshold
        self.built = True

    def call(self, inputs: Any) -> Any:
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


class LeakyReLU(SameShape):
    """Returns positive elements unchanged and negative ones times `negative_slope`.

    Args:
      negative_slope: slope for negative elements; 0.3 by default. Called `alpha` in Keras 2.

    Raises:
      ValueError: if the slope is negative.

    >>> tf.keras.layers.LeakyReLU(0.5)([-2.0, 3.0]).numpy()
    array([-1.,  3.], dtype=float32)
    """

    _config = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.3, **kwargs: Any) -> None:
        slope: Any = kwargs.pop("alpha", negative_slope)
        super().__init__(**kwargs)
        if slope is None or check_number(slope, "negative_slope") < 0:
            raise ValueError(
                "The negative_slope value of a Leaky ReLU layer cannot be None or negative value. Expected a float. "
                f"Received: negative_slope={slope}"
            )
        self.negative_slope: float = slope
        self.built = True

    def call(self, inputs: Any) -> Any:
        return nn.leaky_relu(inputs, self.negative_slope)


class Softmax(SameShape):
    """Returns positive numbers that add up to 1 along an axis.

    Args:
      axis: axis, or axes, to normalize; the last by default.

    >>> tf.keras.layers.Softmax()([[1.0, 1.0]]).numpy()
    array([[0.5, 0.5]], dtype=float32)
    """

    _config = ("axis",)

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis
        self.built = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Computes the results; elements excluded by the mask are treated as very small."""
        if mask is not None:
            lowest = -3e4 if self.compute_dtype == "float16" else -3.4e38 / 2
            inputs = inputs + multiply(1.0 - cast(mask, inputs.dtype), lowest)
        return nn.softmax(inputs, axis=self.axis)

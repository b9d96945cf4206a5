"""Layers that reduce many numbers to one, over a sliding window or over a whole input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from nbtf import nn
from nbtf._ops.arrays.shapes import expand_dims
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.reductions.means_and_extremes import reduce_max, reduce_mean
from nbtf._ops.reductions.sums import reduce_sum
from nbtf.keras.layers.base import Layer
from nbtf.keras.layers.input_spec import InputSpec, channels_first, data_format_of, length_after, padding_of, pair


class Pooling(Layer):
    """Base class of the layers that reduce the numbers in a sliding window to one.

    Args:
      pool_size: size of the window.
      strides: step size of the window; its own size by default.
      padding: `"valid"` or `"same"`.
      data_format: `"channels_last"` or `"channels_first"`.

    Raises:
      ValueError: if an argument is invalid.
    """

    _leaf = True
    _config = ("pool_size", "padding", "strides", "data_format")
    rank = 2
    _reduce: ClassVar[Callable[..., Any]]
    """The op that reduces the windows."""

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.pool_size: tuple[int, ...] = pair(pool_size, "pool_size", self.rank)
        self.strides: tuple[int, ...] = self.pool_size if strides is None else pair(strides, "strides", self.rank)
        self.padding: str = padding_of(padding)
        self.data_format: str = data_format_of(data_format)
        self.input_spec: Any = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Any) -> Any:
        layouts = ("NWC", "NCW") if self.rank == 1 else ("NHWC", "NCHW")
        layout = layouts[channels_first(self.data_format)]
        return type(self)._reduce(inputs, self.pool_size, self.strides, self.padding.upper(), layout)

    def compute_output_shape(self, input_shape: Any) -> Any:
        shape = list(input_shape)
        first = 2 if channels_first(self.data_format) else 1
        for axis in range(self.rank):
            size, stride = self.pool_size[axis], self.strides[axis]
            length = shape[first + axis] = length_after(shape[first + axis], size, stride, self.padding)
            if length is not None and length <= 0:
                raise ValueError(
                    f"Computed output size would be negative. Received `inputs.shape={tuple(input_shape)}` and "
                    f"`pool_size={self.pool_size}`."
                )
        return tuple(shape)


class MaxPooling2D(Pooling):
    """Computes the maximum in a window that slides over images; see `AveragePooling2D` for the arguments.

    >>> tf.keras.layers.MaxPooling2D()(tf.zeros((2, 10, 10, 1))).shape
    TensorShape([2, 5, 5, 1])
    """

    _reduce = nn.max_pool2d


class AveragePooling2D(Pooling):
    """Computes the mean in a window that slides over images.

    Args:
      pool_size: size of the window: a number, or a pair for height and width; 2 by default.
      strides: step size of the window; its own size by default.
      padding: `"valid"` or `"same"`.
      data_format: `"channels_last"` or `"channels_first"`.
    """

    _reduce = nn.avg_pool2d


class MaxPooling1D(Pooling):
    """Computes the maximum in a window that slides over sequences."""

    rank = 1
    _reduce = nn.max_pool1d


class AveragePooling1D(Pooling):
    """Computes the mean in a window that slides over sequences."""

    rank = 1
    _reduce = nn.avg_pool1d


class GlobalPooling(Layer):
    """Base class of the layers that reduce each channel to one number.

    Args:
      data_format: `"channels_last"` or `"channels_first"`.
      keepdims: whether to keep the other axes with length 1; false by default.
    """

    _leaf = True
    _config = ("data_format", "keepdims")
    rank = 2

    def __init__(self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format: str = data_format_of(data_format)
        self.keepdims: bool = keepdims
        self.input_spec: Any = InputSpec(ndim=self.rank + 2)

    @property
    def _axes(self) -> list[int]:
        first = 2 if channels_first(self.data_format) else 1
        return list(range(first, first + self.rank))


class GlobalMaxPooling2D(GlobalPooling):
    """Computes the maximum of each channel of images."""

    def call(self, inputs: Any) -> Any:
        return reduce_max(inputs, self._axes, self.keepdims)


class GlobalAveragePooling2D(GlobalPooling):
    """Computes the mean of each channel of images."""

    def call(self, inputs: Any) -> Any:
        return reduce_mean(inputs, self._axes, self.keepdims)


class GlobalMaxPooling1D(GlobalMaxPooling2D):
    """Computes the maximum of each channel of sequences."""

    rank = 1


class GlobalAveragePooling1D(GlobalAveragePooling2D):
    """Computes the mean of each channel of sequences, without masked steps."""

    rank = 1
    supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        if mask is None:
            return super().call(inputs)
        counted = expand_dims(cast(mask, inputs.dtype), -1 if self._axes == [1] else 1)
        total = reduce_sum(inputs * counted, self._axes, self.keepdims)
        return total / reduce_sum(counted, self._axes, self.keepdims)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Returns None: the result has no steps to mask."""
        return None


MaxPool1D = MaxPooling1D
MaxPool2D = MaxPooling2D
AvgPool1D = AveragePooling1D
AvgPool2D = AveragePooling2D
GlobalMaxPool1D = GlobalMaxPooling1D
GlobalMaxPool2D = GlobalMaxPooling2D
GlobalAvgPool1D = GlobalAveragePooling1D
GlobalAvgPool2D = GlobalAveragePooling2D

"""Convolution and pooling layers for images."""

from __future__ import annotations

from typing import Any

import nbtf
from nbtf.compat._v1._variables.initializers import Zeros
from nbtf.compat._v1.layers.base import Layer, call_layer


def _pair(value: Any) -> list[int]:
    return [int(length) for length in value] if isinstance(value, list | tuple) else [int(value)] * 2  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _is_first(data_format: str) -> bool:
    """Returns whether the channels are axis 1."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(
            f"The `data_format` argument must be one of `channels_first`, `channels_last`. Received: {data_format}"
        )
    return data_format == "channels_first"


def _per_axis(pair: list[int], channels_first: bool) -> list[int]:
    return [1, 1, *pair] if channels_first else [1, *pair, 1]


class Conv2D(Layer):
    """A two-dimensional convolution.

    Args:
      filters: number of output channels.
      kernel_size: rows and columns of a filter.
      strides: step between filter positions, in elements.
      padding: `"valid"` or `"same"`.
      data_format: `"channels_last"` or `"channels_first"`.
      dilation_rate: spacing of the filter elements.
      activation: activation function; None for none.
      use_bias: whether to add a bias.
      kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
        kernel_constraint, bias_constraint: as for `Dense`.
      trainable: whether the variables are trainable.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = (1, 1),
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **options)
        self.filters: int = int(filters)
        self.kernel_size: list[int] = _pair(kernel_size)
        self.padding: str = padding
        self.strides: list[int] = _pair(strides)
        self.dilation_rate: list[int] = _pair(dilation_rate)
        self.activation: Any = activation
        self.use_bias: bool = use_bias
        self._first = _is_first(data_format)
        self._of_kernel = (kernel_initializer, kernel_regularizer, kernel_constraint)
        self._of_bias = (bias_initializer or Zeros(), bias_regularizer, bias_constraint)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, tensor: Any) -> None:
        channels = tensor.shape.dims[1 if self._first else -1] if tensor.shape.dims else None
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        self.kernel = self.add_weight(
            "kernel", [*self.kernel_size, channels, self.filters], tensor.dtype, *self._of_kernel
        )
        if self.use_bias:
            self.bias = self.add_weight("bias", [self.filters], tensor.dtype, *self._of_bias)

    def call(self, tensor: Any, **arguments: Any) -> Any:
        order = "NCHW" if self._first else "NHWC"
        convolved: Any = nbtf.nn.conv2d(
            tensor,
            self.kernel,
            _per_axis(self.strides, self._first),
            self.padding.upper(),
            order,
            _per_axis(self.dilation_rate, self._first),
        )
        if self.use_bias:
            convolved = nbtf.nn.bias_add(convolved, self.bias, order)
        return convolved if self.activation is None else self.activation(convolved)


def conv2d(
    inputs: Any,
    filters: int,
    kernel_size: Any,
    strides: Any = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: Any = (1, 1),
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = None,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Any:
    """Returns convolved images; the variables are `conv2d/kernel` and `conv2d/bias`.

    The arguments are those of `Conv2D`.

    Args:
      inputs: images with shape `[batch, rows, columns, channels]`.
      reuse: whether to use existing variables.
    """
    return call_layer(Conv2D, **locals())


class _Pooling2D(Layer):
    """A layer that reduces each window to one element."""

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name=name, **options)
        self.pool_size: list[int] = _pair(pool_size)
        self.strides: list[int] = _pair(strides)
        self.padding: str = padding
        self._first = _is_first(data_format)

    def _pool(self, function: Any, tensor: Any) -> Any:
        size, strides = _per_axis(self.pool_size, self._first), _per_axis(self.strides, self._first)
        return function(tensor, size, strides, self.padding.upper(), "NCHW" if self._first else "NHWC")


class MaxPooling2D(_Pooling2D):
    """The largest element in each window; see `max_pooling2d`."""

    def call(self, tensor: Any, **arguments: Any) -> Any:
        return self._pool(nbtf.nn.max_pool2d, tensor)


class AveragePooling2D(_Pooling2D):
    """The mean of the elements in each window; see `average_pooling2d`."""

    def call(self, tensor: Any, **arguments: Any) -> Any:
        return self._pool(nbtf.nn.avg_pool2d, tensor)


def max_pooling2d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Any:
    """Returns the largest element in each window.

    The arguments are those of `MaxPooling2D`.

    Args:
      inputs: images with shape `[batch, rows, columns, channels]`.
    """
    return call_layer(MaxPooling2D, **locals())


def average_pooling2d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Any:
    """Returns the mean of the elements in each window; see `max_pooling2d`."""
    return call_layer(AveragePooling2D, **locals())

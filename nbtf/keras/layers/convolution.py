"""Layers that slide a window with weights over sequences and images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf import nn
from nbtf._ops.arrays.padding import pad
from nbtf._runtime.arguments import check_number
from nbtf.keras import activations
from nbtf.keras.layers.base import Layer
from nbtf.keras.layers.described import arguments_of
from nbtf.keras.layers.input_spec import InputSpec, channels_first, data_format_of, length_after, padding_of, pair


class Convolution(Layer):
    """Base class of the layers with a sliding window.

    Args:
      filters: number of output channels.
      kernel_size: size of the window.
      strides: step size of the window; 1 by default.
      padding: `"valid"`, or `"same"` for a result at every position.
      data_format: `"channels_last"` or `"channels_first"`.
      dilation_rate: distance between the elements of the window; 1 by default.
      groups: number of groups of channels, each with its own filters; 1 by default.
      activation: function applied to the results; None by default.
      use_bias: whether to add a bias; true by default.
      kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
        kernel_constraint, bias_constraint: as in `Dense`.

    Raises:
      ValueError: if an argument is invalid.
    """

    _leaf = True
    rank = 2

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        groups: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        if filters is not None and check_number(filters, "filters") <= 0:  # pyright: ignore[reportUnnecessaryComparison]
            raise ValueError(
                f"Invalid value for argument `filters`. Expected a strictly positive value. Received filters={filters}."
            )
        if filters is not None and filters % groups:  # pyright: ignore[reportUnnecessaryComparison]
            raise ValueError(
                "The number of filters must be evenly divisible by the number of groups. Received: "
                f"groups={groups}, filters={filters}."
            )
        self.filters: int = filters
        self.groups: int = groups
        self.use_bias: bool = use_bias
        self.kernel_size: tuple[int, ...] = pair(kernel_size, "kernel_size", self.rank)
        self.strides: tuple[int, ...] = pair(strides, "strides", self.rank)
        self.dilation_rate: tuple[int, ...] = pair(dilation_rate, "dilation_rate", self.rank)
        self.padding: str = padding_of(padding, causal=self.rank == 1)
        self.data_format: str = data_format_of(data_format)
        self.activation: Callable[..., Any] = activations.get(activation)
        self._activate = None if self.activation is activations.linear else self.activation
        self._take_rules("kernel", kernel_initializer, kernel_regularizer, kernel_constraint)
        self._take_rules("bias", bias_initializer, bias_regularizer, bias_constraint)
        self.kernel: Any = None
        self.bias: Any = None
        self.input_spec = InputSpec(min_ndim=self.rank + 2)

    _config = arguments_of(__init__, "activity_regularizer")

    @property
    def _channels(self) -> int:
        """The axis of the channels."""
        return 1 if channels_first(self.data_format) else -1

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (*self.kernel_size, channels // self.groups, self.filters)

    def build(self, input_shape: Any) -> None:
        channels = input_shape[self._channels]
        if channels % self.groups:
            raise ValueError(
                "The number of input channels must be evenly divisible by the number of groups. Received "
                f"groups={self.groups}, but the input has {channels} channels (full input shape is {input_shape})."
            )
        self.kernel = self._weight("kernel", self._kernel_shape(channels))
        if self.use_bias:
            self.bias = self._weight("bias", (self.filters,))
        self.compute_output_shape(input_shape)
        self.input_spec: Any = InputSpec(min_ndim=self.rank + 2, axes={self._channels: channels})

    def call(self, inputs: Any) -> Any:
        results = self._convolved(inputs, self.kernel.value)
        if self.bias is not None:
            results = nn.bias_add(results, self.bias.value, "NHWC" if self._channels == -1 else "NCHW")
        return results if self._activate is None else self._activate(results)

    def _convolved(self, inputs: Any, kernel: Any) -> Any:
        if self.rank == 1:
            if self.padding == "causal":
                padded_steps = self.dilation_rate[0] * (self.kernel_size[0] - 1)
                around = (
                    [[0, 0], [padded_steps, 0], [0, 0]] if self._channels == -1 else [[0, 0], [0, 0], [padded_steps, 0]]
                )
                inputs = pad(inputs, around)
            padding = "SAME" if self.padding == "same" else "VALID"
            layout = "NWC" if self._channels == -1 else "NCW"
            return nn.conv1d(inputs, kernel, self.strides[0], padding, layout, self.dilation_rate[0])
        layout = "NHWC" if self._channels == -1 else "NCHW"
        padding: Any = self.padding.upper()
        return nn.conv2d(inputs, kernel, self.strides, padding, layout, self.dilation_rate)

    def _length(self, length: int | None, axis: int) -> int | None:
        return length_after(length, self.kernel_size[axis], self.strides[axis], self.padding, self.dilation_rate[axis])

    def compute_output_shape(self, input_shape: Any) -> Any:
        first = 2 if channels_first(self.data_format) else 1
        lengths = [self._length(input_shape[first + axis], axis) for axis in range(self.rank)]
        if any(length is not None and length <= 0 for length in lengths):
            kernel = self._kernel_shape(input_shape[self._channels])
            raise ValueError(
                f"Computed output size would be zero or negative. Received `inputs shape={tuple(input_shape)}`, "
                f"`kernel shape={kernel}`, `dilation_rate={self.dilation_rate}`, "
                f"`strides={self.strides}`, `padding={self.padding}`."
            )
        batch = input_shape[0]
        return (batch, self.filters, *lengths) if first == 2 else (batch, *lengths, self.filters)


class Conv1D(Convolution):
    """Slides a window over sequences. Takes the arguments of `Conv2D` and allows the padding `"causal"`.

    >>> tf.keras.layers.Conv1D(4, 3)(tf.zeros((2, 10, 1))).shape
    TensorShape([2, 8, 4])
    """

    rank = 1


class Conv2D(Convolution):
    """Slides a window over images and computes `filters` numbers at each position.

    Args:
      filters: number of output channels.
      kernel_size: size of the window: a number, or a pair for height and width.
      strides: step size of the window: a number, or a pair for height and width; 1 by default.
      padding: `"valid"`, or `"same"` for a result at every position.
      data_format: `"channels_last"` or `"channels_first"`.
      dilation_rate: distance between the elements of the window; 1 by default.
      groups: number of groups of channels, each with its own filters; 1 by default.
      activation: function applied to the results; None by default.
      use_bias: whether to add a bias; true by default.
      **kwargs: initializers, regularizers and constraints of kernel and bias, and the arguments of every layer.

    Raises:
      ValueError: if an argument is invalid.

    >>> tf.keras.layers.Conv2D(4, 3)(tf.zeros((2, 10, 10, 1))).shape
    TensorShape([2, 8, 8, 4])
    """

    rank = 2


class Conv2DTranspose(Convolution):
    """Computes the transpose of `Conv2D`, which enlarges images. Takes the same arguments.

    >>> tf.keras.layers.Conv2DTranspose(4, 3, strides=2, padding="same")(tf.zeros((2, 5, 5, 1))).shape
    TensorShape([2, 10, 10, 4])
    """

    _config = tuple(name for name in Convolution._config if name != "groups")

    def __init__(self, filters: int, kernel_size: Any, *args: Any, output_padding: Any = None, **kwargs: Any) -> None:
        if output_padding is not None:
            raise ValueError(f"Only output_padding=None is supported. Received: output_padding={output_padding}")
        names = ("strides", "padding", "output_padding", "data_format", "dilation_rate", "activation", "use_bias")
        kwargs.update((name, value) for name, value in zip(names, args, strict=False) if name != "output_padding")
        super().__init__(filters, kernel_size, **kwargs)

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (*self.kernel_size, self.filters, channels)

    def _length(self, length: int | None, axis: int) -> int | None:
        if length is None:
            return None
        window = self.dilation_rate[axis] * (self.kernel_size[axis] - 1) + 1
        stride = self.strides[axis]
        return length * stride if self.padding == "same" else length * stride + max(window - stride, 0)

    def _convolved(self, inputs: Any, kernel: Any) -> Any:
        shape = self.compute_output_shape(inputs._array.shape)
        layout = "NHWC" if self._channels == -1 else "NCHW"
        padding: Any = self.padding.upper()
        return nn.conv2d_transpose(inputs, kernel, list(shape), self.strides, padding, layout, self.dilation_rate)

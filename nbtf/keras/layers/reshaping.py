"""Layers that rearrange values."""

from __future__ import annotations

import math
from typing import Any

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.gathering import repeat
from nbtf._ops.arrays.padding import pad
from nbtf._ops.arrays.shapes import transpose
from nbtf._runtime.arguments import check_text
from nbtf.keras.layers.base import Layer
from nbtf.keras.layers.input_spec import InputSpec, channels_first, data_format_of, pair
from nbtf.keras.type_guards import is_list


def _product(lengths: Any) -> int | None:
    return None if None in lengths else math.prod(lengths)


class Flatten(Layer):
    """Flattens each example to a vector.

    Args:
      data_format: `"channels_first"` moves the channels to the end before flattening.

    >>> tf.keras.layers.Flatten()(tf.zeros((2, 3, 4))).shape
    TensorShape([2, 12])
    """

    _leaf = True
    _config = ("data_format",)

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format: str = data_format_of(data_format)
        self.input_spec: Any = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:
        shape = inputs._array.shape
        if self.data_format == "channels_first" and len(shape) > 2:
            inputs = transpose(inputs, [0, *range(2, len(shape)), 1])
        return reshape(inputs, (shape[0], math.prod(shape[1:])))


class Reshape(Layer):
    """Reshapes each example.

    Args:
      target_shape: shape without the batch; a length of -1 is computed from the others.

    Raises:
      ValueError: if the number of elements differs.
    """

    _leaf = True
    _config = ("target_shape",)

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape: tuple[int] | tuple[int, ...] = (
            (target_shape,) if isinstance(target_shape, int) else tuple(int(length) for length in target_shape)
        )

    def call(self, inputs: Any) -> Any:
        shape = inputs._array.shape
        return reshape(inputs, self.compute_output_shape(shape))

    def compute_output_shape(self, input_shape: Any) -> Any:
        have, target = tuple(input_shape[1:]), self.target_shape
        size, known_product = _product(have), math.prod(length for length in target if length != -1)
        if -1 in target:
            if size is not None and (known_product == 0 or size % known_product):
                raise ValueError(
                    "The total size of the tensor must be unchanged. Received: "
                    f"input_shape={have}, target_shape={target}"
                )
            inferred = None if size is None else size // known_product
            return (input_shape[0], *(inferred if length == -1 else length for length in target))
        if size is not None and size != known_product:
            raise ValueError(
                f"The total size of the tensor must be unchanged. Received: input_shape={have}, target_shape={target}"
            )
        return (input_shape[0], *target)


class Stretching(Layer):
    """Base class of the layers that change height and width of images."""

    _leaf = True

    def __init__(self, data_format: str | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format: str = data_format_of(data_format)
        self.input_spec: Any = InputSpec(ndim=4)

    @property
    def _first(self) -> int:
        """The first axis that changes."""
        return 2 if channels_first(self.data_format) else 1


class UpSampling2D(Stretching):
    """Enlarges images by repeating rows and columns.

    Args:
      size: number of repetitions, or a pair for rows and columns; 2 by default.
      data_format: `"channels_last"` or `"channels_first"`.
      interpolation: `"nearest"`, the only supported value.

    Raises:
      ValueError: if `interpolation` has another value.

    >>> tf.keras.layers.UpSampling2D()(tf.zeros((1, 2, 3, 1))).shape
    TensorShape([1, 4, 6, 1])
    """

    _config = ("size", "data_format", "interpolation")

    def __init__(
        self, size: Any = (2, 2), data_format: str | None = None, interpolation: str = "nearest", **kwargs: Any
    ) -> None:
        super().__init__(data_format, **kwargs)
        if check_text(interpolation, "interpolation").lower() != "nearest":
            raise ValueError(f"Only interpolation='nearest' is supported. Received: interpolation={interpolation}")
        self.size: tuple[int, ...] = pair(size, "size")
        self.interpolation: str = "nearest"

    def call(self, inputs: Any) -> Any:
        rows = repeat(inputs, self.size[0], axis=self._first)
        return repeat(rows, self.size[1], axis=self._first + 1)


def _sides(padding: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns the number of rows and columns at the top and bottom, and on the left and right."""
    if isinstance(padding, int):
        return (padding, padding), (padding, padding)
    if not is_list(padding) or len(padding) != 2:
        raise ValueError(f"`padding` should have two elements. Received: padding={padding}.")
    rows, columns = ((side, side) if isinstance(side, int) else tuple(side) for side in padding)
    return rows, columns


class ZeroPadding2D(Stretching):
    """Pads images with zeros.

    Args:
      padding: number of rows and columns: a number, a pair for height and width, or a pair of pairs; 1 by default.
      data_format: `"channels_last"` or `"channels_first"`.
    """

    _config = ("padding", "data_format")

    def __init__(self, padding: Any = (1, 1), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.padding: Any = _sides(padding)

    def call(self, inputs: Any) -> Any:
        around = [[0, 0]] * inputs.ndim
        around[self._first : self._first + 2] = map(list, self.padding)
        return pad(inputs, around)

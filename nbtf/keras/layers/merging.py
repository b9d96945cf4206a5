"""Layers that combine several tensors into one."""

from __future__ import annotations

from functools import reduce
from typing import Any

from nbtf._ops.arrays.broadcasting import broadcast_to, reshape
from nbtf._ops.arrays.creation import ones
from nbtf._ops.arrays.joining import concat
from nbtf._ops.arrays.shapes import expand_dims, transpose
from nbtf._ops.linalg.products import matmul
from nbtf._ops.math.arithmetic import add as _add
from nbtf._ops.math.arithmetic import multiply as _multiply
from nbtf._ops.math.arithmetic import subtract as _subtract
from nbtf._ops.math.logic import logical_or
from nbtf._ops.math.magnitude import maximum as _maximum
from nbtf._ops.math.magnitude import minimum as _minimum
from nbtf._ops.reductions.truth import reduce_any
from nbtf.keras.layers.base import Layer
from nbtf.keras.type_guards import is_list


class Merge(Layer):
    """Base class of the layers that combine tensors elementwise."""

    supports_masking = True
    _merges = True
    _min_inputs = 1

    def build(self, input_shape: Any) -> None:
        """Checks that there are several tensors with compatible shapes.

        Raises:
          ValueError: if the shapes are not compatible.
        """
        if input_shape.__class__ is not list or not input_shape or not is_list(input_shape[0]):
            raise ValueError(
                f"A merge layer should be called on a list of inputs. Received: input_shape={input_shape} (not a list "
                "of shapes)"
            )
        shapes: Any = input_shape
        if len(shapes) < self._min_inputs:
            raise ValueError(
                f"A merge layer should be called on a list of at least {self._min_inputs} input. Received "
                f"{len(shapes)} inputs. Full input_shape received: {shapes}"
            )
        self.compute_output_shape(shapes)

    def call(self, inputs: Any) -> Any:
        rank = max(tensor.ndim for tensor in inputs)
        return self._merged([_with_rank(tensor, rank) for tensor in inputs])

    def _merged(self, inputs: list[Any]) -> Any:
        raise NotImplementedError

    def compute_output_shape(self, input_shape: Any) -> Any:
        return (_batch(input_shape), *reduce(_common, [tuple(shape[1:]) for shape in input_shape]))

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Returns where at least one of the inputs is not masked."""
        masks = [mask for mask in previous_mask or () if mask is not None]
        return reduce(logical_or, masks) if masks else None


def _batch(shapes: Any) -> int | None:
    batch_sizes = {shape[0] for shape in shapes if shape[0] is not None}
    if len(batch_sizes) > 1:
        raise ValueError(f"Cannot merge tensors with different batch sizes. Received tensors with shapes {shapes}")
    return batch_sizes.pop() if len(batch_sizes) == 1 else None


def _common(longer: tuple[Any, ...], shorter: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns the shape to which two shapes broadcast."""
    if len(longer) < len(shorter):
        longer, shorter = shorter, longer
    common = list(longer)
    for axis in range(-len(shorter), 0):
        a, b = longer[axis], shorter[axis]
        if a is None or b is None:
            common[axis] = None
        elif a != b and 1 not in (a, b):
            raise ValueError(f"Inputs have incompatible shapes. Received shapes {longer} and {shorter}")
        else:
            common[axis] = b if a == 1 else a
    return tuple(common)


def _with_rank(tensor: Any, rank: int) -> Any:
    while tensor.ndim < rank:
        tensor = expand_dims(tensor, 1)
    return tensor


class Add(Merge):
    """Adds tensors.

    >>> tf.keras.layers.Add()([[[1.0]], [[2.0]]]).numpy()
    array([[3.]], dtype=float32)
    """

    def _merged(self, inputs: list[Any]) -> Any:
        return reduce(_add, inputs)


class Multiply(Merge):
    """Multiplies tensors."""

    def _merged(self, inputs: list[Any]) -> Any:
        return reduce(_multiply, inputs)


class Average(Merge):
    """Computes the mean of tensors."""

    def _merged(self, inputs: list[Any]) -> Any:
        return reduce(_add, inputs) / len(inputs)


class Maximum(Merge):
    """Computes the elementwise maximum of tensors."""

    def _merged(self, inputs: list[Any]) -> Any:
        return reduce(_maximum, inputs)


class Minimum(Merge):
    """Computes the elementwise minimum of tensors."""

    def _merged(self, inputs: list[Any]) -> Any:
        return reduce(_minimum, inputs)


class Subtract(Merge):
    """Subtracts the second of two tensors from the first."""

    def build(self, input_shape: Any) -> None:
        """Checks that there are two tensors with compatible shapes."""
        super().build(input_shape)
        if len(input_shape) != 2:
            raise ValueError(
                f"A `Subtract` layer should be called on exactly 2 inputs. Received: input_shape={input_shape}"
            )

    def _merged(self, inputs: list[Any]) -> Any:
        return _subtract(*inputs)


class Concatenate(Merge):
    """Joins tensors along an axis.

    Args:
      axis: axis along which to join; the last by default.

    Raises:
      ValueError: if the shapes differ along another axis.
    """

    _config = ("axis",)

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def build(self, input_shape: Any) -> None:
        """Checks that the shapes are compatible."""
        if input_shape.__class__ is not list or not input_shape or not is_list(input_shape[0]):
            raise ValueError(
                "A `Concatenate` layer should be called on a list of at least 1 input. Received: "
                f"input_shape={input_shape}"
            )
        self.compute_output_shape(input_shape)

    def call(self, inputs: Any) -> Any:
        return concat(list(inputs), self.axis)

    def compute_output_shape(self, input_shape: Any) -> Any:
        merged_shape = list(input_shape[0])
        axis = self.axis % len(merged_shape)
        for shape in input_shape[1:]:
            if len(shape) != len(merged_shape) or any(
                None not in (have, length) and have != length
                for position, (have, length) in enumerate(zip(merged_shape, shape, strict=True))
                if position != axis
            ):
                raise ValueError(
                    "A `Concatenate` layer requires inputs with matching shapes except for the concatenation axis. "
                    f"Received: input_shape={[tuple(shape) for shape in input_shape]}"
                )
            merged_shape = [
                have if have is not None else length for have, length in zip(merged_shape, shape, strict=True)
            ]
        lengths = [shape[axis] for shape in input_shape]
        merged_shape[axis] = None if None in lengths else sum(lengths)
        return tuple(merged_shape)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Returns the mask of the result; inputs without a mask count as unmasked."""
        if previous_mask is None or all(mask is None for mask in previous_mask):
            return None
        masks: list[Any] = []
        for tensor, mask in zip(inputs, previous_mask, strict=True):
            counted = ones(tensor.shape, "bool") if mask is None else mask
            while counted.ndim < tensor.ndim:
                counted = expand_dims(counted, -1)
            masks.append(broadcast_to(counted, tensor.shape))
        return reduce_any(concat(masks, self.axis), axis=-1)


class Dot(Merge):
    """Computes the dot products of the tensors of each example in two batches, along an axis of each.

    Args:
      axes: one axis for both tensors, or a pair.
      normalize: whether to scale vectors to length 1 first; false by default.

    Raises:
      ValueError: if the lengths of the axes differ.
    """

    _config = ("axes", "normalize")

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axes: Any = axes
        self.normalize: bool = normalize

    def _axes_for(self, ranks: list[int]) -> list[int]:
        axes = [self.axes] * 2 if isinstance(self.axes, int) else self.axes
        return [axis % rank for axis, rank in zip(axes, ranks, strict=True)]

    def call(self, inputs: Any) -> Any:
        ranks = [tensor.ndim for tensor in inputs]
        first, second = self._axes_for(ranks)
        x, y = inputs
        if self.normalize:
            x, y = _unit(x, first), _unit(y, second)
        x_last, y_last = _move_last(x, first), _move_last(y, second)
        shape = self.compute_output_shape([tensor._array.shape for tensor in inputs])
        rows = reshape(x_last, (x_last.shape[0], -1, x_last.shape[-1])) if x.ndim != 2 else expand_dims(x_last, 1)
        columns = reshape(y_last, (y_last.shape[0], -1, y_last.shape[-1])) if y.ndim != 2 else expand_dims(y_last, 1)
        return reshape(matmul(rows, columns, transpose_b=True), shape)

    def compute_output_shape(self, input_shape: Any) -> Any:
        x_shape, y_shape = (tuple(shape) for shape in input_shape)
        first, second = self._axes_for([len(x_shape), len(y_shape)])
        if None not in (x_shape[first], y_shape[second]) and x_shape[first] != y_shape[second]:
            raise ValueError(
                f"Incompatible input shapes: axis values {x_shape[first]} (at axis {first}) != {y_shape[second]} (at "
                f"axis {second}). Full input shapes: {x_shape}, {y_shape}"
            )
        x_lengths = [length for axis, length in enumerate(x_shape) if axis != first]
        right = [length for axis, length in enumerate(y_shape) if axis not in (0, second)]
        lengths = (*x_lengths, *right)
        return lengths if len(lengths) > 1 else (*lengths, 1)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Returns None: the result has no mask."""
        return None


def _unit(x: Any, axis: int) -> Any:
    from nbtf import linalg

    return linalg.l2_normalize(x, axis)


def _move_last(x: Any, axis: int) -> Any:
    """Moves an axis to the end."""
    rank = x.ndim
    return x if axis == rank - 1 else transpose(x, [*(position for position in range(rank) if position != axis), axis])


def add(inputs: Any, **kwargs: Any) -> Any:
    """Returns the sum of tensors, which may be symbolic."""
    return Add(**kwargs)(inputs)


def subtract(inputs: Any, **kwargs: Any) -> Any:
    """Returns the difference of two tensors, which may be symbolic."""
    return Subtract(**kwargs)(inputs)


def multiply(inputs: Any, **kwargs: Any) -> Any:
    """Returns the product of tensors, which may be symbolic."""
    return Multiply(**kwargs)(inputs)


def average(inputs: Any, **kwargs: Any) -> Any:
    """Returns the mean of tensors, which may be symbolic."""
    return Average(**kwargs)(inputs)


def maximum(inputs: Any, **kwargs: Any) -> Any:
    """Returns the elementwise maximum of tensors, which may be symbolic."""
    return Maximum(**kwargs)(inputs)


def minimum(inputs: Any, **kwargs: Any) -> Any:
    """Returns the elementwise minimum of tensors, which may be symbolic."""
    return Minimum(**kwargs)(inputs)


def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    """Returns tensors, which may be symbolic, joined along an axis."""
    return Concatenate(axis=axis, **kwargs)(inputs)


def dot(inputs: Any, axes: Any = -1, **kwargs: Any) -> Any:
    """Returns dot products of two tensors, which may be symbolic."""
    return Dot(axes=axes, **kwargs)(inputs)

"""Layers that combine several tensors into one."""

from __future__ import annotations

from functools import reduce
from typing import Any

from nbtf._ops.arrays.broadcasting import broadcast_to
from nbtf._ops.arrays.creation import ones
from nbtf._ops.arrays.joining import concat
from nbtf._ops.arrays.shapes import expand_dims
from nbtf._ops.math.arithmetic import add as _add
from nbtf._ops.math.arithmetic import multiply as _multiply
from nbtf._ops.math.logic import logical_or
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


def add(inputs: Any, **kwargs: Any) -> Any:
    """Returns the sum of tensors, which may be symbolic."""
    return Add(**kwargs)(inputs)


def multiply(inputs: Any, **kwargs: Any) -> Any:
    """Returns the product of tensors, which may be symbolic."""
    return Multiply(**kwargs)(inputs)


def average(inputs: Any, **kwargs: Any) -> Any:
    """Returns the mean of tensors, which may be symbolic."""
    return Average(**kwargs)(inputs)


def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    """Returns tensors, which may be symbolic, joined along an axis."""
    return Concatenate(axis=axis, **kwargs)(inputs)

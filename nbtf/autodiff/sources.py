"""What gradients can be asked of and for: tensors and variables in structures, and what stands for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtf._ops.indexed_slices import IndexedSlices
from nbtf._ops.structure import flatten, pack_sequence_as
from nbtf._ops.variable import Variable
from nbtf._runtime.tensor import Tensor


def flat(structure: Any) -> list[Any]:
    """Returns what is in a structure, with tensors and variables in the place of what stands for them.

    Raises:
      TypeError: it is None or a text, in TensorFlow's words.
      AttributeError: it is some other value that has no gradient, in TensorFlow's words.
    """
    kind = structure.__class__
    if kind is Tensor or kind is Variable:
        return [structure]
    parts: Any = structure
    if kind is not list:
        parts = flatten(structure)
    for part in parts:
        kind = part.__class__
        if kind is not Variable and kind is not Tensor:
            return [_meant(part) for part in flatten(structure)]
    return parts


def packed(structure: Any, values: list[Any]) -> Any:
    """Returns values in the build of a structure."""
    if structure.__class__ is Variable or structure.__class__ is Tensor:
        return values[0]
    wholes = flatten(structure)
    return pack_sequence_as(structure, [_like(one, grad) for one, grad in zip(wholes, values, strict=True)])


def _like(whole: Any, grad: Any) -> Any:
    """Returns a gradient as ragged as its source."""
    return whole.with_flat_values(grad) if grad is not None and hasattr(whole, "with_flat_values") else grad


def _meant(value: Any) -> Any:
    variable = getattr(value, "__tf_variable__", None)  # a strategy's, or a layer's
    if variable is not None:
        return _meant(variable)  # a layer's may stand for a strategy's, and that for one copy
    if hasattr(value, "flat_values"):
        return value.flat_values
    if isinstance(value, IndexedSlices):
        return value.values
    if isinstance(value, Tensor | Variable):
        return value
    if value is None or isinstance(value, str):
        raise TypeError(f"Cannot convert the argument `type_value`: {value!r} to a TensorFlow DType.")
    kind: type[Any] = value.__class__
    lacking = "_id" if hasattr(value, "dtype") else "dtype"
    name = f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__
    raise AttributeError(f"'{name}' object has no attribute '{lacking}'")


def watchable(structure: Any) -> Iterator[Any]:
    """Yields the tensors and variables in a structure, and those that ragged and sparse tensors are made of.

    Raises:
      ValueError: it is something else, in TensorFlow's words.
    """
    for value in flatten(structure):
        variable = getattr(value, "__tf_variable__", None)
        if variable is not None:
            yield from watchable(variable)
        elif isinstance(value, Tensor | Variable):
            yield value
        elif hasattr(value, "flat_values"):
            yield value.flat_values
        elif hasattr(value, "dense_shape"):
            yield value.values
        else:
            raise ValueError(
                f"Passed in object {value} of type {type(value).__name__!r}, not tf.Tensor or tf.Variable or "
                "ExtensionType."
            )

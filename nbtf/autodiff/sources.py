"""Targets and sources of gradients: tensors and variables in structures, and objects that stand for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._ops.structure import flatten, pack_sequence_as
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.tensor import Tensor


def flat(structure: Any) -> list[Any]:
    """Returns the content of a structure as a list, with wrappers replaced by their tensors and variables.

    Raises:
      TypeError: if the structure is None or a string, with TensorFlow's wording.
      AttributeError: if it contains another value without a gradient, with TensorFlow's wording.
    """
    structure_class = structure.__class__
    if structure_class is Tensor or structure_class is Variable:
        return [structure]
    leaves: Any = structure
    if structure_class is not list:
        leaves = flatten(structure)
    for leaf in leaves:
        leaf_class = leaf.__class__
        if leaf_class is not Variable and leaf_class is not Tensor:
            return [_find_source(leaf) for leaf in flatten(structure)]
    return leaves


def pack_as(structure: Any, values: list[Any]) -> Any:
    """Returns values packed like a structure."""
    if structure.__class__ is Variable or structure.__class__ is Tensor:
        return values[0]
    originals = flatten(structure)
    return pack_sequence_as(
        structure, [_restore_raggedness(original, grad) for original, grad in zip(originals, values, strict=True)]
    )


def _restore_raggedness(source: Any, grad: Any) -> Any:
    """Returns a gradient as ragged as its source."""
    return source.with_flat_values(grad) if grad is not None and hasattr(source, "with_flat_values") else grad


def _find_source(value: Any) -> Any:
    variable = getattr(value, "__tf_variable__", None)  # of a strategy or a layer
    if variable is not None:
        return _find_source(variable)  # a layer's variable may stand for a strategy's, which stands for one copy
    if hasattr(value, "flat_values"):
        return value.flat_values
    if isinstance(value, IndexedSlices):
        return value.values
    if isinstance(value, Tensor | Variable) or is_symbolic(value):
        return value
    if hasattr(value, "__tf_source__"):  # a variable in a session's graph
        return value.__tf_source__
    if value is None or isinstance(value, str):
        raise TypeError(f"Cannot convert the argument `type_value`: {value!r} to a TensorFlow DType.")
    value_class: type[Any] = value.__class__
    lacking = "_id" if hasattr(value, "dtype") else "dtype"
    name = f"numpy.{value_class.__name__}" if value_class.__module__ == "numpy" else value_class.__name__
    raise AttributeError(f"'{name}' object has no attribute '{lacking}'")


def can_be_watched(value: Any) -> bool:
    """Returns whether a value is a tensor or variable, either eager or in a graph."""
    return isinstance(value, Tensor | Variable) or is_symbolic(value) or hasattr(value, "__tf_source__")


def lengths_of(value: Any) -> Any:
    """Returns the shape of a tensor, or of the variable of a handle."""
    return value._shape if is_symbolic(value) else value.shape


def session_graph_of(values: list[Any]) -> Any:
    """Returns the session graph that contains the values; None if they are not in one."""
    for value in values:
        if value.__class__ is not Tensor and is_symbolic(value) and not value._graph.building_function:
            return value._graph
    return None


def is_symbolic(value: Any) -> bool:
    """Returns whether a value is a tensor of a function that is being traced."""
    return hasattr(value, "_watch") and hasattr(value, "graph")


def watchable(structure: Any) -> Iterator[Any]:
    """Yields the tensors and variables in a structure, including the components of ragged and sparse tensors.

    Raises:
      ValueError: if it contains anything else, with TensorFlow's wording.
    """
    for value in flatten(structure):
        variable = getattr(value, "__tf_variable__", None)
        if variable is not None:
            yield from watchable(variable)
        elif can_be_watched(value):
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

"""How a model is copied: the same layers once more, with weights of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from nbtf.keras.layers.core import InputLayer
from nbtf.keras.models.functional import Functional
from nbtf.keras.models.sequential import Sequential
from nbtf.keras.operation import node_of, replaced
from nbtf.keras.registry import deserialized


def clone_model(
    model: Any, input_tensors: Any = None, clone_function: Callable[[Any], Any] | None = None, **ignored: Any
) -> Any:
    """Returns a model of the same layers with weights of its own.

    Args:
      model: a Sequential or functional model, or one whose class can be made of its config.
      input_tensors: symbolic tensors to begin with; new ones when None.
      clone_function: makes a layer of a layer; of its config when None.
      **ignored: accepted and ignored.

    >>> model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    >>> tf.keras.models.clone_model(model).output_shape
    (None, 1)
    """
    clone = clone_function or _cloned
    if isinstance(model, Sequential):
        begins: Any = model._sequence[0] if model._sequence and isinstance(model._sequence[0], InputLayer) else None
        layers: list[Any] = [clone(layer) for layer in model.layers]
        if begins is not None:
            layers.insert(0, input_tensors if input_tensors is not None else _cloned(begins))
        return Sequential(layers, name=model.name)
    if isinstance(model, Functional):
        return _functional(model, input_tensors, clone)
    kind: Any = model.__class__
    return kind.from_config(model.get_config())


def _cloned(layer: Any) -> Any:
    kind: Any = layer.__class__
    return kind.from_config(layer.get_config())


def _functional(model: Any, input_tensors: Any, clone: Callable[[Any], Any]) -> Any:
    from nbtf import nest

    given: Any = None if input_tensors is None else nest.flatten(input_tensors)
    known: dict[int, Any] = {}
    for place, symbol in enumerate(model.inputs):
        operation = node_of(symbol).operation
        made = _cloned(operation).output if isinstance(operation, InputLayer) else None
        if made is None:
            made = InputLayer(batch_shape=symbol.shape, dtype=str(symbol.dtype)).output
        known[id(symbol)] = made if given is None else given[place]
    copies: dict[int, Any] = {}
    for node in model._nodes:
        copy = copies.setdefault(id(node.operation), None) or clone(node.operation)
        copies[id(node.operation)] = copy

        def new(tensor: Any) -> Any:
            return known[id(tensor)]

        args, kwargs = replaced(node.args, new), replaced(node.kwargs, new)
        made = _applied(copy, args, kwargs)
        for old, one in zip(node.output_tensors, nest.flatten(made), strict=True):
            known[id(old)] = one

    def new_of(tensor: Any) -> Any:
        return known[id(tensor)]

    return Functional(replaced(model.input, new_of), replaced(model.output, new_of), name=model.name)


def _applied(operation: Any, args: Any, kwargs: Any) -> Any:
    from nbtf.keras.operation import Operator
    from nbtf.keras.symbolic import applied

    return applied(operation, *args, **kwargs) if isinstance(operation, Operator) else operation(*args, **kwargs)


def model_from_json(json_string: str, custom_objects: Any = None) -> Any:
    """Returns the model that `model.to_json()` wrote down; its weights begin anew.

    Args:
      json_string: the text.
      custom_objects: classes and functions by name.
    """
    return deserialized(json.loads(json_string), custom_objects)

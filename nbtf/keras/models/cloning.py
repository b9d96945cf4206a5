"""Copying models with new weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from nbtf import nest
from nbtf.keras.layers.core import InputLayer
from nbtf.keras.models.functional import Functional
from nbtf.keras.models.sequential import Sequential
from nbtf.keras.operation import Operator, node_of, replace_symbols
from nbtf.keras.registry import deserialized
from nbtf.keras.symbolic import applied


def clone_model(
    model: Any, input_tensors: Any = None, clone_function: Callable[[Any], Any] | None = None, **ignored: Any
) -> Any:
    """Returns a model with the same layers and new weights.

    Args:
      model: a Sequential or functional model, or one whose class can be created from its config.
      input_tensors: symbolic tensors to use as inputs; new ones by default.
      clone_function: function that copies a layer; by default the copy is created from the layer's config.
      **ignored: ignored.

    >>> model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    >>> tf.keras.models.clone_model(model).output_shape
    (None, 1)
    """
    clone = clone_function or _clone_layer
    if isinstance(model, Sequential):
        begins: Any = model._sequence[0] if model._sequence and isinstance(model._sequence[0], InputLayer) else None
        layers: list[Any] = [clone(layer) for layer in model.layers]
        if begins is not None:
            layers.insert(0, input_tensors if input_tensors is not None else _clone_layer(begins))
        return Sequential(layers, name=model.name)
    if isinstance(model, Functional):
        return _functional(model, input_tensors, clone)
    model_class: Any = model.__class__
    return model_class.from_config(model.get_config())


def _clone_layer(layer: Any) -> Any:
    layer_class: Any = layer.__class__
    return layer_class.from_config(layer.get_config())


def _functional(model: Any, input_tensors: Any, clone: Callable[[Any], Any]) -> Any:
    flat_inputs: Any = None if input_tensors is None else nest.flatten(input_tensors)
    clones: dict[int, Any] = {}

    def clone_of(tensor: Any) -> Any:
        return clones[id(tensor)]

    for position, symbol in enumerate(model.inputs):
        operation = node_of(symbol).operation
        new_input = _clone_layer(operation).output if isinstance(operation, InputLayer) else None
        if new_input is None:
            new_input = InputLayer(batch_shape=symbol.shape, dtype=str(symbol.dtype)).output
        clones[id(symbol)] = new_input if flat_inputs is None else flat_inputs[position]
    copies: dict[int, Any] = {}
    for node in model._nodes:
        copy = copies.setdefault(id(node.operation), None) or clone(node.operation)
        copies[id(node.operation)] = copy

        args, kwargs = replace_symbols(node.args, clone_of), replace_symbols(node.kwargs, clone_of)
        results = _apply(copy, args, kwargs)
        for original, result in zip(node.output_tensors, nest.flatten(results), strict=True):
            clones[id(original)] = result

    inputs, outputs = replace_symbols(model.input, clone_of), replace_symbols(model.output, clone_of)
    return Functional(inputs, outputs, name=model.name)


def _apply(operation: Any, args: Any, kwargs: Any) -> Any:
    return applied(operation, *args, **kwargs) if isinstance(operation, Operator) else operation(*args, **kwargs)


def model_from_json(json_string: str, custom_objects: Any = None) -> Any:
    """Returns a model created from the result of `model.to_json()`, with new weights.

    Args:
      json_string: the JSON text.
      custom_objects: classes and functions by name.
    """
    return deserialized(json.loads(json_string), custom_objects)

"""Converts functional models to plain data and back."""

from __future__ import annotations

from typing import Any

from nbtf.keras.operation import OPERATORS, Operator, node_of, replace_symbols
from nbtf.keras.registry import deserialized, serialized
from nbtf.keras.symbolic import applied, is_symbolic
from nbtf.keras.type_guards import is_dict, is_list


def functional_config(model: Any) -> dict[str, Any]:
    """Returns a functional model as plain data: its layers and the origin of their inputs."""
    inner = {id(node) for node in model._nodes}
    numbers: dict[tuple[int, int], int] = {}
    for operation in model._operations:
        used = [
            node_index for node_index, node in enumerate(operation._inbound_nodes) if id(node) in inner or not node.args
        ]
        for number, node_index in enumerate(used):
            numbers[id(operation), node_index] = number
    starts = {id(start): layer for start, layer in zip(_from_the_middle(model), model._operations, strict=False)}

    def place_of(tensor: Any) -> list[Any]:
        if id(tensor) in starts:
            return [starts[id(tensor)].name, 0, 0]
        operation, node, output_index = tensor._keras_history
        return [operation.name, numbers.get((id(operation), node), 0), output_index]

    def written(tensor: Any) -> dict[str, Any]:
        config = {"shape": list(tensor.shape), "dtype": str(tensor.dtype), "keras_history": place_of(tensor)}
        return {"class_name": "__keras_tensor__", "config": config}

    layers: list[dict[str, Any]] = []
    for operation in model._operations:
        nodes = [
            {
                "args": _plain(replace_symbols(list(node.args), written)),
                "kwargs": _plain(replace_symbols(node.kwargs, written)),
            }
            for node in operation._inbound_nodes
            if id(node) in inner
        ]
        layers.append({**serialized(operation), "name": operation.name, "inbound_nodes": nodes})
    return {
        "name": model.name,
        "trainable": model.trainable,
        "layers": layers,
        "input_layers": replace_symbols(model._inputs_structure, place_of),
        "output_layers": replace_symbols(model._outputs_structure, place_of),
    }


def _from_the_middle(model: Any) -> list[Any]:
    operation_ids = {id(operation) for operation in model._operations}
    return [symbol for symbol in model._inputs if id(node_of(symbol).operation) not in operation_ids]


def _plain(structure: Any) -> Any:
    """Returns arguments in a form that JSON can represent."""
    if isinstance(structure, slice):
        slice_of_axes: Any = structure  # pyright: ignore[reportUnknownVariableType]
        return {"class_name": "__slice__", "config": [slice_of_axes.start, slice_of_axes.stop, slice_of_axes.step]}
    if structure is Ellipsis:
        return {"class_name": "__ellipsis__", "config": {}}
    if is_list(structure):
        items = [_plain(item) for item in structure]
        return {"class_name": "__tuple__", "config": items} if isinstance(structure, tuple) else items
    if is_dict(structure):
        return {key: _plain(entry) for key, entry in structure.items()}
    return structure.tolist() if hasattr(structure, "tolist") else structure


def functional_from_config(model_class: Any, config: dict[str, Any], custom_objects: Any = None) -> Any:
    """Creates a functional model from the result of `functional_config`.

    Args:
      model_class: class of the model.
      config: plain data.
      custom_objects: classes and functions by name.
    """
    layers: dict[str, Any] = {}
    pending: list[tuple[Any, Any]] = []
    for entry in config["layers"]:
        layer = deserialized(entry, custom_objects)
        if not hasattr(layer, "_inbound_nodes"):
            raise ValueError(f"{entry['name']!r:.60} is {layer!r:.60}; expected a layer.")
        layers[entry["name"]] = layer
        pending += [(layer, node) for node in entry["inbound_nodes"]]

    def tensor_at(address: Any) -> Any:
        name, node, output_index = address
        operation = layers[name]
        offset = operation.__dict__.get("_first_node", 0)
        return operation._inbound_nodes[node + offset].output_tensors[output_index]

    for layer in layers.values():
        is_input = type(layer).__name__ == "InputLayer"
        layer.__dict__["_first_node"] = 0 if is_input else len(layer._inbound_nodes)
    _call_all(pending, tensor_at)
    model = model_class(
        inputs=_at(config["input_layers"], tensor_at),
        outputs=_at(config["output_layers"], tensor_at),
        name=config["name"],
    )
    if config.get("trainable") is False:
        model.trainable = False
    return model


def _call_all(pending: list[tuple[Any, Any]], tensor_at: Any) -> None:
    """Calls each layer as soon as its inputs exist; the calls of a shared layer keep their order."""
    while pending:
        postponed: list[tuple[Any, Any]] = []
        waiting: set[int] = set()
        for layer, node in pending:
            try:
                if id(layer) in waiting:
                    raise IndexError
                args, kwargs = _read(node["args"], tensor_at), _read(node["kwargs"], tensor_at)
            except IndexError:
                waiting.add(id(layer))
                postponed.append((layer, node))
                continue
            _call(layer, args, kwargs)
        if len(postponed) == len(pending):
            raise ValueError("The config of the model is not complete: a layer's input is never computed.")
        pending = postponed


def _call(layer: Any, args: Any, kwargs: Any) -> None:
    if isinstance(layer, Operator):
        # With numbers and strings alone, Python's own operators might never finish: 9**9**9.
        if layer.kind in OPERATORS and not (any(map(is_symbolic, args)) and all(map(_is_numeric, args))):
            raise ValueError(f"{layer.kind} needs tensors and numbers as arguments. Received: {args!r:.60}.")
        applied(layer, *args, **kwargs)
    else:
        layer(*args, **kwargs)


def _is_numeric(value: Any) -> bool:
    """Returns whether an argument is a tensor, a number or an index, or contains only these."""
    if is_list(value):
        return all(map(_is_numeric, value))
    return not isinstance(value, str | dict)


def _read(structure: Any, tensor_at: Any) -> Any:
    if structure.__class__ is list:
        return [_read(item, tensor_at) for item in structure]
    if is_dict(structure):
        class_name, inner = structure.get("class_name"), structure.get("config")
        if class_name == "__keras_tensor__":
            return tensor_at(structure["config"]["keras_history"])
        if class_name == "__slice__":
            return slice(*(inner or ()))
        if class_name == "__tuple__":
            return tuple(_read(inner, tensor_at))
        if class_name == "__ellipsis__":
            return Ellipsis
        return {key: _read(entry, tensor_at) for key, entry in structure.items()}
    return structure


def _at(addresses: Any, tensor_at: Any) -> Any:
    """Returns symbolic tensors for addresses, in the structure of a model's inputs or outputs."""
    if is_dict(addresses):
        return {name: _at(address, tensor_at) for name, address in addresses.items()}
    if len(addresses) == 3 and isinstance(addresses[0], str):
        return tensor_at(addresses)
    return [_at(address, tensor_at) for address in addresses]

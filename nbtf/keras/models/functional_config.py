"""How a functional model is written down, and made again of that."""

from __future__ import annotations

from typing import Any

from nbtf.keras.kinds import is_dict, is_list
from nbtf.keras.operation import History, node_of, replaced
from nbtf.keras.registry import deserialized, serialized


def functional_config(model: Any) -> dict[str, Any]:
    """Returns a functional model as plain data: its layers, and where their inputs come from."""
    inner = {id(node) for node in model._nodes}
    numbers: dict[tuple[int, int], int] = {}
    for operation in model._operations:
        used = [place for place, node in enumerate(operation._inbound_nodes) if id(node) in inner or not node.args]
        for number, place in enumerate(used):
            numbers[id(operation), place] = number
    starts = {id(one): layer for one, layer in zip(_from_the_middle(model), model._operations, strict=False)}

    def place_of(tensor: Any) -> list[Any]:
        if id(tensor) in starts:
            return [starts[id(tensor)].name, 0, 0]
        operation, node, which = tensor._keras_history
        return [operation.name, numbers.get((id(operation), node), 0), which]

    def written(tensor: Any) -> dict[str, Any]:
        config = {"shape": list(tensor.shape), "dtype": str(tensor.dtype), "keras_history": place_of(tensor)}
        return {"class_name": "__keras_tensor__", "config": config}

    layers: list[dict[str, Any]] = []
    for operation in model._operations:
        nodes = [
            {"args": _plain(replaced(list(node.args), written)), "kwargs": _plain(replaced(node.kwargs, written))}
            for node in operation._inbound_nodes
            if id(node) in inner
        ]
        layers.append({**serialized(operation), "name": operation.name, "inbound_nodes": nodes})
    return {
        "name": model.name,
        "trainable": model.trainable,
        "layers": layers,
        "input_layers": replaced(model._inputs_structure, place_of),
        "output_layers": replaced(model._outputs_structure, place_of),
    }


def _from_the_middle(model: Any) -> list[Any]:
    known = {id(one) for one in model._operations}
    return [one for one in model._inputs if id(node_of(one).operation) not in known]


def _plain(structure: Any) -> Any:
    """Returns arguments as JSON can hold them."""
    if isinstance(structure, slice):
        parts: Any = structure  # pyright: ignore[reportUnknownVariableType]
        return {"class_name": "__slice__", "config": [parts.start, parts.stop, parts.step]}
    if structure is Ellipsis:
        return {"class_name": "__ellipsis__", "config": {}}
    if is_list(structure):
        made = [_plain(one) for one in structure]
        return {"class_name": "__tuple__", "config": made} if isinstance(structure, tuple) else made
    if is_dict(structure):
        entries: dict[Any, Any] = structure
        return {key: _plain(one) for key, one in entries.items()}
    return structure.tolist() if hasattr(structure, "tolist") else structure


def functional_from_config(kind: Any, config: dict[str, Any], custom_objects: Any = None) -> Any:
    """Makes a functional model of what `functional_config` returned.

    Args:
      kind: the class.
      config: plain data.
      custom_objects: classes and functions by name.
    """
    layers: dict[str, Any] = {}
    todo: list[tuple[Any, Any]] = []
    for one in config["layers"]:
        layer = deserialized(one, custom_objects)
        if not hasattr(layer, "_inbound_nodes"):
            raise ValueError(f"{one['name']!r:.60} is {layer!r:.60}; expected a layer.")
        layers[one["name"]] = layer
        todo += [(layer, node) for node in one["inbound_nodes"]]

    def tensor_at(place: Any) -> Any:
        name, node, which = place
        operation = layers[name]
        offset = operation.__dict__.get("_first_node", 0)
        return operation._inbound_nodes[node + offset].output_tensors[which]

    for layer in layers.values():
        layer.__dict__["_first_node"] = 0 if not layer._inbound_nodes or _is_input(layer) else len(layer._inbound_nodes)
    _call_all(todo, tensor_at)
    made = kind(
        inputs=_at(config["input_layers"], tensor_at),
        outputs=_at(config["output_layers"], tensor_at),
        name=config["name"],
    )
    if config.get("trainable") is False:
        made.trainable = False
    return made


def _is_input(layer: Any) -> bool:
    return type(layer).__name__ == "InputLayer"


def _call_all(todo: list[tuple[Any, Any]], tensor_at: Any) -> None:
    """Calls layers as soon as their inputs are there; a shared layer's calls come in their order."""
    while todo:
        left: list[tuple[Any, Any]] = []
        waiting: set[int] = set()
        for layer, node in todo:
            try:
                if id(layer) in waiting:
                    raise IndexError
                args, kwargs = _read(node["args"], tensor_at), _read(node["kwargs"], tensor_at)
            except IndexError:
                waiting.add(id(layer))
                left.append((layer, node))
                continue
            _call(layer, args, kwargs)
        if len(left) == len(todo):
            raise ValueError("The config of the model is not complete: a layer's input is never computed.")
        todo = left


def _call(layer: Any, args: Any, kwargs: Any) -> None:
    from nbtf.keras.operation import OPERATORS, Operator
    from nbtf.keras.symbolic import applied, is_symbolic

    if isinstance(layer, Operator):
        # Python's own operators do more with numbers and texts alone: 9**9**9 never ends.
        if layer.kind in OPERATORS and not (any(map(is_symbolic, args)) and all(map(_is_numeric, args))):
            raise ValueError(f"{layer.kind} takes tensors and numbers; its arguments are {args!r:.60}.")
        applied(layer, *args, **kwargs)
    else:
        layer(*args, **kwargs)


def _is_numeric(value: Any) -> bool:
    """Tells whether an argument is a tensor, numbers, or an index."""
    if is_list(value):
        return all(map(_is_numeric, value))
    return not isinstance(value, str | dict)


def _read(structure: Any, tensor_at: Any) -> Any:
    if structure.__class__ is list:
        return [_read(one, tensor_at) for one in structure]
    if is_dict(structure):
        entries: dict[str, Any] = structure
        what, inner = entries.get("class_name"), entries.get("config")
        if what == "__keras_tensor__":
            return tensor_at(entries["config"]["keras_history"])
        if what == "__slice__":
            return slice(*(inner or ()))
        if what == "__tuple__":
            return tuple(_read(inner, tensor_at))
        if what == "__ellipsis__":
            return Ellipsis
        return {key: _read(one, tensor_at) for key, one in entries.items()}
    return structure


def _at(places: Any, tensor_at: Any) -> Any:
    """Returns symbolic tensors for places in the build of a model's inputs or outputs."""
    if is_dict(places):
        named: dict[str, Any] = places
        return {name: _at(one, tensor_at) for name, one in named.items()}
    if len(places) == 3 and isinstance(places[0], str):
        return tensor_at(places)
    return [_at(one, tensor_at) for one in places]


__all__ = ["History", "functional_config", "functional_from_config"]

"""The schema of a saved object's document, checked before any object is created from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtf._storage.documents import Schema

_SHAPE: Schema = ([(int, None)], None)
_PLACE: Schema = [str, str]

DOCUMENT: Schema = {
    "format": str,
    "root": {"node": int},
    "signatures": {str: {str: object}},
    "nodes": [{"kind": str}],
}

DESCRIBED: Mapping[str, Schema] = {
    "node": {"node": int},
    "tuple": {"tuple": [object]},
    "set": {"set": [object]},
    "frozenset": {"frozenset": [object]},
    "dtype": {"dtype": str},
    "shape": {"shape": _SHAPE},
    "spec": {"spec": [object, str, (str, None)]},
    "array": {"array": str, "scalar": bool, "text?": bool},
    "tensor": {"tensor": str, "dtype": str},
    "name_scope": {"name_scope": str},
    "bytes": {"bytes": str},
    "place": {"place": _PLACE},
    "method": {"method": [{"node": int}, str]},
    "function": {"function": {str: object}, "signature": object},
}
"""Values without a node of their own, by the key that identifies their kind."""

NODES: Mapping[str, dict[str, Any]] = {
    "variable": {"name": str, "trainable": bool, "dtype": str, "shape": _SHAPE, "value": str},
    "keras_variable": {"of": {"node": int}, "name": str},
    "list": {"items": [[object, object]]},
    "dict": {"items": [[object, object]]},
    "function": {},
    "keras": {
        "classes": {str: _PLACE},
        "config": {str: object},
        "build": (dict, list, None),
        "compile": ({str: object}, None),
        "seeds": [[int, int]],
        "values": {str: str},
    },
    "object": {"class": _PLACE, "attributes": [[str, object]]},
}
"""Objects by kind."""

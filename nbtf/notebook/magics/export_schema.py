"""How can a program validate a JSON file of recorded events? With its JSON Schema.

The schema is built from the event classes: the file has their fields, except where `export` writes something else.
The kind of a reason may be any text, because kinds may be added.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from nbtf import runtime
from nbtf._record.events import CopyKind
from nbtf.notebook.magics.export import SCHEMA

_WRITTEN: Mapping[str, Mapping[str, Any]] = {
    "reason": {"reason": str, "why": str},
    "outputs": {"outputs": tuple[runtime.OutputSpec, ...], "nbytes": int},
    "timing": {"timing": Literal["finished", "launch", "modelled"]},
    "modelled": {"timing": Literal["finished", "modelled"]},
    "kind": {"copy": CopyKind},
    "label": {"op": str},
    "region_size": {},
    "arguments": {"arguments": str},
    "differences": {"differences": str | None},
    "site": {"code": str},
}
"""The fields of the file that replace some fields of an event."""

_TYPES: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def export_schema() -> dict[str, Any]:
    """Returns the JSON Schema of the files that `%placement_log export FILE.json` writes.

    Fields that it does not name are allowed, because later versions may add some.

    >>> schema = export_schema()
    >>> schema["properties"]["schema"]
    {'const': 'nbtf-events/1'}
    >>> sorted(schema["$defs"])[:3]
    ['allocated', 'copied', 'executed']
    """
    events = {KIND_NAMES[event]: event for event in get_args(runtime.Event)}
    device = _object({"name": str, "simulated": bool}, ["name", "simulated", "model"])
    device["properties"]["model"] = {"type": ["string", "null"]}
    head = {
        "schema": {"const": SCHEMA},
        "devices": {"type": "array", "items": device},
        "heard": {"type": "integer", "minimum": 0},
        "cut": {"type": "integer", "minimum": 0},
        "events": {"type": "array", "items": {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in events]}},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "description": "Recorded events of nbtf, as `%placement_log export FILE.json` writes them.",
        **{"type": "object", "properties": head, "required": list(head)},
        "$defs": {name: _event(name, event) for name, event in events.items()},
    }


KIND_NAMES: Mapping[type, str] = {
    runtime.OpPlaced: "placed",
    runtime.OpExecuted: "executed",
    runtime.Copied: "copied",
    runtime.Allocated: "allocated",
    runtime.Freed: "freed",
    runtime.Refused: "refused",
    runtime.Traced: "traced",
}
"""The value of the field `kind` for each class of events."""


def _event(event_name: str, event: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    required = ["kind"]
    for name, hint in get_type_hints(event).items():
        written = _WRITTEN.get(name, {name: hint})
        fields |= written
        if name not in event._field_defaults:
            required += [field for field, own_hint in written.items() if not _may_be_missing(own_hint)]
    described = _object(fields, required)
    described["properties"] = {"kind": {"const": event_name}} | described["properties"]
    return described


def _object(fields: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    properties = {name: _type(hint) for name, hint in fields.items()}
    return {"type": "object", "properties": properties, "required": required}


def _may_be_missing(hint: Any) -> bool:
    return NoneType in get_args(hint)


def _type(hint: Any) -> dict[str, Any]:
    """Returns the schema of a type; None means that the field is left out."""
    origin, arguments = get_origin(hint), [each for each in get_args(hint) if each is not NoneType]
    if origin in (Union, UnionType):
        return _type(arguments[0])
    if origin is Literal:
        return {"enum": arguments}
    if origin is tuple:
        return {"type": "array", "items": _type(arguments[0])}
    if hasattr(hint, "_fields"):
        return _object(get_type_hints(hint), list(hint._fields))
    return {"type": _TYPES[hint]}

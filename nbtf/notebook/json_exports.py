"""How is a JSON export read again? Its events become a recording; see `magics/export.py` for the fields."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from nbtf import runtime
from nbtf._record.opened import RecordedDevice
from nbtf._storage.documents import Schema, check, read_document
from nbtf._storage.refusal import RefusedFileError, refusing

SCHEMA = "nbtf-events/1"

_DOCUMENT: Schema = {
    "schema": str,
    "devices": [{"name": str, "simulated": bool, "model": (str, None)}],
    "cut": int,
    "events": [{"kind": str, "seq": int, "time": float}],
}
_NUMBER: Schema = (float, int)
_FIELDS: dict[str, dict[str, Schema]] = {
    "placed": {"op": str, "device": str, "reason": str, "why": str},
    "executed": {"op": str, "device": str, "outputs": [{"shape": [int], "dtype": str, "nbytes": int}], "timing": str},
    "copied": {"source": str, "target": str, "nbytes": int, "timing": str, "copy": str},
    "allocated": {"device": str, "nbytes": int, "in_use": int, "pool": int},
    "refused": {"device": str, "nbytes": int, "in_use": int, "pool": int, "largest_free": int, "limit": int},
    "traced": {"function": str, "trace": int, "cause": str},
}
_FIELDS["freed"] = _FIELDS["allocated"]
_PLACE: Schema = {"code?": str, "node?": str, "replica?": int, "phase?": str, "layer?": str, "library?": str}


def read_export(path: str | os.PathLike[str]) -> runtime.OpenedRecording:
    """Returns the recording in a file that `%placement_log export FILE.json` wrote.

    Lines of code are texts in it; memory has no addresses.

    Raises:
      OSError: if the file cannot be read.
      RefusedFileError: if it is damaged, or not such a file, or lacks the first events.
    """
    source = os.fspath(path)
    document: Any = read_document(path)
    head: dict[str, Any] = document if document.__class__ is dict else {}
    schema = head.get("schema")
    if schema != SCHEMA:
        raise RefusedFileError(
            f"{source} is not a recording: its schema is {schema!r:.60}; expected {SCHEMA!r}. "
            "`%placement_log export FILE.json` and `record.save(FILE)` write recordings."
        )
    check(head, _DOCUMENT, source)
    if head["cut"]:
        raise RefusedFileError(f"{source} lacks its first {document['cut']:,} events. Record fewer at once.")
    entries: list[Any] = head["events"]
    events = [_event(fields, source) for fields in entries]
    known_devices: list[Any] = head["devices"]
    devices = [RecordedDevice(each["name"], 0, each["simulated"], each["model"] or "") for each in known_devices]
    with refusing(source):
        return runtime.OpenedRecording(source, events, devices)


def _event(fields: Mapping[str, Any], source: str) -> runtime.Event:
    event_kind = fields["kind"]
    if event_kind not in _FIELDS:
        raise RefusedFileError(f"{source} is damaged: {event_kind!r:.60} is not an event.")
    check(fields, _FIELDS[event_kind] | _PLACE | {"seconds?": _NUMBER, "start?": _NUMBER}, source, event_kind)
    code = fields.get("code")
    site = None if code is None else (code, 0)
    names = {name: fields.get(name) for name in ("node", "replica")} | {
        name: fields.get(name, "") for name in ("phase", "layer")
    }
    tail: dict[str, Any] = {"seq": fields["seq"], "time": fields["time"], "site": site, **names}
    seconds, start = float(fields.get("seconds", 0.0)), fields.get("start")
    match event_kind:
        case "placed":
            return runtime.OpPlaced(fields["op"], fields["device"], runtime.Reason(fields["why"]), **tail)
        case "executed":
            outputs = [(tuple(each["shape"]), each["dtype"], each["nbytes"]) for each in fields["outputs"]]
            specs = tuple([runtime.OutputSpec(*each) for each in outputs])
            executed: Any = runtime.OpExecuted
            return executed(fields["op"], fields["device"], specs, seconds, fields["timing"], **tail, start=start)
        case "copied":
            new: Any = runtime.Copied
            ends = fields["source"], fields["target"], fields["nbytes"], seconds, fields["timing"] == "modelled"
            return new(*ends, fields["copy"], **tail, start=start)
        case "traced":
            traced: Any = runtime.Traced
            return traced(fields["function"], fields["trace"], (), fields["cause"], (), **tail)
        case _:
            figures = [fields[name] for name in ("device", "nbytes", "in_use", "pool")]
            library = fields.get("library", "")
            if event_kind == "refused":
                refused: Any = runtime.Refused
                return refused(*figures, fields["largest_free"], fields["limit"], **tail, library=library)
            new = runtime.Allocated if event_kind == "allocated" else runtime.Freed
            return new(*figures, **tail, library=library)

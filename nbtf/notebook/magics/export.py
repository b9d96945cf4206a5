"""How are recorded events exported for other programs: as CSV, as JSON, as a trace?

Schema `nbtf-events/1`, for CSV and JSON. A change that breaks readers gets another number; new fields do not.

JSON is one object: `schema`; `devices`, each with `name`, `simulated` and `model`; `heard` and `cut`, the number of
events and how many of the oldest are missing; `events`, oldest first. CSV has a line for each event, with the schema in
its first column. In CSV, text that a spreadsheet would compute (it begins with `=`, `+`, `-` or `@`) gets a leading
apostrophe, which spreadsheets hide. Fields that an event lacks are left out of JSON and empty in CSV.
The page `.github/EVENTS.md` describes each field, and `events.schema.json` its type.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

from nbtf import runtime
from nbtf._own_files import own_json
from nbtf._storage.spreadsheets import as_cell
from nbtf.notebook.json_exports import SCHEMA
from nbtf.notebook.magics.trace import trace_events
from nbtf.notebook.views.steps import reason_in_words

TEXTS = ("csv", "json", "chrome")
RECORDING = "nbtf"
"""The format of `record.save`, which contains everything and is read by `tf.runtime.read_recording`."""
FORMATS = (*TEXTS, RECORDING)
FIELDS = (
    "schema kind seq time op device reason why outputs nbytes seconds timing in_use pool "
    "start region offset size largest_free limit holder library "
    "source target copy pinned function trace cause arguments differences code node replica phase layer"
).split()


def export_schema() -> dict[str, Any]:
    """Returns the JSON Schema of the files that `%placement_log export FILE.json` writes.

    Fields that it does not name are allowed, because later versions may add some.

    >>> schema = export_schema()
    >>> schema["properties"]["schema"]
    {'const': 'nbtf-events/1'}
    >>> sorted(schema["$defs"])[:3]
    ['allocated', 'copied', 'executed']
    """
    return own_json("nbtf.notebook.magics", "events.schema.json")


CodeLine = Callable[[runtime.Site], str]


def exported(snapshot: runtime.Snapshot, form: str, devices: Sequence[runtime.DeviceInfo], code_line: CodeLine) -> str:
    """Returns a recording as text.

    Args:
      snapshot: the recording.
      form: one of `TEXTS`; `chrome` is the trace event format, which trace viewers open.
      devices: the available devices, which show whether a name is simulated.
      code_line: returns the words for the code that caused an event.
    """
    if form == "chrome":
        return json.dumps({"traceEvents": trace_events(snapshot.events, devices, code_line), "displayTimeUnit": "ms"})
    events = [_plain(event, code_line) for event in snapshot.events]
    if form == "csv":
        return _csv(events)
    described = [{"name": device.name, "simulated": device.simulated, "model": device.model} for device in devices]
    head = {"schema": SCHEMA, "devices": described, "heard": snapshot.heard, "cut": snapshot.cut}
    return json.dumps(head | {"events": events}, indent=1)


def event_rows(snapshot: runtime.Snapshot, code_line: CodeLine) -> tuple[Sequence[str], list[dict[str, Any]]]:
    """Returns the names of all fields, and the fields of each event that has them, as CSV has them.

    Args:
      snapshot: the recording.
      code_line: returns the words for the code that caused an event.
    """
    return FIELDS[1:], [_plain(event, code_line) for event in snapshot.events]


def _plain(event: runtime.Event, code_line: CodeLine) -> dict[str, Any]:
    """Returns an event as plain values, without absent fields."""
    fields: dict[str, Any] = {"kind": "", "seq": event.seq, "time": event.time}
    if isinstance(event, runtime.OpPlaced):
        fields |= {"kind": "placed", "op": event.op, "device": event.device}
        fields |= {"reason": event.reason.kind, "why": reason_in_words(event.op, event.device, event.reason)}
    elif isinstance(event, runtime.OpExecuted):
        fields |= {"kind": "executed", "op": event.op, "device": event.device}
        fields |= {"outputs": [output._asdict() for output in event.outputs], "seconds": event.seconds}
        fields |= {"nbytes": sum(output.nbytes for output in event.outputs), "timing": event.timing}
    elif isinstance(event, runtime.Copied):
        fields |= {"kind": "copied", "source": event.source, "target": event.target, "nbytes": event.nbytes}
        fields |= {"seconds": event.seconds, "timing": "modelled" if event.modelled else "finished"}
        fields |= {"copy": event.kind, "pinned": event.pinned}
    elif isinstance(event, runtime.Traced):
        differences = [f"{name}: {now}, before {before}" for name, now, before in event.differences]
        fields |= {"kind": "traced", "function": event.function, "trace": event.trace, "cause": event.cause}
        fields |= {"arguments": "; ".join(event.arguments), "differences": "; ".join(differences) or None}
    else:
        fields |= {"kind": type(event).__name__.lower(), "device": event.device, "nbytes": event.nbytes}
        fields |= {"in_use": event.in_use, "pool": event.pool, "holder": event.holder or None}
        fields |= {"library": event.library or None}
        fields |= {"op": None if event.label is None else event.label.op}
        if isinstance(event, runtime.Refused):
            fields |= {"largest_free": event.largest_free, "limit": event.limit}
        elif event.region >= 0:
            fields |= {"region": event.region, "offset": event.offset, "size": event.size}
    fields |= {"start": getattr(event, "start", None)}
    fields |= {"code": code_line(event.site) or None, "node": event.node, "replica": event.replica}
    fields |= {"phase": event.phase or None, "layer": event.layer or None}
    return {name: value for name, value in fields.items() if value is not None}


def _csv(events: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer: csv.DictWriter[str] = csv.DictWriter(text, FIELDS, restval="", lineterminator="\n")
    writer.writeheader()
    for event in events:
        outputs = "; ".join(f"{list(output['shape'])} {output['dtype']}" for output in event.get("outputs", ()))
        cells = event | {"schema": SCHEMA, "outputs": outputs}
        writer.writerow({name: as_cell(value) for name, value in cells.items()})
    return text.getvalue()

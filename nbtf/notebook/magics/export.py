"""How are recorded events written for other programs: as CSV, as JSON, as a trace?

Schema `nbtf-events/1`, for CSV and JSON. A change that breaks a reader gets another number; new fields do not.

JSON is one object: `schema`; `devices`, each with `name`, `simulated` and `model`; `heard` and `cut`, how many events
there were and how many of the oldest are missing; `events`, the oldest first. CSV has a line for each event, and the
schema in its first column. Fields that an event does not have are left out of JSON and empty in CSV:

    kind      placed, executed, copied, allocated, freed, refused or traced
    seq       number of the event, growing in the process
    time      seconds since the epoch when it was told
    op        type of the op: MatMul                                       placed, executed
    device    full name of the device                                      placed, executed, allocated
    reason    kind of the reason, and why  it in words                     placed
    outputs   shape, dtype and nbytes of each result (CSV: [2,3] float32)  executed
    nbytes    bytes of results, of a copy, of an allocation                executed, copied, allocated
    seconds   how long; timing says what that is: finished (measured), launch, or modelled       executed, copied
    in_use    bytes in use on the device afterwards; pool, bytes it has taken from its card      allocated
    start     when it began on the modelled clock, in seconds                  executed, copied
    region    of allocated and freed: number of the region, with offset and size (bytes charged); holder, what it is for
    limit     of refused: the most that the device may take; largest_free, its largest free piece
    function  that was traced, with the number of the trace; cause, arguments, differences in words    traced
    source    full name of the device that a copy came from; target, where it went               copied
    copy      what was copied: upload (a Python value or array), move (a tensor), read (values for the program)  copied
    code      the code line in words: cell 4, line 2: c = tf.matmul(a, b)
    node, replica   name of the node that a session ran, number of the replica of a strategy; usually missing
    phase, layer    phase of a training step, path of the Keras layer; missing where none runs
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

from nbtf import runtime
from nbtf.notebook.magics.trace import trace_events

SCHEMA = "nbtf-events/1"
FORMATS = ("csv", "json", "chrome")
FIELDS = (
    "schema kind seq time op device reason why outputs nbytes seconds timing in_use pool "
    "start region offset size largest_free limit holder "
    "source target copy function trace cause arguments differences code node replica phase layer"
).split()

CodeLine = Callable[[runtime.Site], str]


def exported(snapshot: runtime.Snapshot, form: str, devices: Sequence[runtime.DeviceInfo], code_line: CodeLine) -> str:
    """Returns a recording as text.

    Args:
      snapshot: the recording.
      form: one of `FORMATS`; `chrome` is the trace event format, which trace viewers open.
      devices: the devices there are, to say which are simulated.
      code_line: says in words which code caused an event.
    """
    if form == "chrome":
        return json.dumps({"traceEvents": trace_events(snapshot.events, devices, code_line), "displayTimeUnit": "ms"})
    events = [_plain(event, code_line) for event in snapshot.events]
    if form == "csv":
        return _csv(events)
    described = [{"name": device.name, "simulated": device.simulated, "model": device.model} for device in devices]
    head = {"schema": SCHEMA, "devices": described, "heard": snapshot.heard, "cut": snapshot.cut}
    return json.dumps(head | {"events": events}, indent=1)


def _plain(event: runtime.Event, code_line: CodeLine) -> dict[str, Any]:
    """Returns an event as plain values, without what it does not have."""
    fields: dict[str, Any] = {"kind": "", "seq": event.seq, "time": event.time}
    if isinstance(event, runtime.OpPlaced):
        words = runtime.in_words(event.op, event.device, event.reason).partition(": ")[2]
        fields |= {"kind": "placed", "op": event.op, "device": event.device}
        fields |= {"reason": event.reason.kind, "why": words}
    elif isinstance(event, runtime.OpExecuted):
        fields |= {"kind": "executed", "op": event.op, "device": event.device}
        fields |= {"outputs": [output._asdict() for output in event.outputs], "seconds": event.seconds}
        fields |= {"nbytes": sum(output.nbytes for output in event.outputs), "timing": event.timing}
    elif isinstance(event, runtime.Copied):
        fields |= {"kind": "copied", "source": event.source, "target": event.target, "nbytes": event.nbytes}
        fields |= {"seconds": event.seconds, "timing": "modelled" if event.modelled else "finished"}
        fields |= {"copy": event.kind}
    elif isinstance(event, runtime.Traced):
        differences = [f"{name}: {now}, before {before}" for name, now, before in event.differences]
        fields |= {"kind": "traced", "function": event.function, "trace": event.trace, "cause": event.cause}
        fields |= {"arguments": "; ".join(event.arguments), "differences": "; ".join(differences) or None}
    else:
        fields |= {"kind": type(event).__name__.lower(), "device": event.device, "nbytes": event.nbytes}
        fields |= {"in_use": event.in_use, "pool": event.pool, "holder": event.holder or None}
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
        writer.writerow(event | {"schema": SCHEMA, "outputs": outputs})
    return text.getvalue()

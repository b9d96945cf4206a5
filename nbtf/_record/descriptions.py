"""How are the facts of a recording written as plain data, and read again? Subjects, events, places and labels.

A fact is what many rows have in common; see `table.py`. Devices and ops live only in the process that records, so a
file contains the events that they cause. Every value has the type that its codec names, or the file is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from nbtf._devices.base import Label
from nbtf._devices.sites import NO_PLACE, CallSite, Part, site_of
from nbtf._record.collectives import CollectiveSubject
from nbtf._record.events import (
    Allocated,
    Copied,
    Event,
    Freed,
    OpExecuted,
    OpPlaced,
    OutputSpec,
    Reason,
    Refused,
    Rule,
    Traced,
)
from nbtf._record.memory import PieceSubject
from nbtf._record.recorded import RecordedDeviceName, RecordedSubject
from nbtf._record.rows import NOW, EventSubject, OwnPieces, Row, Subject
from nbtf._storage.documents import Schema, check

_MOST_INT = 2**63


@dataclass(frozen=True, slots=True)
class Codec:
    """How a value is written as plain data, which form that has, and how it is read again."""

    schema: Schema
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _unchanged(value: Any) -> Any:
    return value


def _within_64_bits(value: int) -> int:
    if not -_MOST_INT <= value < _MOST_INT:
        raise ValueError(f"{value:.3e} is not a number of 64 bits.")
    return value


def _optional(codec: Codec) -> Codec:
    return Codec(
        (codec.schema, None),
        lambda value: None if value is None else codec.write(value),
        lambda value: None if value is None else codec.read(value),
    )


def _several(codec: Codec) -> Codec:
    return Codec(
        [codec.schema],
        lambda values: [codec.write(value) for value in values],
        lambda values: tuple([codec.read(value) for value in values]),
    )


TEXT = Codec(str, str, _unchanged)
WHOLE = Codec(int, int, _within_64_bits)
REAL = Codec(float, float, _unchanged)
FLAG = Codec(bool, bool, _unchanged)
SHAPE = _several(WHOLE)
SITE = _optional(Codec([str, int], list, lambda pair: (pair[0], _within_64_bits(pair[1]))))
_TEXTS = _several(TEXT)
_OUTPUT = Codec(
    [[int], str, int],
    lambda output: [SHAPE.write(output.shape), output.dtype, int(output.nbytes)],
    lambda fields: OutputSpec(SHAPE.read(fields[0]), fields[1], _within_64_bits(fields[2])),
)
REASON = Codec(
    [str, str, [[str, str, str]]],
    lambda reason: [reason.kind, reason.detail, [list(rule) for rule in reason.path]],
    lambda fields: Reason(fields[0], fields[1]).after(*[Rule(*rule) for rule in fields[2]]),
)
_LABEL = _optional(
    Codec(
        [str, str, [int], SITE.schema],
        lambda label: [label.op, label.dtype, SHAPE.write(label.shape), SITE.write(label.site)],
        lambda fields: Label(fields[0], fields[1], SHAPE.read(fields[2]), SITE.read(fields[3])),
    )
)

_NAMES = "op device timing phase layer source target kind function cause holder library".split()
_NUMBERS = "seq nbytes in_use pool region offset size region_size largest_free limit trace".split()
_FIELDS: dict[str, Codec] = {
    **dict.fromkeys(_NAMES, TEXT),
    **dict.fromkeys(_NUMBERS, WHOLE),
    "reason": REASON,
    "outputs": _several(_OUTPUT),
    "seconds": REAL,
    "time": REAL,
    "start": _optional(REAL),
    "modelled": FLAG,
    "pinned": _optional(FLAG),
    "site": SITE,
    "label": _LABEL,
    "node": _optional(TEXT),
    "replica": _optional(WHOLE),
    "arguments": _TEXTS,
    "differences": _several(Codec([str, str, str], list, tuple)),
}
_CLASSES: tuple[Any, ...] = (OpPlaced, OpExecuted, Copied, Allocated, Freed, Refused, Traced)
EVENTS: dict[str, Any] = {event.__name__: event for event in _CLASSES}
"""The classes of events by name."""


def write_event(event: Event) -> list[Any]:
    """Returns an event as plain data: the name of its class, then its fields in order."""
    fields = type(event)._fields
    return [type(event).__name__, *[_FIELDS[name].write(value) for name, value in zip(fields, event, strict=True)]]


def read_event(content: Sequence[Any], source: object) -> Event:
    """Returns the event that plain data describe.

    Raises:
      ValueError: if the data do not describe an event.
    """
    name, *values = content
    if name not in EVENTS:
        raise ValueError(f"{name!r:.60} is not an event.")
    event = EVENTS[name]
    codecs = [_FIELDS[field] for field in event._fields]
    check(values, _listed([codec.schema for codec in codecs]), source, name)
    return event(*[codec.read(value) for codec, value in zip(codecs, values, strict=True)])


def _listed(schemas: list[Schema]) -> Schema:
    return schemas if len(schemas) > 1 else [schemas[0]]


# Places and labels

PLACE: Schema = [(str, None), int, (str, None), (int, None), str, str, str]


def write_place(call_site: CallSite) -> list[Any]:
    """Returns a place as plain data: file, line, node, replica, phase, layer and what holds the results."""
    file, line = site_of(call_site) or (None, 0)
    return [file, line, *call_site[2]]


def read_place(fields: Sequence[Any]) -> CallSite:
    """Returns the place that plain data describe."""
    file, line, *names = fields
    if fields == write_place(NO_PLACE):
        return NO_PLACE
    return file, _within_64_bits(line), Part(*names)


LABEL: Schema = [str, str, [int], (int, None)]


def write_label(label: Label, position: int | None) -> list[Any]:
    """Returns a label as plain data; `position` is the index of its place, None if that is unknown."""
    return [str(label.op), str(label.dtype), SHAPE.write(label.shape), position]


def read_label(fields: Sequence[Any], call_sites: Sequence[CallSite]) -> Label:
    """Returns the label that plain data describe."""
    op, dtype, shape, position = fields
    return Label(op, dtype, SHAPE.read(shape), None if position is None else call_sites[position])


# Subjects


def write_subject(subject: Any) -> list[Any]:
    """Returns a row's subject as plain data; the first value is what sort of subject it is.

    Raises:
      TypeError: if the class of the subject is unknown.
    """
    if isinstance(subject, PieceSubject):
        return ["pieces", type(subject.sample[0]).__name__, subject.holder, subject.library]
    if isinstance(subject, OwnPieces):
        return ["own pieces", subject.holder]
    if isinstance(subject, EventSubject):
        return ["event", write_event(subject.event)]
    if isinstance(subject, Subject) and not subject.count:
        return ["mark"]
    if isinstance(subject, RecordedSubject):
        return _work(subject.sample, subject, subject.is_measured, subject.is_stamped, subject.offsets)
    if isinstance(subject, CollectiveSubject):
        return _work(subject.sample, subject, False, False, subject.offsets)
    if isinstance(subject, Subject):
        return _work(subject.sample, subject, _is_measured(subject), False, None)
    raise TypeError(f"A recording has a row about {subject!r}, which files cannot describe.")


def _work(
    sample: Sequence[Event],
    subject: Any,
    is_measured: bool,
    is_stamped: bool,
    offsets: Sequence[tuple[float, float]] | None,
) -> list[Any]:
    lanes = None if subject.lanes is None else [list(subject.lanes[0]), float(subject.lanes[1])]
    flags = [subject.is_copy, subject.is_op, is_measured, is_stamped]
    shifts = None if offsets is None else [[float(number) for number in pair] for pair in offsets]
    events = [write_event(event) for event in sample]
    return ["work", events, lanes, list(subject.devices), flags, shifts]


def _is_measured(subject: Subject) -> bool:
    """Returns whether the events have the seconds of their row, rather than seconds that the subject computes."""
    rows: list[Row] = [(subject, 0, 0.0, NO_PLACE, 0, 0.0, seconds, None) for seconds in (1.0, 2.0)]
    first, second = [[getattr(event, "seconds", 0.0) for event in subject.events(row)] for row in rows]
    return subject.lanes is None and first != second


_WORK: Schema = [([[str], float], None), [str], [bool, bool, bool, bool], ([[float, float]], None)]
"""The form of lanes, devices, flags, and the times of an all-reduce's messages."""


def read_subject(content: Sequence[Any], source: object) -> Any:
    """Returns the subject that plain data describe.

    Raises:
      ValueError: if the data do not describe a subject.
    """
    match content:
        case ["mark"]:
            return NOW
        case ["event", list()]:
            return EventSubject(read_event(cast("Any", content)[1], source))
        case ["pieces", "Allocated" | "Freed" | "Refused" as name, str() as holder, str() as library]:
            return PieceSubject(EVENTS[name], RecordedDeviceName(holder), library)
        case ["own pieces", str() as holder]:
            return OwnPieces(None, holder)
        case ["work", list(), _, _, _, _]:
            return _read_work(content, source)
        case _:
            raise ValueError(f"{content!r:.80} is not the subject of a row.")


def _read_work(content: Sequence[Any], source: object) -> RecordedSubject:
    _, events, lanes, devices, flags, shifts = content
    check([lanes, devices, flags, shifts], _WORK, source, "subjects")
    templates = [read_event(event, source) for event in events]
    names = [type(event).__name__ for event in templates]
    if shifts is None and names not in (["OpPlaced"], ["OpPlaced", "OpExecuted"], ["OpExecuted"], ["Copied"]):
        raise ValueError(f"a row cannot have the events {', '.join(names) or 'none'}.")
    if shifts is not None and (len(shifts) != len(names) or {*names} != {"Copied"}):
        raise ValueError("an all-reduce must have one copy for each of its messages.")
    offsets = None if shifts is None else [(start, seconds) for start, seconds in shifts]
    own_lanes = None if lanes is None else (tuple(lanes[0]), lanes[1])
    return RecordedSubject(templates, own_lanes, tuple(devices), *flags, offsets=offsets)

"""How does a trace become a recording? Kernels, copies and outermost ops become rows with measured starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from nbtf._devices.sites import NO_PLACE, CallSite, Part
from nbtf._record.blocks import in_blocks
from nbtf._record.density import Densities
from nbtf._record.events import Allocated, Copied, Event, Freed, OpExecuted
from nbtf._record.memory import PieceSubject
from nbtf._record.opened import OpenedRecording, RecordedDevice
from nbtf._record.recorded import RecordedDeviceName, RecordedRegion, RecordedSubject
from nbtf._record.recorder import CAPACITY, Recorder, State
from nbtf._record.rows import NOW
from nbtf._record.table import ENTRIES, ROWS
from nbtf._record.totals import Totals
from nbtf._storage.reading import open_bytes, path_text
from nbtf._storage.refusal import refusing
from nbtf._traces.collecting import Collector, Content, Work
from nbtf._traces.figures import TraceFigures, figures_of
from nbtf._traces.json_stream import TraceStream
from nbtf._traces.nesting import Nesting, nesting_of
from nbtf._traces.slices import COPY, by_number, dictionary

_NO_ADDRESS = RecordedRegion(-1, -1)


class TracedRecording(OpenedRecording):
    """A profiler's trace as a recording; its times are measured.

    Attributes:
      figures: where the time went.
    """

    def __init__(self, source: str, recorder: Recorder, devices: list[RecordedDevice], figures: TraceFigures) -> None:
        """Stores what the reader of a trace has created."""
        super().__init__(source, recorder, devices)
        self.figures: TraceFigures = figures


def read_trace(path: str | os.PathLike[str]) -> TracedRecording:
    """Returns the recording in a trace of a profiler.

    Raises:
      OSError: if the file cannot be read.
      RefusedFileError: if it is not a trace in the Chrome form, or has no ops, kernels or copies.
    """
    source, collector = path_text(path), Collector()
    with open_bytes(path) as file, refusing(source, "cannot be read as a trace"):
        stream = TraceStream(file)
        for event in stream.events():
            collector.take(event)
        content = collector.content(stream)
        nesting = nesting_of(content)
        recorder = _recorder_of(content, nesting)
        return TracedRecording(source, recorder, _devices(content), figures_of(content, nesting))


def _full(device: str) -> str:
    return f"/job:localhost/replica:0/task:0/device:{device}" if device.partition(":")[0] in _TYPES else device


_TYPES = "CPU", "GPU", "TPU"


def _subject(work: Work) -> RecordedSubject:
    piece = work.piece
    modelled = (0.0, "modelled") if piece.is_modelled else (0.0, "finished")
    if piece.role == COPY:
        ends = _full(piece.source), _full(piece.target)
        copied: Any = Copied
        event: Event = copied(*ends, piece.nbytes, 0.0, piece.is_modelled, piece.copy, 0, 0.0)
        return RecordedSubject([event], None, ends, is_copy=True, is_op=False, is_stamped=True)
    device = _full(piece.device)
    executed = OpExecuted(work.name, device, (), *modelled, 0, 0.0)
    return RecordedSubject([executed], None, (device,), is_op=False, is_stamped=True)


def _recorder_of(content: Content, nesting: Nesting) -> Recorder:
    """Returns a recorder with a row for each drawn piece, and an entry for each change of memory."""
    drawn = np.flatnonzero(nesting.is_drawn)
    ends = content.epoch + content.start[drawn] + content.seconds[drawn]
    subjects: dict[int, RecordedSubject] = {}
    call_sites: dict[tuple[str, str], CallSite] = {}
    keys, numbers = np.unique(np.stack([content.work[drawn], nesting.layer[drawn]]), axis=1, return_inverse=True)
    facts: list[Any] = []
    pairs: list[tuple[int, int]] = keys.T.tolist()
    for work, layer in pairs:
        subject = subjects.get(work)
        if subject is None:
            subject = subjects[work] = _subject(content.works[work])
        names = content.works[work].piece.track, content.works[layer].name if layer >= 0 else ""
        call_site = call_sites.setdefault(names, (None, 0, Part(names[0] or None, None, "", names[1])))
        facts.append((subject, call_site))
    moments = np.array([change.time for change in content.memory])
    times = np.concatenate([content.start[drawn], moments])
    order = np.empty(len(times), np.int64)
    order[times.argsort(kind="stable")] = 2 * np.arange(1, len(times) + 1)
    rows: Any = np.zeros(len(times), ROWS)
    count = len(drawn)
    rows["number"] = rows["first"] = order
    rows["fact"][:count], rows["time"][:count] = numbers.ravel(), ends
    rows["began"][:count], rows["seconds"][:count] = content.start[drawn], content.seconds[drawn]
    facts.append((NOW, NO_PLACE))
    rows["fact"][count:], rows["time"][count:], rows["seconds"][count:] = (
        len(facts) - 1,
        content.epoch + moments,
        np.nan,
    )
    rows = rows[rows["number"].argsort()]
    entries, pieces = _entries(content, order[count:])
    blocks = in_blocks(rows, entries, facts, pieces, {})
    totals = Totals()
    for block in blocks:
        totals = totals.with_block(block)
    return Recorder.of(State(max(CAPACITY, totals.snapshot().heard), tuple(blocks), totals, Densities(), ()))


def _entries(content: Content, numbers: Any) -> tuple[Any, list[Any]]:
    """Returns the entries of the changes of memory, and their facts; a trace has no regions."""
    entries: Any = np.zeros(len(content.memory), ENTRIES)
    facts: dict[tuple[Any, ...], int] = {}
    subjects: dict[tuple[bool, str], PieceSubject] = {}
    listed: list[Any] = []
    for at, change in enumerate(content.memory):
        is_freed = change.nbytes < 0
        subject = subjects.get((is_freed, change.device))
        if subject is None:
            event = Freed if is_freed else Allocated
            subject = PieceSubject(event, RecordedDeviceName(_full(change.device)), _library(content.header))
            subjects[is_freed, change.device] = subject
        key = is_freed, change.device, change.pool, abs(change.nbytes)
        fact = facts.setdefault(key, len(facts))
        if fact == len(listed):
            listed.append((subject, change.pool, _NO_ADDRESS, -1, abs(change.nbytes), None))
        entries[at] = fact, numbers[at], change.in_use, -1
    return entries, listed


def _library(header: Mapping[str, Any]) -> str:
    return "PyTorch" if "deviceProperties" in header or "schemaVersion" in header else ""


def _devices(content: Content) -> list[RecordedDevice]:
    """Returns the devices that worked, with the cards that PyTorch lists."""
    properties: Any = content.header.get("deviceProperties")
    cards: dict[Any, Mapping[str, Any]] = {}
    listed: list[Any] = properties if isinstance(properties, list) else []  # pyright: ignore[reportUnknownVariableType]
    for each in map(dictionary, listed):
        if isinstance(each.get("id"), int):
            cards[each["id"]] = each
    names = {end for work in content.works for end in (work.piece.device, work.piece.source, work.piece.target) if end}
    names |= {change.device for change in content.memory}
    is_modelled = {work.piece.device for work in content.works if work.piece.is_modelled}
    devices: list[RecordedDevice] = []
    for name in sorted(names, key=by_number):
        number = name.rpartition(":")[2]
        none: Mapping[str, Any] = {}
        card = cards.get(int(number), none) if name.startswith("GPU:") and number.isdecimal() else none
        memory, model = card.get("totalGlobalMem", 0), card.get("name", "")
        limit = memory if isinstance(memory, int) and 0 <= memory < 2**62 else 0
        is_simulated = name in is_modelled and not name.startswith("CPU")
        devices.append(RecordedDevice(name, limit, is_simulated, model if isinstance(model, str) else ""))
    return devices

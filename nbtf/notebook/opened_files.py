"""What is in a file that a user brings: a memory snapshot, a trace or a recording? Each has a page and figures."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, NamedTuple, Protocol

from nbtf import runtime
from nbtf._counts import counted
from nbtf._devices.sizes import gib
from nbtf._locks import computed_once
from nbtf._runtime.what_ifs import WhatIf
from nbtf._snapshots.holders import holders_at
from nbtf._snapshots.opened import OpenedSnapshot
from nbtf._snapshots.snapshot import MemorySnapshot
from nbtf._snapshots.what_if import what_if
from nbtf._storage import files
from nbtf._storage.reading import open_bytes
from nbtf._storage.refusal import RefusedFileError
from nbtf.notebook.json_exports import read_export
from nbtf.notebook.snapshots.history import DeviceHistory, Window
from nbtf.notebook.snapshots.page import ViewedDevices, devices_to_view, scene_of_snapshot, still_of
from nbtf.notebook.snapshots.what_ifs import Question, lines_of, table_of, what_if_table
from nbtf.notebook.stills.marks import Picture
from nbtf.notebook.stills.schedule import Schedule, timed
from nbtf.notebook.views.file_head import file_head, trace_in_words
from nbtf.notebook.views.opened_page import opened_scene, opened_still
from nbtf.notebook.views.page import Scene, html_page

SNAPSHOT, TRACE, RECORDING, EXPORT = "snapshot", "trace", "recording", "export"

_HEAD = 1 << 16
"""Bytes at the beginning of a file that decide what it is."""

_KEYS = (
    (EXPORT, re.compile(rb'"schema"\s*:\s*"nbtf-|"nbtf[-_]recording')),
    (SNAPSHOT, re.compile(rb'"device_traces"|"segments"|"allocator_settings"')),
    (TRACE, re.compile(rb'"traceEvents"|"ph"\s*:|"deviceProperties"|"displayTimeUnit"')),
)
"""Keys of JSON files; the one that comes first in the file decides."""


class Options(NamedTuple):
    """The parts of a file that a user wants to see.

    Attributes:
      device: number of the only device that is shown; None shows all.
      around: the event around which a long history is shown in detail; None means the peak.
      between: the events between which a long history is shown in detail; overrides `around`.
      anonymous: whether personal paths are shortened.
      questions: replays under other circumstances.
    """

    device: int | None = None
    around: int | None = None
    between: tuple[int, int] | None = None
    anonymous: bool = False
    questions: Sequence[Question] = ()


class Answers(NamedTuple):
    """The answers to the questions, by name of the device; and why a device has no answer to one."""

    by_device: Mapping[str, Sequence[WhatIf]]
    unanswered: Sequence[str]

    @classmethod
    def of(
        cls, questions: Sequence[Question], devices: Sequence[str], answer: Callable[[str, Question], WhatIf]
    ) -> Answers:
        """Asks each device each question.

        Raises:
          ValueError: if no device can answer a question, for example because none has the line.
        """
        by_device: dict[str, list[WhatIf]] = {name: [] for name in devices}
        unanswered: list[str] = []
        for question in questions:
            errors: list[ValueError] = []
            for name in devices:
                try:
                    by_device[name].append(answer(name, question))
                except ValueError as error:
                    errors.append(error)
            if len(errors) == len(devices):
                raise errors[0]
            unanswered += map(str, errors)
        return cls(by_device, unanswered)

    def in_lines(self) -> list[str]:
        """Returns the answers as lines of text."""
        every = [each for results in self.by_device.values() for each in results]
        return [*(["", *lines_of(every)] if every else []), *self.unanswered]


class OpenedFile(Protocol):
    """A file whose content is known."""

    def page(self) -> str:
        """Returns the text of a page."""
        ...

    def scene(self) -> Scene:
        """Returns the data of the views."""
        ...

    def picture(self) -> Picture:
        """Returns a picture."""
        ...

    def summary(self) -> list[str]:
        """Returns the most important figures as lines of text."""
        ...

    def figures(self) -> dict[str, Any]:
        """Returns the figures as plain data; sizes are in bytes."""
        ...


class SnapshotFile:
    """A memory snapshot of PyTorch, from a file."""

    def __init__(self, snapshot: MemorySnapshot, options: Options) -> None:
        """Chooses the devices that are shown."""
        self.snapshot: MemorySnapshot = snapshot
        self.options: Options = options
        self.viewed: ViewedDevices = devices_to_view(snapshot, options.device, options.anonymous)

    def page(self) -> str:
        """Returns the text of the page."""
        return html_page(self.scene(), self.picture(), self.snapshot.source)

    def scene(self) -> Scene:
        """Returns the data of the views."""
        windows = [self._window(history) for history in self.viewed.histories]
        return scene_of_snapshot(self.snapshot, self.viewed, windows, self._tables())

    def picture(self) -> Picture:
        """Returns a picture of the first device."""
        return still_of(self.viewed)

    def summary(self) -> list[str]:
        """Returns the figures as lines for a terminal."""
        lines = OpenedSnapshot.of(self.snapshot).summary_of([history.device for history in self.viewed.histories])
        return lines + self._answers.in_lines()

    def figures(self) -> dict[str, Any]:
        """Returns the figures as plain data; sizes are in bytes."""
        devices = [self._figures_of(history) for history in self.viewed.histories]
        return {"file": self.snapshot.source, "kind": SNAPSHOT, "form": self.snapshot.form, "devices": devices}

    @computed_once
    def _answers(self) -> Answers:
        numbers = {history.name: history.device for history in self.viewed.histories}
        return Answers.of(
            self.options.questions, [*numbers], lambda name, each: what_if(self.snapshot, numbers[name], *each)
        )

    def _tables(self) -> list[dict[str, Any]]:
        cards = {question.card for question in self.options.questions}
        card = cards.pop() if len(cards) == 1 else None
        return [
            {
                "name": each.name,
                "tables": [what_if_table(self.snapshot, each, self._answers.by_device[each.name], card)],
            }
            for each in self.viewed.histories
            if len(each.trace)
        ]

    def _window(self, history: DeviceHistory) -> Window:
        between = self.options.between
        return history.window(self.options.around) if between is None else history.window_between(*between)

    def _figures_of(self, history: DeviceHistory) -> dict[str, Any]:
        account = history.account
        holders = holders_at(account, self.viewed.naming.origins, account.peak.state)
        return {
            "device": history.name,
            "events": len(history.trace),
            "peak_allocated": account.peak.allocated,
            "peak_active": account.peak_active.active,
            "peak_reserved": account.peak_reserved.reserved,
            "peak_after_event": account.peak.state - 1,
            "holders": [{"line": each.name, "bytes": each.nbytes, "pieces": each.pieces} for each in holders],
            "out_of_memory": [failure._asdict() for failure in account.failures],
            "what_if": [result.as_json() for result in self._answers.by_device[history.name]],
        }


class RecordingFile:
    """A trace of another program, or a recording of nbtf, from a file."""

    def __init__(self, record: runtime.OpenedRecording, form: str, options: Options | None = None) -> None:
        """Stores the recording; `form` is `trace` or `recording`.

        Raises:
          ValueError: if an option applies only to memory snapshots, or the recording does not have the device.
        """
        self.record: runtime.OpenedRecording = record
        self.form: str = form
        self.options: Options = options or Options()
        if self.options.around is not None or self.options.between is not None:
            raise ValueError(
                f"{record.source} is a {form}, whose page shows all events. Only long memory snapshots are shown "
                "around an event, or between two."
            )
        names = [runtime.short_name(device.name) for device in record.devices]
        if self.options.device is not None and f"GPU:{self.options.device}" not in names:
            gpus = ", ".join(name for name in names if name.startswith("GPU:"))
            raise ValueError(
                f"{record.source} does not contain GPU:{self.options.device}. It contains: {gpus or 'no GPU'}."
            )

    def page(self) -> str:
        """Returns the text of the page."""
        scene = self.scene()
        return html_page(scene, self.picture(), scene["file"]["title"])

    def scene(self) -> Scene:
        """Returns the data of the views."""
        scene = opened_scene(self.record) | {"file": file_head(self.record, self.form)}
        tables = [
            {"name": name, "tables": [table_of(name, each)]} for name, each in self._answers.by_device.items() if each
        ]
        return scene | {"whatIf": tables} if tables else scene

    def picture(self) -> Picture:
        """Returns the timeline as a picture."""
        return opened_still(self.record)

    def summary(self) -> list[str]:
        """Returns the figures as lines for a terminal."""
        schedule = timed(self.record.snapshot())
        lines = [f"{self.record!r}; times are {schedule.clock}"]
        for name in self._devices([*schedule.lanes, *self._names_with_memory]):
            facts = [self._work_in_words(schedule, name)] if name in schedule.lanes else []
            lines.append(f"  {name}: {'; '.join([*facts, *self._peaks_in_words(name)])}")
        trace = self.record.figures
        return (
            lines
            + ([] if trace is None else [f"  {line}" for line in trace_in_words(trace)])
            + self._answers.in_lines()
        )

    def figures(self) -> dict[str, Any]:
        """Returns the figures as plain data; sizes are in bytes, times in seconds."""
        schedule = timed(self.record.snapshot())
        names = self._devices([*schedule.lanes, *self._names_with_memory])
        head = {"file": self.record.source, "kind": self.form, "clock": schedule.clock}
        figures = head | {
            "seconds": schedule.seconds,
            "devices": [self._figures_of(schedule, name) for name in names],
        }
        trace = self.record.figures
        return figures if trace is None else figures | {"trace": trace.as_data()}

    def _devices(self, names: Sequence[str]) -> list[str]:
        """Returns the names of devices that are to be shown, once each."""
        chosen = self.options.device
        return [name for name in dict.fromkeys(names) if chosen is None or name == f"GPU:{chosen}"]

    @computed_once
    def _names_with_memory(self) -> list[str]:
        totals = self.record.snapshot(0)
        devices = [*totals.peaks, *[device for _, device in totals.library_peaks]]
        return sorted({runtime.short_name(device) for device in devices})

    def _work_in_words(self, schedule: Schedule, name: str) -> str:
        ops, copies = schedule.ops_on(name), schedule.copies_of(name)
        busy = f"ops {schedule.share(ops)} % of the time, copies {schedule.share(copies)} %"
        return f"{counted(len(ops), 'op')}, {gib(_copied(schedule, name))} copied; {busy}"

    def _figures_of(self, schedule: Schedule, name: str) -> dict[str, Any]:
        peaks, has_worked = self._peaks(name), name in schedule.lanes
        return {
            "device": name,
            "ops": len(schedule.ops_on(name)) if has_worked else 0,
            "op_seconds": float(schedule.ops_on(name).seconds.sum()) if has_worked else 0.0,
            "copies": len(schedule.copies_of(name)) if has_worked else 0,
            "copied_bytes": _copied(schedule, name) if has_worked else 0,
            "peak_allocated": peaks.get(""),
            "library_peaks": {library: size for library, size in peaks.items() if library},
            "what_if": [result.as_json() for result in self._answers.by_device.get(name, ())],
        }

    def _peaks(self, name: str) -> dict[str, int]:
        """Returns the most bytes in use on a device, by library; nbtf has an empty name."""
        totals = self.record.snapshot(0)
        peaks = {("", device): size for device, size in totals.peaks.items()} | totals.library_peaks
        return {library: size for (library, device), size in peaks.items() if runtime.short_name(device) == name}

    def _peaks_in_words(self, name: str) -> list[str]:
        peaks = self._peaks(name)
        return [f"peak{f' of {library}' * bool(library)} {gib(size)}" for library, size in peaks.items()]

    @computed_once
    def _answers(self) -> Answers:
        names = self._devices(self._names_with_memory)
        if not names:  # the error of this question names the reason
            names = [f"GPU:{self.options.device or 0}"]
        return Answers.of(self.options.questions, names, lambda name, each: self.record.what_if(*each, device=name))


def _copied(schedule: Schedule, name: str) -> int:
    copies = schedule.copies_of(name)
    return int(copies.of_each(lambda copy: copy.nbytes, int).sum()) if len(copies) else 0


def save_page_of(opened: runtime.OpenedRecording | MemorySnapshot, path: str | PathLike[str]) -> None:
    """Saves the page of an opened file, as `nbtf view` does; implements `to_html`.

    Raises:
      ValueError: if a page would be empty.
      OSError: if the file cannot be written.
    """
    if isinstance(opened, MemorySnapshot):
        files.write(path, SnapshotFile(opened, Options()).page())
    else:
        files.write(path, RecordingFile(opened, RECORDING if opened.figures is None else TRACE).page())


def open_file(path: str | PathLike[str], options: Options | None = None) -> OpenedFile:
    """Opens a snapshot, a trace or a recording; the content of the file decides what it is.

    Args:
      path: the file.
      options: the parts to show; None shows all.

    Raises:
      OSError: if the file cannot be read.
      RefusedFileError: if the content is damaged, or none of the known ones.
      ValueError: if the file does not contain the device, or an option does not apply to it.
    """
    form = content_of(path)
    if form == SNAPSHOT:
        from nbtf._snapshots.reading import open_snapshot  # imported late, as few programs read files

        return SnapshotFile(open_snapshot(path), options or Options())
    if form == TRACE:
        return RecordingFile(runtime.read_trace(path), TRACE, options)
    read = read_export if form == EXPORT else runtime.read_recording
    return RecordingFile(read(path), RECORDING, options)


def content_of(path: str | PathLike[str]) -> str:
    """Returns `snapshot`, `trace`, `recording` or `export`, a recording as JSON, by the first bytes of a file.

    Raises:
      OSError: if the file cannot be read.
      RefusedFileError: if it is none of them.
    """
    head = _head_of(path)
    if head[:1] == b"\x80" or head[:15] == b"SQLite format 3":
        return SNAPSHOT
    if head[:4] == b"PK\x03\x04":  # an archive; `read_recording` rejects all others
        return RECORDING
    matches = [(match.start(), form) for form, key in _KEYS if (match := key.search(head))]
    if matches and head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return min(matches)[1]
    raise RefusedFileError(
        f"{fspath(path)} is not a file that nbtf can view. Expected a memory snapshot of PyTorch (pickle, JSON or "
        "SQLite), a Chrome trace of a profiler, or a recording of nbtf; each may be compressed with gzip. "
        "For the text of an error, use `nbtf explain`."
    )


def _head_of(path: str | PathLike[str]) -> bytes:
    with open_bytes(path) as file:
        head = file.read(_HEAD)
    if head[:2] != b"\x1f\x8b":
        return head
    try:
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD)
    except zlib.error as error:
        raise RefusedFileError(f"{fspath(path)} is damaged: {error}.") from error

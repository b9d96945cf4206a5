"""The data from which a page draws a device's memory in a snapshot: the same views as for recordings, in columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbtf._devices.sizes import gib
from nbtf._snapshots.account import Failure
from nbtf._snapshots.lifetimes import Integers, Lifetimes
from nbtf._snapshots.lines import is_own
from nbtf._snapshots.snapshot import Frame, Stack
from nbtf.notebook.catalogue import filled
from nbtf.notebook.snapshots.grouping import Grouping, groupings
from nbtf.notebook.snapshots.history import DeviceHistory, Window
from nbtf.notebook.snapshots.naming import Naming
from nbtf.notebook.snapshots.overview import overview_of
from nbtf.notebook.stills.memory_bands import Words
from nbtf.notebook.stills.timeline_data import packed

MOST_FRAMES = 300_000
"""Frames of all stacks together that a page contains; of more, the outermost of deep stacks are only counted."""


def memory_of(history: DeviceHistory, window: Window, naming: Naming, words: Words) -> dict[str, Any]:
    """Returns the data of one device, as `historyOf` in `static/plane_axis.js` reads it.

    Args:
      history: the history of the device.
      window: the steps of which all pieces are shown.
      naming: how stacks are written.
      words: texts of the section `snapshot`.
    """
    rows = _rows(history.pieces, window)
    rows = rows[history.pieces.address[rows].argsort(kind="stable")]
    pieces, ranges = _within(history.pieces, rows, window), _within(history.ranges, None, window)
    at_peak = np.flatnonzero((history.pieces.birth <= history.peak) & (history.peak < history.pieces.death))
    every = groupings(history.pieces, at_peak, naming, words)
    layout = _Places(ranges, pieces)
    stacks, used = _distinct(pieces.stack)
    frames = _frames([history.snapshot.stacks[at] for at in stacks], naming.write_frame)
    data = {
        "name": history.name,
        "limit": 0,
        "top": layout.top,
        "steps": window.end - window.first,
        "firstStep": window.first,
        "allSteps": history.steps,
        "measured": True,
        "everyStep": True,
        "pieces": {
            "count": len(pieces.size),
            "start": packed("d", layout.of(pieces.address)),
            "size": packed("d", pieces.size),
            "requested": packed("d", pieces.requested),
            "birth": packed("I", pieces.birth),
            "death": packed("I", pieces.death),
            "stack": packed("i", used),
            "stream": packed("d", pieces.stream),
        },
        "allocatedFirst": _allocated_first(history.pieces, rows, window),
        "lines": [*(naming.lines[at] or words["noStack"] for at in stacks), words["before"], words["noStack"]],
        **frames,
        "extents": layout.extents(ranges),
        "addresses": ranges.address.tolist(),
        "spans": [],
        "refusals": [_refusal(history, each, window, naming, words) for each in _failures(history, window)],
        "groupings": [_grouping(each, rows) for each in every],
    }
    if window.end - window.first < history.steps:
        data |= {"overview": overview_of(history, window, every)}
    return data


def _within(ranges: Lifetimes, rows: Integers | None, window: Window) -> Lifetimes:
    """Returns the ranges that exist within a window, with its first step as step 0; `rows` selects and orders them."""
    inside = ranges.at(_rows(ranges, window) if rows is None else rows)
    last = window.end - window.first
    birth, death = np.maximum(inside.birth - window.first, 0), np.minimum(inside.death - window.first, last)
    return inside._replace(birth=birth, death=death)


def _allocated_first(pieces: Lifetimes, rows: Integers, window: Window) -> list[int]:
    """Returns the positions in `rows` of the pieces that the first step of a window allocated."""
    return np.flatnonzero((pieces.birth[rows] == window.first) & (pieces.event[rows] >= 0)).tolist()


def _rows(ranges: Lifetimes, window: Window) -> Integers:
    return np.flatnonzero((ranges.birth < window.end) & (ranges.death > window.first))


class _Places:
    """Addresses as a picture shows them: in order, with the gaps left out that never belonged to the allocator."""

    def __init__(self, ranges: Lifetimes, pieces: Lifetimes) -> None:
        starts = np.concatenate([ranges.address, pieces.address])
        ends = np.concatenate([ranges.address + ranges.size, pieces.address + pieces.size])
        order = starts.argsort(kind="stable")
        starts, ends = starts[order], np.maximum.accumulate(ends[order]) if len(order) else ends
        begins = np.flatnonzero(np.append(True, starts[1:] > ends[:-1])[: len(starts)])
        self._firsts = starts[begins]
        lasts = ends[np.append(begins[1:], len(starts)) - 1] if len(starts) else ends
        lengths = lasts - self._firsts
        self._places = np.append(0, lengths.cumsum())
        self.top = int(self._places[-1])

    def of(self, addresses: Integers) -> Integers:
        """Returns the places of addresses."""
        if not len(self._firsts):
            return addresses
        at = np.maximum(self._firsts.searchsorted(addresses, "right") - 1, 0)
        return self._places[at] + addresses - self._firsts[at]

    def extents(self, ranges: Lifetimes) -> list[list[int]]:
        """Returns number, place, size, birth and death of each range."""
        numbers = np.arange(len(ranges.size))
        return np.stack([numbers, self.of(ranges.address), ranges.size, ranges.birth, ranges.death], 1).tolist()


def _distinct(stacks: Integers) -> tuple[list[int], Integers]:
    """Returns the stacks that occur, and the position of each among them; negative for unknown ones."""
    indices = np.unique(stacks[stacks >= 0])
    return indices.tolist(), np.where(stacks >= 0, indices.searchsorted(stacks), stacks)


def _frames(stacks: Sequence[Stack], write: Callable[[Frame], str]) -> dict[str, Any]:
    """Returns the distinct frames as text, which are the user's, and each stack as positions among the frames."""
    texts: dict[str, int] = {}
    written: dict[Frame, int] = {}
    user_frames: set[int] = set()

    def position(frame: Frame) -> int:
        if frame not in written:
            written[frame] = texts.setdefault(write(frame), len(texts))
            user_frames.update([written[frame]] if is_own(frame.file) else [])
        return written[frame]

    depth = _depth([len(stack) for stack in stacks])
    rows = [[position(frame) for frame in stack[:depth]] for stack in stacks]
    left_out = [max(len(stack) - depth, 0) for stack in stacks]
    return {"frames": [*texts], "ownFrames": sorted(user_frames), "stacks": rows, "framesLeftOut": left_out}


def _depth(lengths: Sequence[int]) -> int:
    """Returns the number of frames of a stack that a page contains."""
    depth = max(lengths, default=0)
    while depth > 1 and sum(min(length, depth) for length in lengths) > MOST_FRAMES:
        depth = depth * 3 // 4
    return depth


def _grouping(grouping: Grouping, rows: Integers) -> dict[str, Any]:
    return {
        "by": grouping.by,
        "names": grouping.names,
        "fills": grouping.fills,
        "of": packed("B", grouping.of[rows]),
    }


def _failures(history: DeviceHistory, window: Window) -> list[Failure]:
    """Returns the failed requests within a window."""
    failures = history.account.failures
    return [each for each in failures if window.first <= history.step_of(each.event) < window.end]


def _refusal(history: DeviceHistory, failure: Failure, window: Window, naming: Naming, words: Words) -> dict[str, Any]:
    """Returns a failed request, with what was free on the card and in the allocator's segments."""
    requested, free = failure.requested, failure.free_on_card
    sizes = {
        "asked": gib(requested),
        "used": gib(failure.active),
        "reserved": gib(failure.reserved),
        "card": gib(free),
        "holes": gib(failure.free_in_segments),
        "largest": gib(failure.largest_hole),
    }
    sentence = filled(words["shortage"], **sizes)
    if requested > free:
        sentence += " " + filled(words["missing"], size=gib(requested - free))
    return {
        "step": history.step_of(failure.event) - window.first,
        "nbytes": requested,
        "asked": gib(requested),
        "request": "",
        "sentence": sentence,
        "line": naming.lines[failure.stack] if failure.stack >= 0 else "",
        "hints": [],
    }

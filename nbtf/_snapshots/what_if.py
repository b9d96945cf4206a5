"""What would a recorded PyTorch program need with other settings, on another card, or without one of its lines?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._devices.capacities import capacity_of
from nbtf._devices.catalog import find_card
from nbtf._runtime.expectations import size_in_bytes
from nbtf._runtime.what_ifs import Note, RefusedRequest, WhatIf, is_line
from nbtf._snapshots.account import DeviceAccount, devices_of
from nbtf._snapshots.charges import Flags
from nbtf._snapshots.history import UNLIMITED, History, recorded_card
from nbtf._snapshots.history_replay import HistoryReplay, Outcome
from nbtf._snapshots.lines import Origins
from nbtf._snapshots.replay import RecordedReplay
from nbtf._snapshots.settings import settings_of
from nbtf._snapshots.snapshot import MemorySnapshot

USUAL_SETTINGS = (
    "expandable_segments:True",
    "max_split_size_mb:128",
    "garbage_collection_threshold:0.8,per_process_memory_fraction:0.95",
    "roundup_power2_divisions:8",
    "expandable_segments:True,max_split_size_mb:128",
)
"""The settings that `usual_settings` compares with the recorded ones."""

MOST_EVENTS = 1_000_000
"""Events that `what_if` replays at most, those around the peak; a second or two for every 100,000."""

_MOST_EVENTS_OF_TABLE = 10_000
"""Events that `usual_settings` replays at most; six replays of them take about a second."""
_BEFORE_PEAK = 0.9
"""The part of the replayed events before the peak, if a history is too long to replay it all."""

_MOST_NAMES = 5


class _Question(NamedTuple):
    """A device's history, and what is changed; `card` is None for an unlimited card."""

    account: DeviceAccount
    history: History
    settings: AllocatorSettings
    card: int | None
    without: str
    left_out: Flags | None


def what_if(
    snapshot: MemorySnapshot,
    device: int | None = None,
    settings: str | None = None,
    card: int | str | None = None,
    without: str | None = None,
    *,
    most_events: int = MOST_EVENTS,
) -> WhatIf:
    """Returns what the recorded program would need under other circumstances.

    The requests, frees and streams of the history are repeated in `CachingAllocator`. `torch.cuda.empty_cache()` is
    repeated as well: releases count as such unless a request that did not fit can have caused them. If nothing is
    changed, the allocator gets the addresses and releases of the recording.

    With changed settings, memory from before the first event is requested again by address, without its holes and
    without cached segments. Otherwise it stays where it was.

    Args:
      snapshot: a memory snapshot.
      device: number of the device; None means the only one, or the one with the highest peak.
      settings: settings in the format of `PYTORCH_ALLOC_CONF`, which replace the recorded ones; None for these.
      card: memory that PyTorch may have, as a number of bytes or text such as `24GiB`, or the name of a card, of which
        it may have all memory. None for the recorded card: with an out-of-memory event, its free and reserved bytes;
        otherwise the card is unlimited.
      without: a line whose allocations are left out, such as `train.py:41`.
      most_events: number of events to replay at most, those around the peak.

    Raises:
      ValueError: if the device has no history or a contradictory one, or an argument is not valid.
      NotImplementedError: if a setting requires something that simulated cards do not support.
    """
    account = _account(snapshot, device)
    return _answer(_question(account, settings, card, without or "", most_events), settings is not None)


def usual_settings(
    snapshot: MemorySnapshot,
    device: int | None = None,
    card: int | str | None = None,
    *,
    most_events: int = _MOST_EVENTS_OF_TABLE,
) -> list[WhatIf]:
    """Returns what a recorded program needs as it was recorded, and with five other settings.

    If the history begins late or `card` is a different card, the second result has the recorded settings as well, but
    the card of the other results. It requests memory from before the first event again, as they do. Compare them with
    the second result.

    Args:
      snapshot: a memory snapshot.
      device: as for `what_if`.
      card: card for all results but the first; see `what_if`.
      most_events: number of events to replay at most, those around the peak.

    Raises:
      ValueError: if the device has no history or a contradictory one, or `card` is not valid.
    """
    account = _account(snapshot, device)
    recorded = _question(account, None, None, "", most_events)
    changed = recorded if card is None else recorded._replace(card=card_size(card))
    results = [_answer(recorded, False)]
    if recorded.history.beginning or changed.card != recorded.card:
        results.append(_answer(changed, True))
    for text in USUAL_SETTINGS:
        results.append(_answer(changed._replace(settings=AllocatorSettings.parse(text)), True))
    return results


def card_size(card: int | str) -> int:
    """Returns the bytes of a card that is given as a size or by its name, as many as CUDA reports.

    Raises:
      ValueError: if it is neither.

    >>> card_size("24GiB") >> 30, card_size("A100 80") >> 30
    (24, 79)
    """
    try:
        nbytes = size_in_bytes(card)
    except ValueError:
        try:
            return capacity_of(find_card(str(card)))
        except ValueError as error:
            raise ValueError(f"{card!r} is neither a size such as 24GiB nor the name of a card. {error}") from None
    if not 0 < nbytes < UNLIMITED:
        raise ValueError(f"A card of {nbytes:,} bytes is not possible. Expected more than 0 and less than 16 TiB.")
    return nbytes


def _account(snapshot: MemorySnapshot, device: int | None) -> DeviceAccount:
    devices = [each for each in devices_of(snapshot) if any(trace.device == each for trace in snapshot.traces)]
    accounts = [DeviceAccount(snapshot, each) for each in devices if device in (None, each)]
    if not accounts:
        problem = "no device" if device is None else f"no device {device}"
        names = ", ".join(str(each) for each in devices)
        raise ValueError(f"{snapshot.source} has {problem} with a history. Devices with one: {names or 'none'}.")
    return max(accounts, key=lambda each: each.peak.allocated)


def _question(
    account: DeviceAccount, settings: str | None, card: int | str | None, without: str, most_events: int
) -> _Question:
    if most_events < 1:
        raise ValueError(f"most_events={most_events}. Expected 1 or more.")
    first = _first_event(account, most_events)
    history = History.of(account, first, first + most_events)
    chosen = settings_of(account.snapshot) if settings is None else AllocatorSettings.parse(settings)
    nbytes = recorded_card(account) if card is None else card_size(card)
    return _Question(account, history, chosen, nbytes, without, _stacks_of(account, without) if without else None)


def _first_event(account: DeviceAccount, most_events: int) -> int:
    """Returns the first event to replay, so that the peaks of reserved memory and of memory in use are both replayed.

    If they are too far apart, only the peak of reserved memory is.
    """
    distance, count = int(most_events * _BEFORE_PEAK), len(account.trace)
    peak, peak_in_use = account.peak_reserved.state, account.peak.state
    if 0 < peak_in_use - peak < distance:
        peak = peak_in_use
    return min(max(0, peak - distance), max(0, count - most_events))


def _stacks_of(account: DeviceAccount, line: str) -> Flags:
    """Returns for each stack whether its allocations belong to a line, with a last value for no stack."""
    stacks, origins = account.snapshot.stacks, Origins(account.snapshot)
    pieces = account.pieces
    used = np.unique(pieces.stack[pieces.stack >= 0]).tolist()
    chosen = np.zeros(len(stacks) + 1, bool)
    for stack in used:
        frame = origins[stack].line
        chosen[stack] = frame is not None and is_line(frame.file, frame.line, line)
    if not chosen.any():
        totals: dict[str, int] = {}
        for stack, nbytes in zip(pieces.stack.tolist(), pieces.size.tolist(), strict=True):
            words = origins[stack].words if stack >= 0 else ""
            if words:
                totals[words] = totals.get(words, 0) + nbytes
        names = ", ".join(sorted(totals, key=lambda name: -totals[name])[:_MOST_NAMES])
        suggestion = f"The largest are {names}." if names else "The file contains no lines."
        raise ValueError(f"No memory was allocated by {line!r}. Expected a line such as train.py:41. {suggestion}")
    return chosen


def _answer(question: _Question, is_anew: bool) -> WhatIf:
    """Replays a history; `is_anew` requests the beginning again even if the settings are the recorded ones."""
    account, history, card = question.account, question.history, question.card
    is_recorded_card = card == recorded_card(account)
    is_changed = question.settings != history.settings
    notes = _notes(question)
    if not is_anew and not is_changed and is_recorded_card and question.left_out is None:
        notes = [note for note in notes if note.name != "noCard"]  # the card had room for what was recorded
        replay, outcome = RecordedReplay.replayed(history)
        if replay.differences:
            notes.append(Note("differs", {"n": replay.differences}))
        result = _result(question, outcome, notes)
        return replace(result, as_recorded=True, retries=None, **_recorded_refusal(question))
    keeps_layout = not is_anew and not is_changed
    if history.beginning and not keeps_layout:
        notes.append(Note("anew", {}))
    replay = HistoryReplay(
        history,
        question.settings,
        card or UNLIMITED,
        stacks_left_out=question.left_out,
        keeps_layout=keeps_layout,
    )
    outcome = replay.run()
    if outcome.granted_later:
        notes.append(Note("granted", {"n": outcome.granted_later}))
    return _result(question, outcome, notes)


def _result(question: _Question, outcome: Outcome, notes: Sequence[Note]) -> WhatIf:
    first, refusal = question.history.first, outcome.refusal
    if refusal is not None:
        event = refusal.event + first if refusal.event >= 0 else -1
        refusal = refusal._replace(event=event, line=_line(question.account, outcome.refused_stack))
    return WhatIf(
        device=f"GPU:{question.account.device}",
        allocator="PyTorch",
        settings=question.settings.text,
        as_recorded=False,
        card=question.card,
        without=question.without,
        first_event=first,
        events=outcome.events,
        stopped=outcome.stopped,
        peak_allocated=outcome.peak_allocated,
        peak_reserved=outcome.peak_reserved,
        peak_event=outcome.peak_event + first if outcome.peak_event >= 0 else -1,
        unallocated=outcome.unallocated,
        largest_free=outcome.largest_free,
        retries=outcome.retries,
        released=outcome.released,
        refused=outcome.refused,
        refusal=refusal,
        notes=tuple(notes),
    )


def _recorded_refusal(question: _Question) -> dict[str, Any]:
    """Returns the refused requests that the file contains, as fields of a result."""
    account, history = question.account, question.history
    last = history.first + len(history.trace)
    failures = [each for each in account.failures if history.first <= each.event < last]
    if not failures:
        return {}
    first = failures[0]
    refusal = RefusedRequest(
        first.event,
        first.requested,
        _line(account, first.stack),
        "fragmentation" if first.fits_if_contiguous else "full",
        first.free_on_card,
        first.free_in_segments,
        first.largest_hole,
    )
    return {"refused": len(failures), "refusal": refusal}


def _line(account: DeviceAccount, stack: int) -> str:
    return Origins(account.snapshot)[stack].words if stack >= 0 else ""


def _notes(question: _Question) -> list[Note]:
    """Returns what the answer depends on."""
    history, card, settings = question.history, question.card, question.settings
    notes: list[Note] = []
    reserved = sum([segment.size for segment in history.beginning])
    if reserved:
        notes.append(Note("before", {"size": reserved}))
    count = len(question.account.trace)
    if len(history.trace) < count:
        last = history.first + len(history.trace) - 1
        notes.append(Note("part", {"first": history.first, "last": last, "n": count}))
    if card is None:
        notes.append(Note("noCard", {}))
    if settings.garbage_collection_threshold and (settings.memory_fraction >= 1 or card is None):
        notes.append(Note("noEffect", {}))
    return notes

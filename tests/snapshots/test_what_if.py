"""What would other settings change? Replays agree with a plain copy of PyTorch's rules, and say what they omit."""

import json
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nbtf._snapshots.account import DeviceAccount
from nbtf._snapshots.replay import ContradictoryHistoryError
from nbtf._snapshots.snapshot import ALLOC, SEGMENT_FREE, SEGMENT_UNMAP, MemorySnapshot, Trace
from nbtf._snapshots.what_if import USUAL_SETTINGS, card_size, usual_settings, what_if
from tests.devices.slow_settings import RULES, SlowAllocator
from tests.rings import with_nightly
from tests.snapshots.recorded_programs import MIB, STACKS, TEXTS, Program, run, without_beginning

LARGE = 1 << 40
_RECORDED = ("", "expandable_segments:True", "roundup_power2_divisions:4")
"""Settings that never release a part of the cache, so that every release in a history is the program's."""


class _Expected:
    """What the plain copy does with the steps of a program until it refuses a request."""

    def __init__(self, program: Program, text: str, total: int) -> None:
        self.slow = SlowAllocator(total, RULES[text])
        self.refusal: tuple[int, int] | None = None
        (trace,) = program.snapshot.traces
        for before, (action, *rest) in program.steps:
            if action == "allocate":
                name, size, stream = rest
                if self.slow.allocate(size, name, stream) is None:
                    event = before + int(np.argmax(trace.action[before:] == ALLOC))
                    self.refusal = event, size
                    return
            elif action == "free":
                self.slow.free(rest[0])
            elif before < len(trace) and trace.action[before] in (SEGMENT_FREE, SEGMENT_UNMAP):
                self.slow.empty_cache()


@pytest.mark.parametrize("text", RULES)
@pytest.mark.parametrize("programs", with_nightly([8], [200]))
def test_other_settings_and_cards_agree_with_a_plain_copy_of_the_rules(text: str, programs: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(programs):
        program = run(seed, _RECORDED[seed % len(_RECORDED)], 80, others=False, total=LARGE)
        needed = what_if(program.snapshot).peak_reserved
        for part in (0.5, 0.8, 1.0, 1.5, 2.5):
            card = int(needed * part)
            expected = _Expected(program, text, card)

            result = what_if(program.snapshot, settings=text, card=card)

            refusal = None if result.refusal is None else (result.refusal.event, result.refusal.requested)
            assert refusal == expected.refusal
            assert result.stopped == (refusal is not None)
            assert result.retries == expected.slow.retries
            assert result.peak_allocated == expected.slow.peak_allocated
            assert result.peak_reserved == expected.slow.peak_reserved
            seen["refused" if refusal else "fits"] += 1
            seen["retries"] += result.retries or 0

    assert min(seen["refused"], seen["fits"], seen["retries"]) >= 5


def test_nothing_changed_is_what_the_file_says() -> None:
    program = run(1, TEXTS[1])
    account = DeviceAccount(program.snapshot, 0)

    result = what_if(program.snapshot)

    assert result.as_recorded
    assert result.settings == "expandable_segments:True"
    assert (result.peak_allocated, result.peak_reserved) == (account.peak.allocated, account.peak_reserved.reserved)
    assert result.retries is None
    assert bool(result)


def test_a_recorded_failure_is_reported_and_does_not_end_the_replay() -> None:
    program = run(0, total=60 * MIB)
    failures = DeviceAccount(program.snapshot, 0).failures
    assert failures

    recorded, larger = what_if(program.snapshot), what_if(program.snapshot, card="1GiB")

    assert recorded.card == 60 * MIB
    assert recorded.refused == len(failures)
    assert recorded.refusal is not None
    assert recorded.refusal.event == failures[0].event
    assert recorded.refusal.line.startswith("train.py:")
    assert not recorded.stopped
    assert larger.refusal is None
    assert ("granted", {"n": len(failures)}) in larger.notes


def test_a_line_is_left_out_with_all_of_its_memory() -> None:
    program = run(2, total=LARGE, empties=False)
    (trace,) = program.snapshot.traces
    account = DeviceAccount(program.snapshot, 0)
    pieces = account.pieces.at(account.pieces.stack != 2)
    levels = [int(pieces.requested[(pieces.birth <= s) & (s < pieces.freed)].sum()) for s in range(account.states)]

    result = what_if(program.snapshot, without="train.py:30")
    full = what_if(program.snapshot, without="/home/user/train.py:30 in step")

    assert np.count_nonzero(trace.stack[trace.action == ALLOC] == 2) > 5
    assert result == replace(full, without="train.py:30")
    assert max(levels) <= result.peak_allocated < max(levels) * 1.1
    assert result.peak_allocated < what_if(program.snapshot).peak_allocated


def test_a_line_that_allocated_nothing_is_an_error() -> None:
    program = run(2, total=LARGE)

    with pytest.raises(
        ValueError, match=r"No memory was allocated by 'train\.py:3'\. .* The largest are train\.py:\d0 "
    ):
        what_if(program.snapshot, without="train.py:3")
    with pytest.raises(ValueError, match=r"The file contains no lines\."):
        what_if(_without_stacks(program.snapshot), without="train.py:30")


def test_memory_from_before_the_first_event_may_not_fit() -> None:
    program = run(5, total=LARGE)
    snapshot = without_beginning(program.snapshot, len(program.snapshot.traces[0]) // 2)
    held = DeviceAccount(snapshot, 0).level(0).active
    assert held > 4 * MIB

    for settings in (None, "expandable_segments:True"):
        result = what_if(snapshot, settings=settings, card=held // 2)

        assert result.stopped
        assert result.events == 0
        assert result.refusal is not None
        assert result.refusal.event == -1


def test_the_usual_settings_are_compared_with_the_recorded_ones_in_like_circumstances() -> None:
    program = run(6, total=LARGE)
    late = without_beginning(program.snapshot, 60)

    complete, cut = usual_settings(program.snapshot), usual_settings(late)

    assert [each.settings for each in complete[1:]] == [
        "expandable_segments:True",
        "max_split_size_mb:128",
        "garbage_collection_threshold:0.8,per_process_memory_fraction:0.95",
        "roundup_power2_divisions:8",
        "max_split_size_mb:128,expandable_segments:True",
    ]
    assert [each.settings for each in cut[2:]] == [each.settings for each in complete[1:]]
    assert [each.as_recorded for each in cut] == [True, *[False] * 6]
    assert complete[1].peak_reserved < complete[0].peak_reserved
    assert cut[1].settings == ""
    assert [note.name for note in cut[0].notes] == ["before"]
    assert [note.name for note in cut[1].notes] == ["before", "noCard", "anew"]
    assert len(USUAL_SETTINGS) == 5


def test_a_long_history_is_replayed_around_its_peak() -> None:
    program = run(6, total=LARGE)
    account = DeviceAccount(program.snapshot, 0)

    for settings in (None, "expandable_segments:True"):
        result = what_if(program.snapshot, settings=settings, most_events=100)

        assert result.events == 100
        assert result.first_event > 0
        assert result.first_event <= account.peak_reserved.state <= result.first_event + 100
        parts = [note.values for note in result.notes if note.name == "part"]
        assert parts == [{"first": result.first_event, "last": result.first_event + 99, "n": len(account.trace)}]
        if settings is None:
            assert result.peak_reserved == account.peak_reserved.reserved


def test_a_result_is_plain_data() -> None:
    result = what_if(run(0, total=LARGE).snapshot, card="30MiB", settings="max_split_size_mb:20")

    data = json.loads(json.dumps(result.as_json()))

    assert data["schema"] == "nbtf-what-if/1"
    assert (data["settings"], data["card"], data["device"]) == ("max_split_size_mb:20", 30 * MIB, "GPU:0")
    assert data["refusal"]["cause"] in ("full", "fragmentation")
    assert result.refusal is not None
    assert data["refusal"]["event"] == result.refusal.event


def test_what_a_file_does_not_tell_is_said() -> None:
    (text,) = [text for text in USUAL_SETTINGS if "garbage" in text]

    unlimited = what_if(run(0, total=LARGE).snapshot, settings=text)
    without_limit = what_if(run(0, total=LARGE).snapshot, settings="garbage_collection_threshold:0.5", card="1GiB")

    assert unlimited.card is None
    assert [note.name for note in unlimited.notes] == ["noCard", "noEffect"]
    assert [note.name for note in without_limit.notes] == ["noEffect"]


def test_a_file_that_differs_from_the_rules_is_noted() -> None:
    snapshot = run(3, TEXTS[1], total=LARGE).snapshot
    settings: dict[str, Any] = {"PYTORCH_ALLOC_CONF": ""}
    other = MemorySnapshot("other", "pickle", snapshot.segments, snapshot.traces, STACKS, settings)

    result = what_if(other)

    assert "differs" in [note.name for note in result.notes]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"device": 3}, r"random has no device 3 with a history\. Devices with one: 0\."),
        ({"card": "much"}, r"'much' is neither a size such as 24GiB nor the name of a card\. Unknown card 'much'\."),
        ({"card": 0}, r"A card of 0 bytes is not possible\."),
        ({"settings": "fast:True"}, r"Unrecognized key 'fast'"),
        ({"most_events": 0}, r"most_events=0\. Expected 1 or more\."),
    ],
)
def test_wrong_questions_are_errors(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        what_if(run(0).snapshot, **changes)


def test_a_card_is_a_size_or_a_name() -> None:
    assert card_size("24GiB") == 24 << 30
    assert card_size(1000) == 1000
    assert card_size("Tesla T4") == round(14.58 * 1024) * MIB


def _without_stacks(snapshot: MemorySnapshot) -> MemorySnapshot:
    (trace,) = snapshot.traces
    trace.stack[:] = -1
    return MemorySnapshot("random", "pickle", snapshot.segments, [trace], (), snapshot.settings)


@pytest.mark.parametrize("histories", with_nightly([60], [3000]))
def test_damaged_histories_are_replayed_or_are_one_error(histories: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(histories):
        draw = random.Random(seed)
        snapshot = _damaged(run(seed, draw.choice(TEXTS), 60).snapshot, draw)
        try:
            results = [*usual_settings(snapshot), what_if(snapshot, card="50MiB")]
        except ContradictoryHistoryError:
            seen["contradictory"] += 1
            continue
        seen["replayed"] += 1
        for result in results:
            assert 0 <= result.unallocated <= result.peak_reserved
            assert result.stopped <= (result.refusal is not None)

    assert seen["replayed"] > 0.9 * histories


def _damaged(snapshot: MemorySnapshot, draw: random.Random) -> MemorySnapshot:
    """Returns a snapshot with other numbers, events in another order, and without some."""
    (trace,) = snapshot.traces
    names = ("action", "address", "size", "stream", "microseconds", "stack")
    columns = {name: getattr(trace, name).copy() for name in names}
    for _ in range(draw.randrange(12)):
        event, other = draw.randrange(len(trace)), draw.randrange(len(trace))
        name = draw.choice(["action", "address", "size", "stream", ""])
        if name == "action":
            columns[name][event] = draw.randrange(9)
        elif name:
            columns[name][event] = draw.choice([0, 1, 512, -5, 2**62, columns[name][other]])
        else:
            for column in columns.values():
                column[[event, other]] = column[[other, event]]
    rows = sorted(draw.sample(range(len(trace)), draw.randrange(1, len(trace) + 1)))
    damaged: Any = [columns[name][rows] for name in names]
    segments = [each for each in snapshot.segments if draw.random() < 0.9]
    stacks, settings = snapshot.stacks, snapshot.settings
    return MemorySnapshot("damaged", "pickle", segments, [Trace(0, *damaged)], stacks, settings)

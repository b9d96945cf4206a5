"""Do the totals stay exact while the list of events stays short?"""

from __future__ import annotations

import threading
from typing import Any

import pytest

import nbtf as tf
from nbtf._runtime.events import Allocated, Copied, CopyKind, Event, OpExecuted, OpPlaced, OutputSpec, Reason
from nbtf._runtime.recorder import Recorder

ASKED, DEFAULT = Reason("explicit scope"), Reason("no GPU")


def placed(op: str = "Ink", device: str = "GPU:0", reason: Reason = ASKED, seq: int = 0, line: int = 1) -> OpPlaced:
    return OpPlaced(op, device, reason, seq, 0.0, ("a.py", line))


def executed(op: str = "Ink", device: str = "GPU:0", seq: int = 0, line: int = 1) -> OpExecuted:
    return OpExecuted(op, device, (OutputSpec((), "float32", 4),), 0.0, "finished", seq, 0.0, ("a.py", line))


def copied(source: str, target: str, nbytes: int, kind: CopyKind = "move") -> Copied:
    return Copied(source, target, nbytes, 0.0, True, kind, 0, 0.0)


def recorder_of(*events: Event, capacity: int = 100) -> Recorder:
    recorder = Recorder(capacity)
    for event in events:
        recorder(event)
    return recorder


def test_ops_are_counted_by_device_and_reason() -> None:
    taken = recorder_of(placed(), placed(), placed(reason=DEFAULT), placed(device="CPU:0"), executed()).snapshot()

    assert {("Ink", "GPU:0", ASKED): 2, ("Ink", "GPU:0", DEFAULT): 1, ("Ink", "CPU:0", ASKED): 1} == taken.ops
    assert (4, 1, 5) == (taken.placed, taken.executed, taken.heard)


def test_copies_are_counted_and_their_bytes_added() -> None:
    taken = recorder_of(
        copied("CPU:0", "GPU:0", 8), copied("CPU:0", "GPU:0", 4), copied("GPU:0", "CPU:0", 1)
    ).snapshot()

    assert {("CPU:0", "GPU:0"): 2, ("GPU:0", "CPU:0"): 1} == taken.copies
    assert {("CPU:0", "GPU:0"): 12, ("GPU:0", "CPU:0"): 1} == taken.copied_bytes


def test_allocations_are_counted() -> None:
    assert {"GPU:0": 2} == recorder_of(*[Allocated("GPU:0", 8, 16, 64, 0, 0.0)] * 2).snapshot().allocations


def test_totals_stay_exact_when_events_are_cut() -> None:
    taken = recorder_of(*[placed(seq=number) for number in range(1000)], capacity=10).snapshot()

    assert (1000, 1000, 990) == (taken.heard, taken.placed, taken.cut)
    assert list(range(990, 1000)) == [event.seq for event in taken.events]


@pytest.mark.parametrize(("last", "kept"), [(None, 3), (0, 0), (1, 1), (3, 3), (99, 3)])
def test_snapshot_gives_the_last_events(last: int | None, kept: int) -> None:
    taken = recorder_of(placed(seq=1), placed(seq=2), placed(seq=3)).snapshot(last)

    assert [1, 2, 3][3 - kept :] == [event.seq for event in taken.events]
    assert (3, 3) == (taken.heard, taken.placed)


def test_snapshot_does_not_change_afterwards() -> None:
    recorder = recorder_of(placed())
    taken = recorder.snapshot()
    recorder(placed())

    assert (1, 1, 1) == (taken.heard, taken.placed, len(taken.events))


def test_cleared_recorder_starts_anew() -> None:
    recorder = recorder_of(placed(), copied("CPU:0", "GPU:0", 8), capacity=1)
    recorder.clear()
    recorder(placed(seq=1))
    recorder(placed(seq=2))

    taken = recorder.snapshot()
    assert (2, 2, {}, 1) == (taken.heard, taken.placed, taken.copies, len(taken.events))


def test_eight_threads_lose_no_event() -> None:
    recorder = Recorder(100)
    seen: list[Any] = []

    def work(number: int) -> None:
        for _ in range(2000):
            recorder(placed(op=f"Ink{number % 2}"))
        seen.append(recorder.snapshot(5))

    threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    taken = recorder.snapshot()
    assert {("Ink0", "GPU:0", ASKED): 8000, ("Ink1", "GPU:0", ASKED): 8000} == taken.ops
    assert (16000, 100) == (taken.heard, len(taken.events))
    assert {True} == {one.heard == one.placed for one in seen}


# How was it placed?


def test_placement_of_an_executed_op_is_found() -> None:
    recorder = recorder_of(placed(reason=DEFAULT), executed(seq=2), placed(reason=ASKED), executed(seq=4))

    assert (DEFAULT, ASKED) == tuple(found.reason for n in (2, 4) if (found := recorder.placed_before(n)))


def test_events_of_other_threads_in_between_are_not_mistaken() -> None:
    recorder = recorder_of(
        placed(reason=DEFAULT),
        placed(op="Other"),
        placed(device="GPU:1"),
        placed(line=2),
        copied("CPU:0", "GPU:0", 4),
        executed(seq=6),
    )

    found = recorder.placed_before(6)
    assert found is not None
    assert DEFAULT == found.reason


@pytest.mark.parametrize("seq", [0, 1, 99])
def test_number_of_no_executed_op_finds_nothing(seq: int) -> None:
    assert recorder_of(placed(seq=1), executed(seq=2)).placed_before(seq) is None


def test_placement_that_is_no_longer_kept_is_not_found() -> None:
    later = [placed(seq=number) for number in range(3, 3000)]

    assert recorder_of(placed(), executed(seq=2), *later, capacity=1).placed_before(2) is None


def test_recorder_hears_what_the_runtime_tells() -> None:
    recorder = Recorder()
    stop = tf.runtime.start_recorder(recorder)
    tf.negative([1.0, 2.0])
    stop()
    tf.negative([1.0, 2.0])

    taken = recorder.snapshot()
    ours = {op: count for (op, _, _), count in taken.ops.items()}
    assert {"_EagerConst": 1, "Neg": 1} == ours
    assert (2, 4) == (taken.executed, taken.heard)

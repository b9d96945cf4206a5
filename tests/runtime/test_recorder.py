"""Do the totals stay exact while the list of events stays short?"""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._record import totals as totals_module
from nbtf._record.events import Allocated, Copied, CopyKind, Event, Freed, OpExecuted, OpPlaced, OutputSpec, Reason
from nbtf._record.recorder import Recorder
from nbtf._record.rows import note_of_event
from nbtf._runtime.context import CURRENT
from tests.machines import SCRATCH, machine

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


def test_copies_of_tensors_are_counted_by_themselves() -> None:
    taken = recorder_of(
        copied("CPU:0", "GPU:0", 8, "upload"), copied("GPU:0", "GPU:1", 4), copied("GPU:1", "CPU:0", 4, "read")
    ).snapshot()

    assert ({("GPU:0", "GPU:1"): 1}, {("GPU:0", "GPU:1"): 4}) == (taken.moves, taken.moved_bytes)
    assert 3 == len(taken.copies)


def test_allocations_are_counted_and_the_highest_account_is_kept() -> None:
    taken = recorder_of(*[Allocated("GPU:0", 8, in_use, 64, 0, 0.0) for in_use in (16, 48, 32)], capacity=1).snapshot()

    assert ({"GPU:0": 3}, {"GPU:0": 48}) == (taken.allocations, taken.peaks)


@pytest.mark.parametrize(
    ("capacity", "error", "message"),
    [
        (-1, ValueError, "capacity must be 0 events or more, got -1"),
        ("many", TypeError, "capacity must be a number of events, got 'many'"),
        (None, TypeError, "capacity must be a number of events, got None"),
    ],
)
def test_capacity_is_a_number_of_events(capacity: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}$"), tf.runtime.recording(capacity):
        pass


def test_capacity_of_nothing_keeps_totals() -> None:
    taken = recorder_of(placed(), placed(), capacity=0).snapshot()

    assert ((), 2) == (taken.events, taken.placed)


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
    recorder = recorder_of(placed(reason=DEFAULT, seq=1), executed(seq=2), placed(reason=ASKED, seq=3), executed(seq=4))

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


# What the road writes down


def told(recorder: Recorder) -> list[Any]:
    """Events without numbers, times, and seconds that are measured, but for frees: each look tells those until then."""
    events = [event for event in recorder.snapshot().events if not isinstance(event, Freed)]
    plain = [event._replace(seq=0, time=0.0) for event in events]
    return [e._replace(seconds=0.0) if isinstance(e, OpExecuted) and e.timing == "finished" else e for e in plain]


def busy() -> None:
    """Runs ops of all kinds: constants, copies, lists, several results, views, updates, reads."""
    with tf.device("GPU:1"):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    v = tf.Variable(tf.zeros([2, 2]))
    v.assign_add(tf.concat([x, v], 0)[:2])
    first, second = tf.split(tf.reshape(x, tf.constant([4, 1])), 2)
    tf.shape(first + second)
    tf.reduce_sum(v, axis=0).numpy()
    tf.reduce_sum(v, axis=tf.constant(0)).cpu()


def test_recorder_tells_what_an_observer_hears() -> None:
    with machine(2):
        recorder, heard = Recorder(), Recorder()
        tf.runtime.start_recorder(recorder)
        tf.runtime.observe(heard)
        busy()

    # A free is told by the next look, and everybody looks at other times.
    varying: dict[str, Any] = {"nbytes": {}, "modelled": {}, "heard": 0, "events": ()}
    assert told(heard) == told(recorder)
    assert heard.snapshot()._replace(**varying) == recorder.snapshot()._replace(**varying)
    assert {Freed, Allocated, Copied, OpExecuted, OpPlaced} == {type(event) for event in heard.snapshot().events}


def test_recorder_alone_hears_the_same() -> None:
    with machine(2):
        recorder, alone = Recorder(), Recorder()
        stop, end = tf.runtime.start_recorder(recorder), tf.runtime.observe(lambda event: None)
        busy()
        stop()
        end()
    with machine(2):
        tf.runtime.start_recorder(alone)
        busy()

    assert told(recorder) == told(alone)


def test_totals_are_those_of_the_events() -> None:
    with machine(2), tf.runtime.recording() as record:
        for _ in range(3):
            busy()

    taken, again = record.snapshot(), recorder_of(*record.events, capacity=100_000).snapshot()
    assert again._replace(nbytes=taken.nbytes, modelled=taken.modelled) == taken
    assert sum(taken.nbytes.values()) == sum(
        output.nbytes for event in taken.events if isinstance(event, OpExecuted) for output in event.outputs
    )


def test_numbers_grow_from_begin_to_end() -> None:
    with machine(2), tf.runtime.recording() as record:
        busy()

    numbers = [event.seq for event in record.events]
    assert sorted(set(numbers)) == numbers


def test_events_of_several_threads_stand_in_the_order_of_their_numbers() -> None:
    with machine(1), tf.runtime.recording(capacity=50) as record:
        threads = [threading.Thread(target=lambda: [tf.negative([1.0]) for _ in range(50)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    numbers = [event.seq for event in record.events]
    assert (50, numbers) == (len(numbers), sorted(set(numbers)))


def test_op_that_fails_or_is_interrupted_was_placed_and_not_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: Any, **also: Any) -> Any:
        raise KeyboardInterrupt

    x = tf.constant([1.0, 2.0])
    with tf.runtime.recording() as record:
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.add(x, tf.constant([1.0, 2.0, 3.0]))
        monkeypatch.setattr(type(CURRENT.context.host), "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tf.negative(x)

    assert ["_EagerConst", "AddV2", "Neg"] == [op for op, _ in record.ops]
    assert (3, 1) == (record.snapshot().placed, record.snapshot().executed)


def test_constant_that_fails_was_placed_and_not_executed() -> None:
    with machine(1):
        gpu = tf.config.list_physical_devices("GPU")[0]
        tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=1)])
        with tf.runtime.recording() as record, pytest.raises(tf.errors.ResourceExhaustedError):
            tf.constant(np.zeros(1 << 20))

    assert ([("_EagerConst", "GPU:0")], 0) == (record.ops, record.snapshot().executed)


def test_interrupt_while_notes_are_counted_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(defaultdict[Any, Any]):
        def __init__(self, *given: Any) -> None:
            raise KeyboardInterrupt

    x = tf.constant([1.0])
    with tf.runtime.recording() as record:
        tf.negative(x)
        tf.negative(x)
        with monkeypatch.context() as patch:
            patch.setattr(totals_module, "defaultdict", Interrupted)
            with pytest.raises(KeyboardInterrupt):
                record.snapshot()
        tf.negative(x)

    assert (3, 3, 6) == (record.snapshot().placed, record.snapshot().executed, len(record.events))


def test_finalizer_that_runs_while_notes_are_counted_does_not_wait_for_itself() -> None:
    recorder = Recorder()
    stop = tf.runtime.start_recorder(recorder)
    with recorder._lock:
        recorder.count()
        tf.constant(1.0)
    stop()

    assert 1 == recorder.snapshot().placed


def test_notes_keep_no_tensor_and_no_frame_alive() -> None:
    class Witness:
        pass

    def work() -> weakref.ref[Any]:
        witness = Witness()
        tf.negative(tf.constant([1.0]))
        return weakref.ref(witness)

    with machine(1), tf.runtime.recording():
        seen = work()
        gc.collect()

        assert SCRATCH == tf.config.experimental.get_memory_info("GPU:0")["current"]
    assert seen() is None


def test_hundred_thousand_events_take_less_than_40_megabytes() -> None:
    with machine(1):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        recorder = Recorder(10_000)
        stop = tf.runtime.start_recorder(recorder)
        tf.add(x, x)
        tracemalloc.start()
        for _ in range(5000):
            tf.add(x, x)
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        stop()

    assert 10_000 == len(recorder.snapshot().events)
    assert 10 * taken < 40 << 20


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


def test_a_look_that_may_be_late_leaves_counting_to_a_program_that_goes_on() -> None:
    recorder = Recorder()

    def run(ops: int) -> int:
        for _ in range(ops):
            recorder.pending_notes.extend(note_of_event(executed()))
        return recorder.snapshot(0, may_be_late=True).heard

    assert [3, 3, 3] == [run(3), run(2000), run(1)]
    assert 2004 == run(0)  # it stands still, so nobody else counts
    assert 2007 == run(3)
    assert [2007, 4007] == [run(2000), recorder.snapshot(0).heard]

"""Comparing recordings: equal ones have no difference, and a known change gives exactly that difference."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import nbtf as tf
from tests.rings import seeds

OPS = ("MatMul", "AddV2", "Relu", "Sum", "_EagerConst")
REASON = tf.runtime.Reason("explicit scope")
OTHER = tf.runtime.Reason("lowest-numbered GPU")
FULL = "/job:localhost/replica:0/task:0/device:{}"


def placed(op: str, device: str, line: int, reason: Any = REASON, file: str = "/a/train.py") -> Any:
    return op, FULL.format(device), reason, (file, line)


def copied(nbytes: int, source: str, target: str, line: int) -> Any:
    return nbytes, FULL.format(source), FULL.format(target), ("/a/train.py", line)


def record_of(entries: list[Any], folder: str = "/a") -> Any:
    """Returns a recording of ops and copies, with new numbers and times."""
    events: list[Any] = []
    for number, entry in enumerate(entries):
        tail: dict[str, Any] = {"seq": 2 * number, "time": 100.0 + number}
        if len(entry) == 4 and isinstance(entry[0], str):
            op, device, reason, (file, line) = entry
            events.append(tf.runtime.OpPlaced(op, device, reason, **tail, site=(file.replace("/a", folder), line)))
        else:
            nbytes, source, target, site = entry
            events.append(tf.runtime.Copied(source, target, nbytes, 0.1, False, "move", **tail, site=site))
    return tf.runtime.OpenedRecording("a", events)


def compared(before: Any, after: Any, **settings: Any) -> Any:
    return tf.runtime.compare_recordings(before, after, **settings)


def random_entries(random: Random) -> list[Any]:
    entries: list[Any] = []
    for _ in range(random.randint(1, 60)):
        line = random.randint(1, 6)
        if random.random() < 0.2:
            entries.append(copied(random.choice([4, 4096]), "CPU:0", random.choice(["GPU:0", "GPU:1"]), line))
        else:
            entries.append(placed(random.choice(OPS), random.choice(["GPU:0", "GPU:1"]), line))
    return entries


@pytest.mark.parametrize("seed", seeds(500))
def test_known_changes_are_found_exactly(seed: int) -> None:
    random = Random(seed)
    entries = [*random_entries(random), placed("MatMul", "GPU:0", 99)]
    before = record_of(entries)
    ops = [at for at, entry in enumerate(entries) if isinstance(entry[0], str)]
    at = random.choice(ops)
    op, _, _, (file, line) = entries[at]

    assert not compared(before, record_of(entries, folder="/elsewhere/b"))

    moved = FULL.format("GPU:7")
    changed = [*entries[:at], (op, moved, OTHER, (file, line)), *entries[at + 1 :]]
    [change] = compared(before, record_of(changed), only="placement").ops
    assert (change.line, change.times) == (("train.py", line), 1)
    assert (change.old.op, change.old.reason) == (op, REASON)
    assert (change.new.device, change.new.reason) == ("GPU:7", OTHER)

    removed = [*entries[:at], *entries[at + 1 :]]
    difference = compared(before, record_of(removed))
    missing = [change for change in difference.ops if change.new is None]
    assert sum(change.times for change in missing) == 1
    assert missing[0].old.op == op
    assert not [change for change in difference.ops if change.old is None]
    assert not difference.copies

    added = [*entries, copied(12, "GPU:1", "GPU:0", 55)]
    difference = compared(before, record_of(added))
    assert not difference.ops
    [copy] = difference.copies
    assert (copy.line, copy.source, copy.target) == (("train.py", 55), "GPU:1", "GPU:0")
    assert (copy.old, copy.new) == ((0, 0), (1, 12))


def test_a_new_op_does_not_shift_the_others() -> None:
    line = [placed("A", "GPU:0", 1), placed("B", "GPU:1", 1), placed("A", "GPU:0", 1)]
    after = [placed("New", "GPU:0", 1), *line]

    [change] = compared(record_of(line), record_of(after)).ops

    assert (change.old, change.new.op) == (None, "New")


def test_long_lines_are_compared_by_counts() -> None:
    line = [placed(OPS[number % 3], f"GPU:{number % 2}", 1) for number in range(6000)]
    after = [*line[1:], placed("Relu", "GPU:5", 1)]

    changes = compared(record_of(line), record_of(after)).ops

    assert sum(change.times for change in changes) == 2


def test_equal_changes_of_a_loop_are_one_line() -> None:
    before = [placed("MatMul", "GPU:0", 1)] * 50
    after = [placed("MatMul", "GPU:1", 1)] * 50

    difference = compared(record_of(before), record_of(after))

    assert [change.times for change in difference.ops] == [50]
    assert difference.in_words() == [
        "train.py:1: MatMul moved from GPU:0 (asked for by tf.device) to GPU:1 (asked for by tf.device), 50 times"
    ]


def test_peaks_have_a_tolerance_and_times_never_count() -> None:
    tf.runtime.restart()
    tf.runtime.simulate_gpus(1, memory="1GiB")
    records: list[Any] = []
    for size in (1000, 1000, 1020):
        tf.runtime.restart(keep_settings=False)
        tf.runtime.simulate_gpus(1, memory="1GiB")
        with tf.runtime.recording() as record:
            x = tf.ones([size, 256])
            del x
        records.append(record)
    first, again, larger = records

    assert not compared(first, again)
    [peak] = compared(first, larger, only="memory").memory
    assert (peak.figure, peak.device) == ("peak", "GPU:0")
    assert peak.new > peak.old
    assert not compared(first, larger, only="memory", peak=0.05)


@pytest.mark.parametrize(("only", "peak"), [("times", 0.0), (None, -0.1), (None, float("nan"))])
def test_other_arguments_are_rejected(only: Any, peak: float) -> None:
    record = record_of([placed("A", "GPU:0", 1)])

    with pytest.raises(ValueError, match="must be"):
        compared(record, record, only=only, peak=peak)


def test_other_objects_are_rejected() -> None:
    with pytest.raises(TypeError, match="recordings"):
        compared(3, 4)


def test_a_saved_recording_equals_itself(tmp_path: Path) -> None:
    tf.runtime.simulate_gpus(1, memory="1GiB")
    with tf.runtime.recording() as record:
        tf.matmul(tf.ones([4, 4]), tf.ones([4, 4])).numpy()
    record.save(tmp_path / "a.nbtf")

    assert not compared(record, tf.runtime.read_recording(tmp_path / "a.nbtf"))

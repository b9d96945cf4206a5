"""Are events that are made late those that a tuple would have?"""

from __future__ import annotations

import copy
import pickle
import random
import threading
from collections.abc import Sequence
from itertools import pairwise
from math import isnan
from typing import Any, cast

import numpy as np
import pytest

import nbtf as tf
from nbtf._record import recorder as recorder_module
from nbtf._record.events import Allocated, Copied, Event, Freed, OpExecuted, OpPlaced, Refused
from nbtf._record.queries import Work
from nbtf._record.table import Block
from nbtf.notebook.stills.device_facts import map_facts
from nbtf.runtime import Recorder
from tests.machines import LOCAL, machine


def run_at_random(dice: random.Random, ops: int) -> None:
    """Runs ops with constants, copies, several results and errors on two GPUs and the CPU."""
    held: list[Any] = [tf.ones([3])]
    for _ in range(ops):
        with tf.device(dice.choice(["CPU:0", "GPU:0", "GPU:1"])):
            x = dice.choice(held)
            action = dice.randrange(5)
            if action == 0:
                held += tf.split(tf.concat([x, x], 0), 2)
            elif action == 1:
                tf.reduce_sum(tf.ones([dice.randrange(1, 3000)])).numpy()
            elif action == 2:
                with pytest.raises(tf.errors.InvalidArgumentError):
                    tf.add(x, [1.0, 2.0])
            else:
                held.append(tf.negative(x) * float(dice.randrange(4)))
        del held[:-4]


@pytest.fixture(params=[40, 500, 10**6], ids=["fewest", "few", "all"])
def recorder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """A recorder that has heard a program, and keeps some of its events, packed in part."""
    monkeypatch.setattr(recorder_module, "_BLOCK", 3)
    dice = random.Random(request.param)
    with machine(2):
        recorder = Recorder(request.param)
        tf.runtime.start_recorder(recorder)
        for _ in range(20):
            run_at_random(dice, dice.randrange(10))
            if dice.random() < 0.5:
                recorder.begin_scene("a cell")
            recorder.snapshot(dice.randrange(3))
    return recorder


def test_they_are_what_a_tuple_of_them_is(recorder: Recorder) -> None:
    events = recorder.snapshot().events
    whole = tuple(events)
    numbers = [event.seq for event in whole]

    assert sorted(set(numbers)) == numbers
    assert (len(whole), repr(whole), hash(whole)) == (len(events), repr(events), hash(events))
    assert [*reversed(whole)] == [*reversed(events)]
    assert [*whole] == [events[at] for at in range(len(whole))]
    assert [*whole] == [events[at - len(whole)] for at in range(len(whole))]
    assert events == whole
    assert whole == events
    assert whole + whole == cast("Any", events) + whole
    assert events != whole[1:]
    assert whole[0] in events
    assert events.index(whole[5]) == 5
    assert whole == pickle.loads(pickle.dumps(events)) == copy.copy(events)
    for wrong in (len(whole), -len(whole) - 1):
        with pytest.raises(IndexError):
            events[wrong]


def test_slices_of_slices_are_those_of_a_tuple(recorder: Recorder) -> None:
    dice = random.Random(3)
    for _ in range(40):
        late, whole = recorder.snapshot().events, tuple(recorder.snapshot().events)
        for _ in range(3):
            begin, end = (dice.choice([None, dice.randrange(-len(whole) - 2, len(whole) + 3)]) for _ in range(2))
            step = dice.choice([None, 1, 1, 1, 2, -1])
            late, whole = late[begin:end:step], whole[begin:end:step]
            assert whole == late
            assert [*reversed(whole)] == [*reversed(late)]


@pytest.mark.parametrize("most", [0, 1, 7, 100])
def test_the_last_are_the_last_of_all(recorder: Recorder, most: int) -> None:
    whole = tuple(recorder.snapshot().events)

    assert whole[max(0, len(whole) - most) :] == recorder.snapshot(most).events


def test_a_look_at_few_makes_few(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = Block.event_list

    def counted(block: Block, most: int | None = None) -> list[Event]:
        made.append(1)
        return make(block, most)

    monkeypatch.setattr(Block, "event_list", counted)
    events = recorder.snapshot().events

    assert (len(events), events[1:-1][0:0], []) == (len(events), (), made)
    assert events[-1]
    assert events[-2]
    assert len(made) < 4


@pytest.mark.parametrize("most", [None, 0, 1, 7, 100])
def test_the_span_of_events_has_their_numbers_and_no_others(recorder: Recorder, most: int | None) -> None:
    numbers = [event.seq for event in recorder.snapshot().events]
    dice = random.Random(5)
    for _ in range(20):
        snapshot = recorder.snapshot(most)
        begin, end = sorted(dice.randrange(len(snapshot.events) + 1) for _ in range(2))
        snapshot = dice.choice([snapshot, snapshot._replace(events=snapshot.events[begin:end])])
        first, last = snapshot.span

        assert [event.seq for event in snapshot.events] == [number for number in numbers if first <= number <= last]


def test_columns_of_all_events_make_none(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(block: Block, most: int | None = None) -> list[Event]:
        raise AssertionError("Events were made.")

    monkeypatch.setattr(Block, "event_list", refuse)
    snapshot = recorder.snapshot()

    assert len(snapshot.work.seq)
    assert map_facts(snapshot).ops


def test_events_of_ops_in_other_threads_stand_among_them() -> None:
    turn, done = threading.Event(), threading.Event()

    def wait() -> np.ndarray[Any, Any]:
        turn.set()
        done.wait(60)
        return np.ones(2, np.float32)

    recorder = Recorder()
    stop = tf.runtime.start_recorder(recorder)
    slow = threading.Thread(target=lambda: tf.numpy_function(wait, [], tf.float32))
    slow.start()
    turn.wait(60)
    for _ in range(5):
        tf.negative([1.0])
        recorder.snapshot(0)  # a batch of its own
    done.set()
    slow.join()
    stop()

    numbers = [event.seq for event in recorder.snapshot().events]
    assert sorted(set(numbers)) == numbers
    assert numbers[-3:] == [event.seq for event in recorder.snapshot(3).events]


# Columns


def seen(event: Any) -> tuple[Any, ...]:
    """What a row says of an event."""
    if isinstance(event, Copied):
        return event.seq, event.start, event.seconds, event.time, event[:3], event.kind, event.site
    if isinstance(event, OpPlaced):
        return event.seq, None, 0.0, event.time, event.op, event.device, event.site
    what = event.op, event.device, event.outputs, event.timing
    return event.seq, event.start, event.seconds, event.time, what, event.site, event.phase


def ran(events: Sequence[Event]) -> list[tuple[Any, ...]]:
    """What columns say, read from events: ops that ran, with the reason; copies; and ops that failed."""
    placed: dict[tuple[Any, ...], list[OpPlaced]] = {}
    rows: list[tuple[Any, ...]] = []
    for event in events:
        if isinstance(event, OpPlaced):
            placed.setdefault((event.op, event.device, event.site), []).append(event)
        elif isinstance(event, OpExecuted):
            waiting = placed.get((event.op, event.device, event.site))
            rows.append((*seen(event), waiting.pop().reason if waiting else None))
        elif isinstance(event, Copied):
            rows.append((*seen(event), None))
    rows += [(*seen(event), event.reason) for failed in placed.values() for event in failed]
    return sorted(rows, key=lambda row: row[0])


def columns_of(work: Work) -> list[tuple[Any, ...]]:
    """The same, read from columns."""
    rows: list[tuple[Any, ...]] = []
    for seq, start, seconds, now, call_time, number in zip(*[column.tolist() for column in work[1:]], strict=True):
        assert isnan(call_time) or call_time <= now
        event, reason = work.facts[number]
        times = {} if isinstance(event, OpPlaced) else {"start": None if isnan(start) else start, "seconds": seconds}
        rows.append((*seen(event._replace(seq=seq, time=now, **times)), reason))
    return rows


def test_columns_say_what_events_say(recorder: Recorder) -> None:
    taken = recorder.snapshot()
    rows, expected = columns_of(taken.work), ran(taken.events)

    assert expected[1:] == rows[1:]  # the placement of the first may be forgotten
    assert len(taken.work.facts) <= len(rows) == len(expected)
    assert taken.work is taken.work


def test_a_snapshot_of_a_tuple_has_columns_of_what_ran(recorder: Recorder) -> None:
    taken = recorder.snapshot()
    placed = {event.seq for event in taken.events if isinstance(event, OpPlaced)}

    expected = [row for row in columns_of(taken.work) if row[0] not in placed]
    assert expected[1:] == columns_of(taken._replace(events=tuple(taken.events)).work)[1:]


def test_columns_of_a_part_say_what_its_events_say(recorder: Recorder) -> None:
    events = recorder.snapshot().events
    begin, end = len(events) // 3, 2 * len(events) // 3
    part = recorder.snapshot()._replace(events=events[begin:end])
    numbers = [event.seq for event in part.events]

    assert [row for row in columns_of(recorder.snapshot().work) if numbers[0] <= row[0] <= numbers[-1]] == columns_of(
        part.work
    )


def test_events_of_memory_are_those_among_all(recorder: Recorder) -> None:
    taken = recorder.snapshot()
    for device in (LOCAL + "GPU:0", LOCAL + "GPU:1"):
        among = [e for e in taken.events if isinstance(e, Allocated | Freed | Refused) and e.device == device]
        assert among == taken.memory_of(device)
    assert recorder.snapshot().memory_of(LOCAL + "CPU:0") == []


def test_a_snapshot_without_events_has_no_columns() -> None:
    taken = Recorder().snapshot()._replace(events=())

    assert ((), {}, ()) == (taken.work.facts, taken.levels, taken.memory_of(LOCAL + "GPU:0"))


def test_an_event_from_elsewhere_is_not_hidden_by_the_mark_of_a_scene() -> None:
    """Its number may be less than those of all that happened here."""
    recorder = Recorder()
    event = OpPlaced("Add", f"{LOCAL}GPU:0", tf.runtime.Reason("cell"), 1, 0.0)

    recorder.begin_scene("first")
    recorder(event)
    recorder.begin_scene("second")

    events = recorder.snapshot().events
    assert (event, [event]) == (events[-1], list(events))


# Lines and memory


def test_lines_about_every_free_are_those_of_the_events(recorder: Recorder) -> None:
    taken = recorder.snapshot()
    frees = [event.seq for event in taken.events if isinstance(event, Freed)][:-1]
    of_events = taken._replace(events=tuple(taken.events)).lines()

    expected = [pair for pair in of_events.neighbours(frees) if pair[0] is not None]
    assert expected == taken.lines().neighbours(frees)[-len(expected) :]


def test_lines_tell_pieces_of_a_line_from_those_that_outlive_it(recorder: Recorder) -> None:
    taken = recorder.snapshot()
    of_events, lines = taken._replace(events=tuple(taken.events)).lines(), taken.lines()
    requests = [event.seq for event in taken.events if isinstance(event, Allocated)]

    def lines_between(changes: Any) -> list[bool]:
        counts = changes.searchsorted(requests, "right")
        return [first != second for first, second in pairwise(counts)]

    assert lines_between(of_events.changes) == lines_between(lines.changes)


def test_memory_by_device_is_that_among_all_events(recorder: Recorder) -> None:
    taken = recorder.snapshot()

    assert taken._replace(events=tuple(taken.events)).memory() == taken.memory()
    assert all(taken.memory_of(device) == changes for device, changes in taken.memory().items())

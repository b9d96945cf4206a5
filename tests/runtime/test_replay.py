"""Does what an allocator tells say which chunks it has, after each event?"""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._devices.bfc import report as bfc_report
from nbtf._devices.bfc.allocator import BFCAllocator
from nbtf._devices.journal import ENTRY
from nbtf._ops.op import find_op
from nbtf._record.replay import MemoryReplay
from nbtf._record.rows import NUMBER
from nbtf._runtime.context import CURRENT
from nbtf.errors import ResourceExhaustedError
from nbtf.runtime import Allocated, Freed, Refused
from tests.interrupts.tracing import interrupted
from tests.machines import LOCAL, MIB, machine

GPU = LOCAL + "GPU:0"


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> dict[int, Any]:
    """The chunks of all simulated GPUs after each change, by the number of the event that tells of it."""
    seen: dict[int, Any] = {}

    def watched(change: Callable[..., Any]) -> Callable[..., Any]:
        def run(self: BFCAllocator, *args: Any) -> Any:
            result = change(self, *args)
            if self._entries:
                seen[self._entries[NUMBER - ENTRY]] = plain(bfc_report.views(self._regions))
            return result

        return run

    for name in ("_take", "_merge"):
        monkeypatch.setattr(BFCAllocator, name, watched(getattr(BFCAllocator, name)))
    return seen


def plain(regions: Any) -> Any:
    """Regions and chunks without labels: in an allocator these have code and instruction, in events file and line."""
    return [(region.region, region.size, [chunk._replace(label=None) for chunk in region.chunks]) for region in regions]


def check(events: Any, steps: dict[int, Any], device: str = GPU) -> MemoryReplay:
    """Replays events, and compares each step."""
    replay = MemoryReplay(device)
    compared = 0
    for event in events:
        if replay.take(event):
            found = plain(replay.regions())
            in_use = sum(chunk.size for _, _, chunks in found for chunk in chunks if chunk.in_use)
            assert event.in_use == in_use, event
            if event.seq in steps:
                compared += 1
                assert steps[event.seq] == found, event
    assert compared > 3
    return replay


def gpu_memory() -> Any:
    return CURRENT.context.gpus.made[0].memory


def wander(seed: int, rounds: int = 150) -> None:
    """Makes and drops tensors of many sizes; some do not fit."""
    chosen, held = random.Random(seed), list[Any]()
    for _ in range(rounds):
        action = chosen.random()
        if action < 0.55 or not held:
            try:
                held.append(tf.zeros([chosen.choice([1, 300, 5000, MIB // 4, MIB, 3 * MIB // 2])]))
            except ResourceExhaustedError:
                held.clear()
        elif action < 0.95:
            del held[chosen.randrange(len(held))]
        else:
            tf.config.experimental.get_memory_info("GPU:0")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("growth", [False, True], ids=["whole", "growing"])
def test_each_step_of_a_random_program_has_the_allocators_chunks(growth: bool, seed: int, steps: Any) -> None:
    with machine(2, memory="24 MiB"):
        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, growth)
        with tf.runtime.recording() as record:
            wander(seed)
            if growth:
                gpu_memory().trim()
            wander(seed + 100, 40)
            gc.collect()
            replay = check(record.events, steps)
            assert tf.runtime.memory_map("GPU:0") == replay.regions()
        events = record.events

    assert {Allocated, Freed, Refused} <= {type(event) for event in events}
    regions = {event.region for event in events if isinstance(event, Allocated)}
    assert (len(regions) > 2) == growth


def test_a_restart_frees_everything_and_the_next_machine_begins_anew(steps: Any) -> None:
    with machine(1, memory="24 MiB"), tf.runtime.recording() as record:
        held = [tf.zeros([1000]) for _ in range(3)]
        tf.runtime.restart()
        tf.runtime.simulate_gpus(1, memory="12 MiB")
        held += [tf.zeros([5000]) for _ in range(3)]
        replay = check(record.events, steps)
        assert tf.runtime.memory_map("GPU:0") == replay.regions()
    sizes = [event.region_size for event in record.events if isinstance(event, Allocated)]
    assert len(set(sizes)) == 2


def test_pieces_of_threads_come_in_the_order_of_the_allocator(steps: Any) -> None:
    def work(seed: int) -> None:
        wander(seed, 60)

    with machine(1, memory="64 MiB"), tf.runtime.recording() as record:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(record.events, steps)


def test_a_recording_that_begins_late_goes_on_from_the_map_of_then(steps: Any) -> None:
    with machine(1, memory="24 MiB"):
        held = [tf.zeros([1000]) for _ in range(5)]
        del held[1:4:2]
        begin = tf.runtime.memory_map("GPU:0")
        with tf.runtime.recording() as record:
            held += [tf.zeros([100]), tf.zeros([9000])]
            del held[0]
        replay = MemoryReplay(GPU, begin)
        for event in record.events:
            replay.take(event)

        assert tf.runtime.memory_map("GPU:0") == replay.regions()


def test_an_allocation_says_what_it_is_and_where() -> None:
    with machine(1, memory="24 MiB"), tf.runtime.recording() as record:
        held = tf.zeros([300])
        own: Any = tf.runtime.holding(held)
        (chunk,) = [one for one in tf.runtime.memory_map("GPU:0")[0].chunks if one.offset == own.offset]
        (event,) = [one for one in record.events if isinstance(one, Allocated) and one.nbytes == 1200]

    assert (chunk.offset, chunk.size, chunk.requested) == (event.offset, event.size, event.nbytes)
    assert chunk.label == event.label
    assert ("Fill", "float32", (300,), event.site) == event.label
    assert (0, 24 * MIB) == (event.region, event.region_size)


def test_a_free_is_told_by_the_next_look_with_the_piece_that_it_was() -> None:
    heard: list[Any] = []
    with machine(1, memory="24 MiB"):
        tf.runtime.observe(heard.append)
        held = tf.zeros([300])
        before = time_of_last = heard[-1].time
        del held
        assert not [event for event in heard if isinstance(event, Freed)]
        tf.zeros([1])
        (freed,) = [event for event in heard if isinstance(event, Freed) and event.nbytes == 1200]
    (born,) = [event for event in heard if isinstance(event, Allocated) and event.nbytes == 1200]

    assert freed._replace(**dict.fromkeys(("seq", "time", "in_use"), 0)) == Freed(
        *born._replace(**dict.fromkeys(("seq", "time", "in_use"), 0))
    )
    assert freed.time >= time_of_last == before
    assert freed.seq > born.seq


def test_a_refusal_says_how_it_stood() -> None:
    with machine(1, memory="24 MiB"), tf.runtime.recording() as record:
        held = [tf.zeros([MIB]) for _ in range(5)]
        with pytest.raises(ResourceExhaustedError):
            tf.zeros([2 * MIB])
        stats = gpu_memory().stats()
    (refused,) = [event for event in record.events if isinstance(event, Refused)]

    earlier = [event for event in record.events if isinstance(event, Allocated | Freed) and event.seq < refused.seq]
    assert (8 * MIB, earlier[-1].in_use, stats.pool) == (refused.nbytes, refused.in_use, refused.pool)
    assert stats.limit == refused.limit
    assert refused.largest_free < 4 * MIB
    assert ("Fill", (2 * MIB,)) == (refused.label and (refused.label.op, refused.label.shape)) or None
    assert refused.site is not None
    assert __file__ == refused.site[0]
    assert held


def test_kernels_that_fail_give_back_what_they_took(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise ValueError("no")

    with machine(1, memory="24 MiB"), tf.runtime.recording() as record:
        x = tf.zeros([300])
        monkeypatch.setattr(find_op("ConcatV2"), "kernel", fail)
        with pytest.raises(Exception, match="no"):
            tf.concat([x, x], 0)  # in its lane, and then on the road
        tf.config.experimental.get_memory_info("GPU:0")
        events = record.events

    born, freed = ([one.offset for one in events if isinstance(one, kind)] for kind in (Allocated, Freed))
    assert freed[-1:] == born[-1:]


@pytest.mark.parametrize("holder", ["activations", "gradients", "weights", "optimizer slots"])
def test_memory_is_told_with_what_it_is_kept_for(holder: str) -> None:
    x, y = np.ones((64, 32), np.float32), np.zeros((64, 1), np.float32)
    with machine(1, memory="24 MiB"), tf.runtime.recording() as record:
        model = tf.keras.Sequential([tf.keras.layers.Input((32,)), tf.keras.layers.Dense(48), tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(x, y, verbose=0, batch_size=64)
        born = [event for event in record.events if isinstance(event, Allocated) and event.holder == holder]

    shapes = {event.label.shape for event in born if event.label is not None}
    expected = (64, 48) if holder == "activations" else (32, 48)
    assert expected in shapes


def test_what_an_observer_makes_is_told_to_nobody_but_recorders() -> None:
    heard: list[Any] = []

    def curious(event: Any) -> None:
        heard.append(event)
        tf.zeros([10])

    with machine(1), tf.runtime.recording() as record:
        tf.runtime.observe(curious)
        for _ in range(3):
            tf.zeros([20])
    sizes = [event.nbytes for event in heard if isinstance(event, Allocated)]

    assert 40 not in sizes
    assert 40 in [event.nbytes for event in record.events if isinstance(event, Allocated)]


def test_nobody_listening_keeps_no_journal() -> None:
    with machine(1):
        with tf.runtime.recording():
            tf.zeros([1])
        tf.zeros([1])

        gpu: Any = CURRENT.context.gpus.made[0]
        allocator = gpu.allocator
        assert (None, []) == (allocator._journal, allocator._entries)


def _action_of_allocator() -> None:
    with tf.runtime.recording() as record:
        held = [tf.zeros([n]) for n in (300, 5000, 20)]
        del held[1]
        tf.zeros([4000])
        record.snapshot(0)


def test_an_interrupt_loses_no_piece_of_memory() -> None:
    with machine(1, memory="24 MiB"):
        recorder = tf.runtime.Recorder()
        tf.runtime.start_recorder(recorder)
        _action_of_allocator.__code__ = _action_of_allocator.__code__.replace(co_name="action")
        points = interrupted(_action_of_allocator, 0, KeyboardInterrupt, False).points
        replay, replayed = MemoryReplay(GPU), 0
        for at in range(1, points + 1, max(1, points // 120)):
            place = interrupted(_action_of_allocator, at, KeyboardInterrupt, False).place
            tf.runtime.end_cell()
            gc.collect()
            tf.zeros([1])
            events = recorder.snapshot().events
            for event in events[replayed:]:
                replay.take(event)
            replayed = len(events)
            assert tf.runtime.memory_map("GPU:0") == replay.regions(), place
        numbers = [event.seq for event in recorder.snapshot().events]
        assert sorted({*numbers}) == numbers

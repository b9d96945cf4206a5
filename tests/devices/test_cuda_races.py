"""Are all accesses to a real card's memory ordered? A wait or a mark that is left out of the copy is found.

The fake CuPy runs everything at once; a checker with vector clocks says what a card might do in another order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from nbtf._devices.cuda import probe as cuda_probe
from nbtf._devices.cuda.device import CudaGPU
from nbtf._devices.cuda.guard import Events
from nbtf._devices.cuda.memory import plan_for
from nbtf._ops.arrays.shapes import Transpose
from nbtf._ops.math.arithmetic import AddV2
from tests import fake_cupy
from tests.fake_cupy.races import RaceError, Races, checked_for_races

SEEDS = range(12)
Drop = Callable[[pytest.MonkeyPatch], None]


@contextmanager
def devices(cards: int, on_each: int, **environ: str) -> Generator[tuple[list[CudaGPU], Races]]:
    """Logical GPUs on fake cards, and the checker that watches them."""
    with fake_cupy.installed(cards), checked_for_races() as races:
        found = cuda_probe.look(lambda: fake_cupy, lambda name: None).cards
        limit = 16 if on_each > 1 else None
        made = [
            CudaGPU(number, card, plan_for(limit, None, None, environ), on_each == 1, cupy=fake_cupy)
            for number, card in enumerate(card for card in found for _ in range(on_each))
        ]
        yield made, races


def ones(device: CudaGPU, n: int = 1000) -> Any:
    return device.put(np.ones(n, np.float32))


def doubled(device: CudaGPU, buffer: Any) -> Any:
    return device.run(AddV2, [buffer, buffer], {})[0]


def work(gpus: list[CudaGPU], seed: int, steps: int = 150) -> None:
    """Puts, runs, copies and frees in a random order; blocks are used again all the time."""
    chance = random.Random(seed)
    held = [(gpu, ones(gpu)) for gpu in gpus]
    for _ in range(steps):
        gpu, buffer = chance.choice(held)
        match chance.randrange(5):
            case 0:
                held.append((gpu, ones(gpu, chance.choice([300, 1000]))))
            case 1:
                held.append((gpu, doubled(gpu, buffer)))
            case 2 | 3:
                target = chance.choice(gpus)
                held.append((target, target.copy_from(gpu, buffer)))
            case _:
                gpu.get(buffer)
        del buffer
        while len(held) > 6:
            held.pop(chance.randrange(len(held)))


MACHINES = {
    "one card, three devices": (1, 3, {}),
    "three cards": (3, 1, {}),
    "two cards, two devices on each": (2, 2, {}),
    "our own allocator": (1, 3, {"NBTF_GPU_ALLOCATOR": "bfc"}),
}
every_machine = pytest.mark.parametrize(("cards", "on_each", "environ"), MACHINES.values(), ids=MACHINES)


@every_machine
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_all_accesses_are_ordered(cards: int, on_each: int, environ: dict[str, str], seed: int) -> None:
    with devices(cards, on_each, **environ) as (gpus, races):
        work(gpus, seed)

    assert races.accesses > 150


@every_machine
def test_values_survive_the_work(cards: int, on_each: int, environ: dict[str, str]) -> None:
    with devices(cards, on_each, **environ) as (gpus, _):
        there = gpus[1].copy_from(gpus[0], doubled(gpus[0], ones(gpus[0])))

        assert 2000 == gpus[1].get(there).sum()


# What is left out is found


def no_wait_of_the_target(patch: pytest.MonkeyPatch) -> None:
    drop_every_wait(patch, first=True)


def no_wait_of_the_source(patch: pytest.MonkeyPatch) -> None:
    drop_every_wait(patch, first=False)


def drop_every_wait(patch: pytest.MonkeyPatch, first: bool) -> None:
    """Leaves out the first or the second of the two waits of each copy."""
    wait, count = Events.wait, [0]

    def sometimes(self: Events, event: Any) -> None:
        count[0] += 1
        if (count[0] % 2 == 1) is not first:
            wait(self, event)

    patch.setattr(Events, "wait", sometimes)


def no_fresh_marks(patch: pytest.MonkeyPatch) -> None:
    """Marks that were made once are never set again."""
    record = Events.record

    def once(self: Events) -> Any:
        return self._free.pop() if self._free else record(self)

    patch.setattr(Events, "record", once)


def marks_in_the_wrong_stream(patch: pytest.MonkeyPatch) -> None:
    def wrong(self: Events) -> Any:
        event = self._make(disable_timing=True)
        event.record(fake_cupy.cuda.Stream())
        return event

    patch.setattr(Events, "record", wrong)


@pytest.mark.parametrize("drop", [no_wait_of_the_target, no_fresh_marks, marks_in_the_wrong_stream])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_copy_that_does_not_wait_for_its_source_is_found(
    drop: Drop, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(monkeypatch)

    with devices(1, 3) as (gpus, _), pytest.raises(RaceError, match="a copy between devices"):
        work(gpus, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_source_that_does_not_wait_for_the_copy_is_found(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    no_wait_of_the_source(monkeypatch)

    with devices(1, 3) as (gpus, _), pytest.raises(RaceError, match="not ordered behind a copy between devices"):
        work(gpus, seed)


@pytest.mark.parametrize("drop", [no_wait_of_the_target, no_wait_of_the_source])
def test_it_is_found_between_cards_too(drop: Drop, monkeypatch: pytest.MonkeyPatch) -> None:
    drop(monkeypatch)

    with devices(2, 1) as (gpus, _), pytest.raises(RaceError):
        work(gpus, 0)


def test_devices_that_are_taken_to_share_a_stream_are_found() -> None:
    with devices(1, 2) as (gpus, _):
        source = doubled(gpus[0], ones(gpus[0]))
        for gpu in gpus:
            gpu.open()
            gpu.stream.ptr = 7

        with pytest.raises(RaceError):
            gpus[1].copy_from(gpus[0], source)


def test_a_block_that_is_used_again_before_the_copy_has_read_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    no_wait_of_the_source(monkeypatch)

    with devices(1, 2) as (gpus, _):
        source = ones(gpus[0])
        copy = gpus[1].copy_from(gpus[0], source)
        del source

        with pytest.raises(RaceError, match="a kernel writes its result"):
            ones(gpus[0])
        del copy


def test_a_transposed_array_is_copied_in_order() -> None:
    with devices(1, 2) as (gpus, _):
        matrix = gpus[0].put(np.arange(6000, dtype=np.float32).reshape(2, 3000))
        (turned,) = gpus[0].run(Transpose, [matrix], {"perm": None})

        there = gpus[1].copy_from(gpus[0], turned)
        del turned, matrix
        ones(gpus[0], 6000)

        assert [0, 3000] == gpus[1].get(there)[0].tolist()


def test_waiting_on_the_host_is_order_enough() -> None:
    with devices(1, 2) as (gpus, races):
        source = doubled(gpus[0], ones(gpus[0]))
        gpus[0].synchronize()
        gpus[1].open()

        races.access("a kernel of the other device reads", [source._array], [], (0, gpus[1].stream.ptr))


# The checker itself


def test_streams_without_an_event_between_them_race() -> None:
    races = Races()
    races.access("a write", [], [(0x1000, 10)], (0, 8))

    with pytest.raises(RaceError, match=r"a read \(step 1 of stream 0x10 of device 0\) is not ordered behind a write"):
        races.access("a read", [(0x1000, 1)], [], (0, 16))


def test_two_reads_need_no_order() -> None:
    races = Races()

    for stream in (8, 16):
        races.access("a read", [(0x1000, 10)], [], (0, stream))


def test_an_event_orders_what_was_before_it_and_nothing_after() -> None:
    races = Races()
    races.access("a write", [], [(0x1000, 10)], (0, 8))
    races.record(1, (0, 8))
    races.access("a later write", [], [(0x2000, 10)], (0, 8))
    races.wait(1, (0, 16))

    races.access("a read", [(0x1000, 10)], [], (0, 16))
    with pytest.raises(RaceError, match="a later write"):
        races.access("a read", [(0x2000, 10)], [], (0, 16))


def test_the_null_stream_of_a_card_is_ordered_with_its_other_streams_only() -> None:
    races = Races()
    races.access("a write", [], [(0x1000, 10)], (0, 0))

    races.access("a read", [(0x1000, 10)], [], (0, 8))
    with pytest.raises(RaceError):
        races.access("a read", [(0x1000, 10)], [], (1, 0))

"""In which order are steps of a copy between real GPUs taken? The cards are fake, the order is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nbtf._devices.cpu import CPU
from nbtf._devices.cuda import copying as cuda_copy
from nbtf._devices.cuda.copying import unpinned
from nbtf._devices.cuda.device import CudaGPU
from nbtf.errors import InternalError
from tests import fake_cupy
from tests.fake_cupy import runtime
from tests.fake_cupy.devices import gpu
from tests.fake_cupy.machine import FakeMachine


@pytest.fixture(autouse=True)
def machine() -> Iterator[FakeMachine]:
    cuda_copy._ASKED.clear()
    with fake_cupy.installed(2) as made:
        yield made


def steps(machine: FakeMachine, source: CudaGPU, target: CudaGPU) -> list[tuple[Any, ...]]:
    """Copies, and returns who recorded, waited and copied, in order: 0 is the source, 1 the target."""
    target.open()
    buffer = source.put(np.arange(4, dtype=np.float32))
    machine.diary.clear()
    copy = target.copy_from(source, buffer)
    taken = [entry for entry in machine.diary if entry[0] in ("record", "wait", "memcpy")]
    assert [0, 1, 2, 3] == target.get(copy).tolist()
    names = {(source.ordinal, source.stream.ptr): 0, (target.ordinal, target.stream.ptr): 1}
    events: dict[int, int] = {}
    return [
        ("memcpy", entry[1])
        if entry[0] == "memcpy"
        else (entry[0], names[entry[1]], events.setdefault(entry[2], len(events)))
        for entry in taken
    ]


IN_ORDER = [("record", 0, 0), ("wait", 1, 0), ("memcpy", 16), ("record", 1, 1), ("wait", 0, 1)]


def test_each_waits_for_the_other_between_cards(machine: FakeMachine) -> None:
    assert IN_ORDER == steps(machine, gpu(0, 0), gpu(1, 1))


def test_each_waits_for_the_other_on_one_card(machine: FakeMachine) -> None:
    assert IN_ORDER == steps(machine, gpu(0, 0, alone=False), gpu(1, 0, alone=False))


def test_devices_that_share_a_stream_are_in_order_anyway(machine: FakeMachine) -> None:
    assert [("memcpy", 16)] == steps(machine, gpu(0, 0), gpu(1, 0))


def test_the_host_waits_for_nothing(machine: FakeMachine) -> None:
    source, target = gpu(0, 0), gpu(1, 1)
    buffer = source.put(np.arange(4, dtype=np.float32))
    machine.diary.clear()
    target.copy_from(source, buffer)

    assert [] == [entry for entry in machine.diary if entry[0] == "sync"]


def test_the_direct_way_is_opened_once(machine: FakeMachine) -> None:
    source, target = gpu(0, 0), gpu(1, 1)
    buffer = source.put(np.arange(4, dtype=np.float32))
    for _ in range(3):
        target.copy_from(source, buffer)

    assert [("peer", 1, 0)] == [entry for entry in machine.diary if entry[0] == "peer"]


def test_cards_that_cannot_reach_each_other_go_through_the_computer(machine: FakeMachine) -> None:
    machine.peers = False
    source, target = gpu(0, 0), gpu(1, 1)
    buffer = source.put(np.arange(4, dtype=np.float32))
    machine.faults.append(("memcpy", runtime.CUDARuntimeError(217)))

    copy = target.copy_from(source, buffer)

    assert ([0, 1, 2, 3], 1) == (target.get(copy).tolist(), copy._array.data.device_id)


def test_a_copy_that_fails_is_an_error_of_ours(machine: FakeMachine) -> None:
    source, target = gpu(0, 0), gpu(1, 1)
    buffer = source.put(np.arange(4, dtype=np.float32))
    machine.faults.append(("memcpy", runtime.CUDARuntimeError(700)))

    with pytest.raises(InternalError, match="an illegal memory access"):
        target.copy_from(source, buffer)


def test_a_part_of_an_array_is_copied_as_it_reads() -> None:
    source, target = gpu(0, 0), gpu(1, 1)
    buffer = source.put(np.arange(12, dtype=np.float32).reshape(3, 4))
    buffer._array = buffer._array.T

    assert [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]] == target.get(target.copy_from(source, buffer)).tolist()


def test_the_cpu_and_a_gpu_copy_in_both_directions() -> None:
    cpu, device = CPU(0), gpu()
    buffer = cpu.put(np.arange(3, dtype=np.int64))

    there = device.copy_from(cpu, buffer)

    assert [0, 1, 2] == cpu.get(cpu.copy_from(device, there)).tolist()


def test_events_are_used_again(machine: FakeMachine) -> None:
    source, target = gpu(0, 0), gpu(1, 1)
    buffer = source.put(np.arange(4, dtype=np.float32))
    for _ in range(20):
        target.copy_from(source, buffer)

    assert 2 == len({entry[2] for entry in machine.diary if entry[0] == "record"})


def test_memory_that_a_card_may_go_on_reading_is_copied_first() -> None:
    pinned = np.frombuffer(bytearray(16), np.float32)  # as `cupyx.empty_pinned` makes it: owned by no array
    plain = np.arange(8, dtype=np.float32)

    assert not np.shares_memory(pinned, unpinned(pinned[1:]))
    assert plain[1:].base is not None
    assert np.shares_memory(plain, unpinned(plain[1:]))

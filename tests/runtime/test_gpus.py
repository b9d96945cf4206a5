"""Who decides how the memory of a GPU is taken?"""

from __future__ import annotations

import pytest

from nbtf._devices.backends import MemoryOptions
from nbtf._devices.base import MemoryStats
from nbtf._devices.discovery import simulated_machine
from nbtf._devices.simulated import SimulatedGPU
from nbtf._runtime.configuration import Configuration
from nbtf._runtime.gpus import GPUs, LogicalGPU
from nbtf.errors import AlreadyExistsError, InternalError
from tests.machines import MIB

HALF, GROWING = MemoryOptions(fraction=0.5), MemoryOptions(growth=True)


@pytest.fixture
def gpus() -> GPUs:
    configuration = Configuration({}, simulated_machine(2, "K20m"))
    assert 3 == len(configuration.physical)
    return GPUs(configuration)


def stats(gpus: GPUs) -> list[MemoryStats]:
    return [gpu.memory.stats() for gpu in gpus.made if gpu.memory is not None]


def limits(gpus: GPUs) -> list[int]:
    return [one.limit // MIB for one in stats(gpus)]


def test_gpus_are_made_once(gpus: GPUs) -> None:
    assert gpus.make(gpus.configured(), [HALF] * 2)
    made = [*gpus.made]

    assert not gpus.make(gpus.configured(), [GROWING] * 2)
    assert made == gpus.made


def test_a_number_stands_for_one_card(gpus: GPUs) -> None:
    first, second = gpus.configured()
    gpus.make([second], [HALF])

    with pytest.raises(AlreadyExistsError, match=r"GPU:0\) is being mapped to multiple devices \(0 now, and 1 prev"):
        gpus.make([first, second], [HALF] * 2)
    assert [second.physical] == gpus.made_from


def test_making_maps_no_memory(gpus: GPUs) -> None:
    gpus.make(gpus.configured(), [HALF] * 2)

    assert [0, 0] == [one.pool for one in stats(gpus)]


def test_who_starts_a_gpu_decides(gpus: GPUs) -> None:
    gpus.make(gpus.configured(), [MemoryOptions()] * 2)
    gpus.start([HALF])
    gpus.start([GROWING, GROWING])

    assert [2560, 4620] == limits(gpus)
    assert [2560 * MIB, 2 * MIB] == [one.pool for one in stats(gpus)]


def test_who_starts_a_gpu_decides_though_it_waits_for_its_first_op(gpus: GPUs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimulatedGPU, "start", lambda self: None)  # as a real card
    gpus.make(gpus.configured(), [MemoryOptions()] * 2)
    gpus.start([HALF, HALF])
    gpus.start([MemoryOptions(), MemoryOptions()])

    assert [2560, 2560] == limits(gpus)


def test_an_op_that_came_first_decides(gpus: GPUs) -> None:
    gpus.make(gpus.configured(), [MemoryOptions()] * 2)
    gpus.made[0].start()
    gpus.start([HALF, HALF])

    assert [4620, 2560] == limits(gpus)


def test_where_one_is_refused_none_is_made(gpus: GPUs) -> None:
    with pytest.raises(InternalError, match="does not support oversubscription"):
        gpus.make(gpus.configured(), [HALF, MemoryOptions(unified=True)])

    assert [] == gpus.made


def test_parts_of_a_card_share_its_memory(gpus: GPUs) -> None:
    physical = gpus.configured()[0].physical
    gpus.make([LogicalGPU(physical)] * 2, [MemoryOptions()] * 2)
    gpus.start([MemoryOptions()] * 2)
    pools = [one.pool for one in stats(gpus)]

    assert 4620 * MIB == pools[0]
    assert sum(pools) <= 5120 * MIB

"""What every device must do, whatever it is made of."""

from __future__ import annotations

import atexit
import gc
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache, partial
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
import pytest

from nbtf._cluster.controller import Cluster
from nbtf._cluster.in_process import InProcessEngine
from nbtf._devices.backends import MemoryOptions, MemoryRequest
from nbtf._devices.base import Buffer, Device, Label, buffer_of
from nbtf._devices.bfc.allocator import Driver
from nbtf._devices.cpu import CPU
from nbtf._devices.cuda.device import CudaGPU
from nbtf._devices.cuda.memory import plan_for
from nbtf._devices.cuda.probe import ask, probe
from nbtf._devices.discovery import gpus, simulated_machine
from nbtf._devices.remote import RemoteArray, RemoteDevice
from nbtf._devices.simulated import MemoryPlan, SimulatedGPU
from nbtf._ops.arrays.broadcasting import Reshape
from nbtf._ops.math.arithmetic import AddV2
from nbtf._ops.reductions.sums import Sum
from nbtf.distribute.local_cluster import LocalCluster
from nbtf.errors import AbortedError, InvalidArgumentError, OpError, ResourceExhaustedError
from tests import fake_cupy
from tests.devices import toy_backend
from tests.rings import only_fast_tests
from tests.sweeps import check_each

MIB = 2**20


LIMIT_MIB = 64


def simulated(index: int, cards: int = 1) -> Device:
    card = gpus(simulated_machine(cards, "Tesla K20m"), {})[index % cards]
    device = SimulatedGPU(index, card, MemoryPlan(LIMIT_MIB * MIB, driver=Driver(card.memory_bytes)))
    device.start()
    return device


def cuda(index: int, cards: int = 1, alone: bool = True, **environ: str) -> Device:
    """A device on a fake card: NumPy computes, no GPU code is executed."""
    card = ask(fake_cupy).cards[index % cards]
    return CudaGPU(index, card, plan_for(LIMIT_MIB, None, None, environ), alone, fake_cupy)


def toy(index: int) -> Device:
    """A device of a kind that is one file of the tests."""
    card = gpus(simulated_machine(1, "Tesla K20m"), {})[0]
    request = MemoryRequest(index, MemoryOptions(), LIMIT_MIB, {})
    return toy_backend.build_gpu(index, card, toy_backend.plan_memory(card, None, request), alone=True)


def real(index: int, above: int = 0, **environ: str) -> Device:
    """A device on the first card of this machine, or on a part of it."""
    return CudaGPU(index + above, probe({}).cards[0], plan_for(LIMIT_MIB, None, None, environ), REAL == 1)


class Settled(RemoteDevice):
    """A device of another task that is not lazy: what goes wrong is raised at once."""

    def put(self, array: np.ndarray[Any, Any], label: Label | None = None) -> Buffer:
        buffer = super().put(array, label)
        self.synchronize()
        return buffer

    def run(self, *args: Any, **options: Any) -> list[Buffer]:
        buffers = super().run(*args, **options)
        self.synchronize()
        return buffers


CLUSTERS: list[Cluster] = []


@cache
def real_processes() -> LocalCluster:
    """Two workers of Dask, for all tests of this file."""
    cluster = LocalCluster(worker=2, gpus=1, model="Tesla K20m", memory=LIMIT_MIB, heartbeat=60.0)
    atexit.register(cluster.close)
    return cluster


def remote(index: int, device_type: str = "GPU", tasks: int = 1, engine: Any = None) -> Device:
    """A device of a task in this process."""
    machine = simulated_machine(1, "Tesla K20m", LIMIT_MIB)
    engine = engine or InProcessEngine({"worker": tasks}, machine=machine)
    cluster = Cluster(engine)
    CLUSTERS.append(cluster)
    device = next(
        device for device in cluster.devices if device.type == device_type and device.task[-1] == str(index % tasks)
    )
    device.__class__ = Settled
    return device


def dask(index: int, device_type: str = "GPU", tasks: int = 1) -> Device:
    """A device of a task in another process."""
    return remote(index, device_type, tasks, real_processes().engine())


HAS_DASK = all(map(find_spec, ["distributed", "cryptography"])) and not only_fast_tests()  # it starts processes
REAL = int(os.environ.get("NBTF_TEST_REAL_GPUS", "0"))
"""How many logical GPUs on a real card this file is about, instead of all kinds; tests/gpu/check.py says it."""
ON_A_REAL_CARD: dict[str, Callable[[int], Device]] = {
    **{f"real, {number}": partial(real, above=number) for number in range(REAL)},
    "real, bfc": partial(real, NBTF_GPU_ALLOCATOR="bfc"),
}
EVERYWHERE: dict[str, Callable[[int], Device]] = {
    "cpu": CPU,
    "simulated": simulated,
    "simulated, four cards": partial(simulated, cards=4),
    "cuda": cuda,
    "cuda, two on a card": partial(cuda, alone=False),
    "cuda, four cards": partial(cuda, cards=4),
    "cuda, growing": partial(cuda, TF_FORCE_GPU_ALLOW_GROWTH="true"),
    "cuda, bfc": partial(cuda, NBTF_GPU_ALLOCATOR="bfc"),
    "toy": toy,
    "remote": remote,
    "remote, of another task": partial(remote, tasks=2),
    "remote, cpu": partial(remote, device_type="CPU"),
}
if HAS_DASK:
    EVERYWHERE |= {"dask": dask, "dask, of another task": partial(dask, tasks=2)}
KINDS = ON_A_REAL_CARD if REAL else EVERYWHERE
"""How to make a device of each kind; a kind that is added here must pass all of this file."""
ACCOUNTED = [kind for kind in KINDS if not kind.endswith("cpu")]
MAPPED = (
    ["real, bfc"] if REAL else ["simulated", "simulated, four cards", "cuda, bfc", "remote", "remote, of another task"]
) + ["dask", "dask, of another task"] * (HAS_DASK and not REAL)


@pytest.fixture(autouse=True)
def fake_cards() -> Iterator[None]:
    with nullcontext() if REAL else fake_cupy.installed(4):
        yield
    while CLUSTERS:
        cluster = CLUSTERS.pop()
        cluster.end(AbortedError("The test is over."))
        cluster.engine.close()


@pytest.fixture(params=KINDS)
def device(request: pytest.FixtureRequest) -> Device:
    return KINDS[request.param](0)


@pytest.fixture(params=ACCOUNTED)
def accounted(request: pytest.FixtureRequest) -> Device:
    return KINDS[request.param](0)


@pytest.fixture(params=MAPPED)
def mapped(request: pytest.FixtureRequest) -> Device:
    return KINDS[request.param](0)


def in_use(device: Device) -> int:
    assert device.memory is not None
    device.synchronize()
    return device.memory.stats().in_use


def address(buffer: Buffer) -> int:
    array = buffer._array
    if isinstance(array, RemoteArray):
        return hash((array.link, array.number))
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr


def arange(n: int) -> np.ndarray[Any, Any]:
    return np.arange(n, dtype=np.float32)


def test_put_takes_a_copy(device: Device) -> None:
    host = arange(4)

    buffer = device.put(host)
    host[0] = 9

    assert [0, 1, 2, 3] == device.get(buffer).tolist()


def test_get_gives_a_fresh_array(device: Device) -> None:
    buffer = device.put(arange(3))

    device.get(buffer)[0] = 9

    assert [0, 1, 2] == device.get(buffer).tolist()


def test_arrays_come_back_as_they_went(device: Device) -> None:
    shapes = [(), (0,), (3, 0, 2), (2, 3)]
    dtypes = ["float16", "float32", "float64", "int64", "uint8", "bool", "complex64"]

    def comes_back(case: tuple[tuple[int, ...], str]) -> None:
        host = np.ones(*case)

        back = device.get(device.put(host))

        assert (host.shape, host.dtype, host.tolist()) == (back.shape, back.dtype, back.tolist())

    check_each(product(shapes, dtypes), comes_back)


def test_copies_go_both_ways_and_share_memory_between_cpus_alone(device: Device) -> None:
    def go_both_ways(kind: str) -> None:
        other, buffer = KINDS[kind](1), device.put(arange(5))

        there = other.copy_from(device, buffer)
        back = device.copy_from(other, there)

        assert [0, 1, 2, 3, 4] == device.get(back).tolist()
        assert (address(buffer) == address(there)) == (device.on_host and other.on_host)

    check_each(KINDS, go_both_ways)


def test_a_kernel_runs_and_leaves_its_inputs_alone(device: Device) -> None:
    buffer = device.put(arange(3))

    (result,) = device.run(AddV2, [buffer, buffer], {})

    assert [0, 2, 4] == device.get(result).tolist()
    assert [0, 1, 2] == device.get(buffer).tolist()


def test_a_full_reduction_is_an_array_of_rank_zero(device: Device) -> None:
    (result,) = device.run(Sum, [device.put(arange(4))], {"axis": None, "keepdims": False})

    assert () == result._array.shape
    assert 6 == device.get(result)


def test_a_kernel_that_fails_changes_nothing(device: Device) -> None:
    buffer = device.put(arange(3))
    other = device.put(arange(2))
    before = None if device.memory is None else in_use(device)

    with pytest.raises((ValueError, InvalidArgumentError), match=r"broadcast|Incompatible shapes"):
        device.run(AddV2, [buffer, other], {})

    assert before == (None if device.memory is None else in_use(device))
    assert [0, 1, 2] == device.get(buffer).tolist()


def test_synchronize_and_close_can_be_called_twice(device: Device) -> None:
    buffer = device.put(arange(2))

    for _ in range(2):
        device.synchronize()
        device.close()

    assert [0, 1] == device.get(buffer).tolist()


def test_memory_is_charged_and_given_back(accounted: Device) -> None:
    before = in_use(accounted)

    buffer = accounted.put(arange(1000))
    during = in_use(accounted)
    del buffer

    assert 4096 == during - before
    assert before == in_use(accounted)


def test_a_view_keeps_the_memory_alive_and_is_not_charged_again(accounted: Device) -> None:
    before = in_use(accounted)
    buffer = accounted.put(arange(1000))
    (view,) = accounted.run(Reshape, [buffer], {"shape": (10, 100)})
    shared = in_use(accounted) - before

    del buffer
    kept = in_use(accounted) - before
    del view

    assert (4096, 4096, 0) == (shared, kept, in_use(accounted) - before)


def test_an_empty_array_takes_no_memory(accounted: Device) -> None:
    accounted.put(arange(1))
    before = in_use(accounted)

    buffer = accounted.put(arange(0))

    assert before == in_use(accounted)
    assert (0,) == buffer._array.shape


def test_what_does_not_fit_raises_and_a_smaller_request_succeeds(accounted: Device) -> None:
    kept = accounted.put(arange(1000))

    with pytest.raises(
        ResourceExhaustedError, match=r"OOM when allocating tensor of shape \[67108864\] and type float"
    ):
        accounted.put(np.zeros(64 * MIB, np.float32), Label("_EagerConst", "float32", (64 * MIB,)))
    fits = accounted.put(np.ones(MIB, np.float32))

    assert MIB == accounted.get(fits).sum()
    assert 999 == accounted.get(kept)[-1]


def test_memory_may_be_freed_by_any_thread(accounted: Device) -> None:
    buffers = [accounted.put(arange(100)) for _ in range(8)]
    before = in_use(accounted)
    threads = [threading.Thread(target=buffers.pop) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()

    assert 8 * 512 == before - in_use(accounted)


def test_memory_of_a_cycle_is_freed_by_the_collector(accounted: Device) -> None:
    before = in_use(accounted)
    buffer = accounted.put(arange(100))
    buffer.__dict__["myself"] = buffer

    del buffer
    gc.collect()

    assert before == in_use(accounted)


def test_eight_threads_lose_no_byte(accounted: Device) -> None:
    before = in_use(accounted)
    errors: list[BaseException] = []

    def hammer(seed: int) -> None:
        try:
            random = np.random.default_rng(seed)
            held: list[Any] = []
            for _ in range(200):
                held.append(accounted.put(arange(int(random.integers(1, 5000)))))
                if len(held) > 5:
                    held.pop(int(random.integers(len(held))))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=hammer, args=[seed]) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()

    assert ([], before) == (errors, in_use(accounted))


def test_the_peak_can_be_reset(accounted: Device) -> None:
    accounted.put(arange(100_000))
    assert accounted.memory is not None

    accounted.memory.reset_peak()

    stats = accounted.memory.stats()
    assert stats.in_use == stats.peak


def test_only_errors_of_ours_or_of_the_kernel_come_out(accounted: Device) -> None:
    with pytest.raises(OpError):
        accounted.put(np.broadcast_to(np.float32(1), (100, MIB)))


def test_the_memory_map_adds_up(mapped: Device) -> None:
    held = [mapped.put(arange(n), Label("_EagerConst", "float32", (n,))) for n in (10, 1000, 5000)]
    assert mapped.memory is not None

    regions = mapped.memory.map()

    assert regions is not None
    chunks = [chunk for region in regions for chunk in region.chunks]
    assert sum(region.size for region in regions) == sum(chunk.size for chunk in chunks)
    assert in_use(mapped) == sum(chunk.size for chunk in chunks if chunk.in_use)
    assert {(10,), (1000,), (5000,)} <= {chunk.label.shape for chunk in chunks if chunk.in_use and chunk.label}
    assert 3 == len(held)


def test_a_device_has_a_map_or_says_that_it_has_none(accounted: Device, request: pytest.FixtureRequest) -> None:
    accounted.put(arange(1))
    assert accounted.memory is not None

    assert (accounted.memory.map() is not None) == (request.node.callspec.params["accounted"] in MAPPED)


def test_a_buffer_without_memory_of_its_own_holds_nothing(device: Device) -> None:
    assert buffer_of(arange(1))._allocation is None
    assert isinstance(device.name, str)

"""How does a real GPU take memory, and who holds it? The cards are fake, with 1 GiB each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nbtf._devices.base import Label
from nbtf._devices.cuda.device import CudaGPU
from nbtf._devices.cuda.memory import plan_for
from nbtf._devices.limits import reserve
from nbtf._ops.arrays.broadcasting import Reshape
from nbtf._ops.math.arithmetic import AddV2
from nbtf.errors import ResourceExhaustedError
from tests import fake_cupy
from tests.fake_cupy import cuda
from tests.fake_cupy.devices import MIB, gpu
from tests.fake_cupy.machine import FakeMachine

GIB = 1 << 30
DEFAULT_LIMIT = GIB - reserve(GIB, (7, 0))


@pytest.fixture(autouse=True)
def machine() -> Iterator[FakeMachine]:
    with fake_cupy.installed(2) as made:
        yield made


def ones(n: int) -> np.ndarray[Any, Any]:
    return np.ones(n, np.float32)


def stats(device: CudaGPU) -> Any:
    return device.account.stats()


def taken(machine: FakeMachine) -> int:
    return machine.cards[0].taken


# Modes


def test_memory_grows_with_use(machine: FakeMachine) -> None:
    device = gpu(limit=None)
    held = [device.put(ones(1000)), device.put(ones(5000))]

    assert (4096 + 20480, 2) == (taken(machine), len(held))
    assert DEFAULT_LIMIT == stats(device).limit


def test_what_was_freed_is_kept_and_used_again(machine: FakeMachine) -> None:
    device = gpu(limit=None)
    for _ in range(5):
        device.put(ones(1000))

    assert (4096, 0) == (taken(machine), stats(device).in_use)


@pytest.mark.parametrize(
    ("how", "limit"),
    [
        ({"limit": None, "NBTF_GPU_PREALLOCATE": "1"}, DEFAULT_LIMIT),
        ({"limit": None, "growth": False}, DEFAULT_LIMIT),
        ({"limit": None, "TF_FORCE_GPU_ALLOW_GROWTH": "false"}, DEFAULT_LIMIT),
        ({"limit": None, "fraction": 0.5}, GIB // 2),
        ({"limit": 100}, 100 * MIB),
        ({"limit": None, "growth": False, "TF_DEVICE_MIN_SYS_MEMORY_IN_MB": "24"}, 1000 * MIB),
    ],
)
def test_who_asks_for_it_gets_all_memory_at_first_use(machine: FakeMachine, how: dict[str, Any], limit: int) -> None:
    device = gpu(**how)
    before = taken(machine)
    device.put(ones(1))

    assert (0, limit, limit) == (before, taken(machine), stats(device).pool)
    assert 1 == sum(entry[0] == "malloc" for entry in machine.diary)


def test_an_environment_that_forces_growth_wins(machine: FakeMachine, caplog: pytest.LogCaptureFixture) -> None:
    gpu(limit=100, TF_FORCE_GPU_ALLOW_GROWTH="true").put(ones(1))

    assert 512 == taken(machine)


def test_what_another_program_took_meanwhile_is_left_out(machine: FakeMachine) -> None:
    machine.cards[0].taken = 900 * MIB
    device = gpu(limit=200)
    device.put(ones(1))

    assert 100 * MIB < stats(device).limit < 124 * MIB


def test_the_limit_counts_what_others_have_left(machine: FakeMachine) -> None:
    machine.cards[0].taken = 500 * MIB
    device = gpu(limit=None)
    device.put(ones(1))

    assert 524 * MIB - reserve(524 * MIB, (7, 0)) == stats(device).limit


def test_cupys_own_limit_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUPY_GPU_MEMORY_LIMIT", "1024")

    assert 40_000 == gpu(limit=None).put(ones(10_000))._array.nbytes


def test_preallocation_leaves_room_for_cublas(machine: FakeMachine) -> None:
    gpu(limit=100).open()

    done = [entry[0] for entry in machine.diary]
    assert done.index("cublas") < done.index("malloc")


def test_two_devices_of_a_card_have_limits_of_their_own() -> None:
    one, other = gpu(0, limit=10, alone=False), gpu(1, limit=20, alone=False)

    with pytest.raises(ResourceExhaustedError):
        one.put(ones(4 * MIB))
    held = other.put(ones(4 * MIB))

    assert (10 * MIB, 20 * MIB) == (stats(one).limit, stats(other).limit)
    assert 16 * MIB == held._array.nbytes


def test_an_unknown_allocator_is_refused() -> None:
    with pytest.raises(ValueError, match="NBTF_GPU_ALLOCATOR is 'arena'; expected pool"):
        plan_for(None, None, None, {"NBTF_GPU_ALLOCATOR": "arena"})


# The account


def test_requested_bytes_are_those_of_tensors_alone() -> None:
    device = gpu()
    x = device.put(ones(100))
    (y,) = device.run(AddV2, [x, x], {})
    both = stats(device).requested
    del y

    assert (800, 400) == (both, stats(device).requested)


def test_the_largest_request_and_their_number_are_counted() -> None:
    device = gpu()
    for n in (10, 1000, 100):
        device.put(ones(n))

    assert (3, 4000, 4096) == (stats(device).num_allocs, stats(device).largest_alloc, stats(device).peak)


def test_trim_gives_back_what_is_cached_and_keeps_what_is_in_use(machine: FakeMachine) -> None:
    device = gpu(limit=None)
    held = device.put(ones(1000))
    device.put(ones(5000))

    assert 20480 == device.account.trim()
    assert (4096, [1.0]) == (taken(machine), device.get(held)[:1].tolist())


def test_trim_keeps_what_was_preallocated(machine: FakeMachine) -> None:
    device = gpu(limit=10)
    device.put(ones(1000))

    assert (0, 10 * MIB) == (device.account.trim(), taken(machine))


def test_an_unopened_device_knows_its_limit_and_nothing_else(machine: FakeMachine) -> None:
    device = gpu(limit=100)

    assert (0, 0, 100 * MIB) == (stats(device).in_use, stats(device).pool, stats(device).limit)
    assert ((0, 0), 0, None, []) == (
        device.account.level(),
        device.account.trim(),
        device.account.map(),
        device.account.pieces(),
    )
    device.account.reset_peak()
    assert set() == machine.contexts


def test_a_pool_of_older_kind_is_read_from_any_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(cuda.memory, "SingleDeviceMemoryPool")
    device = gpu(0, 1)
    held = device.put(ones(1000))

    assert (4096, 64 * MIB, 4000) == (*device.account.level(), held._array.nbytes)
    assert 0 == cuda.runtime.getDevice()


# Who holds it


@pytest.mark.parametrize("allocator", ["pool", "bfc"])
def test_holders_are_told_with_op_dtype_and_shape(allocator: str) -> None:
    device = gpu(NBTF_GPU_ALLOCATOR=allocator)
    x = device.put(ones(100), Label("_EagerConst", "float32", (100,), ("train.py", 3)))
    (y,) = device.run(AddV2, [x, x], {}, None, ("train.py", 4))

    found = sorted((label, piece.requested) for piece, label in device.account.pieces() if label is not None)

    assert [
        (Label("AddV2", "float32", (100,), ("train.py", 4)), 400),
        (Label("_EagerConst", "float32", (100,), ("train.py", 3)), 400),
    ] == found
    assert {device.account.piece(one._allocation) for one in (x, y)} == {piece for piece, _ in device.account.pieces()}


@pytest.mark.parametrize("allocator", ["pool", "bfc"])
def test_a_view_is_no_second_holder(allocator: str) -> None:
    device = gpu(NBTF_GPU_ALLOCATOR=allocator)
    x = device.put(ones(100))
    (view,) = device.run(Reshape, [x], {"shape": (10, 10)})

    assert 1 == len(device.account.pieces())
    assert x._allocation is view._allocation


def test_a_hold_of_another_device_is_no_piece_of_this_one() -> None:
    one, other = gpu(0, 0), gpu(1, 1)
    buffer = one.put(ones(4))
    other.put(ones(4))

    assert other.account.piece(buffer._allocation) is None


def test_a_bfc_map_has_addresses_of_the_card() -> None:
    device = gpu(NBTF_GPU_ALLOCATOR="bfc")
    x = device.put(ones(100))
    piece = device.account.piece(x._allocation)
    assert piece is not None

    base = x._array.data.ptr - piece.offset

    assert (0, 512) == (base % 256, piece.nbytes)


def test_a_bfc_region_lives_as_long_as_an_array_in_it(machine: FakeMachine) -> None:
    device = gpu(NBTF_GPU_ALLOCATOR="bfc", limit=None)
    x = device.put(ones(100))
    device.close()
    with_array = taken(machine)
    values = device.get(x).tolist()
    del x
    device.close()

    assert (2 * MIB, 0, 100 * [1.0]) == (with_array, taken(machine), values)


def test_bfc_growth_takes_regions_as_tensorflow_does(machine: FakeMachine) -> None:
    device = gpu(NBTF_GPU_ALLOCATOR="bfc", limit=None)
    held = [device.put(ones(MIB // 4)) for _ in range(4)]

    assert [2 * MIB, 4 * MIB] == [entry[2] for entry in machine.diary if entry[0] == "malloc"]
    assert 4 == len(held)


def test_what_can_never_fit_costs_a_preallocated_pool_nothing() -> None:
    device = gpu(limit=64)
    device.open()
    with pytest.raises(ResourceExhaustedError):
        device.put(np.zeros(65 * MIB, np.uint8))

    assert 64 * MIB == device.account.stats().pool

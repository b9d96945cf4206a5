"""Does a thread get back what it had: its device, its stream, its allocator? The cards are fake."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import numpy as np
import pytest

from nbtf._devices.cuda import guard as cuda_guard
from nbtf._devices.cuda.device import CudaGPU
from nbtf._ops.math.arithmetic import AddV2
from tests import fake_cupy
from tests.fake_cupy import cuda, runtime
from tests.fake_cupy.devices import gpu, state_of_thread
from tests.fake_cupy.machine import FakeMachine


@pytest.fixture(autouse=True)
def machine() -> Iterator[FakeMachine]:
    with fake_cupy.installed(3) as made:
        yield made


def of_the_user(what: str) -> Callable[[], AbstractContextManager[Any]]:
    """Returns what a user may have open around a call."""
    return {
        "nothing": ExitStack,
        "device": lambda: cuda.Device(2),
        "stream": lambda: cuda.Stream(non_blocking=True),
        "allocator": lambda: cuda.using_allocator(cuda.MemoryPool().malloc),
    }[what]


def everything(device: CudaGPU) -> None:
    x = device.put(np.ones(3, np.float32))
    (y,) = device.run(AddV2, [x, x], {})
    device.get(y)
    device.synchronize()
    gpu(1, 1).copy_from(device, y)
    device.mem_info()
    device.close()


@pytest.mark.parametrize("what", ["nothing", "device", "stream", "allocator"])
@pytest.mark.parametrize("alone", [True, False])
def test_a_thread_gets_back_what_it_had(what: str, alone: bool) -> None:
    with of_the_user(what)():
        before = state_of_thread()
        everything(gpu(alone=alone))

        assert before == state_of_thread()


@pytest.mark.parametrize("what", ["nothing", "device", "stream", "allocator"])
def test_also_after_an_error(what: str) -> None:
    device = gpu()
    x, y = device.put(np.ones(3, np.float32)), device.put(np.ones(2, np.float32))
    with of_the_user(what)():
        before = state_of_thread()
        with pytest.raises(ValueError, match="broadcast"):
            device.run(AddV2, [x, y], {})

        assert before == state_of_thread()


def test_a_user_stream_moves_no_kernel_of_ours(machine: FakeMachine) -> None:
    device = gpu()
    x = device.put(np.ones(3, np.float32))
    machine.diary.clear()
    with cuda.Stream(non_blocking=True), cuda.Device(2):
        device.run(AddV2, [x, x], {})

    kernels = [entry[2:] for entry in machine.diary if entry[0] == "kernel"]
    assert [(0, 0)] == kernels


def test_memory_of_ours_never_comes_from_the_user_s_allocator() -> None:
    device, asked = gpu(), list[int]()

    def of_user(nbytes: int) -> Any:
        asked.append(nbytes)
        return cuda.memory.DEFAULT_POOL.malloc(nbytes)

    with cuda.using_allocator(of_user):
        device.put(np.ones(3, np.float32))
        fake_cupy.empty((4,))

    assert [32] == asked


def ask_the_fake(monkeypatch: pytest.MonkeyPatch, machine: FakeMachine) -> None:
    monkeypatch.setattr(cuda_guard, "_WITH_CONTEXT", set())
    monkeypatch.setattr(cuda_guard, "has_context", lambda ordinal: ordinal in machine.contexts)


def test_a_card_that_nobody_uses_gets_no_context(monkeypatch: pytest.MonkeyPatch, machine: FakeMachine) -> None:
    ask_the_fake(monkeypatch, machine)
    everything(gpu(0, 1))

    assert {1} == machine.contexts


def test_a_thread_on_a_card_that_is_used_goes_back_there(monkeypatch: pytest.MonkeyPatch, machine: FakeMachine) -> None:
    ask_the_fake(monkeypatch, machine)
    fake_cupy.empty((4,))
    everything(gpu(0, 1))

    assert (0, {0, 1}) == (runtime.getDevice(), machine.contexts)


def test_where_no_driver_can_be_asked_every_thread_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> Any:
        raise OSError(name)

    monkeypatch.setattr(cuda_guard.ctypes, "CDLL", nothing)

    assert cuda_guard.has_context(0)


@pytest.mark.parametrize(("failed", "active", "expected"), [(0, 1, True), (0, 0, False), (3, 0, True)])
def test_the_driver_knows_where_contexts_are(
    failed: int, active: int, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Driver:
        @staticmethod
        def cuDeviceGet(device: Any, ordinal: int) -> int:  # noqa: N802  # CUDA's names
            device._obj.value = ordinal + 40
            return failed

        @staticmethod
        def cuDevicePrimaryCtxGetState(device: Any, flags: Any, state: Any) -> int:  # noqa: N802
            assert 42 == device.value
            state._obj.value = active
            return 0

    monkeypatch.setattr(cuda_guard.ctypes, "CDLL", lambda name: Driver)

    assert expected == cuda_guard.has_context(2)


def test_another_thread_starts_where_it_was(machine: FakeMachine) -> None:
    device, found = gpu(0, 1), list[Any]()

    def work() -> None:
        everything(device)
        found.append(state_of_thread())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert [(0, 0, -1, None)] == found


def test_without_cupys_private_names_the_public_block_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    set_ = fake_cupy.memory._set_thread_local_allocator
    get = fake_cupy.memory._get_thread_local_allocator
    public = ("SingleDeviceMemoryPool", "OutOfMemoryError")
    hidden_names = type("memory", (), {name: getattr(fake_cupy.memory, name) for name in public})
    monkeypatch.setattr(cuda, "memory", hidden_names)
    monkeypatch.setattr(cuda, "using_allocator", lambda allocator: Using(get, set_, allocator))
    device = gpu()

    (made,) = device.run(AddV2, [device.put(np.ones(3, np.float32))] * 2, {})

    assert ([2, 2, 2], None) == (device.get(made).tolist(), get())
    assert device.memory is not None
    assert 2 == device.memory.stats().num_allocs


class Using:
    """`using_allocator` as it is, but for the module it looks into."""

    def __init__(self, get: Any, set_: Any, allocator: Any) -> None:
        self._get, self._set, self._allocator = get, set_, allocator

    def __enter__(self) -> None:
        self._before = self._get()
        self._set(self._allocator)

    def __exit__(self, *error: object) -> None:
        self._set(self._before)


def test_the_only_device_of_a_card_has_the_null_stream_others_their_own() -> None:
    alone, one, other = gpu(), gpu(alone=False), gpu(1, alone=False)
    for device in (alone, one, other):
        device.open()

    assert 0 == alone.stream.ptr
    assert 2 == len({one.stream.ptr, other.stream.ptr} - {0})


def test_streams_of_threads_leave_no_null_stream_to_rely_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cuda_guard.PER_THREAD_STREAMS, "1")
    device = gpu()
    device.open()

    assert device.stream.ptr not in (0, cuda.Stream.ptds.ptr)

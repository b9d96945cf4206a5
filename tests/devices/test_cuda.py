"""What a real GPU does when it is opened, used, short of memory, broken or closed. The cards are fake."""

from __future__ import annotations

import gc
import re
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nbtf._devices.base import Label, Spec
from nbtf._devices.cuda import opened as opened_devices
from nbtf._devices.cuda.device import CudaGPU
from nbtf._install import pip_install
from nbtf._ops.arrays.broadcasting import Reshape
from nbtf._ops.arrays.shapes import Transpose
from nbtf._ops.linalg.products import MatMul
from nbtf._ops.math.arithmetic import AddV2
from nbtf._ops.reductions.sums import Sum
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf._types import float32
from nbtf.errors import FailedPreconditionError, InternalError, OpError, ResourceExhaustedError
from tests import fake_cupy
from tests.fake_cupy import cuda, runtime
from tests.fake_cupy.devices import MIB, gpu
from tests.fake_cupy.machine import FakeMachine
from tests.fake_cupy.runtime import CUDARuntimeError


@pytest.fixture(autouse=True)
def machine() -> Iterator[FakeMachine]:
    with fake_cupy.installed(2) as made:
        yield made


def ones(n: int = 4) -> np.ndarray[Any, Any]:
    return np.ones(n, np.float32)


def doubled(device: CudaGPU, buffer: Any) -> Any:
    return device.run(AddV2, [buffer, buffer], {}, [Spec(buffer._array.shape, float32)])[0]


# Opening


def test_making_one_asks_nothing_of_cuda(machine: FakeMachine) -> None:
    device = gpu()
    device.start()
    device.synchronize()
    device.close()

    assert (set(), [], "unopened", None) == (machine.contexts, machine.diary, device.state, device.mem_info())


def test_the_first_op_opens_its_card_and_no_other(machine: FakeMachine) -> None:
    first, second = gpu(0, 0), gpu(1, 1)
    first.put(ones())

    assert ({0}, "ready", "unopened") == (machine.contexts, first.state, second.state)
    assert (936 * MIB + 24 * MIB, 1024 * MIB) == first.mem_info()


def test_many_threads_open_it_once(machine: FakeMachine) -> None:
    device, barrier = gpu(), threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        device.put(ones())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 1 == sum(entry[0] == "malloc" for entry in machine.diary)


def test_a_card_without_any_memory_says_so(machine: FakeMachine) -> None:
    machine.cards[0].taken = 1024 * MIB

    with pytest.raises(ResourceExhaustedError, match="too little free memory to start"):
        gpu().put(ones())


def test_a_card_that_others_have_to_themselves_is_told(machine: FakeMachine) -> None:
    machine.faults.append(("malloc", CUDARuntimeError(46)))

    with pytest.raises(OpError, match=r"GPU:0 \(Fake GPU\) is not available now"):
        gpu().put(ones())


# Running


def test_an_op_waits_for_nothing(machine: FakeMachine) -> None:
    device = gpu()
    x = device.put(ones())
    machine.diary.clear()
    doubled(device, x)

    assert ["kernel"] == [entry[0] for entry in machine.diary]


def test_each_op_is_waited_for_where_a_fault_is_looked_for(machine: FakeMachine) -> None:
    device = gpu(NBTF_SYNC="1")
    x = device.put(ones())
    machine.diary.clear()
    doubled(device, x)

    assert ["kernel", "sync"] == [entry[0] for entry in machine.diary]
    assert (1.0, "finished") == device.time_of(AddV2, (), (), 1.0)
    assert (1.0, "launch") == gpu().time_of(AddV2, (), (), 1.0)


def test_matrices_are_multiplied_by_a_method_of_theirs(machine: FakeMachine) -> None:
    device = gpu()
    x = device.put(np.eye(2, dtype=np.float32) * 3)

    (made,) = device.run(MatMul, [x, x], {"transpose_a": False, "transpose_b": False})

    assert [[9, 0], [0, 9]] == device.get(made).tolist()


def test_what_shows_an_input_is_copied_unless_the_op_shares_memory() -> None:
    device = gpu()
    x = device.put(ones(6).reshape(2, 3))
    (turned,) = device.run(Transpose, [x], {"perm": (1, 0)})
    (reshaped,) = device.run(Reshape, [x], {"shape": (6,)})

    memory = x._array.data.mem
    assert (False, True) == (turned._array.data.mem is memory, reshaped._array.data.mem is memory)
    assert (True, False) == (reshaped._allocation is x._allocation, turned._allocation is x._allocation)


@pytest.mark.parametrize("shape", [(0,), (2, 0), ()])
def test_arrays_of_no_and_of_one_element(shape: tuple[int, ...]) -> None:
    device = gpu()
    x = device.put(np.ones(shape, np.float32))

    assert (np.full(shape, 2.0).tolist(), shape) == (device.get(doubled(device, x)).tolist(), x._array.shape)
    assert (x._allocation is None) == (0 in shape)


def test_a_thousand_ops_leave_memory_as_it_was(machine: FakeMachine) -> None:
    device = gpu(limit=None)
    x = device.put(ones(1000))
    doubled(device, x)
    before, mapped = device.account.level()[0], machine.cards[0].taken
    for _ in range(1000):
        y = doubled(device, x)
        device.run(Sum, [y], {"axis": None, "keepdims": False})
        del y

    assert (before, 0) == (device.account.level()[0], device.account.stats().requested - 4000)
    assert machine.cards[0].taken < mapped + 4096


# Without memory


def test_what_does_not_fit_says_how_it_stands_and_who_holds_it() -> None:
    device = gpu(limit=4)
    held = device.put(ones(786_432), Label("_EagerConst", "float32", (786_432,), ("train.py", 3)))

    with pytest.raises(ResourceExhaustedError) as caught:
        doubled(device, held)

    assert [
        "OOM when allocating tensor with shape[786432] and type float on "
        "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_pool",
        "GPU:0 (Fake GPU): 3 MiB requested, 3 of 4 MiB in use. Free a tensor, or use a smaller batch.",
        "What holds it:",
        "  3 MiB    float32 [786432]  _EagerConst  train.py, line 3",
    ] == caught.value.message.splitlines()


def test_another_program_that_holds_memory_is_suspected(machine: FakeMachine) -> None:
    device = gpu(limit=None)
    device.put(ones())
    machine.cards[0].taken = 1000 * MIB

    with pytest.raises(ResourceExhaustedError, match="The card has 24 MiB left: other programs also use memory"):
        device.put(ones(25 * MIB // 4))


def test_after_that_a_smaller_request_succeeds() -> None:
    device = gpu(limit=1)
    held = device.put(ones(200_000))
    with pytest.raises(ResourceExhaustedError):
        doubled(device, held)

    small = device.put(ones(10))
    del held

    assert [2.0] * 10 == device.get(doubled(device, small)).tolist()
    assert 200_000 == len(device.get(device.put(ones(200_000))))


@pytest.mark.parametrize("allocator", ["pool", "bfc"])
def test_the_traceback_that_a_notebook_keeps_holds_no_array_of_the_kernel(allocator: str) -> None:
    device = gpu(limit=1, NBTF_GPU_ALLOCATOR=allocator)
    x = device.put(ones(100))
    inside: list[weakref.ref[Any]] = []

    class Greedy:
        type = "Greedy"
        function: str | None = None
        shares_memory = False

        @staticmethod
        def kernel(xp: Any, x: Any) -> Any:
            part = xp.zeros((100_000,), np.float32)
            inside.append(weakref.ref(part))
            return part, xp.zeros((1_000_000,), np.float32)

    with pytest.raises(ResourceExhaustedError) as caught:
        device.run(Greedy(), [x], {})

    assert (None, True) == (inside[0](), caught.value.__cause__ is None)
    assert device.account.level()[0] <= 1024


def test_cublas_without_memory_is_short_of_memory(machine: FakeMachine) -> None:
    device = gpu()
    x = device.put(ones())
    error = type("CUBLASError", (RuntimeError,), {"status": 3})("CUBLAS_STATUS_ALLOC_FAILED")
    machine.faults.append(("kernel", error))

    with pytest.raises(ResourceExhaustedError):
        doubled(device, x)


# Broken


def broken(machine: FakeMachine, device: CudaGPU) -> Any:
    """Has a kernel fail as on a card: what comes after it hears of it."""
    x = device.put(ones())
    machine.faults.append(("sync", CUDARuntimeError(700)))
    with pytest.raises(InternalError, match="an illegal memory access") as caught:
        device.synchronize()
    return x, caught.value


def test_after_an_illegal_access_every_call_fails_at_once(machine: FakeMachine) -> None:
    device, other = gpu(0, 0), gpu(1, 1)
    there = other.put(ones())
    x, first = broken(machine, device)
    machine.faults.clear()
    machine.diary.clear()

    for call in (
        lambda: device.put(ones()),
        lambda: device.get(x),
        lambda: doubled(device, x),
        lambda: device.copy_from(other, there),
        lambda: other.get(there),
        device.synchronize,
    ):
        with pytest.raises(InternalError) as caught:
            call()
        assert first.message == caught.value.message
    assert ([], None) == (machine.diary, device.mem_info())
    assert device.state.startswith("lost: GPU:0 (Fake GPU) is lost: ")


@pytest.mark.parametrize("what", ["put", "get", "run", "copy", "wait"])
def test_what_somebody_else_broke_is_an_error_of_ours(machine: FakeMachine, what: str) -> None:
    device, other = gpu(0, 0), gpu(1, 1)
    x, there = device.put(ones()), other.put(ones())
    machine.broken = CUDARuntimeError(700)  # by a kernel of the user's own

    calls = {
        "put": lambda: device.put(ones()),
        "get": lambda: device.get(x),
        "run": lambda: doubled(device, x),
        "copy": lambda: device.copy_from(other, there),
        "wait": device.synchronize,
    }
    with pytest.raises(InternalError, match="is lost: a kernel used an illegal address"):
        calls[what]()
    assert device.state.startswith("lost: ")


def test_a_process_that_was_forked_from_one_with_gpus_is_told_so(machine: FakeMachine) -> None:
    device = gpu()
    machine.broken = CUDARuntimeError(3)

    with pytest.raises(FailedPreconditionError, match="forked"):
        device.put(ones())


def test_a_lost_device_can_still_be_closed_and_asked_for_its_account(machine: FakeMachine) -> None:
    device = gpu()
    x, _ = broken(machine, device)
    device.close()

    assert 512 == device.account.stats().in_use
    assert x is not None


def test_an_error_that_passes_leaves_the_device_ready(machine: FakeMachine) -> None:
    device = gpu()
    x = device.put(ones())
    machine.faults.append(("kernel", ImportError("Failure finding libcublasLt.so")))

    with pytest.raises(FailedPreconditionError, match=re.escape(pip_install("cuda12"))):
        doubled(device, x)

    assert ([2.0] * 4, "ready") == (device.get(doubled(device, x)).tolist(), device.state)


def test_an_interrupt_is_no_error_of_cudas(machine: FakeMachine) -> None:
    device = gpu()
    x = device.put(ones())
    machine.faults.append(("kernel", KeyboardInterrupt()))

    with pytest.raises(KeyboardInterrupt):
        doubled(device, x)
    assert (0, None) == (runtime.getDevice(), cuda.memory._get_thread_local_allocator())


def test_a_forked_child_has_lost_what_was_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    opened, unopened = gpu(0, 0), gpu(1, 1)
    opened.put(ones())
    monkeypatch.setattr(opened_devices, "OPENED", [opened, unopened])

    opened_devices._after_fork()

    with pytest.raises(FailedPreconditionError, match="forked"):
        opened.put(ones())
    assert "unopened" == unopened.state


def test_the_end_of_the_process_waits_and_swallows_everything(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = gpu()
    device.put(ones())
    machine.faults.append(("sync", CUDARuntimeError(4)))
    monkeypatch.setattr(opened_devices, "OPENED", [device])

    opened_devices._end()


def test_a_closed_device_gives_its_idle_memory_back_and_can_be_read(machine: FakeMachine) -> None:
    device = gpu(limit=None)
    x = device.put(ones(1000))
    device.put(ones(5000))
    device.close()

    assert (4096, [1.0] * 1000) == (machine.cards[0].taken, device.get(x).tolist())
    del x, device
    gc.collect()
    assert 0 == machine.cards[0].taken


# First uses


def test_a_kernel_that_takes_long_at_its_first_use_is_told_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    device = gpu()
    clock = iter(range(100))
    monkeypatch.setattr(sys.modules["nbtf._devices.first_use"], "perf_counter", lambda: next(clock) * 0.3)
    x = device.put(ones())
    for _ in range(2):
        doubled(device, x)
    device.run(Sum, [x], {"axis": None, "keepdims": False})

    text = capsys.readouterr().err
    assert 1 == text.count("\n")
    assert text.startswith("nbtf: compiling GPU kernels (first use): AddV2 on GPU:0 took 0.3 s.")
    assert 0.6 == pytest.approx(device._uses.seconds)


def test_another_thread_sees_what_is_being_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    device = gpu()
    now = [0.0]
    monkeypatch.setattr(sys.modules["nbtf._devices.first_use"], "perf_counter", lambda: now[0])
    device._uses.start("MatMul")
    at_once = device._uses.now()
    now[0] = 0.5

    assert (None, ("GPU:0", "MatMul", 0.5)) == (at_once, device._uses.now())


def test_what_failed_is_no_longer_being_compiled(machine: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    device = gpu()
    x = device.put(ones())
    now = [0.0]
    monkeypatch.setattr(sys.modules["nbtf._devices.first_use"], "perf_counter", lambda: now[0])
    machine.faults.append(("kernel", ValueError("shapes")))
    with pytest.raises(ValueError, match="shapes"):
        doubled(device, x)
    now[0] = 9.0

    assert device._uses.now() is None


def tensor(device: CudaGPU, array: np.ndarray[Any, Any]) -> Tensor:
    return tensor_of(device.put(array), float32, device)


def test_a_part_of_a_larger_array_is_a_copy() -> None:
    device = gpu()
    x = tensor(device, ones())

    class Part:
        type, function, shares_memory = "Part", None, False

        @staticmethod
        def kernel(xp: Any, x: Any) -> Any:
            return xp.zeros(1000, np.float32)[:4]

    part: Any = Part
    (result,) = device.run(part, [x], {})

    assert (512, 1024) == (result._array.data.mem.size, device.account.stats().in_use)

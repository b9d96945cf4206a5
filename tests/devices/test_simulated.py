"""A GPU made of NumPy."""

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._devices import simulated_account
from nbtf._devices.base import Label, Spec
from nbtf._devices.bfc.allocator import Driver
from nbtf._devices.bfc.memory import BFCMemory
from nbtf._devices.cpu import CPU
from nbtf._devices.discovery import gpus, simulated_machine
from nbtf._devices.simulated import MemoryPlan, SimulatedGPU
from nbtf._runtime.context import CURRENT
from nbtf._types import float32
from nbtf.errors import ResourceExhaustedError
from nbtf.runtime import Allocated, Freed
from tests.machines import machine

MIB = 1 << 20
NAME = "/job:localhost/replica:0/task:0/device:GPU:0"


class Op:
    """As much of an op as a device wants to know."""

    def __init__(self, kernel: Callable[..., Any], type: str = "Test", shares_memory: bool = False) -> None:
        self.type, self.kernel, self.shares_memory = type, kernel, shares_memory
        self.function: str | None = None


ADD = Op(lambda xp, a, b: xp.add(a, b), "AddV2")
RESHAPE = Op(lambda xp, a, shape: a.reshape(shape), "Reshape", shares_memory=True)
FILL = Op(lambda xp, shape: xp.full(shape, 1, xp.float32), "Fill")


def _spec(*shape: int | None) -> list[Spec]:
    return [Spec(shape, float32)]


def _gpu(mib: float = 64, index: int = 0, driver: Driver | None = None, growth: bool = False) -> SimulatedGPU:
    card = gpus(simulated_machine(1, "Tesla K20m", memory=64), {})[0]
    limit = int(mib * MIB)
    return SimulatedGPU(index, card, MemoryPlan(limit, growth, driver=driver, name=f"GPU_{index}_bfc"))


def _memory(gpu: SimulatedGPU) -> BFCMemory:
    assert isinstance(gpu.memory, BFCMemory)
    return gpu.memory


def _filled(gpu: SimulatedGPU, mib: float) -> Any:
    shape = (int(mib * MIB) // 4,)
    return gpu.run(FILL, [], {"shape": shape}, _spec(*shape))[0]


def _ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def test_it_says_what_it_is() -> None:
    gpu = _gpu(index=3)

    assert ("GPU", "GPU:3", True, NAME[:-1] + "3") == (gpu.type, gpu.short_name, gpu.simulated, gpu.name)


def test_making_it_maps_nothing() -> None:
    assert 0 == _memory(_gpu()).stats().pool


def test_first_use_maps_the_limit_with_tensorflows_own_buffer_in_front() -> None:
    gpu = _gpu()
    held = gpu.put(_ones(2))
    stats = _memory(gpu).stats()

    assert held
    assert (64 * MIB, 1280 + 256, 1028 + 8) == (stats.pool, stats.in_use, stats.requested)
    assert [(0, 1280), (1280, 256)] == [(c.offset, c.size) for c in _memory(gpu).map()[0].chunks if c.in_use]


def test_put_copies() -> None:
    array = _ones(2)
    buffer = (gpu := _gpu()).put(array)
    array[0] = 5

    assert [1, 1] == gpu.get(buffer).tolist()


def test_get_copies() -> None:
    buffer = (gpu := _gpu()).put(_ones(2))
    gpu.get(buffer)[0] = 5

    assert [1, 1] == gpu.get(buffer).tolist()


def test_memory_comes_back_when_a_buffer_dies() -> None:
    buffer = (gpu := _gpu()).put(_ones(1000))
    before = _memory(gpu).stats().in_use
    del buffer

    assert (1280 + 4096, 1280) == (before, _memory(gpu).stats().in_use)


def test_empty_tensors_take_no_memory() -> None:
    gpu = _gpu()
    buffers = [gpu.put(_ones(0, 3)), *gpu.run(FILL, [], {"shape": (0,)}, _spec(0))]

    assert [(0, 3), (0,)] == [gpu.get(buffer).shape for buffer in buffers]
    assert 1280 == _memory(gpu).stats().in_use


def test_results_are_charged_and_labelled() -> None:
    gpu = _gpu()
    a = gpu.put(_ones(10, 10), Label("_EagerConst", "float32", (10, 10)))
    (c,) = gpu.run(ADD, [a, a], {}, _spec(10, 10), ("cell.py", 7))

    assert [[2.0] * 10] * 10 == gpu.get(c).tolist()
    labels = [chunk.label for chunk in _memory(gpu).map()[0].chunks if chunk.in_use]
    assert labels[1:] == [
        Label("_EagerConst", "float32", (10, 10)),
        Label("AddV2", "float32", (10, 10), ("cell.py", 7)),
    ]


def test_a_reshaped_view_shares_the_memory_and_keeps_it() -> None:
    gpu = _gpu()
    a = gpu.put(_ones(100))
    before = _memory(gpu).stats().in_use
    (view,) = gpu.run(RESHAPE, [a], {"shape": (10, 10)}, _spec(10, 10))
    del a

    assert before == _memory(gpu).stats().in_use
    del view
    assert 1280 == _memory(gpu).stats().in_use


@pytest.mark.parametrize("kernel", [lambda xp, a: a[1:3], lambda xp, a: a.T, lambda xp, a: a])
def test_a_result_does_not_show_an_input(kernel: Callable[..., Any]) -> None:
    gpu = _gpu()
    a = gpu.put(_ones(4, 4))
    (b,) = gpu.run(Op(kernel), [a], {})

    assert not np.shares_memory(a._array, b._array)
    assert 1280 + 256 + 256 == _memory(gpu).stats().in_use


def test_a_result_does_not_show_a_member_of_a_list() -> None:
    gpu = _gpu()
    a = gpu.put(_ones(4))
    (b,) = gpu.run(Op(lambda xp, arrays: arrays[0]), [[a, a]], {})

    assert not np.shares_memory(a._array, b._array)


def test_results_of_unknown_size_are_charged_after_the_kernel() -> None:
    gpu = _gpu()
    a = gpu.put(np.array([0, 1, 0, 2], np.int64))
    (found,) = gpu.run(Op(lambda xp, a: xp.argwhere(a), "Where"), [a], {}, _spec(None, 1))

    assert [[1], [3]] == gpu.get(found).tolist()
    assert Label("Where", "int64", (2, 1)) == _memory(gpu).map()[0].chunks[2].label


def test_a_size_that_was_foretold_wrongly_is_put_right() -> None:
    gpu = _gpu()
    held = gpu.run(FILL, [], {"shape": (1000,)}, _spec(1))

    assert held
    assert 1280 + 4096 == _memory(gpu).stats().in_use


def test_each_of_several_results_has_its_own_memory() -> None:
    gpu = _gpu()
    first, second = gpu.run(Op(lambda xp: [xp.ones(4, "f4"), xp.ones(100, "f4")]), [], {}, [*_spec(4), *_spec(100)])
    del first

    assert second
    assert 1280 + 512 == _memory(gpu).stats().in_use


def test_numpys_warnings_are_not_shown() -> None:
    gpu = _gpu()
    a = gpu.put(np.zeros(1, np.float32))
    (b,) = gpu.run(Op(lambda xp, a: 1 / a), [a], {}, _spec(1))

    assert [np.inf] == gpu.get(b).tolist()


def test_a_failing_kernel_leaves_no_memory_behind() -> None:
    gpu = _gpu()
    with pytest.raises(ValueError, match="broadcast") as info:
        gpu.run(ADD, [gpu.put(_ones(2)), gpu.put(_ones(3))], {}, _spec(1000))

    assert info.tb is not None  # it keeps the frames alive
    assert 1280 + 512 == _memory(gpu).stats().in_use


# Running out


def test_a_full_card_refuses_before_the_kernel_runs() -> None:
    called: list[int] = []
    gpu = _gpu(mib=4)

    with pytest.raises(ResourceExhaustedError):
        gpu.run(Op(lambda xp: called.append(1)), [], {}, _spec(1024, 1024, 2))
    assert [] == called


def test_message_begins_with_tensorflows() -> None:
    with pytest.raises(ResourceExhaustedError) as info:
        _gpu(mib=4).run(FILL, [], {"shape": (2048, 1024)}, _spec(2048, 1024))

    first = f"OOM when allocating tensor with shape[2048,1024] and type float on {NAME} by allocator GPU_0_bfc"
    assert first == info.value.message.split("\n")[0]


def test_message_of_a_copy_begins_with_tensorflows_for_copies() -> None:
    with pytest.raises(ResourceExhaustedError) as info:
        _gpu(mib=4).put(np.ones((2, MIB), np.float64))

    assert f"OOM when allocating tensor of shape [2,{MIB}] and type double" == info.value.message.split("\n")[0]


def test_message_goes_on_with_how_it_stands_and_who_holds_the_memory() -> None:
    gpu = _gpu(mib=32)
    held = [gpu.put(_ones(MIB), Label("_EagerConst", "float32", (MIB,), ("cell.py", number))) for number in (1, 1, 2)]

    with pytest.raises(ResourceExhaustedError) as info:
        _filled(gpu, 24)
    assert held
    assert [
        "simulated GPU:0 (Tesla K20m): 24 MiB requested, 12 of 32 MiB in use. Free a tensor, or raise memory_limit in "
        "tf.config.set_logical_device_configuration (or the memory fraction).",
        "What holds it:",
        "    8 MiB  2 x  float32 [1048576]  _EagerConst  cell.py, line 1",
        "    4 MiB       float32 [1048576]  _EagerConst  cell.py, line 2",
        "  1.2 KiB       uint8 [1028]       scratch",
    ] == info.value.message.split("\n")[1:]


def test_a_long_table_is_cut_and_says_the_total() -> None:
    gpu = _gpu(mib=16)
    held = [gpu.put(_ones(MIB // 4), Label("Fill", "float32", (MIB // 4,), ("cell.py", n))) for n in range(12)]

    with pytest.raises(ResourceExhaustedError) as info:
        _filled(gpu, 8)
    assert held
    lines = info.value.message.split("\n")
    assert 2 + 1 + 8 + 1 == len(lines)
    assert "  and 5 more with 4 MiB; 12 MiB in total" == lines[-1]


@pytest.mark.parametrize(("mib", "advice"), [(64, "use a card with more memory."), (40, "raise memory_limit in")])
def test_advice_depends_on_what_the_device_may_take(mib: int, advice: str) -> None:
    gpu = _gpu(mib=mib)

    with pytest.raises(ResourceExhaustedError) as info:
        _filled(gpu, 100)
    assert f"Its limit is {mib} MiB; this needs 100 MiB. Use a smaller tensor, or {advice}" in info.value.message


def test_fragmentation_is_named() -> None:
    gpu = _gpu(mib=8)
    held = [_filled(gpu, 1) for _ in range(7)]
    del held[1::2]

    with pytest.raises(
        ResourceExhaustedError, match=r"3 MiB are free but not contiguous: the largest block has 1 MiB\."
    ):
        _filled(gpu, 2)


def test_a_neighbour_on_the_same_card_is_named() -> None:
    driver = Driver(64 * MIB)
    first, second = _gpu(48, 0, driver), _gpu(48, 1, driver)
    held = first.put(_ones(1))

    with pytest.raises(ResourceExhaustedError, match="other programs use the rest of the card"):
        _filled(second, 30)
    assert held


def test_after_running_out_everything_else_is_intact() -> None:
    gpu = _gpu(mib=16)
    a = gpu.put(np.arange(MIB, dtype=np.float32))
    before = _memory(gpu).stats().in_use
    with pytest.raises(ResourceExhaustedError):
        _filled(gpu, 14)

    assert before == _memory(gpu).stats().in_use
    assert list(range(0, MIB, 99999)) == gpu.get(a)[::99999].tolist()
    assert (8 * MIB // 4,) == _filled(gpu, 8)._array.shape


def test_the_second_result_that_does_not_fit_gives_the_first_back() -> None:
    gpu = _gpu(mib=16)
    with pytest.raises(ResourceExhaustedError):
        gpu.run(Op(lambda xp: None), [], {}, [*_spec(2 * MIB), *_spec(3 * MIB)])

    assert 1280 == _memory(gpu).stats().in_use


# The computer is smaller than the card


@pytest.fixture
def small_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated_account, "available_bytes", lambda: 20 * MIB)


@pytest.mark.usefixtures("small_computer")
def test_a_small_computer_is_named() -> None:
    gpu = _gpu()
    with pytest.raises(ResourceExhaustedError) as info:
        _filled(gpu, 30)

    assert [
        f"OOM when allocating tensor with shape[7864320] and type float on {NAME} by allocator GPU_0_bfc",
        "30 MiB requested: simulated GPU:0 has 64 MiB free, this computer 20 MiB. A simulated GPU keeps its tensors in "
        "this computer's memory: use a smaller tensor, or a computer with more memory.",
    ] == info.value.message.split("\n")
    assert 1280 == _memory(gpu).stats().in_use


@pytest.mark.usefixtures("small_computer")
def test_a_small_computer_takes_what_fits() -> None:
    assert _filled(_gpu(), 10)


def test_what_the_process_keeps_free_counts_as_room(monkeypatch: pytest.MonkeyPatch) -> None:
    room = [20 * MIB]
    monkeypatch.setattr(simulated_account, "available_bytes", lambda: room[-1])
    monkeypatch.setattr(simulated_account, "give_freed_memory_back", lambda: room.append(200 * MIB))

    assert _filled(_gpu(), 30)


@pytest.mark.usefixtures("small_computer")
@pytest.mark.parametrize("nbytes", [20 * MIB, 18 * MIB])
def test_the_last_of_a_small_computer_is_left_to_the_program(nbytes: int) -> None:
    with pytest.raises(ResourceExhaustedError, match="this computer 20 MiB"):
        _gpu().put(np.ones(nbytes, np.uint8))


def test_copies_out_of_the_gpu_need_the_computer_too(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = _gpu()
    buffer = _filled(gpu, 30)
    monkeypatch.setattr(simulated_account, "available_bytes", lambda: 0)
    gpu._look_again = 0.0

    with pytest.raises(ResourceExhaustedError, match=re.escape("this computer 0 bytes")):
        gpu.get(buffer)


def test_small_requests_do_not_look_at_the_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated_account, "available_bytes", lambda: pytest.fail("it looked"))

    assert _filled(_gpu(), 0.9)


def test_many_large_requests_look_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    monkeypatch.setattr(simulated_account, "available_bytes", lambda: looks.append(1) or 160 * MIB)
    gpu = _gpu()
    held = [_filled(gpu, 2) for _ in range(20)]

    assert held
    assert 20 >= len(looks) >= 3  # ten MiB, a sixteenth of what there is, may go without a look


def test_a_kernel_without_memory_is_named() -> None:
    gpu = _gpu()

    def kernel(xp: Any) -> Any:
        return xp.empty(1 << 60, xp.float32)

    with pytest.raises(ResourceExhaustedError, match="this computer less than that") as info:
        gpu.run(Op(kernel), [], {}, None)
    assert info.value.message.startswith(f"OOM when allocating tensor with shape[{1 << 60}] and type float on")
    assert 1280 == _memory(gpu).stats().in_use


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are enforced on Linux only")
def test_a_large_card_in_a_small_process_is_an_error_not_a_death() -> None:
    program = """
import resource
import numpy as np

from nbtf._devices.discovery import gpus, simulated_machine
from nbtf._devices.simulated import MemoryPlan, SimulatedGPU
from nbtf.errors import ResourceExhaustedError
from nbtf.runtime import Allocated, Freed
from tests.machines import machine
gpu = SimulatedGPU(0, gpus(simulated_machine(1), {})[0], MemoryPlan(15334 << 20))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), used + (1 << 30)))
try:
    gpu.put(np.broadcast_to(np.float32(1), (14 << 28,)))
except ResourceExhaustedError as error:
    print(error.message.split("\\n")[1])
print(gpu.get(gpu.put(np.arange(3))).tolist(), gpu.memory.stats().in_use)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    first, second = run.stdout.splitlines()
    assert re.match(r"14 GiB requested: simulated GPU:0 has 15 GiB free, this computer (0\.9|1) GiB\.", first)
    assert "[0, 1, 2] 1280" == second


# Between devices


def test_copies_between_devices_are_charged_where_they_arrive() -> None:
    cpu, first, second = CPU(0), _gpu(index=0), _gpu(index=1)
    a = first.copy_from(cpu, cpu.put(_ones(100)), Label("copy", "float32", (100,)))
    b = second.copy_from(first, a)
    c = cpu.copy_from(second, b)

    assert [1.0] * 100 == cpu.get(c).tolist()
    assert [1280 + 512] * 2 == [_memory(first).stats().in_use, _memory(second).stats().in_use]
    assert not np.shares_memory(a._array, b._array)


def test_a_copy_that_does_not_fit_is_refused() -> None:
    cpu, gpu = CPU(0), _gpu(mib=4)

    with pytest.raises(ResourceExhaustedError, match="OOM when allocating tensor of shape"):
        gpu.copy_from(cpu, cpu.put(_ones(2 * MIB)))


# The rest


def test_times_are_modelled() -> None:
    gpu = _gpu()
    a = ((1000,), float32)

    assert (12000 / 208e9, "modelled") == gpu.time_of(ADD, [a, a], [a], 5.0)
    assert (8000 / 208e9, "modelled") == gpu.time_of(Op(lambda xp: 0), [], [a, a], 5.0)
    assert (8e9 / 8e9, True) == gpu.copy_time_of(8_000_000_000, 5.0)


def test_a_part_of_a_view_has_memory_of_its_own() -> None:
    gpu = _gpu()
    whole = gpu.put(_ones(100))
    (view,) = gpu.run(RESHAPE, [whole], {"shape": (10, 10)}, _spec(10, 10))

    (part,) = gpu.run(Op(lambda xp, a: a[2:4], "Slice"), [view], {}, _spec(2, 10))

    assert not np.shares_memory(part._array, whole._array)


def test_a_view_takes_no_time() -> None:
    assert (0.0, "modelled") == _gpu().time_of(RESHAPE, [((1000,), float32)], [((10, 100), float32)], 5.0)


def test_reset_peak() -> None:
    gpu = _gpu()
    buffer = gpu.put(_ones(1000))
    del buffer
    before = _memory(gpu).stats().peak
    _memory(gpu).reset_peak()

    assert (1280 + 4096, 1280) == (before, _memory(gpu).stats().peak)


@pytest.mark.parametrize(("growth", "given"), [(True, 32 * MIB), (False, 0)])
def test_trim_gives_back_only_where_memory_grows(growth: bool, given: int) -> None:
    gpu = _gpu(growth=growth)
    gpu.put(_ones(1))
    _filled(gpu, 30)

    assert given == _memory(gpu).trim()


def test_a_closed_device_has_given_its_memory_back_and_can_be_read() -> None:
    driver = Driver(64 * MIB)
    gpu = _gpu(driver=driver)
    buffer = gpu.put(_ones(2))
    gpu.close()

    assert 64 * MIB == driver.free
    assert [1, 1] == gpu.get(buffer).tolist()
    del buffer
    assert 0 == _memory(gpu).stats().in_use


# Before anybody looks


@pytest.mark.parametrize("growth", [True, False], ids=["growth", "at-once"])
def test_a_gpu_that_nobody_has_looked_at_has_what_it_would_have_had(growth: bool) -> None:
    late, at_once = (
        SimulatedGPU(0, gpus(simulated_machine(1, "Tesla K20m"), {})[0], MemoryPlan(64 * MIB, growth), alone)
        for alone in (True, False)
    )
    late.start()
    at_once.start()

    assert (True, None) == (late.started, late._allocator)
    assert _memory(at_once).stats() == _memory(late).stats()
    assert _memory(at_once).map() == _memory(late).map()
    assert late.memory is late.memory


def test_who_listens_later_hears_nothing_of_what_a_gpu_nobody_looked_at_had_before() -> None:
    with machine(2), tf.device("CPU:0"):
        tf.zeros([10])
        with tf.runtime.recording() as record, tf.device("GPU:1"):
            tf.zeros([10])
    ops = [event.label.op for event in record.events if isinstance(event, Allocated | Freed) and event.label]

    assert {"_EagerConst", "Fill"} == {*ops}


def test_a_library_that_takes_memory_of_a_card_finds_what_a_gpu_nobody_looked_at_has() -> None:
    with machine(2), tf.device("CPU:0"):
        tf.zeros([10])
        gpus_made: Any = CURRENT.context.gpus
        card = gpus_made.opened(gpus_made.made[1].card)

        assert (None, True) == (gpus_made.made[0]._allocator, card.free < card.total)

"""Do tensors and arrays of other libraries share memory, where they can, and is it said where they cannot?"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._devices import discovery
from nbtf._devices.cuda import probe as cuda_probe
from nbtf._devices.cuda.device import CudaGPU
from nbtf._devices.cuda.guard import Events
from nbtf._runtime.context import CURRENT, Context, use_context
from nbtf._runtime.exchange import Capsule
from nbtf.errors import FailedPreconditionError, InternalError, InvalidArgumentError, UnimplementedError
from nbtf.experimental.dlpack import from_dlpack, to_dlpack
from tests import fake_cupy
from tests.fake_cupy.exchange import FakeCapsule, SpeaksDLPack, SpeaksInterface
from tests.fake_cupy.machine import MACHINE
from tests.fake_cupy.races import RaceError, checked_for_races
from tests.fake_cupy.runtime import CUDARuntimeError
from tests.machines import machine

DTYPES = ["float16", "float32", "float64", "int8", "int64", "uint8", "bool", "complex64"]


def address(value: Any) -> int:
    return value._array.__array_interface__["data"][0]


# On the CPU


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_a_tensor_goes_out_and_comes_back_without_a_copy(dtype: str, shape: tuple[int, ...]) -> None:
    x = tf.constant(np.ones(shape, dtype))

    back = from_dlpack(to_dlpack(x))

    assert (x.dtype, x.shape, x.numpy().tolist()) == (back.dtype, back.shape, back.numpy().tolist())
    assert not x.shape.num_elements() or address(x) == address(back)


def test_numpy_may_look_and_not_write() -> None:
    x = tf.constant([1.0, 2.0])

    array = np.from_dlpack(x)

    assert np.shares_memory(array, x._array)
    assert not array.flags.writeable


def test_an_array_is_taken_where_it_is() -> None:
    array = np.arange(6.0).reshape(2, 3)[:, ::2]

    x = from_dlpack(array)

    assert np.shares_memory(array, x._array)
    assert ([[0, 2], [3, 5]], "CPU:0") == (x.numpy().tolist(), x.device[-5:])
    assert [[0, 4], [6, 10]] == (x + x).numpy().tolist()


def test_memory_lives_as_long_as_somebody_shows_it() -> None:
    x = tf.constant(np.full(1000, 7.0))
    array = np.from_dlpack(x)

    del x
    gc.collect()

    assert 7000 == array.sum()


def test_a_constant_is_a_copy() -> None:
    array = np.ones(2)

    x = tf.constant(array)
    array[0] = 9

    assert [1, 1] == x.numpy().tolist()


def test_a_view_that_cannot_be_written_is_copied_for_those_who_might_write() -> None:
    array = np.ones(3)
    array.flags.writeable = False
    x = from_dlpack(array)

    capsule = x.__dlpack__()

    assert [1, 1, 1] == from_dlpack(capsule).numpy().tolist()
    with pytest.raises(BufferError):
        x.__dlpack__(copy=False)


def test_a_capsule_is_used_once() -> None:
    capsule = to_dlpack(tf.constant(1.0))
    from_dlpack(capsule)

    with pytest.raises(InvalidArgumentError, match='with name "dltensor", got "used_dltensor"'):
        from_dlpack(capsule)


@pytest.mark.parametrize("how", [{}, {"max_version": (1, 0)}])
def test_a_capsule_says_where_its_memory_is(how: dict[str, Any]) -> None:
    assert (1, 0) == Capsule(np.ones(2).__dlpack__(**how)).__dlpack_device__()


@pytest.mark.parametrize("value", [[1.0], np.ones(2), tf.Variable([1.0])])
def test_only_tensors_become_capsules(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="must be a TF tensor, not Python object"):
        to_dlpack(value)


def test_texts_cannot_be_handed_over() -> None:
    with pytest.raises(BufferError, match="DLPack only supports"):
        to_dlpack(tf.constant("a"))


def test_other_kinds_of_devices_are_refused() -> None:
    class OnVulkan:
        def __dlpack__(self, **how: Any) -> Any: ...

        def __dlpack_device__(self) -> tuple[int, int]:
            return 7, 0

    with pytest.raises(UnimplementedError, match="type 7"):
        from_dlpack(OnVulkan())


def test_a_consumer_that_wants_a_gpu_is_told_where_the_values_are() -> None:
    with pytest.raises(BufferError, match=r"tensor on CPU:0 are in this computer's memory.*torch.from_dlpack"):
        tf.constant(1.0).__dlpack__(dl_device=(2, 0))


# On simulated GPUs


@pytest.fixture
def simulated() -> Iterator[Any]:
    with machine(1):
        yield tf.constant([1.0, 2.0])


def test_a_simulated_gpu_hands_over_a_copy(simulated: Any) -> None:
    array = np.from_dlpack(simulated)

    assert ((1, 0), [1, 2]) == (simulated.__dlpack_device__(), array.tolist())
    assert not np.shares_memory(array, simulated._array)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"dl_device": (2, 0)}, r"GPU:0 is simulated: its values are in this computer's memory"),
        ({"copy": False}, "GPU:0 is simulated, so only a copy"),
    ],
)
def test_a_simulated_gpu_does_not_pretend(simulated: Any, how: dict[str, Any], words: str) -> None:
    with pytest.raises(BufferError, match=words):
        simulated.__dlpack__(**how)


def test_a_simulated_gpu_has_no_cuda_array_interface(simulated: Any) -> None:
    assert not hasattr(simulated, "__cuda_array_interface__")
    assert not hasattr(tf.constant(1, tf.int32), "__cuda_array_interface__")


def test_what_is_on_a_real_gpu_cannot_be_shown_beside_simulated_ones(simulated: Any) -> None:
    with pytest.raises(FailedPreconditionError, match="on cuda:0, which nbtf does not use here"):
        from_dlpack(SpeaksDLPack([1.0]))


# On real GPUs: a fake one, no GPU code is executed


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with fake_cupy.installed(2):
        found = cuda_probe.ask(fake_cupy).cards
        monkeypatch.setattr(discovery, "real_cards", lambda environ: found)
        with use_context(Context(environ={})):
            yield


def on_gpu(number: int = 0) -> Any:
    with tf.device(f"GPU:{number}"):
        return tf.constant([1.0, 2.0, 3.0])


def gpu(number: int = 0) -> Any:
    device = CURRENT.context.devices.by_name[f"/job:localhost/replica:0/task:0/device:GPU:{number}"]
    assert isinstance(device, CudaGPU)
    return device


def account(number: int = 0) -> Any:
    return gpu(number).memory.stats()


@pytest.mark.usefixtures("cards")
def test_a_tensor_on_a_gpu_is_lent_without_a_copy() -> None:
    x = on_gpu(1)

    there = fake_cupy.from_dlpack(x)

    assert (2, 1) == x.__dlpack_device__()
    assert (x._array.data.ptr, 1) == (there.data.ptr, there.data.device_id)


@pytest.mark.usefixtures("cards")
def test_the_interface_tells_address_and_stream() -> None:
    x = on_gpu()

    told = x.__cuda_array_interface__

    assert ((x._array.data.ptr, False), (3,), "<f4", 1) == (
        told["data"],
        told["shape"],
        told["typestr"],
        told["stream"],
    )


@pytest.mark.usefixtures("cards")
def test_lent_memory_stays_charged_until_the_consumer_lets_go() -> None:
    x = on_gpu()
    there = fake_cupy.from_dlpack(x)
    before = account().in_use

    del x
    held = account().in_use
    del there

    assert (before, before - 512) == (held, account().in_use)


@pytest.mark.usefixtures("cards")
@pytest.mark.parametrize("kind", [SpeaksDLPack, SpeaksInterface])
def test_an_array_on_a_gpu_is_taken_where_it_is(kind: Any) -> None:
    foreign = kind(np.arange(3.0), device=1)

    x = from_dlpack(foreign)

    assert (foreign.bytes.ctypes.data, "GPU:1") == (x._array.data.ptr, x.device[-5:])
    assert [0, 2, 4] == (x + x).numpy().tolist()


@pytest.mark.usefixtures("cards")
def test_foreign_memory_is_external_and_in_no_limit() -> None:
    on_gpu()
    before = account()
    foreign = SpeaksDLPack(np.arange(1000.0))

    x = from_dlpack(foreign)
    y = tf.reshape(x, [10, 100])
    del x
    while_shown = account()
    del y

    assert (8000, before.in_use, before.requested) == (while_shown.external, while_shown.in_use, while_shown.requested)
    assert 0 == account().external


@pytest.mark.usefixtures("cards")
def test_tables_of_devices_tell_of_external_memory() -> None:
    x = from_dlpack(SpeaksDLPack(np.arange(1000.0)))

    assert [8000, 0] == [one.external for one in tf.runtime.devices() if one.device_type == "GPU"]
    assert tf.runtime.holding(x) is None


@pytest.mark.usefixtures("cards")
def test_the_producer_is_asked_for_the_stream_of_the_device() -> None:
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("GPU")[0],
        [tf.config.LogicalDeviceConfiguration(memory_limit=16)] * 2,
    )
    first, second = SpeaksDLPack([1.0]), SpeaksDLPack([1.0])

    on_first = from_dlpack(first)
    with tf.device("GPU:1"):
        on_second = from_dlpack(second)

    assert ["GPU:0", "GPU:1"] == [on_first.device[-5:], on_second.device[-5:]]
    assert [[gpu(0).stream.ptr], [gpu(1).stream.ptr]] == [first.streams, second.streams]


@pytest.mark.usefixtures("cards")
@pytest.mark.parametrize("kind", [SpeaksDLPack, SpeaksInterface])
def test_a_constant_of_an_array_on_a_gpu_is_a_copy_there(kind: Any) -> None:
    foreign = kind(np.arange(3.0), device=1)

    x = tf.constant(foreign)
    foreign.bytes[0] = 9

    assert ([0, 1, 2], "GPU:1") == (x.numpy().tolist(), x.device[-5:])
    assert 0 == account(1).external


@pytest.mark.usefixtures("cards")
def test_a_constant_goes_where_the_program_says() -> None:
    there: Any = SpeaksDLPack(np.arange(3.0), device=1)

    with tf.device("CPU:0"):
        x = tf.constant(there)

    assert ([0, 1, 2], "CPU:0") == (x.numpy().tolist(), x.device[-5:])


@pytest.mark.usefixtures("cards")
def test_arrays_of_cupy_are_taken_too() -> None:
    with fake_cupy.cuda.Device(1):
        array = fake_cupy.asarray(np.arange(3.0))

    shown, copied = from_dlpack(array), tf.constant(array)

    assert (array.data.ptr, [0, 1, 2]) == (shown._array.data.ptr, copied.numpy().tolist())
    assert array.data.ptr != copied._array.data.ptr


@pytest.mark.usefixtures("cards")
def test_a_gpu_that_is_not_used_is_named() -> None:
    with pytest.raises(FailedPreconditionError, match="on cuda:5, which nbtf does not use here"):
        from_dlpack(SpeaksDLPack([1.0], device=5))


@pytest.mark.usefixtures("cards")
def test_a_consumer_may_ask_for_the_values_on_the_host() -> None:
    assert [1, 2, 3] == from_dlpack(on_gpu().__dlpack__(dl_device=(1, 0))).numpy().tolist()


def test_a_consumer_on_a_stream_of_its_own_is_ordered_behind_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_cupy.installed(1), checked_for_races() as races:
        found = cuda_probe.ask(fake_cupy).cards
        monkeypatch.setattr(discovery, "real_cards", lambda environ: found)
        with use_context(Context(environ={})):
            x = on_gpu() * 2.0
            consumer = 0xF00 | 1

            with pytest.raises(RaceError):
                races.access("a kernel of PyTorch reads", [x._array], [], (1, consumer))
            capsule = x.__dlpack__(stream=consumer)
            races.access("a kernel of PyTorch reads", [x._array], [], (0, consumer))

    assert isinstance(capsule, FakeCapsule)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("on_the_card", [1, 2])
def test_a_tensor_of_a_cupy_array_is_ordered_behind_the_user_s_stream(
    on_the_card: int, ordered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not ordered:
        monkeypatch.setattr(Events, "wait", lambda self, event: None)
    with fake_cupy.installed(1), checked_for_races():
        found = cuda_probe.ask(fake_cupy).cards
        monkeypatch.setattr(discovery, "real_cards", lambda environ: found)
        with use_context(Context(environ={})):
            tf.config.set_logical_device_configuration(
                tf.config.list_physical_devices("GPU")[0],
                [tf.config.LogicalDeviceConfiguration(memory_limit=16)] * on_the_card,
            )
            with fake_cupy.cuda.Stream(non_blocking=True), nullcontext() if ordered else pytest.raises(RaceError):
                x = from_dlpack(fake_cupy.asarray(np.arange(3.0)))

                assert [0, 2, 4] == (x + x).numpy().tolist()


@pytest.mark.usefixtures("cards")
def test_an_error_of_cuda_s_while_sharing_is_one_of_ours() -> None:
    x = on_gpu()
    MACHINE.faults.append(("record", CUDARuntimeError(700)))

    with pytest.raises(InternalError, match="illegal memory access"):
        x.__dlpack__(stream=0xF01)


# Other libraries, where they are installed


def test_pytorch_shares_memory_both_ways() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    x, theirs = tf.constant([1.0, 2.0]), torch.arange(3.0)

    out, back = torch.from_dlpack(x), from_dlpack(theirs)

    assert (address(x), theirs.data_ptr()) == (out.data_ptr(), address(back))
    assert ([1, 2], [0, 1, 2]) == (out.tolist(), back.numpy().tolist())
    assert [0, 1, 2] == tf.constant(theirs).numpy().tolist()


def test_jax_shares_memory_both_ways() -> None:
    jax = pytest.importorskip("jax", reason="needs JAX")
    x, theirs = tf.constant(np.ones(1 << 16, np.float32)), jax.numpy.arange(3.0)

    out, back = jax.dlpack.from_dlpack(x), from_dlpack(theirs)

    assert theirs.unsafe_buffer_pointer() == address(back)
    assert (1 << 16, [0, 1, 2]) == (float(out.sum()), back.numpy().tolist())

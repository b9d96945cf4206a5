"""When are devices fixed, whose express lane is open, and what does a restart keep?"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

import nbtf as tf
from nbtf._devices.discovery import simulated_machine
from nbtf._runtime.context import CURRENT, Context, use_context
from nbtf._runtime.placement import Machine
from nbtf._runtime.scopes import HERE
from nbtf.errors import FailedPreconditionError, NotFoundError
from tests.machines import LOCAL, MIB, machine


def here() -> str:
    """The short name of the device that an op runs on now."""
    return tf.reduce_sum([1.0, 2.0]).device.removeprefix(LOCAL)


def in_a_thread(work: Callable[[], Any]) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


@pytest.fixture
def road(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ops that went down the road; those that took their express lane are not in it."""
    import nbtf._ops.op as op_module

    travelled: list[str] = []
    execute = op_module.execute

    def noting(op: Any, *rest: Any) -> Any:
        travelled.append(op.type)
        return execute(op, *rest)

    monkeypatch.setattr(op_module, "execute", noting)
    return travelled


# Fixing the devices


@pytest.mark.parametrize(
    "use",
    [
        lambda: tf.constant(1.0),
        lambda: tf.reduce_sum([1.0]),
        lambda: tf.config.list_logical_devices(),
        lambda: tf.device("CPU:0"),
        lambda: tf.test.is_gpu_available(),
        lambda: in_a_thread(lambda: tf.constant(1.0)),
    ],
)
def test_first_use_fixes_the_devices(use: Callable[[], Any]) -> None:
    before = CURRENT.context.configuration.frozen
    use()

    assert (False, True) == (before, CURRENT.context.configuration.frozen)


@pytest.mark.parametrize(
    "look",
    [
        lambda: tf.config.list_physical_devices(),
        lambda: tf.config.get_visible_devices(),
        lambda: tf.config.experimental.get_device_details(tf.config.list_physical_devices()[0]),
        lambda: tf.config.set_soft_device_placement(False),
        lambda: tf.debugging.set_log_device_placement(True),
        lambda: tf.runtime.devices(),
        lambda: tf.runtime.observe(print)(),
        lambda: tf.runtime.set_default_device("CPU:0"),
        lambda: tf.runtime.cell_device("CPU:0")(),
        lambda: tf.DeviceSpec.from_string("GPU:1"),
        lambda: tf.TensorShape([1, 2]),
    ],
)
def test_looking_and_wishing_fix_nothing(look: Callable[[], Any]) -> None:
    look()

    assert not CURRENT.context.configuration.frozen


def test_eight_threads_make_the_devices_once() -> None:
    context, start, seen = Context(simulated_machine(2), environ={}), threading.Barrier(8), list[Any]()

    def work() -> None:
        start.wait()
        seen.append(context.devices)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 8 == len(seen)
    assert 1 == len({id(found.first) for found in seen})


def test_devices_that_cannot_be_made_can_be_configured_again() -> None:
    cpu = tf.config.list_physical_devices("CPU")
    tf.config.set_visible_devices([], "CPU")
    with pytest.raises(NotFoundError, match=r"^No CPU devices are available in this process$"):
        tf.constant(1.0)

    tf.config.set_visible_devices(cpu, "CPU")

    assert "CPU:0" == here()


def test_all_gpus_map_their_memory_at_first_use() -> None:
    with machine(2, "Tesla K20m"):
        before = [device.pool for device in tf.runtime.devices()]
        with tf.device("CPU:0"):
            tf.constant(1.0)
        pools = [device.pool for device in tf.runtime.devices()]
        limits = [device.memory_limit for device in tf.runtime.devices()]

    assert [None, None, None] == before
    assert (4620 * MIB, limits) == (limits[1], pools)


# Whose express lane is open


def test_no_lane_is_open_before_first_use() -> None:
    assert HERE.device is None


def test_lane_of_the_cpu_is_open_where_there_is_no_gpu() -> None:
    assert CURRENT.context.host is HERE.device


def test_no_lane_is_open_where_there_are_simulated_gpus() -> None:
    with machine(1) as context:
        first = context.devices.first

        assert ("GPU:0", None) == (first.short_name, HERE.device)


def log() -> Callable[[], None]:
    tf.debugging.set_log_device_placement(True)
    return lambda: tf.debugging.set_log_device_placement(False)


def default() -> Callable[[], None]:
    tf.runtime.set_default_device("CPU:0")
    return lambda: tf.runtime.set_default_device(None)


def recording() -> Callable[[], None]:
    block = tf.runtime.recording()
    block.__enter__()
    return lambda: block.__exit__(None, None, None)  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize(
    "close",
    [
        lambda: tf.runtime.observe(lambda event: None),
        lambda: tf.runtime.cell_device("CPU:0"),
        log,
        default,
        recording,
    ],
)
def test_listeners_and_other_defaults_close_the_lane_until_they_go(close: Callable[[], Callable[[], None]]) -> None:
    cpu = CURRENT.context.host
    reopen = close()
    closed = HERE.device

    reopen()

    assert (None, cpu) == (closed, HERE.device)


def test_listener_that_was_there_before_first_use_keeps_the_lane_closed() -> None:
    stop = tf.runtime.observe(lambda event: None)
    tf.constant(1.0)
    closed = HERE.device
    stop()

    assert (None, CURRENT.context.host) == (closed, HERE.device)


def test_settings_leave_the_lane_open() -> None:
    cpu = CURRENT.context.host
    tf.config.set_soft_device_placement(False)
    tf.config.experimental.set_device_policy("explicit")

    assert cpu is HERE.device


def test_context_that_is_not_current_opens_no_lane() -> None:
    other = Context(environ={})

    other.freeze()
    other.settle()

    assert HERE.device is None


def test_each_context_has_its_own_lane() -> None:
    outer = CURRENT.context.host
    with use_context(Context(environ={})) as context:
        unused = HERE.device
        inner = context.host
        seen = HERE.device

    assert (None, inner, outer) == (unused, seen, HERE.device)
    assert inner is not outer


def test_context_comes_back_after_an_error() -> None:
    before = CURRENT.context
    with pytest.raises(ZeroDivisionError), use_context(Context(environ={})):
        _ = 1 / 0

    assert before is CURRENT.context


def test_two_contexts_never_settle_at_once() -> None:
    context, other, was_free = CURRENT.context, Context(environ={}), list[bool]()

    def try_lock() -> bool:
        free = other._lock.acquire(blocking=False)
        if free:
            other._lock.release()
        return free

    class Watched(Machine):
        @property
        def first(self) -> Any:
            was_free.append(in_a_thread(try_lock))
            return super().first

    context.machine = Watched(*context.devices)
    context.settle()

    assert {False} == set(was_free)


# A stale lane can only send an op to the road


def test_plain_ops_take_the_lane(road: list[str]) -> None:
    x = tf.constant([1.0, 2.0])

    tf.reduce_sum(x)
    with tf.device("CPU:0"):
        tf.reduce_sum(x)
    with tf.device(None):
        tf.reduce_sum(x)

    assert [] == road


def test_block_that_asks_for_another_device_has_no_lane(road: list[str]) -> None:
    x = tf.constant([1.0, 2.0])

    with tf.device("GPU:3"):
        tf.reduce_sum(x)

    assert ["Sum"] == road


def test_listener_that_comes_inside_a_block_hears_the_ops_in_it() -> None:
    x, heard = tf.constant([1.0, 2.0]), list[Any]()

    with tf.device("CPU:0"):
        stop = tf.runtime.observe(heard.append)
        tf.reduce_sum(x)
        stop()
        tf.reduce_sum(x)

    assert ["Sum", "Sum"] == [event.op for event in heard]


def test_block_opened_while_someone_listened_stays_on_the_road(road: list[str]) -> None:
    x = tf.constant([1.0, 2.0])
    stop = tf.runtime.observe(lambda event: None)

    with tf.device("CPU:0"):
        stop()
        tf.reduce_sum(x)
    with tf.device("CPU:0"):
        tf.reduce_sum(x)

    assert ["Sum"] == road


def test_block_that_was_open_during_a_restart_still_places(road: list[str]) -> None:
    with machine(2):
        with tf.device("GPU:1"):
            tf.runtime.restart()

            assert "GPU:1" == here()
        assert "GPU:0" == here()
    with tf.device("CPU:0"):
        tf.constant(1.0)
        tf.runtime.restart()

        assert "CPU:0" == here()
    assert ["Sum", "Sum", "Sum"] == road


# The device of a cell


def test_cell_device_is_the_outermost_block_of_its_thread() -> None:
    with machine(2):
        undo = tf.runtime.cell_device("GPU:1")
        seen = [here(), in_a_thread(here)]
        with tf.device("CPU:0"):
            seen.append(here())
        with tf.device("GPU"):
            seen.append(here())
        with tf.device(None):
            seen.append(here())
        undo()
        seen.append(here())

    assert ["GPU:1", "GPU:0", "CPU:0", "GPU:1", "GPU:0", "GPU:0"] == seen


def test_cell_device_can_be_undone_from_another_thread() -> None:
    with machine(2):
        undo = tf.runtime.cell_device("GPU:1")
        in_a_thread(undo)

        assert "GPU:0" == here()


def test_cell_devices_nest_and_a_second_undo_does_nothing() -> None:
    with machine(4):
        outer = tf.runtime.cell_device("GPU:1")
        inner = tf.runtime.cell_device("GPU:2")
        inner()
        seen = [here()]
        third = tf.runtime.cell_device("GPU:3")
        inner()
        seen.append(here())
        third()
        outer()
        seen.append(here())

    assert ["GPU:1", "GPU:3", "GPU:0"] == seen


def test_cell_devices_may_be_undone_in_any_order() -> None:
    with machine(4):
        first = tf.runtime.cell_device("GPU:1")
        second = tf.runtime.cell_device("GPU:2")
        first()
        seen = [here()]
        second()
        seen.append(here())

    assert ["GPU:2", "GPU:0"] == seen


def test_cell_device_that_is_no_device_changes_nothing() -> None:
    tf.constant(1.0)
    with pytest.raises(ValueError, match="Unknown attribute 'banana'"):
        tf.runtime.cell_device("banana")

    assert CURRENT.context.host is HERE.device


# Restart


def test_restart_returns_settings_to_their_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    tf.config.set_soft_device_placement(False)
    tf.debugging.set_log_device_placement(True)
    tf.config.experimental.set_device_policy("explicit")
    tf.runtime.set_default_device("CPU:0")
    tf.config.threading.set_intra_op_parallelism_threads(3)

    tf.runtime.restart()
    tf.constant(1.0)

    assert (True, False, "silent", 0) == (
        tf.config.get_soft_device_placement(),
        tf.debugging.get_log_device_placement(),
        tf.config.experimental.get_device_policy(),
        tf.config.threading.get_intra_op_parallelism_threads(),
    )
    assert CURRENT.context.host is HERE.device
    assert ("", "") == capsys.readouterr()


def test_restart_keeps_settings_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    tf.config.set_soft_device_placement(False)
    tf.debugging.set_log_device_placement(True)

    tf.runtime.restart(keep_settings=True)
    tf.reduce_sum(tf.constant([1.0]))
    logged = capsys.readouterr().err
    tf.debugging.set_log_device_placement(False)
    tf.reduce_sum(tf.constant([1.0]))

    assert not tf.config.get_soft_device_placement()
    assert f"Executing op Sum in device {LOCAL}CPU:0" in logged
    assert "" == capsys.readouterr().err


def test_restart_forgets_the_configuration() -> None:
    with machine(2):
        gpus = tf.config.list_physical_devices("GPU")
        tf.config.set_visible_devices(gpus[1], "GPU")
        tf.config.experimental.set_memory_growth(gpus[1], True)
        tf.constant(1.0)

        tf.runtime.restart(keep_settings=True)

        assert gpus == tf.config.get_visible_devices("GPU")
        assert [None, None] == [tf.config.experimental.get_memory_growth(gpu) for gpu in gpus]


def test_observers_stay_over_a_restart_and_can_still_go() -> None:
    heard: list[Any] = []
    stop = tf.runtime.observe(heard.append)
    tf.runtime.restart()
    tf.constant(1.0)
    count = len(heard)

    stop()
    tf.constant(1.0)

    assert (2, 2) == (count, len(heard))
    assert CURRENT.context.host is HERE.device


def test_device_of_the_cell_stays_over_restarts_until_the_cell_ends() -> None:
    with machine(2) as context:
        undo = tf.runtime.cell_device("GPU:1")
        tf.runtime.restart()
        tf.runtime.restart(keep_settings=True)
        inside = tf.constant(1.0).device
        undo()

        assert (f"{LOCAL}GPU:1", f"{LOCAL}GPU:0") == (inside, tf.constant(1.0).device)
        assert not context.device_scopes.cells


def test_simulated_machine_stays_over_a_restart() -> None:
    with machine(4, "Tesla K20m"):
        tf.constant(1.0)
        tf.runtime.restart()

        assert ["GPU:0", "GPU:1", "GPU:2", "GPU:3"] == [d.name for d in tf.runtime.devices() if d.simulated]


def test_environment_is_read_again_after_a_restart() -> None:
    environ = {"NBTF_SIMULATED_GPUS": "2", "CUDA_VISIBLE_DEVICES": "1"}
    with use_context(Context(environ=environ)):
        seen = [len(tf.config.list_physical_devices("GPU"))]
        environ["CUDA_VISIBLE_DEVICES"] = "0,1"
        seen.append(len(tf.config.list_physical_devices("GPU")))
        tf.runtime.restart()
        seen.append(len(tf.config.list_physical_devices("GPU")))
        environ["NBTF_SIMULATED_GPUS"] = "0"
        tf.runtime.restart()
        seen.append(len(tf.config.list_physical_devices("GPU")))

    assert [1, 1, 2, 0] == seen


@pytest.mark.parametrize("looked", [False, True])
def test_machine_of_a_call_wins_over_the_environment_also_after_a_restart(looked: bool) -> None:
    with use_context(Context(environ={"NBTF_SIMULATED_GPUS": "2"})):
        if looked:
            tf.config.list_physical_devices()
        tf.runtime.simulate_gpus(3)
        tf.runtime.restart()

        assert 3 == len(tf.config.list_physical_devices("GPU"))


def test_gpus_of_the_environment_announce_themselves_once(capsys: pytest.CaptureFixture[str]) -> None:
    with use_context(Context(environ={"NBTF_SIMULATED_GPUS": "4xTesla K20m"})):
        tf.config.list_physical_devices()
        before = capsys.readouterr()
        tf.constant(1.0)
        tf.constant(1.0)

    sentence = "4 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used."
    assert ("", "") == before
    assert ("", f"nbtf: {sentence}\n") == capsys.readouterr()


def test_context_reads_the_environment_of_the_process_by_default() -> None:
    assert os.environ is Context().configuration.environ


@pytest.mark.parametrize("gpus", [0, 1])
def test_tensors_from_before_a_restart_can_be_read_and_copied(gpus: int) -> None:
    with machine(gpus):
        x, n = tf.constant([1.0, 2.0]), tf.constant([3, 4])
        tf.runtime.restart()

        assert [1.0, 2.0] == x.numpy().tolist()
        assert [3, 4] == n.cpu().numpy().tolist()
        assert "tf.Tensor([1. 2.], shape=(2,), dtype=float32)" == str(x)
        assert 3.0 == tf.reduce_sum(x.numpy()).numpy()


@pytest.mark.parametrize("gpus", [0, 1])
@pytest.mark.parametrize("value", [[1.0, 2.0], [1, 2], ["a", "b"]])
@pytest.mark.parametrize(
    "op", [lambda x: tf.reshape(x, [2, 1]), lambda x: tf.shape(x), lambda x: tf.identity(x), lambda x: tf.stack([x, x])]
)
def test_ops_on_tensors_from_before_a_restart_say_so(gpus: int, value: Any, op: Callable[[Any], Any]) -> None:
    with machine(gpus):
        x = tf.constant(value)
        tf.runtime.restart()

        for _ in range(2):  # before first use, and with an open lane
            with pytest.raises(FailedPreconditionError, match=r"made on /job.* before tf.runtime.restart\(\)"):
                op(x)


@pytest.mark.parametrize("gpus", [0, 1])
def test_variables_from_before_a_restart_can_be_read_but_not_used(gpus: int) -> None:
    with machine(gpus):
        v = tf.Variable([1.0, 2.0])
        tf.runtime.restart()

        assert [1.0, 2.0] == v.numpy().tolist()
        for use in (lambda: v + 1.0, lambda: v.assign([3.0, 4.0]), lambda: v.assign_add([1.0, 1.0]), v.value):
            with pytest.raises(FailedPreconditionError, match=r"before tf.runtime.restart\(\)"):
                use()


def test_restart_gives_the_memory_of_the_cards_back() -> None:
    with machine(1, "Tesla K20m"):
        kept = tf.constant([1.0] * 1000)
        tf.runtime.restart()
        tf.constant(1.0)

        assert 1280 + 256 >= tf.config.experimental.get_memory_info("GPU:0")["current"]
        assert 1000 == kept.numpy().size


def test_undo_of_a_cell_device_from_before_a_restart_does_no_harm() -> None:
    with machine(2):
        undo = tf.runtime.cell_device("GPU:1")
        tf.runtime.restart()
        undo()

        assert "GPU:0" == here()

"""Does `tf.device` put ops where it says, and leave nothing behind?"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime.context import CURRENT
from nbtf._runtime.scopes import SCOPE
from tests.machines import LOCAL, machine


def here() -> str:
    """The short name of the device that an op runs on now."""
    return tf.reduce_sum([1.0, 2.0]).device.removeprefix(LOCAL)


@pytest.fixture(autouse=True)
def three_cpus_and_two_gpus() -> Iterator[None]:
    with machine(2):
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
        yield


@pytest.mark.parametrize(
    ("device", "short"),
    [
        ("/cpu:0", "CPU:0"),
        ("CPU:1", "CPU:1"),
        ("/device:GPU:1", "GPU:1"),
        ("/gpu:1", "GPU:1"),
        ("/job:localhost/replica:0/task:0/device:CPU:2", "CPU:2"),
        ("", "CPU:0"),
        (None, "GPU:0"),
        (tf.DeviceSpec(device_type="GPU", device_index=1), "GPU:1"),
        (tf.config.LogicalDevice("/device:GPU:1", "GPU"), "GPU:1"),
        (np.str_("/GPU:1"), "GPU:1"),
    ],
)
def test_device_is_given_in_many_ways(device: Any, short: str) -> None:
    with tf.device(device):
        assert short == here()


def test_blocks_nest_and_end() -> None:
    seen = [here()]
    with tf.device("CPU:2"):
        seen.append(here())
        with tf.device("GPU"):
            seen.append(here())
            with tf.device(None):
                seen.append(here())
            with tf.device("/GPU:1"):
                seen.append(here())
        seen.append(here())
    seen.append(here())

    assert ["GPU:0", "CPU:2", "GPU:0", "GPU:0", "GPU:1", "CPU:2", "GPU:0"] == seen  # GPU:2 is missing: soft


def test_block_gives_none() -> None:
    with tf.device("CPU:0") as given:
        assert given is None


def test_one_object_can_be_used_again_and_inside_itself() -> None:
    block = tf.device("CPU:1")

    with block:
        first = here()
    with block:
        with block:
            second = here()
        third = here()

    assert ["CPU:1", "CPU:1", "CPU:1", "GPU:0"] == [first, second, third, here()]


def test_one_object_inside_another_block_is_read_anew() -> None:
    block = tf.device("GPU")
    with block:
        at_top = here()

    with tf.device("CPU:1"), block:
        assert ("GPU:0", "GPU:1") == (at_top, here())


def test_wrong_order_is_refused_and_the_inner_block_stays() -> None:
    outer, inner = tf.device("CPU:1"), tf.device("CPU:2")
    outer.__enter__()
    inner.__enter__()

    with pytest.raises(RuntimeError, match=r"^Exiting device scope without proper scope nesting$"):
        outer.__exit__(None, None, None)
    seen = [here()]
    inner.__exit__(None, None, None)
    seen.append(here())
    outer.__exit__(None, None, None)
    seen.append(here())

    assert ["CPU:2", "CPU:1", "GPU:0"] == seen


def test_error_in_a_block_leaves_the_outer_one() -> None:
    with tf.device("CPU:1"):
        with pytest.raises(ZeroDivisionError), tf.device("CPU:2"):
            _ = 1 / 0
        inside = here()

    assert ("CPU:1", "GPU:0") == (inside, here())


def test_block_that_cannot_be_entered_leaves_the_outer_one() -> None:
    with tf.device("CPU:1"):
        with pytest.raises(ValueError, match="Unknown attribute 'banana'"), tf.device("banana"):
            pass

        assert "CPU:1" == here()


def test_generator_leaks_its_block_until_it_is_closed() -> None:
    def suspended() -> Iterator[None]:
        with tf.device("CPU:1"):
            yield

    generator: Any = suspended()
    next(generator)
    leaked = here()
    generator.close()

    assert ("CPU:1", "GPU:0") == (leaked, here())


def test_threads_start_without_blocks() -> None:
    seen: list[str] = []
    with tf.device("CPU:1"):
        thread = threading.Thread(target=lambda: seen.append(here()))
        thread.start()
        thread.join()

        assert ["GPU:0", "CPU:1"] == [*seen, here()]


def test_one_object_serves_two_threads_at_once() -> None:
    block, seen = tf.device("CPU:1"), dict[str, list[str]]()
    both_inside, first_out = threading.Barrier(2), threading.Event()

    def work(name: str, wait_before_leaving: bool) -> None:
        with block:
            both_inside.wait()
            inside = here()
            if wait_before_leaving:
                first_out.wait()
        seen[name] = [inside, here()]
        first_out.set()

    threads = [threading.Thread(target=work, args=arguments) for arguments in [("early", False), ("late", True)]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {"early": ["CPU:1", "GPU:0"], "late": ["CPU:1", "GPU:0"]} == seen


def test_tasks_of_one_thread_have_blocks_of_their_own() -> None:
    async def work(device: str) -> list[str]:
        with tf.device(device):
            before = here()
            await asyncio.sleep(0)
            return [before, here()]

    async def both() -> tuple[list[str], list[str]]:
        return await asyncio.gather(work("CPU:1"), work("GPU:1"))

    assert (["CPU:1", "CPU:1"], ["GPU:1", "GPU:1"]) == tuple(asyncio.run(both()))


def test_block_closes_in_another_context_than_it_was_opened() -> None:
    import contextvars

    block = tf.device("CPU:1")
    elsewhere = contextvars.copy_context()
    elsewhere.run(block.__enter__)

    copied = elsewhere.copy()
    copied.run(block.__exit__, None, None, None)

    assert copied.run(SCOPE) is None


def test_what_a_with_statement_holds_closes_its_block_in_a_copy_of_its_context() -> None:
    import contextvars

    block = tf.device("CPU:1")
    held = block.__exit__
    elsewhere = contextvars.copy_context()
    elsewhere.run(block.__enter__)

    copied = elsewhere.copy()
    copied.run(held, None, None, None)

    assert copied.run(SCOPE) is None


def test_a_block_leaves_nothing_in_its_context() -> None:
    import contextvars

    def run() -> int:
        with tf.device("CPU:1"):
            here()
        return len(contextvars.copy_context())

    assert 0 == contextvars.Context().run(run)


# What is refused, and when


@pytest.mark.parametrize("function", [lambda op: "/CPU:0", print, str])
def test_functions_are_refused_by_the_call(function: Callable[..., Any]) -> None:
    with pytest.raises(RuntimeError, match=r"^tf.device does not support functions.$"):
        tf.device(function)


@pytest.mark.parametrize("thing", [1, 2.5, b"/CPU:0", ["/CPU:0"], {"CPU": 0}, True])
def test_other_things_are_refused_on_entry(thing: Any) -> None:
    block = tf.device(thing)

    with pytest.raises(ValueError, match=r"^Expecting a string device name. Got <class "), block:
        pass


def test_physical_devices_are_refused_on_entry() -> None:
    block = tf.device(tf.config.list_physical_devices("CPU")[0])

    with pytest.raises(ValueError, match=r"Got <class .*PhysicalDevice'>.PhysicalDevice.name="), block:
        pass


@pytest.mark.parametrize("device", ["/CPU:0", None, 1, "banana"])
def test_the_call_alone_fixes_the_devices(device: Any) -> None:
    tf.device(device)

    assert CURRENT.context.configuration.frozen


def test_missing_device_is_noticed_by_the_first_op() -> None:
    tf.config.set_soft_device_placement(False)

    with tf.device("GPU:5"):
        with pytest.raises(RuntimeError, match=r"GPU:5'. enable_soft_placement=0"):
            here()
        with tf.device("GPU:1"):
            assert "GPU:1" == here()


def test_block_is_no_decorator() -> None:
    with pytest.raises(TypeError, match="not callable"):

        @tf.device("CPU:0")  # pyright: ignore[reportCallIssue, reportUntypedFunctionDecorator]
        def work() -> None: ...


def test_constant_of_another_job_fails_in_the_words_of_a_copy() -> None:
    with tf.device("/job:worker/task:1/CPU:0"), pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.constant([1.0])

    assert "/job:worker/replica:0/task:1/device:CPU:0 unknown device." == str(caught.value)

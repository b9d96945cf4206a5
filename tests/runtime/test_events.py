"""Is what happened told as plain data, once, in order, and without side effects?"""

from __future__ import annotations

import gc
import pickle
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf
from nbtf._record.events import Allocated, Copied, Event, Freed, OpExecuted, OpPlaced, OutputSpec, Reason
from nbtf._runtime import conversion, execute, reporting
from nbtf._runtime.scopes import Scope, set_scope
from nbtf.errors import InvalidArgumentError
from tests.machines import LOCAL, MIB, SCRATCH, machine


@pytest.fixture
def heard() -> list[Any]:
    """What an observer hears during a test; observers go with the context of the test."""
    found: list[Any] = []
    tf.runtime.observe(found.append)
    return found


@pytest.fixture
def on_two_gpus() -> Iterator[list[Any]]:
    found: list[Any] = []
    with machine(2, "Tesla K20m"):
        tf.runtime.observe(found.append)
        yield found


def told(found: list[Any]) -> list[tuple[Any, ...]]:
    """Kinds of events with what they are about, without numbers that vary."""
    return [
        (type(event).__name__, getattr(event, "op", getattr(event, "nbytes", None)), *_places(event))
        for event in found
        if not is_of_scratch(event)
    ]


def is_of_scratch(event: Any) -> bool:
    """Whether an event is about the buffer that TensorFlow takes before the first op."""
    label = getattr(event, "label", None)
    return label is not None and label.op == "scratch"


def _places(event: Any) -> list[str]:
    names = [getattr(event, field, None) for field in ("device", "source", "target")]
    return [name.removeprefix(LOCAL) for name in names if name]


def numbers_and_texts(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(numbers_and_texts, value))
    return value is None or type(value) in (str, int, float, bool)


# What is told


def test_op_on_the_cpu_is_placed_and_executed(heard: list[Any]) -> None:
    tf.negative(tf.constant([1.0, 2.0]))

    assert [
        ("OpPlaced", "_EagerConst", "CPU:0"),
        ("OpExecuted", "_EagerConst", "CPU:0"),
        ("OpPlaced", "Neg", "CPU:0"),
        ("OpExecuted", "Neg", "CPU:0"),
    ] == told(heard)


def test_op_on_a_gpu_also_tells_of_copies_and_memory(on_two_gpus: list[Any]) -> None:
    with tf.device("CPU:0"):
        x = tf.constant([1.0, 2.0])
    total = tf.negative(x)
    total.numpy()

    assert [
        ("OpPlaced", "Neg", "GPU:0"),
        ("Allocated", 8, "GPU:0"),
        ("Copied", 8, "CPU:0", "GPU:0"),
        ("Allocated", 8, "GPU:0"),
        ("OpExecuted", "Neg", "GPU:0"),
        ("Copied", 8, "GPU:0", "CPU:0"),
        ("Freed", 8, "GPU:0"),
    ] == told(on_two_gpus)


def test_constant_on_a_gpu_is_a_copy_from_the_host(on_two_gpus: list[Any]) -> None:
    with tf.device("GPU:1"):
        tf.constant([1.0, 2.0])

    assert [
        ("OpPlaced", "_EagerConst", "GPU:1"),
        ("Allocated", 8, "GPU:1"),
        ("Copied", 8, "CPU:0", "GPU:1"),
        ("OpExecuted", "_EagerConst", "GPU:1"),
    ] == told(on_two_gpus)


def test_copy_by_method_is_told(on_two_gpus: list[Any]) -> None:
    x = tf.constant([1.0])
    on_two_gpus.clear()

    x.gpu(1).cpu()

    assert [
        ("Allocated", 4, "GPU:1"),
        ("Copied", 4, "GPU:0", "GPU:1"),
        ("Copied", 4, "GPU:1", "CPU:0"),
    ] == told(on_two_gpus)


def test_view_takes_no_memory(on_two_gpus: list[Any]) -> None:
    x = tf.constant([1.0, 2.0])
    on_two_gpus.clear()

    tf.reshape(x, [2, 1])

    assert "Allocated" not in [kind for kind, *_ in told(on_two_gpus)]


def test_executed_op_says_what_it_made_and_how_long_it_took(on_two_gpus: list[Any]) -> None:
    tf.reduce_sum(tf.constant([[1.0, 2.0], [3.0, 4.0]]), axis=0)

    executed = on_two_gpus[-1]
    assert (OutputSpec((2,), "float32", 8),) == executed.outputs
    assert "modelled" == executed.timing
    assert 0 < executed.seconds < 1


def test_time_on_the_cpu_is_measured(heard: list[Any]) -> None:
    tf.reduce_sum([1.0, 2.0])

    assert "finished" == heard[-1].timing
    assert heard[-1].seconds > 0


def test_copy_to_a_simulated_gpu_has_a_modelled_time(on_two_gpus: list[Any]) -> None:
    tf.constant([1.0, 2.0])

    (copied,) = [event for event in on_two_gpus if isinstance(event, Copied)]
    assert copied.modelled
    assert 0 < copied.seconds < 1


def test_allocation_tells_the_account_afterwards(on_two_gpus: list[Any]) -> None:
    kept = tf.constant([1.0] * 100)

    (allocated,) = [one for one in on_two_gpus if isinstance(one, Allocated) and not is_of_scratch(one)]
    assert (400, SCRATCH + 512, 4620 * MIB) == (allocated.nbytes, allocated.in_use, allocated.pool)
    assert 100 == kept.shape[0]


def test_reason_is_told(on_two_gpus: list[Any]) -> None:
    with tf.device("GPU:7"):
        tf.constant(1.0)

    assert [Reason("soft placement", "GPU:7")] == [one.reason for one in on_two_gpus if isinstance(one, OpPlaced)]


def test_failing_op_has_been_placed_but_not_executed(heard: list[Any]) -> None:
    x, y = tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0, 3.0])
    heard.clear()

    with pytest.raises(InvalidArgumentError, match="Incompatible shapes"):
        tf.add(x, y)

    assert [("OpPlaced", "AddV2", "CPU:0")] == told(heard)


def test_refused_op_tells_nothing(heard: list[Any]) -> None:
    x = tf.constant([1.0])
    tf.config.set_soft_device_placement(False)
    heard.clear()

    with tf.device("GPU:0"), pytest.raises(InvalidArgumentError, match="Could not satisfy"):
        tf.reduce_sum(x)

    assert [] == heard


def test_nobody_listening_makes_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*fields: object) -> Any:
        raise AssertionError("a note was taken")

    for module in (execute, conversion):
        monkeypatch.setattr(module, "take_note", never)
    for name in ("find_call_site", "next_number", "events_of_begin"):
        monkeypatch.setattr(reporting, name, never)
    with machine(1):
        assert 3.0 == tf.reduce_sum([1.0, 2.0]).numpy()


# Fields of all events


def test_events_can_be_pickled(on_two_gpus: list[Any]) -> None:
    with tf.device("GPU:7"):
        tf.reduce_sum([1.0, 2.0]).numpy()

    assert {OpPlaced, OpExecuted, Copied, Allocated, Freed} == {type(event) for event in on_two_gpus}
    assert on_two_gpus == pickle.loads(pickle.dumps(on_two_gpus))


def test_events_are_made_of_numbers_and_texts(on_two_gpus: list[Any]) -> None:
    tf.reduce_sum([1.0, 2.0]).numpy()

    assert [] == [event for event in on_two_gpus if not numbers_and_texts(tuple(event))]


def test_events_keep_no_tensor_alive(on_two_gpus: list[Any]) -> None:
    x = tf.constant([1.0] * 1000)
    del x
    gc.collect()

    assert len(on_two_gpus) > 0
    assert SCRATCH == tf.config.experimental.get_memory_info("GPU:0")["current"]


def test_numbers_grow_by_one_event_after_another(on_two_gpus: list[Any]) -> None:
    tf.reduce_sum([1.0, 2.0]).numpy()

    numbers = [event.seq for event in on_two_gpus]
    assert sorted(set(numbers)) == numbers


def test_numbers_are_unique_over_threads_and_contexts(heard: list[Any]) -> None:
    def work() -> None:
        for _ in range(50):
            tf.constant([1.0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with machine(0):
        tf.runtime.observe(heard.append)
        tf.constant([1.0])

    assert 402 == len({event.seq for event in heard})


def test_time_is_seconds_since_the_epoch(heard: list[Any]) -> None:
    before = time.time()
    tf.constant(1.0)

    assert before <= heard[0].time <= heard[1].time <= time.time()


def test_site_is_the_line_that_called(on_two_gpus: list[Any]) -> None:
    x = tf.constant([1.0, 2.0])
    y = x + 1.0
    y.numpy()

    first = test_site_is_the_line_that_called.__code__.co_firstlineno
    sites = [event.site for event in on_two_gpus if not is_of_scratch(event)]
    assert {__file__} == {file for file, _ in sites}
    assert [first + 1, first + 2, first + 3] == list(dict.fromkeys(line for _, line in sites))


def test_site_of_code_that_is_typed_in_is_its_name_and_line(heard: list[Any]) -> None:
    exec(compile("\n\ntf.constant(1.0)", "<cell 3>", "exec"), {"__name__": "__main__", "tf": tf})

    assert ("<cell 3>", 3) == heard[0].site


def test_site_is_not_in_the_package(heard: list[Any]) -> None:
    exec("constant([1.0])", {"__name__": "nbtf.somewhere", "constant": tf.constant})
    exec("constant([1.0])", {"__name__": "nbtfish", "constant": tf.constant})

    sites = [event.site for event in heard if isinstance(event, OpPlaced)]
    assert [__file__, "<string>"] == [site and site[0] for site in sites]


def test_replica_is_the_one_of_the_scope(on_two_gpus: list[Any]) -> None:
    set_scope(Scope(replica=3))
    try:
        tf.reduce_sum([1.0]).cpu()
    finally:
        set_scope(None)
    tf.constant(1.0)

    events = [event for event in on_two_gpus if not is_of_scratch(event) and not isinstance(event, Freed)]
    assert {3} == {event.replica for event in events[:-4]}
    assert {None} == {event.replica for event in events[-4:]}


def test_tensor_keeps_the_number_of_the_event_that_told_of_it(on_two_gpus: list[Any]) -> None:
    x = tf.constant([1.0])
    y = tf.reduce_sum(x)
    numbers = {event.op: event.seq for event in reversed(on_two_gpus) if isinstance(event, OpExecuted)}

    assert (numbers["_EagerConst"], numbers["Sum"]) == (x._seq, y._seq)


def test_tensor_made_while_nobody_listened_has_number_zero() -> None:
    assert 0 == tf.constant([1.0])._seq


# Observers


def test_all_observers_are_told_in_the_order_they_came(heard: list[Any]) -> None:
    order: list[str] = []
    tf.runtime.observe(lambda event: order.append("first"))
    tf.runtime.observe(lambda event: order.append("second"))

    tf.constant(1.0)

    assert ["first", "second", "first", "second"] == order
    assert 2 == len(heard)


def test_undo_removes_one_observer_and_only_once() -> None:
    found: list[Any] = []
    hear = found.append
    undo, other = tf.runtime.observe(hear), tf.runtime.observe(hear)

    undo()
    undo()
    tf.constant(1.0)
    count = len(found)
    other()
    tf.constant(1.0)

    assert (2, 2) == (count, len(found))


def test_observer_that_raises_is_dropped_with_one_warning(heard: list[Any]) -> None:
    def broken(event: Event) -> None:
        raise ValueError("no ink")

    tf.runtime.observe(broken)
    with pytest.warns(RuntimeWarning, match=r"^an observer was dropped: ValueError: no ink$") as caught:
        total = tf.negative(tf.constant([1.0, 2.0]))

    assert [-1.0, -2.0] == total.numpy().tolist()
    assert [__file__] == [warning.filename for warning in caught]
    assert 4 == len(heard)


def test_observer_that_raises_does_not_keep_the_lane_closed() -> None:
    def broken(event: Event) -> None:
        raise ValueError

    tf.runtime.observe(broken)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tf.constant(1.0)

    assert not events_of(tf.runtime.observe, tf.constant)


def events_of(observe: Any, make: Any) -> list[Any]:
    """What an observer that has gone hears."""
    found: list[Any] = []
    observe(found.append)()
    make(1.0)
    return found


def test_keyboard_interrupt_in_an_observer_comes_through_and_later_events_are_told() -> None:
    found: list[Any] = []

    def interrupted(event: Event) -> None:
        found.append(event)
        if len(found) == 1:
            raise KeyboardInterrupt

    tf.runtime.observe(interrupted)
    with pytest.raises(KeyboardInterrupt):
        tf.constant(1.0)
    tf.constant(1.0)

    assert 3 == len(found)


def test_ops_of_an_observer_are_not_reported() -> None:
    found: list[Any] = []

    def curious(event: Event) -> None:
        found.append(event)
        tf.reduce_sum([1.0, 2.0]).numpy()

    tf.runtime.observe(curious)
    tf.constant([1.0])
    tf.constant([1.0])

    assert ["_EagerConst"] * 4 == [event.op for event in found]


def test_ops_of_other_threads_are_reported_while_an_observer_works(heard: list[Any]) -> None:
    once: list[Any] = []

    def starting_a_thread(event: Event) -> None:
        if not once:
            once.append(event)
            thread = threading.Thread(target=lambda: tf.reduce_sum([1.0]))
            thread.start()
            thread.join()

    tf.runtime.observe(starting_a_thread)
    tf.constant(1.0)

    assert "Sum" in [event.op for event in heard]


def test_observer_may_come_and_go_while_events_are_told() -> None:
    found: list[Any] = []

    def inviting(event: Event) -> None:
        undo()
        tf.runtime.observe(found.append)

    undo = tf.runtime.observe(inviting)
    tf.constant(1.0)

    assert ["OpExecuted"] == [type(event).__name__ for event in found]


def test_every_op_that_was_placed_and_did_not_fail_is_executed(heard: list[Any]) -> None:
    tf.reshape(tf.reduce_sum(tf.zeros([2, 3]), axis=0), [3, 1])[0]

    placed = [event.op for event in heard if isinstance(event, OpPlaced)]
    executed = [event.op for event in heard if isinstance(event, OpExecuted)]

    assert sorted(placed) == sorted(executed)
    assert 7 == placed.count("_EagerConst")

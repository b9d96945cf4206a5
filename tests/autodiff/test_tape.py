"""Does a tape record, forget and complain as TensorFlow's?"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime.scopes import SCOPE
from nbtf.autodiff import tape as tape_module

SPENT = "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)"


def watching(x: Any, persistent: bool = False) -> tf.GradientTape:
    tape = tf.GradientTape(persistent)
    with tape:
        tape.watch(x)
    return tape


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The warnings, as if none had been given yet."""
    tape_module._WARNED.clear()
    caplog.set_level(logging.WARNING, "tensorflow")
    return caplog


# What is recorded


def test_trainable_variables_are_watched_when_they_are_used() -> None:
    x, fixed, unused = tf.Variable(3.0), tf.Variable(2.0, trainable=False), tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x * fixed

    assert [12.0, None, None] == [None if one is None else one.numpy() for one in tape.gradient(y, [x, fixed, unused])]


def test_without_access_nothing_is_watched_by_itself() -> None:
    x, chosen = tf.Variable(3.0), tf.Variable(2.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(chosen)
        y = x * chosen

    dx, dchosen = tape.gradient(y, (x, chosen))
    assert (None, 3.0) == (dx, dchosen.numpy())


def test_watched_variables_come_in_order_of_their_use() -> None:
    a, b, whole = tf.Variable(1.0, name="a"), tf.Variable(1.0, name="b"), tf.Variable(1, name="whole")
    with tf.GradientTape() as tape:
        y = b + a
        tf.add(whole, 1)

    assert ["b:0", "a:0", "whole:0"] == [one.name for one in tape.watched_variables()]
    tape.gradient(y, a)
    assert ["b:0", "a:0", "whole:0"] == [one.name for one in tape.watched_variables()]


def test_a_watched_tensor_counts_from_then_on() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        early = x * x
        tape.watch(x)
        late = x * x

    assert (None, 6.0) == (tape.gradient(early, x), tape.gradient(late, x).numpy())


@pytest.mark.parametrize("lane", [True, False], ids=["lane", "road"])
def test_a_variable_counts_with_its_value_of_that_moment(lane: bool) -> None:
    x = tf.Variable(2.0)
    outer = tf.GradientTape()
    with tf.GradientTape() as tape:
        if not lane:
            outer.__enter__()
        y = x * x
        x.assign(5.0)
        z = x * x
        if not lane:
            outer.__exit__()
    x.assign(100.0)

    assert 2 * 2 + 2 * 5 == tape.gradient([y, z], x).numpy()


def test_a_list_that_changes_later_does_not_change_the_gradient() -> None:
    x, axes = tf.Variable([[1.0, 2.0], [3.0, 4.0]]), [0]
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(x * x, axes)
    axes.append(1)

    assert [[2.0, 4.0], [6.0, 8.0]] == tape.gradient(y, x).numpy().tolist()


def test_control_flow_is_recorded_as_it_runs() -> None:
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cond(x > 1.0, lambda: x * x, lambda: x)
        _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, y))
        z = tf.map_fn(lambda e: e * x, tf.constant([1.0, 2.0]))
        w = tf.scan(lambda a, e: a * e * x, tf.constant([1.0, 2.0]))

    assert 85.0 == tape.gradient([y, z, w], x).numpy()


def test_functions_are_recorded_as_they_run() -> None:
    x = tf.Variable(3.0)
    square = tf.function(lambda x: x * x)
    with tf.GradientTape(persistent=True) as tape:
        y = square(x)
        z = tf.py_function(lambda a: a * a, [x], tf.float32)
        w = tf.numpy_function(lambda a: a * a, [x], tf.float32)

    assert (6.0, 6.0, None) == (tape.gradient(y, x).numpy(), tape.gradient(z, x).numpy(), tape.gradient(w, x))


def test_numpy_breaks_the_tape() -> None:
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_mean(np.mean(x * x, axis=0))

    assert tape.gradient(y, x) is None


def test_another_thread_is_not_heard() -> None:
    x, made = tf.constant(2.0), list[tf.Tensor]()
    with tf.GradientTape() as tape:
        tape.watch(x)
        thread = threading.Thread(target=lambda: made.append(x * x))
        thread.start()
        thread.join()

    assert tape.gradient(made[0], x) is None


def test_tapes_of_two_threads_do_not_meet() -> None:
    x, slopes = tf.Variable(3.0), list[float]()

    def slope() -> None:
        with tf.GradientTape() as tape:
            y = x * x * x
        slopes.append(tape.gradient(y, x).numpy().item())

    with tf.GradientTape() as tape:
        y = x * x
        thread = threading.Thread(target=slope)
        thread.start()
        thread.join()

    assert (6.0, [27.0]) == (tape.gradient(y, x).numpy(), slopes)


# Blocks


def test_a_tape_goes_on_when_it_is_opened_again() -> None:
    x = tf.constant(3.0)
    tape = watching(x)
    with tape:
        y = x * x

    assert 6.0 == tape.gradient(y, x).numpy()


def test_an_open_tape_is_not_opened_again() -> None:
    with (
        tf.GradientTape() as tape,
        pytest.raises(ValueError, match=r"^Tape is still recording, This can happen if you try to re-enter an already"),
    ):
        tape.__enter__()


def test_stop_recording_leaves_a_gap() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        with tape.stop_recording():
            y = x * x
        z = x * x

    assert (None, 6.0) == (tape.gradient(y, x), tape.gradient(z, x).numpy())


def test_stop_recording_works_inside_a_device_block() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        with tf.device("CPU:0"):
            with tape.stop_recording():
                y = x * x
            z = x * x
        w = x * x

    assert [None, 6.0, 6.0] == [
        None if one is None else one.numpy() for one in (tape.gradient(t, x) for t in (y, z, w))
    ]


def test_reset_forgets() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
        tape.watch(x)
        z = x * x * x

    assert 27.0 == tape.gradient([y, z], x).numpy()


def test_an_error_in_the_block_closes_the_tape() -> None:
    with pytest.raises(KeyError), tf.GradientTape() as tape:
        raise KeyError

    assert not tape._recording


def test_blocks_may_end_crosswise() -> None:
    x, outer, inner = tf.Variable(3.0), tf.GradientTape(), tf.GradientTape()
    outer.__enter__()
    inner.__enter__()
    y = x * x
    outer.__exit__()
    z = y * y
    inner.__exit__()

    assert (None, 4 * 27.0) == (outer.gradient(z, x), inner.gradient(z, x).numpy())
    assert SCOPE() is None


def test_a_device_block_may_end_after_the_tape() -> None:
    tape, block = tf.GradientTape(), tf.device("CPU:0")
    tape.__enter__()
    block.__enter__()
    tape.__exit__()
    block.__exit__()

    assert SCOPE() is None


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (lambda t: t.reset(), ValueError, "Tape is not recording."),
        (lambda t: t.stop_recording().__enter__(), RuntimeError, "Trying to stop recording a tape which is not "),
        (lambda t: t.gradient(tf.constant(1.0), tf.constant(1.0)), RuntimeError, SPENT),
        (lambda t: t.jacobian(tf.constant(1.0), tf.constant(1.0)), RuntimeError, SPENT),
        (lambda t: t.batch_jacobian(tf.constant(1.0), tf.constant(1.0)), RuntimeError, SPENT),
    ],
)
def test_a_tape_that_never_recorded_says_so(use: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        use(tf.GradientTape())

    assert str(caught.value).replace("tocompute", "to compute").startswith(text)


# Gradients


def test_a_tape_is_spent_after_one_gradient() -> None:
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)

    with pytest.raises(RuntimeError) as caught:
        tape.gradient(y, x)
    assert SPENT == str(caught.value)


def test_a_persistent_tape_is_not() -> None:
    x = tf.constant([1.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y

    assert [4.0, 108.0] == tape.gradient(z, x).numpy().tolist()
    assert [2.0, 6.0] == tape.gradient(y, x).numpy().tolist()
    assert [2.0, 18.0] == tape.gradient(z, y).numpy().tolist()


def test_the_build_of_the_sources_is_that_of_the_result() -> None:
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = x * y

    found = tape.gradient(z, {"b": x, "a": [y, (x, x)]})
    assert {"b": 3.0, "a": [2.0, (3.0, 3.0)]} == tf.nest.map_structure(lambda one: one.numpy().item(), found)
    assert ["b", "a"] == list(found)


def test_gradients_of_several_targets_are_added_up() -> None:
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        first, second = x**2, 1 / x

    assert 3.75 == tape.gradient({"first": first, "second": second}, x).numpy()


def test_a_target_may_be_a_source_or_a_variable() -> None:
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x

    assert [1.0, 1.0, 7.0] == [tape.gradient(*pair).numpy() for pair in ((x, x), (y, y), ([y, x], x))]


def test_output_gradients_are_what_it_starts_with() -> None:
    x = tf.Variable([3.0, 4.0])
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        z = y + 1.0

    assert [30.0, 48.0] == tape.gradient(y, x, tf.constant([5.0, 6.0])).numpy().tolist()
    assert [36.0, 56.0] == tape.gradient([y, z], x, [None, tf.constant([5.0, 6.0])]).numpy().tolist()
    with pytest.raises(ValueError, match=r"^Expected 2 output_gradients, one for each target\. Got 1\.$"):
        tape.gradient([y, z], x, [tf.constant([5.0, 6.0])])


def test_unconnected_sources_are_none_or_zeros() -> None:
    x, other, whole = tf.Variable([3.0, 4.0]), tf.constant([[1.0, 2.0]]), tf.constant([1])
    with tf.GradientTape(persistent=True) as tape:
        y = x * x

    assert [None, None] == tape.gradient(y, [other, whole])
    zeros = tape.gradient(y, [other, whole], unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert [[[0.0, 0.0]], [0]] == [one.numpy().tolist() for one in zeros]
    assert [0.0, 0.0] == tape.gradient(other, x, unconnected_gradients="zero").numpy().tolist()
    with pytest.raises(ValueError, match=r"^Unknown value for unconnected_gradients: 'one'$"):
        tape.gradient(y, x, unconnected_gradients="one")


@pytest.mark.parametrize(
    ("target", "sources", "error", "text"),
    [
        (
            None,
            [],
            TypeError,
            "Argument `target` should be a list or nested structure of Tensors, Variables or Compos",
        ),
        (3.0, [], AttributeError, "'float' object has no attribute 'dtype'"),
        (np.float32(3.0), [], AttributeError, "'numpy.float32' object has no attribute '_id'"),
        ("a", [], TypeError, "Cannot convert the argument `type_value`: 'a' to a TensorFlow DType."),
        ([], None, TypeError, "Cannot convert the argument `type_value`: None to a TensorFlow DType."),
        ([], [2], AttributeError, "'int' object has no attribute 'dtype'"),
    ],
)
def test_what_has_no_gradient_is_refused(target: Any, sources: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        watching(tf.constant(1.0)).gradient(target, sources)

    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("value", [3.0, "abc", np.array(1.0), None])
def test_only_tensors_and_variables_can_be_watched(value: Any) -> None:
    with tf.GradientTape() as tape, pytest.raises(ValueError, match=r"^Passed in object ") as caught:
        tape.watch(value)

    kind = type(value).__name__
    assert str(caught.value).endswith(f" of type '{kind}', not tf.Tensor or tf.Variable or ExtensionType.")


def test_watching_integers_warns_and_gives_none(heard: pytest.LogCaptureFixture) -> None:
    x = tf.constant(10)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x

    assert tape.gradient(y, x) is None
    assert ["The dtype of the watched tensor must be floating (e.g. tf.float32), got tf.int32"] == heard.messages


def test_what_becomes_an_integer_has_no_gradient() -> None:
    x = tf.constant([1.5, 2.5])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.cast(tf.cast(x, tf.int32), tf.float32)
        z = tf.cast(tf.argmax(x), tf.float32)

    assert (None, None) == (tape.gradient(y, x), tape.gradient(z, x))


def test_ops_without_gradient_say_so_or_give_none() -> None:
    x = tf.Variable([[[0.5, 0.0, 0.25]]])
    with tf.GradientTape(persistent=True) as tape:
        refused, flat = tf.image.adjust_contrast(x, 2.0), tf.floor(x)

    assert tape.gradient(flat, x) is None
    with pytest.raises(LookupError, match=r"^gradient registry has no entry for: AdjustContrastv2$"):
        tape.gradient(refused, x)


def test_an_op_without_gradient_off_the_way_does_no_harm() -> None:
    x = tf.Variable([[[0.5, 0.0, 0.25]]])
    with tf.GradientTape() as tape:
        tf.image.adjust_contrast(x, 2.0)
        y = x * 2.0

    assert [[[2.0, 2.0, 2.0]]] == tape.gradient(y, x).numpy().tolist()


def test_the_gradient_of_a_complex_number_is_conjugate() -> None:
    x = tf.constant([2.0 + 1j, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x

    assert [4 - 2j, 6 + 0j] == tape.gradient(y, x).numpy().tolist()


def test_ops_with_several_results_need_not_use_all() -> None:
    x = tf.constant([3.0, 1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        first, *_ = tf.split(x, 3)
        values, places = tf.math.top_k(x, 2)

    assert [1.0, 0.0, 0.0] == tape.gradient(first, x).numpy().tolist()
    assert [1.0, 0.0, 1.0] == tape.gradient([values, places], x).numpy().tolist()


def test_ragged_tensors_have_ragged_gradients() -> None:
    x: Any = tf.ragged.constant([[1.0, 2.0], [3.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x

    assert [[2.0, 4.0], [6.0]] == tape.gradient(y, x).to_list()

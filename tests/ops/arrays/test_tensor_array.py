"""Does `tf.TensorArray` do what TensorFlow's does, where ops run at once and inside functions?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf

ROWS = np.arange(6, dtype=np.float32).reshape(3, 2) + 1


def at_once(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def in_function(function: Callable[..., Any]) -> Callable[..., Any]:
    return tf.function(function)


def of_open_length(function: Callable[..., Any]) -> Callable[..., Any]:
    return tf.function(function, input_signature=[tf.TensorSpec([None, 2], tf.float32)])


WAYS = pytest.mark.parametrize("way", [at_once, in_function, of_open_length])


def array(x: Any, **kwargs: Any) -> Any:
    return tf.TensorArray(tf.float32, size=3, clear_after_read=False, **kwargs).unstack(x)


def written(x: Any) -> Any:
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for number in range(3):
        ta = ta.write(number, x[number] * float(number + 1))
    return ta.stack()


def written_in_a_loop(x: Any) -> Any:
    ta = tf.TensorArray(tf.float32, size=3)
    _, ta = tf.while_loop(lambda i, ta: i < 3, lambda i, ta: (i + 1, ta.write(i, x[i] * x[0])), (0, ta))
    return ta.stack()


def written_by_autograph(x: Any) -> Any:
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[2])
    total = tf.zeros([2])
    for number in tf.range(3):
        if number > 0:
            total += x[number] * x[0]
            ta = ta.write(number, total)
    return ta.stack()


def grown_by_autograph(x: Any) -> Any:
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)  # the loop finds out the shape of its elements
    for number in tf.range(3):
        ta = ta.write(number, x[number] * x[0])
    return ta.stack()


def chosen(x: Any) -> Any:
    ta = array(x)
    return tf.cond(tf.reduce_sum(x) > 0, lambda: ta.write(0, x[1] * 2.0), lambda: ta).stack()


CALLS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "read": (lambda x: array(x).read(1) * 2.0 + array(x).read(2), ROWS[1] * 2 + ROWS[2]),
    "stack": (lambda x: array(x).stack(), ROWS),
    "gather": (lambda x: array(x).gather([2, 0, 2]), ROWS[[2, 0, 2]]),
    "concat": (lambda x: array(x).concat(), ROWS.ravel()),
    "identity": (lambda x: array(x).identity().stack(), ROWS),
    "write": (written, ROWS * [[1], [2], [3]]),
    "overwrite": (lambda x: array(x).write(1, x[0] * 3.0).stack(), np.stack([ROWS[0], ROWS[0] * 3, ROWS[2]])),
    "scatter": (
        lambda x: tf.TensorArray(tf.float32, size=5).scatter([4, 0, 1], x).stack(),
        np.stack([ROWS[1], ROWS[2], ROWS[0] * 0, ROWS[0] * 0, ROWS[0]]),
    ),
    "split": (
        lambda x: tf.TensorArray(tf.float32, size=2, infer_shape=False).split(x, [1, 2]).read(1),
        ROWS[1:],
    ),
    "unwritten": (
        lambda x: tf.TensorArray(tf.float32, size=2, element_shape=[2]).write(1, x[0]).stack(),
        np.stack([ROWS[0] * 0, ROWS[0]]),
    ),
    "while_loop": (written_in_a_loop, ROWS * ROWS[:1]),
    "autograph": (written_by_autograph, np.stack([ROWS[0] * 0, ROWS[1] * ROWS[0], (ROWS[1] + ROWS[2]) * ROWS[0]])),
    "autograph, no shape": (grown_by_autograph, ROWS * ROWS[:1]),
    "cond": (chosen, np.stack([ROWS[1] * 2, ROWS[1], ROWS[2]])),
}


@WAYS
@pytest.mark.parametrize("name", CALLS)
def test_methods_return_what_numpy_says(name: str, way: Any) -> None:
    function, expected = CALLS[name]

    np.testing.assert_allclose(way(function)(tf.constant(ROWS)).numpy(), expected)


def differences(function: Callable[[Any], Any]) -> np.ndarray[Any, Any]:
    result = np.zeros_like(ROWS)
    for place in np.ndindex(*ROWS.shape):
        step = np.zeros_like(ROWS)
        step[place] = 0.5
        result[place] = tf.reduce_sum(function(tf.constant(ROWS + step)) - function(tf.constant(ROWS - step)))
    return result


@WAYS
@pytest.mark.parametrize("name", CALLS)
def test_gradients_flow_through_methods(name: str, way: Any) -> None:
    function, _ = CALLS[name]
    x = tf.constant(ROWS)
    traced = way(function)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = traced(x)

    np.testing.assert_allclose(tape.gradient(y, x).numpy(), differences(function), rtol=1e-5)


@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_taken_inside_functions(name: str) -> None:
    function, _ = CALLS[name]

    @tf.function
    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    np.testing.assert_allclose(gradient(tf.constant(ROWS)).numpy(), differences(function), rtol=1e-5)


@WAYS
@pytest.mark.parametrize("name", CALLS)
def test_methods_run_on_simulated_gpus(name: str, way: Any) -> None:
    function, expected = CALLS[name]
    tf.runtime.simulate_gpus(2)
    with tf.device("/GPU:1"):
        result = way(function)(tf.constant(ROWS))

    np.testing.assert_allclose(result.numpy(), expected)
    assert result.device.endswith("GPU:1")


def new(size: int = 2, **kwargs: Any) -> Any:
    return tf.TensorArray(tf.float32, size, **kwargs)


ERRORS: dict[str, tuple[Callable[[], Any], tuple[Any, str], tuple[Any, str]]] = {
    "write past the end": (
        lambda: new().write(2, 1.0).stack(),
        (tf.errors.OutOfRangeError, "Tried to write to index 2 but array is not resizeable and size is: 2 "),
        (tf.errors.InvalidArgumentError, "Trying to modify element 2 in a list with 2 elements."),
    ),
    "write below 0": (
        lambda: new().write(-1, 1.0).stack(),
        (tf.errors.OutOfRangeError, "Writing to negative indices (index -1) is not allowed."),
        (tf.errors.InvalidArgumentError, "Trying to modify element -1 in a list with 2 elements."),
    ),
    "another dtype": (
        lambda: new().write(0, tf.constant(1)).stack(),
        (tf.errors.InvalidArgumentError, "TensorArray dtype is float32 but Op is trying to write dtype int32 "),
        (tf.errors.InvalidArgumentError, "Invalid data types; op elements int32 but list elements float"),
    ),
    "another shape": (
        lambda: new().write(0, [1.0]).write(1, [1.0, 2.0]).stack(),
        (ValueError, "Incompatible shape for value ((2,)), expected ((1,))"),
        (ValueError, "Inconsistent shapes: saw (2,) but expected (1,) "),
    ),
    "read what is not there": (
        lambda: new().read(0),
        (ValueError, "Cannot convert a partially known TensorShape <unknown> to a Tensor."),
        (
            tf.errors.InvalidArgumentError,
            "Trying to read an uninitialized tensor but element_shape is not fully defined: <unknown> and no list "
            "element is set.",
        ),
    ),
    "read past the end": (
        lambda: new().read(2),
        (tf.errors.OutOfRangeError, "Tried to read from index 2 but array size is: 2 "),
        (tf.errors.InvalidArgumentError, "Trying to access element 2 in a list with 2 elements."),
    ),
    "read below 0": (
        lambda: new().write(1, 3.0).read(-1),
        (tf.errors.OutOfRangeError, "Reading from negative indices (index -1) is not allowed."),
        (tf.errors.InvalidArgumentError, "Trying to access element -1 in a list with 2 elements."),
    ),
    "concatenated scalars": (
        lambda: new().unstack([1.0, 2.0]).concat(),
        (tf.errors.InvalidArgumentError, "Concat saw a scalar shape at index 0 but requires at least vectors."),
        (tf.errors.InvalidArgumentError, "Concat saw a scalar shape at index 0 but requires at least vectors."),
    ),
    "lengths that do not add up": (
        lambda: new(infer_shape=False).split([1.0, 2.0, 3.0], [1, 1]).read(0),
        (tf.errors.InvalidArgumentError, "sum of lengths is 2 and value's shape is: [3] "),
        (tf.errors.InvalidArgumentError, "Unused values in tensor. Length of tensor: 3 Values used: 2"),
    ),
    "nothing to stack": (
        lambda: new().stack(),
        (ValueError, "Cannot convert a partially known TensorShape <unknown> to a Tensor."),
        (
            tf.errors.InvalidArgumentError,
            "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined "
            "element_shape: <unknown>",
        ),
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_tensorflow(name: str) -> None:
    call, (error, text), (error_in_function, text_in_function) = ERRORS[name]

    with pytest.raises(error) as at_once:
        call()
    with pytest.raises(error_in_function) as inside:
        tf.function(call)()

    assert text in str(at_once.value)
    assert text_in_function in str(inside.value)


def test_second_read_of_an_element_is_refused_unless_elements_stay() -> None:
    ta = new().write(0, 1.0)
    ta.read(0)

    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not read index 0 twice"):
        ta.read(0)


def test_writing_inside_a_function_leaves_the_old_array_as_it_was() -> None:
    @tf.function
    def both() -> Any:
        ta = new().unstack([1.0, 2.0])
        return ta.write(0, 5.0).stack(), ta.stack()

    assert [[5.0, 2.0], [1.0, 2.0]] == [result.numpy().tolist() for result in both()]


def test_array_from_outside_is_read_in_a_function_and_not_written() -> None:
    ta = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack([1.0, 2.0])

    assert 2.0 == tf.function(lambda: ta.read(1))().numpy()
    with pytest.raises(NotImplementedError, match="construct a new TensorArray inside the function"):
        tf.function(lambda: ta.write(0, 3.0).stack())()


def test_array_is_an_argument_and_its_flow_a_result() -> None:
    ta = tf.TensorArray(tf.float32, 2).unstack([1.0, 2.0])

    flow = tf.function(lambda ta: ta.write(0, ta.read(1) * 4.0))(ta)

    assert (tf.variant, "<tf.Tensor: shape=(), dtype=variant, value=<TensorList>>") == (flow.dtype, repr(flow))
    assert [8.0, 2.0] == tf.TensorArray(tf.float32, flow=flow).stack().numpy().tolist()
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot convert a Tensor of dtype variant"):
        flow.numpy()


def test_shapes_are_known_inside_functions() -> None:
    shapes: list[Any] = []

    @tf.function
    def note() -> None:
        ta = tf.TensorArray(tf.float32, 3, element_shape=[None, 2]).write(0, tf.ones([1, 2]))
        results = [ta.read(0), ta.stack(), ta.concat(), ta.gather([1])]
        shapes.extend([str(result.shape) for result in results] + [str(ta.element_shape)])

    note()

    assert ["(1, 2)", "(3, 1, 2)", "(None, 2)", "(1, 1, 2)", "(1, 2)"] == shapes


def test_size_must_be_declared_and_handles_are_of_tensorflow_1() -> None:
    with pytest.raises(ValueError, match="Size must be declared"):
        tf.TensorArray(tf.float32)
    with pytest.raises(ValueError, match="handles are not supported"):
        tf.TensorArray(tf.float32, 2, handle=1)
    assert (tf.float32, None, False) == (new().dtype, new().handle, new().dynamic_size)


# Graphs of TensorFlow 1


def in_session(build: Callable[[], Any]) -> Any:
    with tf.compat.v1.Graph().as_default(), tf.compat.v1.Session() as session:
        return session.run(build())


def looped() -> Any:
    x = tf.compat.v1.constant([1.0, 2.0, 3.0])
    _, ta = tf.compat.v1.while_loop(
        lambda i, ta: i < 3, lambda i, ta: (i + 1, ta.write(i, x[i] ** 2)), [tf.compat.v1.constant(0), new(3)]
    )
    return x, ta.stack()


def read_twice() -> Any:
    x = tf.compat.v1.constant([1.0, 2.0, 3.0])
    ta = new(3).unstack(x**2)
    return x, ta.read(0) * 2.0 + ta.read(2) * 3.0 + tf.reduce_sum(ta.stack() * [1.0, 2.0, 3.0])


def chosen_in_graph() -> Any:
    x = tf.compat.v1.constant([1.0, 2.0, 3.0])
    ta = new(3).unstack(x)
    return x, tf.compat.v1.cond(x[0] > 0, lambda: ta.write(0, x[1] * 5.0), lambda: ta).stack()


@pytest.mark.parametrize(
    ("build", "values", "gradient"),
    [
        (looped, [1.0, 4.0, 9.0], [2.0, 4.0, 6.0]),
        (read_twice, 65.0, [6.0, 8.0, 36.0]),
        (chosen_in_graph, [10.0, 2.0, 3.0], [0.0, 6.0, 1.0]),
    ],
)
def test_sessions_run_arrays_and_their_gradients(build: Any, values: Any, gradient: list[float]) -> None:
    def with_gradient() -> Any:
        x, y = build()
        return y, tf.compat.v1.gradients(y, x)[0]

    y, slope = in_session(with_gradient)

    assert (values, gradient) == (y.tolist(), slope.tolist())

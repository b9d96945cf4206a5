"""Do arrays flow back to the same bits as tensors do, where somebody listens?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtf as tf
from nbtf._ops.op import OPS
from nbtf._runtime.context import Context, use_context
from nbtf.errors import OpError
from tests.ops.samples import Sample, all_samples

Step = Callable[..., tf.Tensor]

UNARY: list[Step] = [
    tf.negative,
    tf.square,
    tf.exp,
    tf.math.log,
    tf.sqrt,
    tf.sigmoid,
    tf.tanh,
    tf.nn.relu,
    tf.reduce_sum,
    tf.reduce_mean,
    lambda x: tf.reduce_sum(x, -1),
    lambda x: tf.reduce_mean(x, [0], keepdims=True),
    lambda x: tf.reduce_sum(x, 0, keepdims=True),
    lambda x: tf.reduce_mean(x, 0),
    lambda x: tf.reshape(x, [-1]),
    lambda x: tf.pow(x, 2.0),  # one without a backward kernel
]
BINARY: list[Step] = [
    tf.add,
    tf.subtract,
    tf.multiply,
    tf.divide,
    tf.nn.bias_add,
    tf.maximum,  # one without backward kernels
    lambda x, y: tf.matmul(x, y),
    lambda x, y: tf.matmul(x, y, transpose_a=True),
    lambda x, y: tf.matmul(x, y, transpose_b=True),
    lambda x, y: tf.matmul(x, y, transpose_a=True, transpose_b=True),
]
SHAPES = [(), (1,), (3,), (2, 3), (3, 3), (2, 1), (1, 3), (0, 3), (2, 3, 3)]

steps = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.booleans()), max_size=8)


def gradients_of(
    program: list[tuple[int, int, int, bool]],
    shapes: list[tuple[int, ...]],
    dtype: tf.DType,
    persistent: bool,
    upstream: bool,
    listens: bool,
    reads_once: bool,
) -> list[bytes | str | None]:
    """Runs a program of steps, those that fit, and returns the bits of its gradients.

    Variables are read by each step, or by one op for all: a listener has each step's read be an op, where otherwise
    steps share what they read, and gradients of one read are added up before those of others.
    """
    context = Context(environ={})
    if listens:
        context.observers.add(lambda event: None)
    random = np.random.default_rng(0)
    with use_context(context):
        arrays = [np.asarray(random.standard_normal(shape)) for shape in shapes]
        sources = [
            (tf.Variable if number % 2 else tf.constant)(array, dtype=dtype) for number, array in enumerate(arrays)
        ]
        with tf.GradientTape(persistent) as tape:
            tape.watch(sources[:-1])
            values: list[Any] = [tf.identity(source) for source in sources] if reads_once else list(sources)
            for which, left, right, is_unary in program:
                x, y = values[-1 - left % len(values)], values[-1 - right % len(values)]
                try:
                    values.append(UNARY[which % len(UNARY)](x) if is_unary else BINARY[which % len(BINARY)](x, y))
                except (OpError, ValueError, TypeError):
                    continue
        seed = tf.constant(random.standard_normal(values[-1].shape), dtype) if upstream else None
        try:
            grads = tape.gradient(values[-1], sources + values[len(sources) :], seed)
        except (OpError, ValueError, TypeError) as error:
            return [type(error).__name__]
        return [None if grad is None else grad.dtype.name.encode() + grad.numpy().tobytes() for grad in grads]


programs = st.tuples(
    steps,
    st.lists(st.sampled_from(SHAPES), min_size=1, max_size=4),
    st.sampled_from([tf.float32, tf.float64, tf.float16]),
    st.booleans(),
    st.booleans(),
)


@given(programs)
def test_a_listener_does_not_change_the_gradients_of_any_program(program: Any) -> None:
    unheard, heard = [gradients_of(*program, listens=listens, reads_once=True) for listens in (False, True)]

    assert heard == unheard


@given(programs)
def test_arrays_flow_back_to_the_bits_of_ops_in_any_program(program: Any) -> None:
    arrays = gradients_of(*program, listens=False, reads_once=False)
    with patch("nbtf.autodiff.tape.unheard_device", lambda: None):
        ops = gradients_of(*program, listens=False, reads_once=False)

    assert ops == arrays


def loss_of_all(x: tf.Tensor, y: Any) -> tf.Tensor:
    hidden = tf.tanh(tf.matmul(x, y)) - tf.sigmoid(tf.nn.bias_add(x * y, x[0])) / (tf.exp(y) + 2.0)
    return tf.reduce_mean(tf.square(tf.nn.relu(-hidden))) + tf.reduce_sum(tf.sqrt(tf.math.log(x * x + 2.0)))


def test_no_op_runs_on_the_way_back_where_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    y = tf.Variable([[0.5, -1.0], [2.0, 1.0]])
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(y)
        loss = loss_of_all(tf.constant([[1.0, 2.0], [3.0, 4.0]]), y)
    ran: list[str] = []
    for op in OPS.values():
        monkeypatch.setattr(op, "gradients", lambda call, *grads: ran.append(call.op.type) or [None] * 2)

    assert tape.gradient(loss, y) is not None
    assert [] == ran


def grads_of_sample(sample: Sample, listens: bool) -> list[Any]:
    context = Context(environ={})
    if listens:
        context.observers.add(lambda event: None)
    with use_context(context):
        args = list(sample.args)
        inputs = [tf.constant(np.asarray(args[place]), tf.float32) for place in sample.differentiable]
        for place, tensor in zip(sample.differentiable, inputs, strict=True):
            args[place] = tensor
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            result = sample.function(*args, **sample.kwargs)
        return [None if grad is None else grad.numpy().tobytes() for grad in tape.gradient(result, inputs)]


WITH_KERNELS = [
    sample
    for sample in all_samples()
    if sample.differentiable and sample.op in OPS and OPS[sample.op].towards_x is not None
]


@pytest.mark.parametrize("sample", WITH_KERNELS, ids=str)
def test_a_listener_does_not_change_the_gradients_of_a_sample(sample: Sample) -> None:
    assert grads_of_sample(sample, True) == grads_of_sample(sample, False)


def test_every_backward_kernel_has_a_sample() -> None:
    assert {sample.op for sample in WITH_KERNELS} == {op.type for op in OPS.values() if op.towards_x is not None}


def test_seeds_of_another_dtype_are_refused_as_ever() -> None:
    x = tf.Variable([[1.0]])
    with tf.GradientTape() as tape:
        y = tf.matmul(x, x)

    with pytest.raises(tf.errors.InvalidArgumentError):
        tape.gradient(y, x, tf.constant([[1.0]], tf.float64))


def test_arrays_of_a_function_s_own_gradient_become_tensors_of_its_dtype() -> None:
    @tf.custom_gradient
    def tripled(x: tf.Tensor) -> Any:
        return x * 3.0, lambda upstream: np.array([3.0])

    x = tf.Variable([1.0])
    with tf.GradientTape() as tape:
        y = tripled(tf.square(x))

    assert (tf.float32, [6.0]) == ((grad := tape.gradient(y, x)).dtype, grad.numpy().tolist())

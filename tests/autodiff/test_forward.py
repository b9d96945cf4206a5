"""Are Jacobian-vector products TensorFlow 2.21's, recorded here, and do those of all ops agree with gradients?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime.conversion import as_tensor
from tests.ops.arguments import arrays_in, as_double, noise, plain, tensors
from tests.ops.listening import flat
from tests.ops.samples import Sample, all_samples

Accumulator = tf.autodiff.ForwardAccumulator


def product(function: Callable[[Any], Any], x: Any = (1.0, 2.0, 3.0), tangent: Any = (1.0, 0.0, 2.0)) -> list[float]:
    with Accumulator(x := tf.constant(x), tf.constant(tangent)) as accumulator:
        y = function(x)
    return accumulator.jvp(y).numpy().tolist()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x * x, [2.0, 0.0, 12.0]),
        (tf.sin, [0.5403, 0.0, -1.97998]),
        (tf.nn.softmax, [-0.03786, -0.34764, 0.3855]),
        (lambda x: x, [1.0, 0.0, 2.0]),
        (lambda x: tf.gather(x, [0, 0, 2]) * 2, [2.0, 2.0, 4.0]),
        (lambda x: tf.matmul(x[None], tf.ones([3, 2])) * x[0], [[9.0, 9.0]]),
        (lambda x: tf.reduce_max(x) * tf.math.cumsum(x), [5.0, 9.0, 21.0]),
        (tf.function(lambda x: tf.tanh(x) * x), [1.18157, 0.0, 2.04931]),
        (tf.function(lambda x: tf.cond(x[0] > 0, lambda: x * x, lambda: x)), [2.0, 0.0, 12.0]),
    ],
)
def test_products_are_tensorflows(function: Callable[[Any], Any], expected: Any) -> None:
    np.testing.assert_allclose(product(function), expected, 1e-4, 1e-5)


def test_variables_and_structures_have_tangents() -> None:
    x, v = tf.constant([1.0, 2.0, 3.0]), tf.Variable([1.0, 2.0])
    with Accumulator([x, v], [tf.constant([1.0, 0.0, 2.0]), tf.constant([1.0, 2.0])]) as accumulator:
        y = tf.reduce_sum(x) * v

    assert [[9.0, 18.0], [1.0, 0.0, 2.0]] == [part.numpy().tolist() for part in accumulator.jvp([y, x])]


def test_gradients_and_products_nest() -> None:
    x, tangent = tf.constant([1.0, 2.0, 3.0]), tf.constant([1.0, 0.0, 2.0])
    with Accumulator(x, tangent) as outer:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x**3)
        of_gradient = outer.jvp(tape.gradient(y, x))
        with Accumulator(x, tangent) as inner:
            z = x**3
        of_product = inner.jvp(z)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with Accumulator(x, tangent) as inner:
            z = x**3
        gradient_of_product = tape.gradient(inner.jvp(z), x)

    np.testing.assert_allclose(of_gradient.numpy(), [6.0, 0.0, 36.0], 1e-5)
    np.testing.assert_allclose(outer.jvp(of_product).numpy(), [6.0, 0.0, 72.0], 1e-5)
    np.testing.assert_allclose(gradient_of_product.numpy(), [6.0, 0.0, 36.0], 1e-5)


def test_products_are_taken_in_the_block_and_in_functions() -> None:
    @tf.function
    def both(x: Any, tangent: Any) -> Any:
        with Accumulator(x, tangent) as accumulator:
            y = x * x
            inside = accumulator.jvp(y)
            z = y * y
        return inside, accumulator.jvp(z)

    inside, after = both(tf.constant([1.0, 2.0, 3.0]), tf.constant([1.0, 0.0, 2.0]))
    assert [[2.0, 0.0, 12.0], [4.0, 0.0, 216.0]] == [inside.numpy().tolist(), after.numpy().tolist()]


def test_a_result_that_does_not_depend_on_the_primals_has_no_product() -> None:
    x = tf.constant(1.0)
    with Accumulator(x, tf.constant(1.0)) as accumulator:
        other, number = tf.constant(2.0), tf.constant(3)

    assert accumulator.jvp(other) is None
    assert accumulator.jvp(number) is None
    assert 0.0 == accumulator.jvp(other, "zero").numpy()


def test_complex_products_are_tensorflows() -> None:
    assert [2.0 + 14.0j] == product(lambda x: x * x * (1 + 2j), [1 + 1j], [2 - 1j])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (lambda x: ([x, x], [x, x]), "was specified as a primal multiple times"),
        (lambda x: (x, tf.constant([1.0, 2.0])), r"A tangent of shape \(2,\) was given for a primal of shape \(3,\)"),
        (lambda x: ([x], x), "The two structures don't have the same nested structure"),
    ],
)
def test_wrong_primals_and_tangents_are_refused(arguments: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Accumulator(*arguments(tf.constant([1.0, 2.0, 3.0])))


def test_a_block_is_not_entered_twice_at_a_time() -> None:
    accumulator = Accumulator(tf.constant(1.0), tf.constant(1.0))
    with accumulator, pytest.raises(ValueError, match="Accumulator is already recording"):
        accumulator.__enter__()


NAN_IF_EMPTY = {"SegmentMax", "SegmentMean", "SegmentMin"}
"""Ops whose products are nan for an empty segment, in TensorFlow as well."""


def test_products_of_all_ops_agree_with_their_gradients() -> None:
    samples = [sample for sample in all_samples() if sample.differentiable and sample.op not in NAN_IF_EMPTY]
    outcomes = [agrees(sample) for sample in samples]

    assert outcomes.count(True) > 300
    assert not outcomes.count(False)


def agrees(sample: Sample) -> bool | None:
    """Returns whether both ways weigh results equally; None if the gradient has no gradient."""
    random = np.random.default_rng(3)
    args = [as_double(argument) for argument in plain(sample.args)]
    taken = [as_tensor(array) for place in sample.differentiable for array in arrays_in(args[place])]
    arrays = [array for place in sample.differentiable for array in arrays_in(args[place])]
    known = dict(zip(map(id, arrays), taken, strict=True))
    tangents = [as_tensor(noise(random, array)) for array in arrays]
    with tf.GradientTape() as tape, Accumulator(taken, tangents) as accumulator:
        tape.watch(taken)
        results = flat(sample.function(*tensors(args, known), **sample.kwargs))
    weights = [as_tensor(noise(random, result.numpy())) for result in results]
    gradients = [as_tensor(gradient) for gradient in tape.gradient(results, taken, weights)]
    try:
        products = [accumulator.jvp(result) for result in results]
    except LookupError:
        return None
    forward = sum(_scalar(weight, each) for weight, each in zip(weights, products, strict=True) if each is not None)
    backward = sum(_scalar(tangent, each) for tangent, each in zip(tangents, gradients, strict=True))
    return bool(np.allclose(forward, backward, 1e-5, 1e-7))


def _scalar(x: tf.Tensor, y: tf.Tensor) -> float:
    return float(np.sum(np.real(np.conj(x.numpy()) * y.numpy())))

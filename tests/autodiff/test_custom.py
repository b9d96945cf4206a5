"""Do functions bring their own gradients as in TensorFlow?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbtf as tf


def slope(function: Callable[..., Any], *values: Any, **kwargs: Any) -> Any:
    inputs = [tf.constant(value) for value in values]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        y = function(*inputs, **kwargs)
    found = [None if one is None else one.numpy() for one in tape.gradient(y, inputs)]
    return found[0] if len(found) == 1 else found


def test_the_function_decides_about_its_gradient() -> None:
    @tf.custom_gradient
    def log1pexp(x: tf.Tensor) -> Any:
        e = tf.exp(x)
        return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))

    assert 1.0 == slope(log1pexp, 100.0)
    assert "log1pexp" == log1pexp.__name__


def test_keywords_have_no_gradient() -> None:
    @tf.custom_gradient
    def scaled(x: tf.Tensor, y: tf.Tensor, scale: float = 1.0) -> Any:
        return x * y * scale, lambda upstream: (upstream * 10.0, upstream)

    assert [10.0, 1.0] == slope(scaled, 3.0, 4.0, scale=2.0)


def test_each_result_has_a_gradient_and_zero_if_it_is_not_used() -> None:
    @tf.custom_gradient
    def both(x: tf.Tensor) -> Any:
        return (x * 2.0, x * 3.0), lambda a, b: a + 10.0 * b

    assert 11.0 == slope(both, 3.0)
    assert 10.0 == slope(lambda x: both(x)[1], 3.0)


def test_structures_come_and_go() -> None:
    @tf.custom_gradient
    def product(pair: dict[str, tf.Tensor]) -> Any:
        return {"out": pair["a"] * pair["b"]}, lambda upstream: {"a": upstream * 5.0, "b": upstream * 7.0}

    assert [5.0, 7.0] == slope(lambda a, b: product({"a": a, "b": b})["out"], 3.0, 4.0)


def test_a_method_may_have_one() -> None:
    class Layer:
        @tf.custom_gradient
        def call(self, x: tf.Tensor) -> Any:
            return x * 2.0, lambda upstream: upstream * 5.0

    assert 5.0 == slope(Layer().call, 3.0)


def test_it_may_have_no_gradient() -> None:
    assert slope(tf.custom_gradient(lambda x: (x * 2.0, lambda upstream: None)), 3.0) is None


def test_variables_among_the_arguments_are_inputs() -> None:
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.custom_gradient(lambda x: (x * 2.0, lambda upstream: upstream * 5.0))(v)

    assert 5.0 == tape.gradient(y, v).numpy()


def test_other_variables_are_handed_to_the_gradient() -> None:
    v, told = tf.Variable(2.0), list[Any]()

    @tf.custom_gradient
    def scaled(x: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor, variables: Any = None) -> Any:
            told.extend(variables)
            return upstream * 10.0, [upstream * 100.0]

        return v * x, gradient

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = scaled(x)

    assert [10.0, 100.0] == [one.numpy() for one in tape.gradient(y, [x, v])]
    assert told == [v]


def test_a_gradient_function_must_take_the_variables() -> None:
    v = tf.Variable(2.0, name="v")

    with pytest.raises(TypeError) as caught:
        tf.custom_gradient(lambda x: (v * x, lambda upstream: upstream))(tf.constant(3.0))
    assert str(caught.value).startswith(
        "@tf.custom_gradient grad_fn must accept keyword argument 'variables', since function uses variables: [<tf.Var"
    )


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (
            lambda x, y: (x * y, lambda upstream: upstream),
            "custom_gradient function expected to return 2 gradients, but returned 1 instead.",
        ),
        (
            lambda x, y: (tf.Variable(1.0) * y, lambda upstream, variables=None: ([upstream, upstream], [])),
            "Must return gradient for each variable from @custom_gradient grad_fn.",
        ),
    ],
)
def test_gradients_are_counted(function: Callable[..., Any], text: str) -> None:
    with pytest.raises(ValueError, match="grad") as caught:
        slope(tf.custom_gradient(function), 3.0, 4.0)

    assert text == str(caught.value)


def test_something_to_call_is_needed() -> None:
    with pytest.raises(TypeError, match=r"^unsupported callable$"):
        tf.custom_gradient(lambda x: (x, None))(tf.constant(1.0))


def test_a_second_derivative_is_that_of_the_gradient_function() -> None:
    cubed = tf.custom_gradient(lambda x: (x * x * x, lambda upstream: upstream * x * x))
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = cubed(x)
        first = tape.gradient(y, x)

    assert (9.0, 6.0) == (first.numpy(), outer.gradient(first, x).numpy())


def test_clipping_a_gradient_is_a_use_of_it() -> None:
    clip = tf.custom_gradient(lambda y: (y, lambda upstream: tf.clip_by_norm(upstream, 0.5)))
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = clip(v * v)

    assert 2.0 == tape.gradient(y, v).numpy()


def test_stopped_gradients_make_a_constant() -> None:
    assert 3.0 == slope(lambda x: x * tf.stop_gradient(x), 3.0)
    assert slope(tf.stop_gradient, 3.0) is None


# Running again


def test_recomputing_runs_the_function_twice_and_gives_the_same() -> None:
    v, runs = tf.Variable(2.0), list[int]()

    def function(x: tf.Tensor) -> tf.Tensor:
        runs.append(1)
        return x * v * x

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.recompute_grad(function)(x)
    found = [one.numpy() for one in tape.gradient(y, [x, v])]

    assert (2, [12.0, 9.0]) == (len(runs), found)


def test_recomputing_takes_keywords_and_several_results() -> None:
    v = tf.Variable(2.0)
    recomputed = tf.recompute_grad(lambda x, k=2.0: [x * k, x + v])
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = recomputed(x, k=5.0)

    assert [6.0, 1.0] == [one.numpy() for one in tape.gradient(y, [x, v])]


def test_recomputing_keeps_nothing_of_the_inside() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        tf.recompute_grad(lambda x: tf.exp(tf.exp(tf.exp(x))))(x)

    assert tape._tape is not None
    assert "Exp" not in [getattr(op, "type", "") for op, *_ in tape._tape.entries]


# Passing through


def test_gradients_pass_through_what_has_none() -> None:
    assert 1.0 == slope(tf.grad_pass_through(tf.floor), 2.5)


def test_gradients_pass_through_assignments() -> None:
    x, z = tf.Variable(1.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.grad_pass_through(x.assign)(z**2)

    assert (6.0, 9.0) == (tape.gradient(y, z).numpy(), y.numpy())


# Graphs


@pytest.mark.parametrize("function", [tf.gradients, tf.hessians])
def test_what_belongs_to_graphs_refuses(function: Callable[..., Any]) -> None:
    with pytest.raises(RuntimeError) as caught:
        function(tf.constant(1.0), tf.constant(1.0))

    assert "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead." == str(
        caught.value
    )


def test_aggregation_methods_are_names_only() -> None:
    methods = tf.AggregationMethod

    assert (0, 0, 1, 2) == (
        methods.ADD_N,
        methods.DEFAULT,
        methods.EXPERIMENTAL_TREE,
        methods.EXPERIMENTAL_ACCUMULATE_N,
    )

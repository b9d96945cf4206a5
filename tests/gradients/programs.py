"""The programs: each takes a library and returns a function of one vector, which is then run.

Code before the inner function creates variables, as programs do before their functions are traced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[[Any], Callable[[Any], Any]]

PROGRAMS: dict[str, Program] = {}


def program(build: Program) -> Program:
    """Adds a program to the table, under its function's name."""
    PROGRAMS[build.__name__] = build
    return build


def body(function: Callable[[Any, Any], Any]) -> Program:
    """Adds a program that creates no variables."""

    def build(tf: Any) -> Callable[[Any], Any]:
        return lambda x: function(tf, x)

    PROGRAMS[function.__name__] = build
    return build


# Tapes


@body
def tape_gradient(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x * 3.0
    return y, tape.gradient(y, x)


@body
def tape_gradient_in_its_block(tf: Any, x: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        slope = tape.gradient(x * x * x, x)
    return slope, tape.gradient(slope, x)


@body
def tape_gradient_of_a_structure(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        z = tf.constant([1.0, 0.5, 2.0])
        tape.watch([x, z])
        y = {"a": x * z, "b": [tf.reduce_sum(x)]}
    return tape.gradient(y, {"x": x, "others": (z, [x])})


@body
def tape_gradient_of_a_target_that_is_the_source(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
    return tape.gradient(x, x)


@body
def tape_gradient_by_what_lies_between(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    return tape.gradient(z, [x, y])


@body
def tape_gradient_before_watching(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        early = x * 2.0
        tape.watch(x)
        y = early * x
    return tape.gradient(y, x), early


@body
def tape_gradient_after_its_block(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    late = y * 3.0
    return tape.gradient(late, x)


@body
def tape_gradient_of_nothing_watched(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        y = x * x
    return tape.gradient(y, x)


@body
def tape_persistent(tf: Any, x: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    return tape.gradient(z, x), tape.gradient(y, x), tape.gradient(z, y)


@body
def tape_spent(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    return tape.gradient(y, x)


@body
def tape_third_order(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as outermost:
        outermost.watch(x)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.sin(x) * x * x
            first = inner.gradient(y, x)
        second = outer.gradient(first, x)
    return first, second, outermost.gradient(second, x)


@body
def tape_stop_recording(tf: Any, x: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            z = y * y
            slope = tape.gradient(y, x)
        w = y * 2.0
    return slope, tape.gradient(z, x), tape.gradient(w, x)


@body
def tape_reset(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
        tape.watch(x)
        y += x * 3.0
    return tape.gradient(y, x)


@body
def tape_reset_forgets_sources(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        tape.reset()
        y = x * x
    return tape.gradient(y, x)


@body
def tape_goes_on(tf: Any, x: Any) -> Any:
    tape = tf.GradientTape()
    with tape:
        tape.watch(x)
        y = x * x
    with tape:
        z = y * x
    return tape.gradient(z, x)


@body
def tape_unconnected_none(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.constant(2.0) * 3.0
    return tape.gradient(y, x)


@body
def tape_unconnected_zero(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.constant(2.0) * 3.0
    return tape.gradient(y, [x], unconnected_gradients=tf.UnconnectedGradients.ZERO)


@body
def tape_unconnected_text(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.constant(2.0) * 3.0
    return tape.gradient(y, x, unconnected_gradients="zero")


@body
def tape_unconnected_unknown(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x, unconnected_gradients="nonsense")


@body
def tape_output_gradients(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x, output_gradients=tf.constant([1.0, 10.0, 100.0]))


@body
def tape_output_gradients_of_several(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, z = x * x, x * 3.0
    return tape.gradient([y, z], x, output_gradients=[tf.constant([1.0, 10.0, 100.0]), None])


@body
def tape_of_integers(tf: Any, x: Any) -> Any:
    n = tf.constant([1, 2, 3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * tf.cast(n, tf.float32)
    return tape.gradient(y, [x, n])


@body
def tape_of_an_integer_target(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(x, tf.int32)
    return tape.gradient(y, x)


@body
def tape_through_a_cast(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(tf.cast(x, tf.float64) * 2.0, tf.float32)
    return tape.gradient(y, x)


@body
def tape_of_complex_numbers(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = tf.complex(x, x * 2.0)
        y = tf.abs(z * z)
    return tape.gradient(y, x)


@body
def tape_target_none(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
    return tape.gradient(None, x)


@body
def tape_source_number(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, 3.0)


@body
def tape_watches_a_number(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(3.0)
    return x


@body
def tape_through_a_list(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        a, b, c = tf.unstack(x, num=3)
        y = tf.stack([a * b, c, a]) * tf.concat([x[:1], x[1:]], 0)
    return tape.gradient(y, x)


@body
def tape_through_a_split(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        a, b = tf.split(x, [1, 2])
        y = tf.reduce_sum(b) * a
    return tape.gradient(y, x)


@body
def tape_through_shapes(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reshape(x, [-1, 1]) * tf.expand_dims(x, 0) + tf.reduce_mean(x)
        z = tf.transpose(y) @ y
    return tape.gradient(z, x)


@body
def tape_identity_and_copies(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.identity(x) * tf.convert_to_tensor(x) + tf.zeros_like(x) + tf.ones_like(x) * x
    return tape.gradient(y, x)


# Jacobians


@body
def tape_jacobian(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x * tf.reduce_sum(x)
    return tape.jacobian(y, x)


@body
def tape_jacobian_of_a_structure(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        z = tf.constant([[1.0, 2.0]])
        tape.watch([x, z])
        y = tf.reshape(x, [3, 1]) * z
    return tape.jacobian(y, {"z": z, "x": [x]})


@body
def tape_jacobian_unconnected(tf: Any, x: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape:
        z = tf.constant([1.0, 2.0])
        tape.watch([x, z])
        y = x * x
    return tape.jacobian(y, z), tape.jacobian(y, z, unconnected_gradients="zero")


@body
def tape_jacobian_without_pfor(tf: Any, x: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    return tape.jacobian(y, x, experimental_use_pfor=False)


@body
def tape_jacobian_of_a_scalar(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_prod(x)
    return tape.jacobian(y, x)


@body
def tape_hessian(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(x * x * x) * x[0]
        slope = inner.gradient(y, x)
    return outer.jacobian(slope, x)


@body
def tape_batch_jacobian(tf: Any, x: Any) -> Any:
    m = tf.stack([x, x * 2.0])
    with tf.GradientTape() as tape:
        tape.watch(m)
        y = m * m + tf.reduce_sum(m, 1, keepdims=True)
    return tape.batch_jacobian(y, m)


@body
def tape_batch_jacobian_of_a_product(tf: Any, x: Any) -> Any:
    m = tf.stack([x, x * 2.0])
    with tf.GradientTape() as tape:
        tape.watch(m)
        y = m @ tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    return tape.batch_jacobian(y, m)


@body
def tape_batch_jacobian_unconnected(tf: Any, x: Any) -> Any:
    m = tf.stack([x, x * 2.0])
    with tf.GradientTape() as tape:
        tape.watch(m)
        y = tf.constant([[1.0], [2.0]]) * 2.0
    return tape.batch_jacobian(y, m)


@body
def tape_batch_jacobian_without_pfor(tf: Any, x: Any) -> Any:
    m = tf.stack([x, x * 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(m)
        y = m * m
    return tape.batch_jacobian(y, m, experimental_use_pfor=False)


@body
def tape_batch_jacobian_of_other_batches(tf: Any, x: Any) -> Any:
    m = tf.stack([x, x * 2.0])
    with tf.GradientTape() as tape:
        tape.watch(m)
        y = tf.transpose(m)
    return tape.batch_jacobian(y, m)


@body
def tape_batch_jacobian_in_its_block(tf: Any, x: Any) -> Any:
    m = tf.stack([x, x * 2.0])
    with tf.GradientTape() as outer:
        outer.watch(m)
        with tf.GradientTape() as tape:
            tape.watch(m)
            y = m * m * m
        slopes = tape.batch_jacobian(y, m)
    return outer.gradient(slopes, m)


# tf.gradients, tf.hessians


@body
def gradients_of_a_tensor(tf: Any, x: Any) -> Any:
    return tf.gradients(x * x, x)


@body
def gradients_of_several(tf: Any, x: Any) -> Any:
    z = x * 2.0
    return tf.gradients([x * z, z], [x, z], grad_ys=[tf.constant([1.0, 2.0, 3.0]), None])


@body
def gradients_that_stop(tf: Any, x: Any) -> Any:
    z = x * x
    return tf.gradients(z * x, x, stop_gradients=[z])


@body
def gradients_unconnected(tf: Any, x: Any) -> Any:
    z = tf.constant([1.0, 2.0])
    return tf.gradients(x * x, [z]), tf.gradients(x * x, [z], unconnected_gradients=tf.UnconnectedGradients.ZERO)


@body
def gradients_of_gradients(tf: Any, x: Any) -> Any:
    (first,) = tf.gradients(x * x * x, x)
    return first, tf.gradients(first, x)


@body
def gradients_beside_a_tape(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x * x
        (first,) = tf.gradients(y, x)
    return first, tape.gradient(first, x)


@body
def gradients_with_another_count(tf: Any, x: Any) -> Any:
    return tf.gradients([x * x], x, grad_ys=[None, None])


@body
def hessians_of_a_sum(tf: Any, x: Any) -> Any:
    return tf.hessians(tf.reduce_sum(x * x * x) * x[0], x)


@body
def hessians_of_several(tf: Any, x: Any) -> Any:
    z = tf.constant([1.0, 2.0])
    return tf.hessians(tf.reduce_sum(x * x) * tf.reduce_sum(z * z), [x, z])


# Custom gradients


@body
def custom(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def triple(x: Any) -> Any:
        return x * 1.0, lambda dy: dy * 3.0

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = triple(x)
    return y, tape.gradient(y, x)


@body
def custom_with_gradients(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def triple(x: Any) -> Any:
        return x * 1.0, lambda dy: dy * 3.0

    return tf.gradients(triple(x) * 2.0, x)


@body
def custom_of_several(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def several(x: Any, z: Any) -> Any:
        def backward(da: Any, db: Any) -> Any:
            return da * 2.0 + db, db * 5.0

        return (x * z, z * z), backward

    z = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        a, b = several(x, z)
        y = a * b
    return tape.gradient(y, [x, z]), tape.gradient(a, [x, z]), tape.gradient(b, z)


@body
def custom_with_keywords(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def scaled(x: Any, factor: float = 1.0, shift: float = 0.0) -> Any:
        return x * factor + shift, lambda dy: dy * factor * 10.0

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = scaled(x, factor=2.0, shift=1.0)
    return y, tape.gradient(y, x)


@body
def custom_with_a_keyword_tensor(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def scaled(x: Any, *, factor: Any) -> Any:
        return x * factor, lambda dy: dy * factor * 10.0

    factor = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch([x, factor])
        y = scaled(x, factor=factor)
    return tape.gradient(y, [x, factor])


@body
def custom_with_a_structure(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def of_pair(pair: Any) -> Any:
        def backward(*upstream: Any) -> Any:
            return [upstream[0] * 2.0, upstream[1] * 3.0]

        return {"a": pair[0] * 1.0, "b": pair[1] * 1.0}, backward

    with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = of_pair((x, x * 1.0))
        y = outputs["a"] + outputs["b"]
    return tape.gradient(y, x)


@body
def custom_second_order(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def cube(x: Any) -> Any:
        return x * x * x, lambda dy: dy * 5.0 * x * x

    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = cube(x)
        first = inner.gradient(y, x)
    return first, outer.gradient(first, x)


@body
def custom_nested(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def inner(x: Any) -> Any:
        return x * x, lambda dy: dy * 7.0

    @tf.custom_gradient
    def outer(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = inner(x) * 2.0
        slope = tape.gradient(y, x)
        return y, lambda dy: dy * slope * 3.0

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = outer(x)
    return y, tape.gradient(y, x)


@body
def custom_whose_gradient_is_custom(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def square(x: Any) -> Any:
        @tf.custom_gradient
        def slope(dy: Any) -> Any:
            return dy * 2.0 * x, lambda ddy: ddy * 100.0

        return x * x, slope

    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = square(x)
        first = tape.gradient(y, x, output_gradients=x)
    return first, outer.gradient(first, x)


@body
def custom_of_a_lambda(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.custom_gradient(lambda x: (x * 4.0, lambda dy: dy * 40.0))(x)
    return y, tape.gradient(y, x)


@body
def custom_with_parentheses(tf: Any, x: Any) -> Any:
    @tf.custom_gradient()
    def triple(x: Any) -> Any:
        return x * 1.0, lambda dy: dy * 3.0

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = triple(x)
    return tape.gradient(y, x)


@body
def custom_returning_none(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def blocked(x: Any, z: Any) -> Any:
        return x * z, lambda dy: (None, dy)

    z = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch([x, z])
        y = blocked(x, z)
    return tape.gradient(y, [x, z])


@body
def custom_returning_too_few(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def wrong(x: Any, z: Any) -> Any:
        return x * z, lambda dy: dy

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = wrong(x, x * 2.0)
    return tape.gradient(y, x)


@body
def custom_of_integers(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def picked(x: Any, position: Any) -> Any:
        return tf.gather(x, position), lambda dy: (tf.ones_like(x) * dy * 2.0, None)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = picked(x, tf.constant(1))
    return tape.gradient(y, x)


@body
def custom_of_python_numbers(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def shifted(x: Any, shift: Any) -> Any:
        return x + shift, lambda dy: (dy * 2.0, None)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = shifted(x, 4.0)
    return tape.gradient(y, x)


@body
def custom_that_returns_its_argument(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def same(x: Any) -> Any:
        return x, lambda dy: dy * 9.0

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = same(x)
        z = x * 2.0 + y
    return tape.gradient(z, x)


@body
def custom_unused_result(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def pair(x: Any) -> Any:
        return (x * 1.0, x * 2.0), lambda da, db: da * 3.0 + db * 100.0

    with tf.GradientTape() as tape:
        tape.watch(x)
        a, _ = pair(x)
    return tape.gradient(a, x)


@body
def custom_in_a_condition(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def triple(x: Any) -> Any:
        return x * 1.0, lambda dy: dy * 3.0

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: triple(x), lambda: x * 2.0)
    return tape.gradient(y, x)


@body
def custom_around_a_condition(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def either(x: Any) -> Any:
        y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 5.0, lambda: x * 2.0)
        return y, lambda dy: tf.cond(tf.reduce_sum(x) > 0.0, lambda: dy * 8.0, lambda: dy)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = either(x)
    return y, tape.gradient(y, x)


@body
def custom_clip(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def clipped(x: Any) -> Any:
        return tf.identity(x), lambda dy: tf.clip_by_norm(dy, 0.5)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(clipped(x) * x)
    return tape.gradient(y, x)


@body
def custom_log1pexp(tf: Any, x: Any) -> Any:
    @tf.custom_gradient
    def log1pexp(x: Any) -> Any:
        e = tf.exp(x)
        return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = log1pexp(x * 50.0)
    return tape.gradient(y, x)


@program
def custom_with_a_variable(tf: Any) -> Any:
    v = tf.Variable([2.0, 3.0, 4.0], name="v")

    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        def backward(dy: Any, variables: Any = None) -> Any:
            return dy * 10.0, [dy * 100.0 for _ in variables]

        return x * v, backward

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x)
        return y, tape.gradient(y, [x, v])

    return run


@program
def custom_with_a_variable_that_it_does_not_take(tf: Any) -> Any:
    v = tf.Variable([2.0, 3.0, 4.0], name="v")

    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        return x * v, lambda dy: dy

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x)
        return tape.gradient(y, [x, v])

    return run


@program
def custom_of_a_variable(tf: Any) -> Any:
    v = tf.Variable([2.0, 3.0, 4.0], name="v")

    @tf.custom_gradient
    def scaled(x: Any, w: Any) -> Any:
        return x * w, lambda dy: (dy * 10.0, dy * 100.0)

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x, v)
        return y, tape.gradient(y, [x, v])

    return run


@body
def recompute(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.recompute_grad(lambda x: tf.sin(x) * x)(x)
    return y, tape.gradient(y, x)


@body
def recompute_twice(tf: Any, x: Any) -> Any:
    block = tf.recompute_grad(lambda x: tf.sin(x) * x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = block(block(x)) * 2.0
    return tape.gradient(y, x)


@body
def recompute_several(tf: Any, x: Any) -> Any:
    block = tf.recompute_grad(lambda x, z: x * z)
    with tf.GradientTape() as tape:
        z = tf.constant([1.0, 2.0, 3.0])
        tape.watch([x, z])
        y = block(x, z)
    return tape.gradient(y, [x, z])


@program
def recompute_with_a_variable(tf: Any) -> Any:
    v = tf.Variable([2.0, 3.0, 4.0], name="v")

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.recompute_grad(lambda x: x * v * v)(x)
        return y, tape.gradient(y, [x, v])

    return run


@body
def pass_through(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.grad_pass_through(tf.floor)(x * 2.5)
    return y, tape.gradient(y, x)


@program
def pass_through_a_variable(tf: Any) -> Any:
    v = tf.Variable([2.0, 3.0, 4.0], name="v")

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.grad_pass_through(lambda x: x * v)(x)
        return y, tape.gradient(y, [x, v])

    return run


@body
def stop_gradient(tf: Any, x: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.stop_gradient(x * x) * x
        z = tf.stop_gradient(x)
    return tape.gradient(y, x), tape.gradient(z, x)


# Variables


@program
def variable_gradient(tf: Any) -> Any:
    v = tf.Variable([2.0, 3.0, 4.0], name="v")

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = v * v * x
        return tape.gradient(y, v), tape.gradient is not None, [w.shape[0] for w in tape.watched_variables()]

    return run


@program
def variable_gradients(tf: Any) -> Any:
    v = tf.Variable([2.0, 3.0, 4.0], name="v")
    return lambda x: tf.gradients(v * v * x, [v, x])


@program
def variable_not_trainable(tf: Any) -> Any:
    v = tf.Variable([2.0, 3.0, 4.0], trainable=False, name="v")

    def run(x: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            y = v * v * x
        with tf.GradientTape() as second:
            second.watch(v)
            z = v * v * x
        return tape.gradient(y, v), second.gradient(z, v), len(tape.watched_variables())

    return run


@program
def variable_that_is_not_watched(tf: Any) -> Any:
    v = tf.Variable([2.0, 3.0, 4.0], name="v")
    w = tf.Variable([1.0, 1.0, 2.0], name="w")

    def run(x: Any) -> Any:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(w)
            y = v * w * x
        return tape.gradient(y, [v, w]), len(tape.watched_variables())

    return run


@program
def variable_read_value(tf: Any) -> Any:
    v = tf.Variable([2.0, 3.0, 4.0], name="v")

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = v.read_value() * tf.identity(v) * tf.convert_to_tensor(v) * x
        return tape.gradient(y, v)

    return run


@program
def variable_higher_order(tf: Any) -> Any:
    v = tf.Variable([2.0, 3.0, 4.0], name="v")

    def run(x: Any) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = v * v * v * x
            first = inner.gradient(y, v)
        return first, outer.gradient(first, v)

    return run


@program
def variable_jacobians(tf: Any) -> Any:
    v = tf.Variable([[2.0, 3.0], [4.0, 5.0]], name="v")

    def run(x: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            y = v * v * x[0]
        return tape.jacobian(y, v), tape.batch_jacobian(y, v)

    return run


@program
def variable_rows(tf: Any) -> Any:
    v = tf.Variable([[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]], name="v")

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.gather(v, [0, 2, 0]) * x[0]
        return tape.gradient(y, v)

    return run


@program
def variable_rows_twice(tf: Any) -> Any:
    v = tf.Variable([[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]], name="v")

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.nn.embedding_lookup(v, [0, 2]) * x[0]) + tf.reduce_sum(tf.gather(v, [1]))
        return tape.gradient(y, v)

    return run


@program
def variable_rows_and_whole(tf: Any) -> Any:
    v = tf.Variable([[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]], name="v")

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(v, [0, 2]) * x[0]) + tf.reduce_sum(v * v)
        return tape.gradient(y, v)

    return run


@body
def tensor_rows(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.gather(x * 1.0, [0, 2, 0]) * x
    return tape.gradient(y, x)


@body
def tensor_rows_alone(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.gather(x, [0, 2, 0])
    return tape.gradient(y, x)


# Control flow


@body
def cond_gradient(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * x, lambda: x * 3.0)
    return tape.gradient(y, x)


@body
def cond_around_a_tape(tf: Any, x: Any) -> Any:
    def slope() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    return tf.cond(tf.reduce_sum(x) > 0.0, slope, lambda: x * 3.0)


@body
def cond_gradients(tf: Any, x: Any) -> Any:
    return tf.gradients(tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * x, lambda: x * 3.0), x)


@body
def while_gradient(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [tf.constant(0), x])
    return y, tape.gradient(y, x)


@body
def while_gradients(tf: Any, x: Any) -> Any:
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [tf.constant(0), x])
    return tf.gradients(y, x)


@body
def while_around_a_tape(tf: Any, x: Any) -> Any:
    def turn(i: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(y)
            z = y * y
        return i + 1, y - 0.25 * tape.gradient(z, y)

    return tf.while_loop(lambda i, y: i < 3, turn, [tf.constant(0), x])[1]


@body
def map_gradient(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.map_fn(lambda e: e * e * 2.0, x)
    return tape.gradient(y, x)


@body
def switch_case_gradient(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.switch_case(tf.constant(1), [lambda: x, lambda: x * x, lambda: x * 3.0])
    return tape.gradient(y, x)


@body
def scan_gradient(tf: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.scan(lambda total, e: total * e, x)
    return tape.gradient(y, x)


# Nested functions


@program
def function_gradient(tf: Any) -> Any:
    square = tf.function(lambda x: x * x * 3.0)

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = square(x)
        return y, tape.gradient(y, x)

    return run


@program
def function_gradients(tf: Any) -> Any:
    square = tf.function(lambda x: x * x * 3.0)
    return lambda x: tf.gradients(square(x) * x, x)


@program
def function_with_a_variable_gradient(tf: Any) -> Any:
    v = tf.Variable([2.0, 3.0, 4.0], name="v")
    scaled = tf.function(lambda x: x * v * v)

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x)
        return tape.gradient(y, [x, v])

    return run


@program
def function_that_takes_gradients(tf: Any) -> Any:
    slope = tf.function(lambda x: tf.gradients(x * x * x, x)[0])

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = slope(x)
        return y, tape.gradient(y, x)

    return run


@program
def function_with_a_tape_inside(tf: Any) -> Any:
    @tf.function
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x * x
        return tape.gradient(y, x)

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = slope(x)
        return y, tape.gradient(y, x)

    return run


@program
def function_custom_inside(tf: Any) -> Any:
    @tf.custom_gradient
    def triple(x: Any) -> Any:
        return x * 1.0, lambda dy: dy * 3.0

    called = tf.function(lambda x: triple(x) * 2.0)

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = called(x)
        return y, tape.gradient(y, x)

    return run


@program
def function_inside_custom(tf: Any) -> Any:
    doubled = tf.function(lambda x: x * 2.0)

    @tf.custom_gradient
    def triple(x: Any) -> Any:
        return doubled(x), lambda dy: doubled(dy) * 10.0

    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = triple(x)
        return y, tape.gradient(y, x)

    return run

"""Variables that are created in functions and in graphs of TensorFlow 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.variable_placement.phases import Device, Phases, Way, X

Kept = dict[str, Any]
"""Variables that a function has created, by name, so that later traces find them again."""


def keep(kept: Kept, name: str, create: Callable[[], Any]) -> Any:
    """Returns the variable with this name; creates it the first time."""
    if name not in kept:
        kept[name] = create()
    return kept[name]


def variables(tf: Any, device: Device, kept: Kept) -> None:
    """Creates variables in all scopes that a function may consist of."""

    def keep_one(name: str) -> None:
        keep(kept, name, lambda: tf.Variable(1.0))

    keep_one("v")
    keep(kept, "f", lambda: tf.Variable(lambda: tf.ones((2,))))
    keep(kept, "k", lambda: tf.keras.Variable(1.0))
    with tf.device(device(1)):
        keep_one("1")
        with tf.init_scope():
            keep_one("1i")
        with tf.device(None):
            keep_one("1n")
    with tf.device(None):
        keep_one("n")
        with tf.init_scope():
            keep_one("ni")
    with tf.init_scope():
        keep_one("i")
        with tf.device(device(1)):
            keep_one("i1")
        with tf.device(None):
            keep_one("in")


def nested(tf: Any, device: Device, kept: Kept) -> None:
    tf.function(lambda: variables(tf, device, kept))()


def dense(tf: Any, device: Device, kept: Kept) -> None:
    keep(kept, "layer", lambda: tf.keras.layers.Dense(2, name="a"))(tf.constant(X))


def on_1(create: Callable[[Any, Device, Kept], None]) -> Callable[[Any, Device, Kept], None]:
    def create_on_1(tf: Any, device: Device, kept: Kept) -> None:
        with tf.device(device(1)):
            create(tf, device, kept)

    return create_on_1


def mean(tf: Any, device: Device, kept: Kept) -> None:
    keep(kept, "metric", lambda: tf.keras.metrics.Mean(name="mean")).update_state(1.0)


def momentum(tf: Any, device: Device, kept: Kept) -> None:
    rule = keep(kept, "rule", lambda: tf.keras.optimizers.SGD(momentum=0.9))
    weight = keep(kept, "w", lambda: tf.Variable([1.0, 2.0]))
    rule.apply_gradients([(tf.constant([1.0, 1.0]), weight)])


FUNCTIONS: dict[str, Callable[[Any, Device, Kept], None]] = {
    "plain": variables,
    "nested": nested,
    "nested_on_1": on_1(nested),
    "layer": dense,
    "layer_on_1": on_1(dense),
    "metric": mean,
    "optimizer": momentum,
}


def in_function(create: Callable[[Any, Device, Kept], None]) -> Way:
    """The function creates its variables in its first trace."""

    def way(tf: Any, device: Device) -> Phases:
        kept: Kept = {}
        tf.function(lambda: create(tf, device, kept))()
        yield "call"
        created: list[Any] = []
        for name, value in kept.items():
            created += getattr(value, "variables", None) or [(name, value)]
        return created

    return way


def in_v1_graph(create: Callable[[Any, Any, Device], list[Any]]) -> Way:
    def way(tf: Any, device: Device) -> Phases:
        v1 = tf.compat.v1
        with tf.Graph().as_default():
            variables = create(tf, v1, device)
        yield "graph"
        return variables

    return way


def v1_optimizer(name: str) -> Callable[[Any, Any, Device], list[Any]]:
    def create(tf: Any, v1: Any, device: Device) -> list[Any]:
        with tf.device(device(1)):
            weight = v1.get_variable("w", (2,))
        rule = getattr(v1.train, name)(0.1, **({"momentum": 0.9} if name == "MomentumOptimizer" else {}))
        rule.minimize(tf.reduce_sum(weight * weight))
        return v1.global_variables()

    return create


def v1_by_function(tf: Any, v1: Any, device: Device) -> list[Any]:
    with v1.device(lambda op: device(3) if "Var" in op.type else device(1)):
        return [v1.get_variable("v", (2,)), v1.Variable([1.0], name="w")]


V1: dict[str, Callable[[Any, Any, Device], list[Any]]] = {
    "get_variable": lambda tf, v1, device: [v1.get_variable("v", (2,))],
    "Variable": lambda tf, v1, device: [v1.Variable([1.0], name="v")],
    "resource variable": lambda tf, v1, device: [v1.get_variable("v", (2,), use_resource=True)],
    "device function": v1_by_function,
    "global step": lambda tf, v1, device: [v1.train.get_or_create_global_step()],
} | {name: v1_optimizer(name) for name in ("AdamOptimizer", "MomentumOptimizer", "GradientDescentOptimizer")}

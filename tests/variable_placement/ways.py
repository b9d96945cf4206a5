"""The ways in which programs create variables, by name."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tests.variable_placement.graphs import FUNCTIONS, V1, in_function, in_v1_graph
from tests.variable_placement.layers import (
    LAYERS,
    METRICS,
    OPTIMIZERS,
    adapted,
    built_layer,
    layer_first,
    loss_scale,
    metric,
    optimizer,
    restored,
    scheduled,
    twice_nested,
    weights_of_init,
)
from tests.variable_placement.models import (
    CALLS,
    MODELS,
    cloned,
    compiled,
    from_config,
    loaded,
    loop,
    model_first,
    weights_taken,
)
from tests.variable_placement.phases import Device, Phases, Way, X


def once(create: Callable[[Any], Any]) -> Way:
    """Returns a way that creates variables in one phase."""

    def way(tf: Any, device: Device) -> Phases:
        variables = create(tf)
        yield "create"
        return variables if isinstance(variables, list) else [variables]

    return way


def generator(tf: Any) -> Any:
    return tf.random.Generator.from_seed(1).state


def copied(tf: Any, device: Device) -> Phases:
    variable = tf.Variable([1.0], name="v")
    yield "create"
    other = copy.deepcopy(variable)
    yield "copy"
    return [other]


def lazy_module(tf: Any, device: Device) -> Phases:
    class Lazy(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.v: Any = None

        def __call__(self, x: Any) -> Any:
            if self.v is None:
                self.v = tf.Variable(tf.ones((3,)), name="v")
            return x * self.v

    module = Lazy()
    yield "create"
    module(tf.constant(X))
    yield "call"
    return [module.v]


def from_tensor(tf: Any, device: Device) -> Phases:
    with tf.device(device(1)):
        value = tf.constant([1.0, 2.0])
    yield "value"
    variable = tf.Variable(value, name="v")
    yield "create"
    return [variable]


def with_creator(tf: Any, device: Device) -> Phases:
    def creator(create_next: Any, **arguments: Any) -> Any:
        with tf.device(device(3)):
            return create_next(**arguments)

    with tf.variable_creator_scope(creator):
        variable = tf.Variable(1.0, name="v")
    yield "create"
    return [variable]


def assigned(tf: Any, device: Device) -> Phases:
    variable = tf.Variable([1.0], name="v")
    yield "create"
    variable.assign([2.0])
    variable.assign_add([2.0])
    yield "assign"
    return [variable]


def in_replicas(tf: Any, device: Device) -> Phases:
    """The program creates variables in the replicas of the current strategy."""
    kept: list[Any] = []

    def replica() -> Any:
        if not kept:
            kept.append(tf.Variable(1.0, name="v"))
        return kept[0] + 1.0

    tf.distribute.get_strategy().run(replica)
    yield "run"
    return kept[:1]


def table_of_ways() -> dict[str, Way]:
    ways: dict[str, Way] = {
        "variable": once(lambda tf: tf.Variable([1.0], name="v")),
        "variable int32": once(lambda tf: tf.Variable([1], name="v")),
        "variable int64": once(lambda tf: tf.Variable([1], dtype=tf.int64, name="v")),
        "variable bool": once(lambda tf: tf.Variable([True], name="v")),
        "variable string": once(lambda tf: tf.Variable(["a"], name="v")),
        "variable of a function": once(lambda tf: tf.Variable(lambda: tf.ones((2,)), name="v")),
        "variable of a tensor elsewhere": from_tensor,
        "keras variable": once(lambda tf: tf.keras.Variable([1.0], name="v")),
        "keras variable with initializer": once(lambda tf: tf.keras.Variable("zeros", shape=(2,), name="v")),
        "creator scope": with_creator,
        "assign": assigned,
        "deepcopy": copied,
        "module": lazy_module,
        "random generator": once(generator),
        "add_weight in __init__": once(weights_of_init),
        "layer.build": built_layer,
        "nested build": twice_nested,
        "normalization": adapted,
        "checkpoint": restored,
        "load_model": loaded,
        "clone_model": cloned,
        "from_config": from_config,
        "set_weights": weights_taken,
        "schedule": scheduled,
        "loss scale": loss_scale,
        "loop": loop(traced=False),
        "loop in a function": loop(traced=True),
        "loop in a function, update on 1": loop(traced=True, inside=1),
        "run eagerly": compiled("open", "fit", run_eagerly=True),
        "momentum": compiled("open", "fit", optimizer=lambda tf: tf.keras.optimizers.SGD(momentum=0.9)),
        "metric objects": compiled("built", "fit", metrics=lambda tf: [tf.keras.metrics.MeanSquaredError(name="e")]),
    }
    for model in MODELS:
        ways[f"{model}: call"] = model_first(model, lambda whole: whole(X))
        if model != "built":
            ways[f"{model}: build"] = model_first(model, lambda whole: whole.build((None, 3)))
        for call in CALLS if model in ("open", "subclassed") else ("fit", "evaluate"):
            ways[f"{model}: {call}"] = compiled(model, call)
    ways |= {f"layer {name}": layer_first(*create) for name, create in LAYERS.items()}
    for name, options in OPTIMIZERS:
        title = f"{name} {' '.join(options)}".strip()
        ways[f"{title}: build"] = optimizer(name, "build", **options)
        ways[f"{title}: apply"] = optimizer(name, "apply", **options)
    ways |= {f"metric {name}": metric(name) for name in METRICS}
    ways |= {f"function: {name}": in_function(create) for name, create in FUNCTIONS.items()}
    ways |= {f"v1 {name}": in_v1_graph(create) for name, create in V1.items()}
    ways["replicas"] = in_replicas
    return ways


def slow_ways() -> set[str]:
    """The ways that train a model."""
    slow = {
        "load_model",
        "loop in a function",
        "loop in a function, update on 1",
        "run eagerly",
        "momentum",
        "metric objects",
    }
    return slow | {f"{model}: {call}" for model in MODELS for call in CALLS}

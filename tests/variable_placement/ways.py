"""The ways in which programs create variables: generators that stop after each phase, so that a scope can be opened."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Generator, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

Phases = Generator[str, None, Iterable[Any]]
"""Yields the name of each phase that has ended, and returns the variables."""

Device = Callable[[int | None], str]
"""Returns the name of a GPU, or, for None, of the CPU."""

Way = Callable[[Any, Device], Phases]
"""Takes TensorFlow or nbtf, and how devices are named there."""

X, Y = np.ones((4, 3), np.float32), np.ones((4, 2), np.float32)
STEPS = np.ones((4, 5, 3), np.float32)


def once(create: Callable[[Any], Any]) -> Way:
    """Returns the way that creates variables in one phase."""

    def way(tf: Any, device: Device) -> Phases:
        variables = create(tf)
        yield "create"
        return variables if isinstance(variables, list) else [variables]

    return way


def everything(model: Any) -> list[Any]:
    """The variables of a model, its optimizer and its metrics."""
    optimizer = getattr(model, "optimizer", None)
    of_metrics = [variable for metric in model.metrics for variable in metric.variables]
    return [*model.variables, *([] if optimizer is None else optimizer.variables), *of_metrics]


def parts(tf: Any) -> list[Any]:
    keras = tf.keras
    return [keras.layers.Dense(2, name="a"), keras.layers.BatchNormalization(name="b")]


def open_sequential(tf: Any) -> Any:
    return tf.keras.Sequential(parts(tf), name="m")


def built_sequential(tf: Any) -> Any:
    return tf.keras.Sequential([tf.keras.Input((3,)), *parts(tf)], name="m")


def functional(tf: Any) -> Any:
    inputs = outputs = tf.keras.Input((3,))
    for layer in parts(tf):
        outputs = layer(outputs)
    return tf.keras.Model(inputs, outputs, name="m")


def subclassed(tf: Any) -> Any:
    class Subclassed(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__(name="m")
            self.first, self.second = parts(tf)
            self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

        def call(self, inputs: Any) -> Any:
            return self.second(self.first(inputs)) * self.scale

    return Subclassed()


def stepping(tf: Any) -> Any:
    class Stepping(tf.keras.Sequential):
        def train_step(self, data: Any) -> Any:
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
            weights = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return {"loss": loss}

    return Stepping(parts(tf), name="m")


MODELS = {
    "open": open_sequential,
    "built": built_sequential,
    "functional": functional,
    "subclassed": subclassed,
    "train_step": stepping,
}

CALLS: dict[str, Callable[[Any], Any]] = {
    "fit": lambda model: model.fit(X, Y, verbose=0),
    "train_on_batch": lambda model: model.train_on_batch(X, Y),
    "evaluate": lambda model: model.evaluate(X, Y, verbose=0),
    "test_on_batch": lambda model: model.test_on_batch(X, Y),
    "predict": lambda model: model.predict(X, verbose=0),
    "predict_on_batch": lambda model: model.predict_on_batch(X),
}


def compiled(model: str, call: str, **options: Any) -> Way:
    def way(tf: Any, device: Device) -> Phases:
        whole = MODELS[model](tf)
        yield "create"
        settings = {"optimizer": "adam", "loss": "mse", "metrics": None if model == "train_step" else ["mae"], **options}
        if callable(settings["optimizer"]):
            settings["optimizer"] = settings["optimizer"](tf)
        if callable(settings["metrics"]):
            settings["metrics"] = settings["metrics"](tf)
        whole.compile(**settings)
        yield "compile"
        CALLS[call](whole)
        yield call
        return everything(whole)

    return way


def model_first(model: str, use: Callable[[Any], Any]) -> Way:
    def way(tf: Any, device: Device) -> Phases:
        whole = MODELS[model](tf)
        yield "create"
        use(whole)
        yield "use"
        return whole.variables

    return way


def layer_first(create: Callable[[Any], Any], data: np.ndarray[Any, Any] = X) -> Way:
    def way(tf: Any, device: Device) -> Phases:
        layer = create(tf.keras.layers)
        yield "create"
        layer(data)
        yield "call"
        return layer.variables

    return way


def built_layer(tf: Any, device: Device) -> Phases:
    layer = tf.keras.layers.Dense(2, name="a")
    yield "create"
    layer.build((None, 3))
    yield "build"
    return layer.variables


def weights_of_init(tf: Any) -> Any:
    class Scale(tf.keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__(name="s")
            self.a = self.add_weight(shape=(2,), initializer="ones", name="a")
            self.b = tf.Variable(1.0, name="b")

    return Scale().variables


def twice_nested(tf: Any, device: Device) -> Phases:
    class Inner(tf.keras.layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.w = self.add_weight(shape=(3,), name="w")
            self.dense = tf.keras.layers.Dense(1, name="d")
            self.dense.build((None, 3))

        def call(self, inputs: Any) -> Any:
            return self.dense(inputs * self.w)

    model = tf.keras.Sequential([tf.keras.Sequential([Inner(name="i")], name="n")], name="m")
    yield "create"
    model(X)
    yield "call"
    return model.variables


def optimizer(name: str, how: str, **options: Any) -> Way:
    def way(tf: Any, device: Device) -> Phases:
        weight = tf.Variable([1.0, 2.0], name="w")
        yield "weight"
        rule = getattr(tf.keras.optimizers, name)(**options)
        yield "create"
        if how == "build":
            rule.build([weight])
        else:
            rule.apply_gradients([(tf.constant([1.0, 1.0]), weight)])
        yield how
        return rule.variables

    return way


def loss_scale(tf: Any, device: Device) -> Phases:
    weight = tf.Variable([1.0, 2.0], name="w")
    yield "weight"
    rule = tf.keras.optimizers.LossScaleOptimizer(tf.keras.optimizers.SGD(momentum=0.9))
    yield "create"
    rule.apply_gradients([(tf.constant([1.0, 1.0]), weight)])
    yield "apply"
    own = [("dynamic_scale", rule.dynamic_scale), ("step_counter", rule.step_counter)]
    return own + [(variable.name, variable) for variable in rule.inner_optimizer.variables]


def scheduled(tf: Any, device: Device) -> Phases:
    weight = tf.Variable([1.0, 2.0], name="w")
    schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    rule = tf.keras.optimizers.Adam(schedule)
    yield "create"
    rule.apply_gradients([(tf.constant([1.0, 1.0]), weight)])
    yield "apply"
    return rule.variables


def loop(traced: bool, inside: int | None = None) -> Way:
    """A training loop that the program writes itself."""

    def way(tf: Any, device: Device) -> Phases:
        model, rule = open_sequential(tf), tf.keras.optimizers.Adam()
        metric = tf.keras.metrics.Mean(name="mean")
        yield "create"

        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
            weights = model.trainable_variables
            grads = tape.gradient(loss, weights)
            with tf.device(device(inside)) if inside else tf.name_scope("update"):
                rule.apply_gradients(zip(grads, weights, strict=True))
            metric.update_state(loss)
            return loss

        (tf.function(step) if traced else step)(tf.constant(X), tf.constant(Y))
        yield "step"
        return [*model.variables, *rule.variables, *metric.variables]

    return way


def metric(create: Callable[[Any], Any]) -> Way:
    def way(tf: Any, device: Device) -> Phases:
        measure = create(tf.keras.metrics)
        yield "create"
        measure.update_state(Y[:, 0], Y[:, 0])
        yield "update"
        return measure.variables

    return way


def restored(tf: Any, device: Device) -> Phases:
    """A checkpoint gives values to variables that are created after it was read."""
    with tempfile.TemporaryDirectory() as folder:
        saved = tf.keras.layers.Dense(2, name="a")
        saved.build((None, 3))
        path = tf.train.Checkpoint(layer=saved).save(str(Path(folder) / "c"))
        yield "save"
        layer = tf.keras.layers.Dense(2, name="a")
        tf.train.Checkpoint(layer=layer).restore(path)
        yield "restore"
        layer(X)
        yield "call"
        return layer.variables


def loaded(tf: Any, device: Device) -> Phases:
    with tempfile.TemporaryDirectory() as folder:
        model = built_sequential(tf)
        model.compile("adam", "mse", metrics=["mae"])
        model.fit(X, Y, verbose=0)
        path = str(Path(folder) / "m.keras")
        model.save(path)
        yield "save"
        again = tf.keras.models.load_model(path)
        yield "load"
        again.fit(X, Y, verbose=0)
        yield "fit"
        return [(str(number), variable) for number, variable in enumerate(everything(again))]


def cloned(tf: Any, device: Device) -> Phases:
    model = built_sequential(tf)
    yield "create"
    clone = tf.keras.models.clone_model(model)
    yield "clone"
    return clone.variables


def from_config(tf: Any, device: Device) -> Phases:
    model = functional(tf)
    yield "create"
    again = tf.keras.Model.from_config(model.get_config())
    yield "from_config"
    return again.variables


def copied(tf: Any, device: Device) -> Phases:
    variable = tf.Variable([1.0], name="v")
    yield "create"
    other = copy.deepcopy(variable)
    yield "copy"
    return [other]


def weights_taken(tf: Any, device: Device) -> Phases:
    model, other = built_sequential(tf), built_sequential(tf)
    yield "create"
    model.set_weights(other.get_weights())
    yield "set_weights"
    return model.variables


def adapted(tf: Any, device: Device) -> Phases:
    layer = tf.keras.layers.Normalization(name="n")
    yield "create"
    layer.adapt(X)
    yield "adapt"
    layer(X)
    yield "call"
    return [variable for variable in layer.variables if variable.name in ("mean", "variance")]


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


def generator(tf: Any) -> Any:
    return tf.random.Generator.from_seed(1).state


def in_function(create: str) -> Way:
    """The function creates what it needs when it is traced for the first time."""

    def way(tf: Any, device: Device) -> Phases:
        kept: dict[str, Any] = {}
        keras = tf.keras

        def keep(name: str, make: Callable[[], Any]) -> None:
            if name not in kept:
                kept[name] = make()

        def variables(prefix: str = "") -> None:
            keep(f"{prefix}v", lambda: tf.Variable(1.0))
            keep(f"{prefix}f", lambda: tf.Variable(lambda: tf.ones((2,))))
            keep(f"{prefix}k", lambda: keras.Variable(1.0))
            with tf.device(device(1)):
                keep(f"{prefix}1", lambda: tf.Variable(1.0))
                with tf.init_scope():
                    keep(f"{prefix}1i", lambda: tf.Variable(1.0))
                with tf.device(None):
                    keep(f"{prefix}1n", lambda: tf.Variable(1.0))
            with tf.device(None):
                keep(f"{prefix}n", lambda: tf.Variable(1.0))
                with tf.init_scope():
                    keep(f"{prefix}ni", lambda: tf.Variable(1.0))
            with tf.init_scope():
                keep(f"{prefix}i", lambda: tf.Variable(1.0))
                with tf.device(device(1)):
                    keep(f"{prefix}i1", lambda: tf.Variable(1.0))
                with tf.device(None):
                    keep(f"{prefix}in", lambda: tf.Variable(1.0))

        @tf.function
        def inner() -> Any:
            variables("inner_")
            return 1

        @tf.function
        def outer() -> Any:
            if create == "plain":
                variables()
            elif create == "nested":
                inner()
            elif create == "nested_on_1":
                with tf.device(device(1)):
                    inner()
            elif create == "layer":
                keep("layer", lambda: keras.layers.Dense(2, name="a"))
                kept["layer"](tf.constant(X))
            elif create == "layer_on_1":
                keep("layer", lambda: keras.layers.Dense(2, name="a"))
                with tf.device(device(1)):
                    kept["layer"](tf.constant(X))
            elif create == "metric":
                keep("metric", lambda: keras.metrics.Mean(name="mean"))
                kept["metric"].update_state(1.0)
            elif create == "optimizer":
                keep("rule", lambda: keras.optimizers.SGD(momentum=0.9))
                keep("w", lambda: tf.Variable([1.0, 2.0]))
                kept["rule"].apply_gradients([(tf.constant([1.0, 1.0]), kept["w"])])
            return 1

        outer()
        yield "call"
        found: list[Any] = []
        for name in kept:
            found += getattr(kept[name], "variables", None) or [(name, kept[name])]
        return found

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


def in_replicas(tf: Any, device: Device) -> Phases:
    """The program creates variables in the replicas of the strategy that is open."""
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
    ways |= {f"layer {name}": layer_first(*create) for name, create in _LAYERS.items()}
    for name, options in _OPTIMIZERS:
        title = f"{name} {' '.join(options)}".strip()
        ways[f"{title}: build"] = optimizer(name, "build", **options)
        ways[f"{title}: apply"] = optimizer(name, "apply", **options)
    ways |= {f"metric {name}": metric(partial(_of_class, name)) for name in ("Mean", "Accuracy", "AUC", "Precision")}
    for created in ("plain", "nested", "nested_on_1", "layer", "layer_on_1", "metric", "optimizer"):
        ways[f"function: {created}"] = in_function(created)
    ways |= {f"v1 {name}": in_v1_graph(create) for name, create in _V1.items()}
    ways["replicas"] = in_replicas
    return ways


def slow_ways() -> set[str]:
    """The ways that train a model."""
    slow = {"load_model", "loop in a function", "loop in a function, update on 1", "run eagerly", "momentum", "metric objects"}
    return slow | {f"{model}: {call}" for model in MODELS for call in CALLS}


def _of_class(name: str, metrics: Any) -> Any:
    return getattr(metrics, name)(name="metric")


_LAYERS: dict[str, tuple[Any, ...]] = {
    "Dense": (lambda layers: layers.Dense(2, name="a"),),
    "BatchNormalization": (lambda layers: layers.BatchNormalization(name="b"),),
    "LayerNormalization": (lambda layers: layers.LayerNormalization(name="b"),),
    "PReLU": (lambda layers: layers.PReLU(name="p"),),
    "Embedding": (lambda layers: layers.Embedding(5, 2, name="e"), X),
    "Conv1D": (lambda layers: layers.Conv1D(2, 2, name="c"), STEPS),
    "LSTM": (lambda layers: layers.LSTM(2, name="r"), STEPS),
    "stateful GRU": (lambda layers: layers.GRU(2, stateful=True, name="r"), STEPS),
    "Bidirectional": (lambda layers: layers.Bidirectional(layers.SimpleRNN(2, name="r"), name="w"), STEPS),
    "TimeDistributed": (lambda layers: layers.TimeDistributed(layers.Dense(2, name="a"), name="w"), STEPS),
}

_OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True}),
    ("Adam", {"use_ema": True}),
    ("Adam", {"gradient_accumulation_steps": 2}),
    ("AdamW", {}),
    ("Adamax", {}),
    ("Nadam", {}),
    ("Lion", {}),
    ("Ftrl", {}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("Adagrad", {}),
    ("Adadelta", {}),
]

_V1: dict[str, Callable[[Any, Any, Device], list[Any]]] = {
    "get_variable": lambda tf, v1, device: [v1.get_variable("v", (2,))],
    "Variable": lambda tf, v1, device: [v1.Variable([1.0], name="v")],
    "resource variable": lambda tf, v1, device: [v1.get_variable("v", (2,), use_resource=True)],
    "device function": v1_by_function,
    "global step": lambda tf, v1, device: [v1.train.get_or_create_global_step()],
} | {name: v1_optimizer(name) for name in ("AdamOptimizer", "MomentumOptimizer", "GradientDescentOptimizer")}

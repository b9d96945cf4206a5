"""Programs that TensorFlow's strategies reject, and similar ones that they accept; each ends with a value or an error.

python -m tests.recorded.distributed_refusals                       # compares all programs with the recordings
python -m tests.recorded.distributed_refusals --module tensorflow   # records the behaviour of TensorFlow 2.21
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from tests.recorded.answers import run_command

FILE = Path(__file__).parent / "distributed_refusals.json"

AGGREGATIONS = ("NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA")


class Meetings:
    """Calls that wait for all replicas, in places where this is permitted or not."""

    ACTS = ("merge", "all_reduce", "all_gather", "assign_sum", "assign_mean", "assign_first", "assign_none", "add_rows")
    PLACES = (
        *("replica", "traced", "given_function", "nested_function", "nested_traced", "python_loop"),
        *("tensor_loop", "while_loop", "cond", "branch", "switch", "init_scope", "twice"),
    )

    def __init__(self, tf: Any, strategy: Any) -> None:
        self.tf, self.strategy = tf, strategy
        with strategy.scope():
            self.variables = {
                name: tf.Variable(
                    [1.0] if name == "add_rows" else 1.0,
                    aggregation=tf.VariableAggregation["SUM" if name == "add_rows" else aggregation],
                )
                for name, aggregation in [
                    *[("assign_sum", "SUM"), ("assign_mean", "MEAN"), ("assign_first", "ONLY_FIRST_REPLICA")],
                    *[("assign_none", "NONE"), ("add_rows", "SUM")],
                ]
            }

    def act(self, name: str) -> Any:
        tf, context = self.tf, self.tf.distribute.get_replica_context()
        value = tf.constant(1.0)
        if name == "merge":
            return context.merge_call(lambda strategy, given: given, args=(value,))
        if name == "all_reduce":
            return context.all_reduce("SUM", value)
        if name == "all_gather":
            return tf.reduce_sum(context.all_gather(tf.reshape(value, [1]), axis=0))
        if name == "add_rows":
            self.variables[name].scatter_add(tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])))
        else:
            self.variables[name].assign_add(value)
        return value

    def run(self, step: Callable[[], Any], traced: bool = False) -> Any:
        def begin() -> Any:
            return self.strategy.run(step)

        results = (self.tf.function(begin) if traced else begin)()
        values = [variable.numpy() for variable in self.variables.values()]
        return [self.strategy.experimental_local_results(results), values]

    def replica(self, name: str) -> Any:
        return self.run(partial(self.act, name))

    def traced(self, name: str) -> Any:
        return self.run(partial(self.act, name), traced=True)

    def given_function(self, name: str) -> Any:
        return self.run(self.tf.function(partial(self.act, name)))

    def nested_function(self, name: str) -> Any:
        inner = self.tf.function(partial(self.act, name))
        return self.run(lambda: inner())

    def nested_traced(self, name: str) -> Any:
        inner = self.tf.function(partial(self.act, name))
        return self.run(lambda: inner(), traced=True)

    def python_loop(self, name: str) -> Any:
        def step() -> Any:
            total = 0.0
            for _ in range(2):
                total += self.act(name)
            return total

        return self.run(step, traced=True)

    def tensor_loop(self, name: str) -> Any:
        def step() -> Any:
            total = 0.0
            for _ in self.tf.range(2):
                total += self.act(name)
            return total

        return self.run(step, traced=True)

    def while_loop(self, name: str) -> Any:
        def step() -> Any:
            total = self.tf.constant(0.0)
            while total < 2.0:
                total += self.act(name)
            return total

        return self.run(step, traced=True)

    def cond(self, name: str) -> Any:
        def step() -> Any:
            test = self.tf.reduce_sum(self.tf.zeros([2])) < 1.0
            return self.tf.cond(test, lambda: self.act(name), lambda: self.tf.constant(0.0))

        return self.run(step, traced=True)

    def branch(self, name: str) -> Any:
        def step() -> Any:
            result = self.tf.constant(0.0)
            if self.tf.reduce_sum(self.tf.zeros([2])) < 1.0:
                result = self.act(name)
            return result

        return self.run(step, traced=True)

    def switch(self, name: str) -> Any:
        def step() -> Any:
            number = self.tf.cast(self.tf.reduce_sum(self.tf.zeros([2])), self.tf.int32)
            return self.tf.switch_case(number, [lambda: self.act(name), lambda: self.tf.constant(0.0)])

        return self.run(step, traced=True)

    def init_scope(self, name: str) -> Any:
        def step() -> Any:
            with self.tf.init_scope():
                return self.act(name)

        return self.run(step, traced=True)

    def twice(self, name: str) -> Any:
        return self.run(lambda: self.act(name) + self.act(name), traced=True)


class Training:
    """A weight or a model, and an optimizer, each created inside or outside the scope of the training strategy."""

    def __init__(self, tf: Any, strategy: Any) -> None:
        self.tf, self.strategy = tf, strategy

    def optimizer(self, name: str) -> Any:
        optimizers = self.tf.keras.optimizers
        return {
            "sgd": optimizers.SGD(0.1),
            "momentum": optimizers.SGD(0.1, momentum=0.9),
            "adam": optimizers.Adam(0.1),
        }[name]

    def scope(self, inside: bool) -> Any:
        return self.strategy.scope() if inside else nullcontext()

    def step(self, weights_inside: bool, optimizer_inside: bool, name: str, traced: bool) -> Any:
        tf = self.tf
        with self.scope(weights_inside):
            weight = tf.Variable(1.0)
        with self.scope(optimizer_inside):
            optimizer = self.optimizer(name)

        def step() -> None:
            optimizer.apply_gradients([(tf.constant(1.0), weight)])

        def run() -> None:
            self.strategy.run(step)

        (tf.function(run) if traced else run)()
        return weight.numpy()

    def fit(self, weights_inside: bool, optimizer_inside: bool, name: str) -> Any:
        tf = self.tf
        with self.scope(weights_inside):
            dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
            dense.build((None, 1))
            model = tf.keras.Sequential([dense])
        with self.scope(optimizer_inside):
            model.compile(self.optimizer(name), "mse")
        model.fit(tf.ones((4, 1)), tf.zeros((4, 1)), batch_size=4, verbose=0)
        return model.get_weights()


class Variables:
    """Variables of a strategy that are created, read and written where this is rejected."""

    def __init__(self, tf: Any, strategy: Any) -> None:
        self.tf, self.strategy = tf, strategy

    def made(self, aggregation: str, synchronization: str, value: Any) -> Any:
        with self.strategy.scope():
            return self.tf.Variable(
                value,
                aggregation=self.tf.VariableAggregation[aggregation],
                synchronization=self.tf.VariableSynchronization[synchronization],
            )

    def make(self, aggregation: str, synchronization: str, value: Any) -> Any:
        return self.made(aggregation, synchronization, value).values[0].numpy()

    def read(self, aggregation: str, way: str) -> Any:
        variable = self.made(aggregation, "ON_READ", 1.0)
        self.strategy.run(lambda: variable.assign_add(1.0))
        return {
            "numpy": lambda: variable.numpy(),
            "value": lambda: variable.value(),
            "read_value": lambda: variable.read_value(),
            "add": lambda: variable + 1.0,
            "op": lambda: self.tf.identity(variable),
            "replica": lambda: self.strategy.experimental_local_results(self.strategy.run(variable.read_value)),
            "traced": lambda: self.tf.function(lambda: variable + 1.0)(),
        }[way]()

    def rows(self, aggregation: str, synchronization: str, method: str, in_replica: bool) -> Any:
        variable = self.made(aggregation, synchronization, [1.0, 1.0])

        def write() -> None:
            rows = self.tf.IndexedSlices(self.tf.constant([2.0]), self.tf.constant([0]))
            getattr(variable, method)(rows)

        if in_replica:
            self.strategy.run(write)
        else:
            write()
        return [copy.numpy() for copy in variable.values]

    def other_strategy(self, act: str) -> Any:
        variable = self.made("NONE", "AUTO", 1.0)
        with self.tf.distribute.MirroredStrategy(["CPU:0"]).scope():
            if act == "read_value":
                return variable.read_value()
            variable.assign(2.0)
            return variable.numpy()

    def update_outside(self, scope: bool) -> Any:
        variable = self.tf.Variable(1.0)
        with (self.strategy if scope else self.tf.distribute.get_strategy()).scope():
            self.strategy.extended.update(variable, lambda copy: copy.assign_add(1.0))
        return variable.numpy()

    def in_replica(self, method: str) -> Any:
        variable, strategy = self.made("NONE", "AUTO", 1.0), self.strategy
        step = {
            "run": lambda: strategy.run(lambda: 1),
            "reduce": lambda: strategy.reduce("SUM", 1.0, axis=None),
            "update": lambda: strategy.extended.update(variable, lambda copy: copy.assign(2.0)),
            "reduce_to": lambda: strategy.extended.reduce_to("SUM", 1.0, variable),
            "scope": lambda: strategy.scope().__enter__(),
        }[method]
        return strategy.run(step)


def _meeting(tf: Any, strategy: Any, place: str, act: str) -> Any:
    return getattr(Meetings(tf, strategy), place)(act)


def cases(tf: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields each program and its name."""
    strategies = {
        "two": tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]),
        "one": tf.distribute.OneDeviceStrategy("CPU:0"),
    }
    for (title, strategy), place, act in product(strategies.items(), Meetings.PLACES, Meetings.ACTS):
        yield f"meeting.{title}.{place}.{act}", partial(_meeting, tf, strategy, place, act)
    yield from _training_cases(Training(tf, strategies["two"]))
    yield from _variable_cases(tf, Variables(tf, strategies["two"]))


def _training_cases(training: Training) -> Iterator[tuple[str, Callable[[], Any]]]:
    for inside, optimizer_inside, name in product((True, False), (True, False), ("sgd", "momentum", "adam")):
        for traced in (True, False) if name == "sgd" else (False,):  # TensorFlow cannot create slots in a function
            title = f"training.step.{inside}.{optimizer_inside}.{traced}.{name}"
            yield title, partial(training.step, inside, optimizer_inside, name, traced)
        if inside and (optimizer_inside or name == "sgd"):  # otherwise nbtf's `fit` creates the missing slots
            yield f"training.fit.{optimizer_inside}.{name}", partial(training.fit, inside, optimizer_inside, name)


def _variable_cases(tf: Any, variables: Variables) -> Iterator[tuple[str, Callable[[], Any]]]:
    for aggregation, synchronization in product(AGGREGATIONS, ("AUTO", "ON_WRITE", "ON_READ", "NONE")):
        for value in (1.0, 1, True):
            title = f"variable.make.{aggregation}.{synchronization}.{type(value).__name__}"
            yield title, partial(variables.make, aggregation, synchronization, value)
    for aggregation, way in product(AGGREGATIONS, ("numpy", "value", "read_value", "add", "op", "replica", "traced")):
        yield f"variable.read.{aggregation}.{way}", partial(variables.read, aggregation, way)
    scatters = [f"scatter_{name}" for name in ("add", "sub", "update", "min", "max", "mul", "div")]
    methods = [name for name in scatters if hasattr(tf.Variable, name)]
    for aggregation, synchronization, method in product(AGGREGATIONS, ("AUTO", "ON_READ"), methods):
        for inside in (True, False):
            title = f"variable.rows.{aggregation}.{synchronization}.{inside}.{method}"
            yield title, partial(variables.rows, aggregation, synchronization, method, inside)
    for act in ("assign", "read_value"):
        yield f"variable.other_strategy.{act}", partial(variables.other_strategy, act)
    for inside in (True, False):
        yield f"variable.update_outside.{inside}", partial(variables.update_outside, inside)
    for method in ("run", "reduce", "update", "reduce_to", "scope"):
        yield f"variable.in_replica.{method}", partial(variables.in_replica, method)


if __name__ == "__main__":
    sys.exit(run_command(cases, FILE, str(__doc__)))

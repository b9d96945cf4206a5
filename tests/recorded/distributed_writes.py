"""Writes to a strategy's variables: each kind of write, value and place, for each aggregation and synchronization.

python -m tests.recorded.distributed_writes                       # compares all programs with the recordings
python -m tests.recorded.distributed_writes --module tensorflow   # records the behaviour of TensorFlow 2.21
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from tests.recorded.answers import run_command

FILE = Path(__file__).parent / "distributed_writes.json"

AGGREGATIONS = ("NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA")
SYNCHRONIZATIONS = ("AUTO", "ON_WRITE", "ON_READ", "NONE")

Write = Callable[[Any, Any, Any], Any]


def rows(tf: Any, value: Any) -> Any:
    """Returns the value in row 0 of a vector of three."""
    return tf.IndexedSlices(tf.reshape(value, [1]), tf.constant([0]), tf.constant([3]))


WRITES: dict[str, Write] = {
    "assign": lambda tf, v, value: v.assign(value),
    "assign_add": lambda tf, v, value: v.assign_add(value),
    "assign_sub": lambda tf, v, value: v.assign_sub(value),
    "scatter_add": lambda tf, v, value: v.scatter_add(rows(tf, value)),
    "scatter_sub": lambda tf, v, value: v.scatter_sub(rows(tf, value)),
    "scatter_update": lambda tf, v, value: v.scatter_update(rows(tf, value)),
}
VECTORS = frozenset({"scatter_add", "scatter_sub", "scatter_update"})


class Program:
    """A variable, another variable, and a write to the first."""

    def __init__(self, tf: Any, strategy: Any, aggregation: str, synchronization: str, write: str) -> None:
        self.tf, self.strategy, self.name = tf, strategy, write
        self.traits = {
            "aggregation": tf.VariableAggregation[aggregation],
            "synchronization": tf.VariableSynchronization[synchronization],
        }

    def make(self) -> Any:
        initial = [1.0, 1.0, 1.0] if self.name in VECTORS else 1.0
        with self.strategy.scope():
            return self.tf.Variable(initial, **self.traits), self.tf.Variable(5.0)

    def write(self, variable: Any, value: Any) -> Any:
        return WRITES[self.name](self.tf, variable, value)

    # Values

    def number(self) -> Any:
        return 2.0

    def tensor(self) -> Any:
        return self.tf.constant(2.0)

    def by_replica(self) -> Any:
        return self.tf.cast(self.tf.distribute.get_replica_context().replica_id_in_sync_group, self.tf.float32) + 2.0

    def per_replica(self) -> Any:
        return self.strategy.run(self.by_replica)

    def mirrored(self) -> Any:
        with self.strategy.scope():
            other = self.tf.Variable(5.0)
        return self.strategy.extended.reduce_to("SUM", self.per_replica(), destinations=other)

    # Places

    def across(self, variable: Any, other: Any, value: Any) -> Any:
        return self.write(variable, value())

    def in_scope(self, variable: Any, other: Any, value: Any) -> Any:
        with self.strategy.scope():
            return self.write(variable, value())

    def in_run(self, variable: Any, other: Any, value: Any) -> Any:
        return self.strategy.run(lambda: self.write(variable, value()))

    def in_merge(self, variable: Any, other: Any, value: Any) -> Any:
        def step() -> Any:
            context = self.tf.distribute.get_replica_context()
            return context.merge_call(lambda strategy, given: self.write(variable, given), args=(value(),))

        return self.strategy.run(step)

    def in_update(self, variable: Any, other: Any, value: Any) -> Any:
        return self.strategy.extended.update(variable, self.write, args=(value(),))

    def in_update_ungrouped(self, variable: Any, other: Any, value: Any) -> Any:
        return self.strategy.extended.update(variable, self.write, kwargs={"value": value()}, group=False)

    def in_update_of_other(self, variable: Any, other: Any, value: Any) -> Any:
        return self.strategy.extended.update(other, lambda copy, given: self.write(variable, given), args=(value(),))

    def in_update_in_scope(self, variable: Any, other: Any, value: Any) -> Any:
        with self.strategy.scope():
            return self.in_update_of_other(variable, other, value)

    def in_update_in_merge(self, variable: Any, other: Any, value: Any) -> Any:
        def merged(strategy: Any, given: Any) -> Any:
            return strategy.extended.update(other, lambda copy, part: self.write(variable, part), args=(given,))

        def step() -> Any:
            return self.tf.distribute.get_replica_context().merge_call(merged, args=(value(),))

        return self.strategy.run(step)

    # Outcomes

    def eagerly(self, place: str, value: str) -> Any:
        variable, other = self.make()
        returned = getattr(self, place)(variable, other, getattr(self, value))
        return [self.state(variable), other.numpy(), self.strategy.experimental_local_results(returned)]

    def traced(self, place: str, value: str) -> Any:
        variable, other = self.make()

        def run() -> None:
            getattr(self, place)(variable, other, getattr(self, value))

        self.tf.function(run)()
        return [self.state(variable), other.numpy()]

    def state(self, variable: Any) -> Any:
        return [copy.numpy() for copy in variable.values]


IN_REPLICA = ("in_run", "in_merge", "in_update_in_merge")
ACROSS = ("across", "in_scope", "in_update", "in_update_ungrouped", "in_update_of_other", "in_update_in_scope")


PLACES = [*product(IN_REPLICA, ("number", "tensor", "by_replica"))]
PLACES += [*product(ACROSS, ("number", "tensor", "per_replica", "mirrored"))]


def is_chosen(synchronization: str, write: str, mode: str, place: tuple[str, str]) -> bool:
    """Returns whether the table includes a program: ON_WRITE behaves as AUTO, and NONE cannot even be created."""
    if synchronization == "NONE":
        return (mode, place) == ("eagerly", ("across", "number"))
    if synchronization == "ON_WRITE":
        return mode == "eagerly" and write == "assign_add"
    return mode == "eagerly" or write in ("assign_add", "scatter_add")


def cases(tf: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields each program and its name."""
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    for mode, synchronization, aggregation, write in product(
        ("eagerly", "traced"), SYNCHRONIZATIONS, AGGREGATIONS, WRITES
    ):
        program = Program(tf, strategy, aggregation, synchronization, write)
        for place, value in PLACES:
            if is_chosen(synchronization, write, mode, (place, value)):
                name = f"{synchronization}.{aggregation}.{write}.{value}.{mode}.{place}"
                yield name, partial(getattr(program, mode), place, value)


if __name__ == "__main__":
    sys.exit(run_command(cases, FILE, str(__doc__)))

"""Programs that iterate over distributed elements: each strategy, source, structure and way, including functions.

python -m tests.recorded.distributed_input                       # compares all programs with the recordings
python -m tests.recorded.distributed_input --module tensorflow   # records the behaviour of TensorFlow 2.21
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from tests.recorded.answers import run_command

FILE = Path(__file__).parent / "distributed_input.json"
Case = Callable[[], Any]


class Pair(NamedTuple):
    left: Any
    right: Any


def strategies(tf: Any) -> dict[str, Any]:
    return {
        "mirrored2": tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]),
        "mirrored1": tf.distribute.MirroredStrategy(["CPU:0"]),
        "one_device": tf.distribute.OneDeviceStrategy("CPU:0"),
        "default": tf.distribute.get_strategy(),
    }


STRUCTURES: dict[str, Callable[[Any, Any], Any]] = {
    "tensor": lambda tf, x: x,
    "tuple": lambda tf, x: (x, 10 * x),
    "dict": lambda tf, x: {"b": x, "a": tf.cast(x, tf.float32)},
    "nested": lambda tf, x: (x, {"y": (x + 1, tf.stack([x, x]))}),
    "pair": lambda tf, x: Pair(x, -x),
}


def datasets(tf: Any, structure: str) -> dict[str, Any]:
    def numbers(count: int) -> Any:
        return tf.data.Dataset.range(count).map(lambda x: STRUCTURES[structure](tf, x))

    return {
        "even": numbers(8).batch(4),
        "partial": numbers(7).batch(4),
        "few": numbers(5).batch(4),
        "static": numbers(9).batch(4, drop_remainder=True),
        "empty": numbers(0).batch(4),
    }


def sources(tf: Any, strategy: Any, structure: str) -> dict[str, Callable[[], Any]]:
    batches = datasets(tf, structure)
    spread = strategy.experimental_distribute_dataset
    dealt = strategy.distribute_datasets_from_function
    return {
        **{name: lambda dataset=dataset: spread(dataset) for name, dataset in batches.items()},
        "dealt": lambda: dealt(lambda context: batches["few"].unbatch().batch(2)),
        "dealt_static": lambda: dealt(lambda context: batches["partial"].unbatch().batch(2, drop_remainder=True)),
        "plain": lambda: batches["partial"],
    }


class Ways:
    """Ways to iterate: each takes a strategy and a source, and returns the elements that it has seen."""

    def __init__(self, tf: Any, strategy: Any, source: Callable[[], Any]) -> None:
        self.tf, self.strategy, self.source = tf, strategy, source

    def step(self, element: Any) -> Any:
        leaves = self.tf.nest.flatten(element)
        return self.tf.add_n([self.tf.reduce_sum(self.tf.cast(leaf, self.tf.float32)) for leaf in leaves])

    def total(self, element: Any) -> Any:
        return self.strategy.reduce("SUM", self.strategy.run(self.step, args=(element,)), axis=None)

    def seen(self, element: Any) -> Any:
        return self.tf.nest.map_structure(self.strategy.experimental_local_results, element)

    def eager_for(self) -> Any:
        return [self.seen(element) for element in self.source()]

    def eager_next(self) -> Any:
        iterator, seen = iter(self.source()), []
        while True:
            try:
                seen.append(self.seen(next(iterator)))
            except StopIteration:
                return seen

    def eager_optional(self) -> Any:
        iterator, seen = iter(self.source()), []
        optional = iterator.get_next_as_optional()
        while optional.has_value():
            seen.append(self.seen(optional.get_value()))
            optional = iterator.get_next_as_optional()
        return seen

    def for_dataset(self) -> Any:
        data, tf = self.source(), self.tf

        @tf.function
        def run() -> Any:
            total = 0.0
            for element in data:
                total += self.total(element)
            return total

        return [run(), run()]

    def for_dataset_argument(self) -> Any:
        tf = self.tf

        @tf.function
        def run(data: Any) -> Any:
            total = 0.0
            for element in data:
                total += self.total(element)
            return total

        return [run(self.source()), run(self.source())]

    def for_iterator(self) -> Any:
        iterator, tf = iter(self.source()), self.tf

        @tf.function
        def run() -> Any:
            total = 0.0
            for element in iterator:
                total += self.total(element)
            return total

        return [run(), run()]

    def for_iterator_argument(self) -> Any:
        tf = self.tf

        @tf.function
        def run(iterator: Any) -> Any:
            total = 0.0
            for element in iterator:
                total += self.total(element)
            return total

        return [run(iter(self.source())), run(iter(self.source())), run.experimental_get_tracing_count()]

    def for_begun(self) -> Any:
        data, tf = self.source(), self.tf

        @tf.function
        def run() -> Any:
            return self.total(next(iter(data)))

        return [run(), run()]

    def next_captured(self) -> Any:
        iterator, tf = iter(self.source()), self.tf
        run = tf.function(lambda: self.total(next(iterator)))
        return [run(), run(), run()]

    def next_argument(self) -> Any:
        tf = self.tf
        run = tf.function(lambda iterator: self.total(next(iterator)))
        iterator, other = iter(self.source()), iter(self.source())
        return [run(iterator), run(other), run(iterator), run.experimental_get_tracing_count()]

    def next_returned(self) -> Any:
        iterator, tf = iter(self.source()), self.tf
        run = tf.function(lambda: next(iterator))
        return [self.seen(run()), self.seen(run())]

    def get_next_returned(self) -> Any:
        iterator, tf = iter(self.source()), self.tf
        run = tf.function(lambda given: given.get_next())
        return [self.seen(run(iterator)), self.seen(run(iterator))]

    def several_steps(self) -> Any:
        iterator, tf = iter(self.source()), self.tf

        @tf.function
        def run(steps: Any) -> Any:
            total = 0.0
            for _ in tf.range(steps):
                total += self.total(next(iterator))
            return total

        return [run(tf.constant(2))]

    def too_many_steps(self) -> Any:
        iterator, tf = iter(self.source()), self.tf

        @tf.function
        def run() -> Any:
            total = 0.0
            for _ in range(9):
                total += self.total(next(iterator))
            return total

        return [run()]

    def optional_loop(self) -> Any:
        iterator, tf = iter(self.source()), self.tf

        @tf.function
        def run(given: Any) -> Any:
            total = 0.0
            optional = given.get_next_as_optional()
            while optional.has_value():
                total += self.total(optional.get_value())
                optional = given.get_next_as_optional()
            return total

        return [run(iterator), run(iterator)]

    def optional_branch(self) -> Any:
        iterator, tf = iter(self.source()), self.tf

        @tf.function
        def run() -> Any:
            optional = iterator.get_next_as_optional()
            if optional.has_value():
                total = self.total(optional.get_value())
            else:
                total = -1.0
            return total

        return [run(), run(), run()]

    def optional_value(self) -> Any:
        iterator, tf = iter(self.source()), self.tf
        run = tf.function(lambda: self.total(iterator.get_next_as_optional().get_value()))
        return [run(), run(), run()]

    def epochs(self) -> Any:
        data, tf = self.source(), self.tf

        @tf.function
        def run() -> Any:
            total = 0.0
            for _ in range(3):
                for element in data:
                    total += self.total(element)
            return total

        return [run()]

    def tensor_epochs(self) -> Any:
        data, tf = self.source(), self.tf

        @tf.function
        def run() -> Any:
            total = 0.0
            for _ in tf.range(2):
                for element in data:
                    total += self.total(element)
            return total

        return [run()]

    def breaks(self) -> Any:
        iterator, tf = iter(self.source()), self.tf

        @tf.function
        def run() -> Any:
            total = 0.0
            for element in iterator:
                total += self.total(element)
                if total > 1.0:
                    break
            return total

        return [run(), run()]

    def skips(self) -> Any:
        data, tf = self.source(), self.tf

        @tf.function
        def run() -> Any:
            total, count = 0.0, 0
            for element in data:
                count += 1
                if count == 1:
                    continue
                total += self.total(element)
            return total, count

        return [run()]

    def element_argument(self) -> Any:
        tf = self.tf
        run = tf.function(self.total)
        return [[run(element) for element in self.source()], run.experimental_get_tracing_count()]

    def element_signature(self) -> Any:
        data, tf = self.source(), self.tf
        run = tf.function(self.total, input_signature=[data.element_spec])
        return [[run(element) for element in data], run.experimental_get_tracing_count()]

    def iterator_signature(self) -> Any:
        iterator, tf = iter(self.source()), self.tf
        run = tf.function(lambda given: self.total(next(given)), input_signature=[iterator._type_spec])
        return [run(iterator), run(iterator), run.experimental_get_tracing_count()]

    def last_kept(self) -> Any:
        data, tf = self.source(), self.tf

        @tf.function
        def run() -> Any:
            results = self.strategy.run(lambda: tf.constant(0.0))
            for element in data:
                results = self.strategy.run(self.step, args=(element,))
            return self.strategy.experimental_local_results(results)

        return [run()]

    def step_variable(self) -> Any:
        data, tf = self.source(), self.tf
        with self.strategy.scope():
            count = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

        def step(element: Any) -> Any:
            count.assign_add(self.step(element))

        @tf.function
        def run() -> Any:
            for element in data:
                self.strategy.run(step, args=(element,))

        run()
        return [count.read_value()]

    def step_in_function(self) -> Any:
        data, tf = self.source(), self.tf
        step = tf.function(self.step)
        totals = [self.strategy.run(step, args=(element,)) for element in data]
        return [self.strategy.experimental_local_results(total) for total in totals]

    def branch_in_step(self) -> Any:
        data, tf = self.source(), self.tf

        def step(element: Any) -> Any:
            total = self.step(element)
            if total > 10.0:
                total = total - 10.0
            return total

        @tf.function
        def run() -> Any:
            total = 0.0
            for element in data:
                total += self.strategy.reduce("SUM", self.strategy.run(step, args=(element,)), axis=None)
            return total

        return [run()]

    def loop_in_step(self) -> Any:
        iterator, tf = iter(self.source()), self.tf

        def step(element: Any) -> Any:
            total = self.step(element)
            for _ in tf.range(3):
                total += 1.0
            return total

        return [tf.function(lambda: self.strategy.run(step, args=(next(iterator),)))()]

    def gradient(self) -> Any:
        data, tf = self.source(), self.tf
        with self.strategy.scope():
            weight = tf.Variable(2.0)

        @tf.function
        def run() -> Any:
            with tf.GradientTape() as tape:
                total = 0.0
                for element in data:
                    total += weight * self.total(element)
            return tape.gradient(total, weight)

        return [run()]

    def specs(self) -> Any:
        data = self.source()
        return [repr(data.element_spec), repr(iter(data).element_spec)]


WAYS = [name for name in vars(Ways) if name[0] != "_" and name not in ("step", "total", "seen")]


ALL_SOURCES = ("even", "partial", "few", "static", "empty", "dealt", "dealt_static", "plain")
MOST_SOURCES = ("partial", "static", "empty", "dealt_static", "plain")

CHOICES = (
    [("mirrored2", "tensor", source) for source in ALL_SOURCES]
    + [("mirrored2", *pair) for pair in product(("tuple", "dict", "nested", "pair"), ("partial", "dealt"))]
    + [(title, "tensor", source) for title, source in product(("mirrored1", "one_device", "default"), MOST_SOURCES)]
    + [(title, "nested", "partial") for title in ("mirrored1", "one_device", "default")]
)
"""Strategy, structure and source: every one of each, but not every combination."""


WAYS_OF_PLAIN = [way for way in WAYS if way not in ("last_kept", "gradient")]
"""TensorFlow computes no gradients through loops over plain datasets or dictionaries, which have no replica values."""


def cases(tf: Any) -> Iterator[tuple[str, Case]]:
    """Yields each program and its name."""
    made = strategies(tf)
    for title, structure, source in CHOICES:
        make = sources(tf, made[title], structure)[source]
        is_plain = title == "default" or source == "plain" or structure == "dict"
        for way in WAYS if not is_plain else WAYS_OF_PLAIN:
            yield f"{title}.{structure}.{source}.{way}", getattr(Ways(tf, made[title], make), way)


if __name__ == "__main__":
    sys.exit(run_command(cases, FILE, str(__doc__)))

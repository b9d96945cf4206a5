"""What a traced function does is what its Python code does: log, events with their lines, reasons, accounts, errors."""

from __future__ import annotations

import gc
import inspect
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime.context import Context
from nbtf.errors import ResourceExhaustedError
from tests.machines import MIB, machine
from tests.rings import seeds

TWO = ("add", "mul", "matmul", "sum", "device", "concat", "where", "nested", "gradient")
ONE = (
    "tanh",
    "scale",
    "var",
    "assign",
    "const",
    "reshape",
    "cast",
    "softmax",
    "split",
    "gather",
    "elsewhere",
    "branch",
)
CLOCKS = frozenset({"seq", "time", "seconds", "start"})
"""Fields of events that no two runs share."""


class Line(NamedTuple):
    """A line of a program: what it does with which values, where, and with which number."""

    op: str
    first: int
    second: int
    device: int
    number: float


def written(seed: int) -> list[Line]:
    """A program whose every line counts; values 0 and 1 are its arguments."""
    draw = random.Random(seed)
    lines: list[Line] = []
    for count in range(draw.randint(3, 12)):
        op = draw.choice(TWO + ONE)
        first, second = draw.randrange(count + 2), draw.randrange(count + 2)
        lines.append(Line(op, first, second if op in TWO else first, draw.randrange(3), draw.uniform(0.5, 2)))
    return without_idle_lines(lines)


def without_idle_lines(lines: Sequence[Line]) -> list[Line]:
    """The lines that the last value depends on: TensorFlow leaves out the others, which eager programs run."""
    needed, kept = {len(lines) + 1}, list[int]()
    for number in reversed(range(len(lines))):
        if number + 2 in needed or lines[number].op == "assign":
            kept.append(number)
            needed |= {lines[number].first, lines[number].second}
    numbers = {0: 0, 1: 1} | {number + 2: place + 2 for place, number in enumerate(reversed(kept))}
    return [
        lines[number]._replace(first=numbers[lines[number].first], second=numbers[lines[number].second])
        for number in reversed(kept)
    ]


def on_device(line: Line, a: Any, b: Any, devices: int) -> Any:
    """A product computed on a device that the line asks for."""
    with tf.device(f"GPU:{line.device % devices}" if devices and line.device < 2 else "CPU:0"):
        return a * b + 1.0


def assigned(variable: Any, value: Any) -> Any:
    """The value, after part of it was added to the variable."""
    variable.assign_add(value * 0.1)
    return value


def elsewhere(a: Any) -> Any:
    """Twice a value, asked for on a device that is not there."""
    with tf.device("GPU:9"):
        return a + a


def slope(a: Any, b: Any) -> Any:
    """A gradient that is computed inside."""
    with tf.GradientTape() as tape:
        tape.watch(a)
        product = tf.matmul(a, b) * b
    return product + tape.gradient(product, a)


@tf.function(autograph=False)
def nested(a: Any, b: Any) -> Any:
    """A function that the others call."""
    return tf.maximum(a, b) - tf.reduce_mean(b)


COMPUTED: dict[str, Callable[[Line, Any, Any, Any, int], Any]] = {
    "add": lambda line, a, b, variable, devices: a + b,
    "mul": lambda line, a, b, variable, devices: a * b,
    "matmul": lambda line, a, b, variable, devices: tf.matmul(a, b),
    "sum": lambda line, a, b, variable, devices: a - tf.reduce_sum(b, axis=0),
    "device": lambda line, a, b, variable, devices: on_device(line, a, b, devices),
    "concat": lambda line, a, b, variable, devices: tf.concat([a, b], 0)[1:3],
    "tanh": lambda line, a, b, variable, devices: tf.tanh(a),
    "scale": lambda line, a, b, variable, devices: a * line.number,
    "var": lambda line, a, b, variable, devices: a + variable,
    "assign": lambda line, a, b, variable, devices: assigned(variable, a),
    "const": lambda line, a, b, variable, devices: a + tf.constant([[1.0, 2.0], [3.0, 4.0]]),
    "reshape": lambda line, a, b, variable, devices: tf.reshape(tf.transpose(a), [2, 2]),
    "where": lambda line, a, b, variable, devices: tf.where(a > b, a, tf.square(b)),
    "nested": lambda line, a, b, variable, devices: nested(a, b),
    "gradient": lambda line, a, b, variable, devices: slope(a, b),
    "softmax": lambda line, a, b, variable, devices: tf.nn.softmax(a),
    "split": lambda line, a, b, variable, devices: tf.concat(tf.split(a, 2, axis=1)[::-1], 1),
    "gather": lambda line, a, b, variable, devices: tf.gather(a, [1, 0]) + tf.gather(a, tf.argmax(a, axis=0)),
    "elsewhere": lambda line, a, b, variable, devices: elsewhere(a),
    "branch": lambda line, a, b, variable, devices: tf.cond(a[0, 0] > line.number, lambda: a - 1.0, lambda: a * 0.5),
    "cast": lambda line, a, b, variable, devices: tf.cast(tf.cast(a, tf.int32), tf.float32),
}
"""What each line computes."""


def program(lines: Sequence[Line], variable: Any, devices: int) -> Callable[..., Any]:
    """A function that lets each value go after its last use."""
    last = {value: number for number, line in enumerate(lines) for value in (line.first, line.second)}

    def run(first: Any, second: Any) -> Any:
        values = [first, second]
        for number, line in enumerate(lines):
            values.append(COMPUTED[line.op](line, values[line.first], values[line.second], variable, devices))
            for value in {line.first, line.second}:
                if last[value] == number and value > 1:
                    values[value] = None
        return values[-1]

    return run


def plain(value: Any) -> Any:
    """A value as numbers; rows with their indices."""
    if isinstance(value, tf.IndexedSlices):
        return plain(value.values), plain(value.indices)
    return np.asarray(value).tolist()


def observed(context: Context, call: Callable[[], Any]) -> tuple[Any, ...]:
    """Values, log, events and accounts of a call."""
    events: list[Any] = []
    log: list[tuple[str, str]] = []
    gc.collect()
    context.observers.add(events.append)
    context.set_log(lambda op, device: log.append((op, device)))
    results = call()
    values = [plain(value) for value in tf.nest.flatten(results) if value is not None]
    fields = [(type(event).__name__, {k: v for k, v in event._asdict().items() if k not in CLOCKS}) for event in events]
    return values, log, fields, [gpu.memory.stats() for gpu in context.gpus.made if gpu.memory]


@pytest.mark.parametrize("seed", seeds(200))
def test_everything_is_as_without_it(seed: int) -> None:
    lines, devices, taped = written(seed), seed % 3, seed % 2
    runs: list[tuple[Any, ...]] = []
    for wrap in (lambda function: function, lambda function: tf.function(function, autograph=False)):
        with machine(devices) as context:
            variable = tf.Variable([[0.5, 0.25], [1.0, 2.0]])
            function = wrap(program(lines, variable, devices))
            x, y = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[0.1, 0.2], [0.3, 0.4]])

            def step(function: Any = function, x: Any = x, y: Any = y, variable: Any = variable) -> Any:
                if not taped:
                    return function(x, y)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    result = function(x, y)
                return result, tape.gradient(result, [x, variable])

            step()  # traces it
            variable.assign([[0.5, 0.25], [1.0, 2.0]])
            runs.append(observed(context, step))

    assert runs[0] == runs[1]


@pytest.mark.parametrize("seed", seeds(60))
def test_accounts_do_not_depend_on_who_listens(seed: int) -> None:
    accounts: list[Any] = []
    for listens in (False, True):
        with machine(1 + seed % 2) as context:
            variable = tf.Variable([[0.5, 0.25], [1.0, 2.0]])
            function = program(written(seed), variable, 1 + seed % 2)
            step = tf.function(function, autograph=False) if seed % 3 else function
            if listens:
                context.observers.add(lambda event: None)  # so that ops take the road
            with tf.GradientTape() as tape:
                result = step(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[0.1, 0.2], [0.3, 0.4]]))
            _slope = tape.gradient(result, variable)
            gc.collect()
            memories = [gpu.memory for gpu in context.gpus.made if gpu.memory is not None]
            accounts.append([(memory.stats(), pieces(memory)) for memory in memories])

    assert accounts[0] == accounts[1]


def pieces(memory: Any) -> list[tuple[int, int, bool]]:
    """Where the memory of a GPU is in use, and for how much."""
    return [(chunk.offset, chunk.size, chunk.in_use) for region in memory.map() for chunk in region.chunks]


@pytest.mark.parametrize("seed", seeds(60))
def test_replicas_are_as_without_it(seed: int) -> None:
    steady = [line._replace(op="add") if line.op in ("device", "assign") else line for line in written(seed)]
    lines = without_idle_lines(steady)
    runs: list[tuple[Any, ...]] = []
    for wrap in (lambda function: function, lambda function: tf.function(function, autograph=False)):
        with machine(2) as context:
            strategy = tf.distribute.MirroredStrategy()
            with strategy.scope():
                variable = tf.Variable([[0.5, 0.25], [1.0, 2.0]], aggregation=tf.VariableAggregation.SUM)
            function = wrap(program(lines, variable, 0))
            x, y = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[0.1, 0.2], [0.3, 0.4]])

            def step(strategy: Any = strategy, function: Any = function, x: Any = x, y: Any = y) -> Any:
                return strategy.experimental_local_results(strategy.run(function, (x, y)))

            step()
            runs.append(observed(context, step))

    assert runs[0] == runs[1]


def test_memory_runs_out_at_the_same_op() -> None:
    def step(x: Any) -> Any:
        a = x + 1.0
        b = tf.concat([a, a], 0)
        return tf.concat([b, b, b], 0)

    errors: list[tuple[str, Any]] = []
    for function in (step, tf.function(step)):
        with machine(1, memory="64MiB") as context:
            x = tf.zeros([8 * MIB // 4])
            try:
                function(x)
            except ResourceExhaustedError as error:
                errors.append((error.message, context.gpus.made[0].memory.stats()))  # pyright: ignore

    assert 2 == len(errors)
    assert errors[0] == errors[1]


def test_a_traced_function_listens_to_no_more_than_its_trace() -> None:
    function = tf.function(lambda x: x * 2.0 + 1.0)
    with machine(1) as context:
        events: list[Any] = []
        x = tf.constant([1.0])
        context.observers.add(events.append)
        function.get_concrete_function(x)

        assert [] == [event for event in events if getattr(event, "op", "") in ("Mul", "AddV2")]


def test_where_nobody_listens_a_plan_is_a_function_whose_text_can_be_read() -> None:
    variable = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x: Any) -> Any:
        variable.assign_add(x * 2.0)
        return tf.concat([x, variable], 0), tf.random.uniform([2], seed=1)

    tf.random.set_seed(1)
    joined, drawn = step(tf.constant([1.0, 1.0]))
    (concrete,) = step._traces.concrete.values()
    text = inspect.getsource(concrete._plan.programs[False].run)

    assert [1.0, 1.0, 3.0, 4.0] == joined.numpy().tolist()
    assert text.startswith("def compute(values, scopes):\n    v0, = values\n")
    assert "._moved(" in text
    assert drawn.numpy().tolist() != step(tf.constant([1.0, 1.0]))[1].numpy().tolist()

"""Concurrent actions of threads: variables, memory, observers, restarts, generators and sessions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import nbtf as tf
from nbtf._devices.bfc.allocator import BFCAllocator
from nbtf._devices.discovery import simulated_machine
from nbtf._runtime.context import CURRENT, Context, use_context
from nbtf._runtime.scopes import HERE
from tests.interleavings.explorer import Scenario


def _beginning(cards: int, make: Callable[[Any], None]) -> Callable[[], Any]:
    """Returns a function that makes a fresh context and a state in it."""

    def begin() -> Any:
        state = SimpleNamespace(stack=ExitStack(), errors=[])
        machine = simulated_machine(cards, "Tesla K20m") if cards else None
        state.stack.enter_context(use_context(Context(machine, environ={})))
        make(state)
        return state

    return begin


def _end(state: Any) -> None:
    state.stack.close()


# Variables

Update = Callable[[Any], object]
"""Changes a variable of two elements."""

UPDATES: dict[str, Update] = {
    "add": lambda v: v.assign_add([1.0, 1.0]),
    "subtract": lambda v: v.assign_sub([5.0, 5.0]),
    "assign": lambda v: v.assign([100.0, 100.0]),
    "scatter": lambda v: v.scatter_nd_add([[0]], [10.0]),
    "slice": lambda v: v[1].assign(7.0),
}


def _variables(names: tuple[str, ...], cards: int, observed: bool = False) -> Scenario:
    """Updates one variable: the final value must be the result of the updates in some order."""

    def make(state: Any) -> None:
        if observed:
            tf.runtime.observe(lambda event: None)
        state.variable = tf.Variable([0.0, 0.0])
        state.seen = []

    def body(name: str) -> Callable[[Any], object]:
        def work(state: Any) -> None:
            if name == "read":
                state.seen.append(state.variable.value().numpy().tolist())
            else:
                UPDATES[name](state.variable)

        return work

    def check(state: Any) -> None:
        changes = [UPDATES[name] for name in names if name != "read"]
        ends, steps = list[Any](), [[0.0, 0.0]]
        for order in permutations(changes):
            variable = tf.Variable([0.0, 0.0])
            for change in order:
                change(variable)
                steps.append(variable.numpy().tolist())
            ends.append(variable.numpy().tolist())
        assert state.variable.numpy().tolist() in ends
        assert all(value in steps for value in state.seen)
        assert not state.variable._updating

    place = ("observed, " if observed else "") + ("simulated GPU" if cards else "CPU")
    name = f"variable on a {place}: {', '.join(names)}"
    return Scenario(name, _beginning(cards, make), tuple(map(body, names)), check, _end)


# Memory


def _allocator(threads: int) -> Scenario:
    def make(state: Any) -> None:
        state.allocator = BFCAllocator(1 << 22, growth=True)
        state.kept = [state.allocator.allocate(1000)]

    def fill_and_free(state: Any) -> None:
        first, second = state.allocator.allocate(3000), state.allocator.allocate(1 << 20)
        del first
        state.kept.append(state.allocator.allocate(500))
        del second

    def look(state: Any) -> None:
        stats = state.allocator.stats()
        assert stats.bytes_in_use == sum(
            chunk.size for region in state.allocator.snapshot() for chunk in region.chunks if chunk.in_use
        ) or len(state.kept)  # another thread may run between the two reads
        state.allocator.trim()

    def check(state: Any) -> None:
        used = [chunk for region in state.allocator.snapshot() for chunk in region.chunks if chunk.in_use]
        assert len(used) == len(state.kept)
        assert state.allocator.stats().bytes_in_use == sum(chunk.size for chunk in used)
        for region in state.allocator.snapshot():
            assert sum(chunk.size for chunk in region.chunks) == region.size
        state.kept.clear()
        assert state.allocator.stats().bytes_in_use == 0

    bodies = (fill_and_free, fill_and_free, look) if threads == 3 else (fill_and_free, look)
    return Scenario(f"allocator, {threads} threads", _beginning(0, make), bodies, check, _end)


# Observers and restarts


def _observe(state: Any) -> None:
    heard = list[Any]()
    undo = tf.runtime.observe(heard.append)
    undo()
    state.heard = heard


def _compute(state: Any) -> None:
    try:
        x = tf.constant([1.0, 2.0])
        state.results.append((x + x).numpy().tolist())
    except tf.errors.FailedPreconditionError as error:
        state.errors.append(error)


def _restart(state: Any) -> None:
    tf.runtime.restart()


def _record(state: Any) -> None:
    recorder = tf.runtime.Recorder()
    stop = tf.runtime.start_recorder(recorder)
    recorder.snapshot(3)
    stop()


def _runtime(name: str, bodies: tuple[Callable[[Any], object], ...], cards: int) -> Scenario:
    """Ops, observers and restarts: each op returns the right result or an error, and the state is then as before."""

    def make(state: Any) -> None:
        state.results, state.heard = [], []
        tf.constant(1.0)

    def check(state: Any) -> None:
        context = CURRENT.context
        computed = sum(body is _compute for body in bodies)
        assert len(state.results) + len(state.errors) == computed
        assert all(result == [2.0, 4.0] for result in state.results)
        assert not state.errors or _restart in bodies
        assert not context.watched
        assert not context.observers.all
        count = len(state.heard)
        assert (tf.constant([1.0]) + 1.0).numpy().tolist() == [2.0]
        assert len(state.heard) == count
        assert HERE.device is (None if cards else context.host)
        if cards:
            state.results.clear()
            assert context.observers is not None
            level = [device.in_use for device in tf.runtime.devices() if device.simulated]
            assert level == [1280]  # TensorFlow's own buffer

    return Scenario(name, _beginning(cards, make), bodies, check, _end)


def _tell(state: Any) -> None:
    CURRENT.context.observers.tell([])


def _observed(bodies: tuple[Callable[[Any], object], ...]) -> Scenario:
    """Ops on a simulated GPU with an observer: it receives each op once, and each block of memory once."""

    def make(state: Any) -> None:
        state.results, state.errors, state.events = [], [], []
        tf.constant(1.0)
        state.undo = tf.runtime.observe(state.events.append)
        tensors = [tf.zeros([4]) for _ in range(3)]
        while tensors:  # each release leaves memory events that wait for the next op's notification
            tensors.pop()
            CURRENT.context.observers.collect()

    def check(state: Any) -> None:
        state.undo()
        computed = sum(body is _compute for body in bodies)
        numbers = [event.seq for event in state.events]
        ops = [event.op for event in state.events if isinstance(event, tf.runtime.OpExecuted)]
        assert state.results == [[2.0, 4.0]] * computed
        assert len(numbers) == len(set(numbers))
        assert ops.count("AddV2") == computed

    names = ", ".join(body.__name__.strip("_") for body in bodies)
    return Scenario(f"observed on a simulated GPU: {names}", _beginning(1, make), bodies, check, _end)


# Random numbers


def _generator(threads: int) -> Scenario:
    def make(state: Any) -> None:
        state.generator = tf.random.Generator.from_key_counter(1, [0, 0], "philox")
        state.drawn = []

    def draw(state: Any) -> None:
        state.drawn.append(float(state.generator.normal([])))

    def check(state: Any) -> None:
        assert len(set(state.drawn)) == threads
        assert state.generator.state.numpy().tolist() == [threads * 256, 0, 1]

    return Scenario(f"generator, {threads} threads", _beginning(0, make), (draw,) * threads, check, _end)


def _seeds(threads: int) -> Scenario:
    def make(state: Any) -> None:
        tf.random.set_seed(3)
        state.drawn = []

    def draw(state: Any) -> None:
        state.drawn.append(float(tf.random.normal([])))

    def check(state: Any) -> None:
        tf.random.set_seed(3)
        assert sorted(state.drawn) == sorted(float(tf.random.normal([])) for _ in range(threads))

    return Scenario(f"global seed, {threads} threads", _beginning(0, make), (draw,) * threads, check, _end)


def _first_generator() -> Scenario:
    def make(state: Any) -> None:
        state.generators = []

    def ask(state: Any) -> None:
        state.generators.append(tf.random.get_global_generator())

    def check(state: Any) -> None:
        assert len({id(one) for one in state.generators}) == 1

    return Scenario("first look at the global generator", _beginning(0, make), (ask, ask), check, _end)


# Sessions


def _session(threads: int) -> Scenario:
    def make(state: Any) -> None:
        graph = tf.Graph()
        with graph.as_default():
            variable = tf.compat.v1.Variable(0.0)
            state.add, state.value = tf.compat.v1.assign_add(variable, 1.0), variable
            state.start = variable.initializer
        state.session = tf.compat.v1.Session(graph=graph)
        state.session.run(state.start)

    def work(state: Any) -> None:
        state.session.run(state.add)

    def check(state: Any) -> None:
        assert state.session.run(state.value) == float(threads)

    return Scenario(f"session, {threads} threads", _beginning(0, make), (work,) * threads, check, _end)


SCENARIOS = [
    _variables(("add", "add"), 0),
    _variables(("add", "scatter"), 0),
    _variables(("add", "assign"), 0),
    _variables(("assign", "scatter"), 0),
    _variables(("scatter", "slice"), 0),
    _variables(("add", "read"), 1),
    _variables(("assign", "read"), 1),
    _variables(("scatter", "add"), 1),
    _variables(("add", "subtract"), 0, observed=True),
    _variables(("add", "add", "read"), 0),
    _variables(("add", "assign", "scatter"), 0),
    _variables(("add", "assign", "read"), 1),
    _allocator(2),
    _allocator(3),
    _observed((_tell, _tell)),
    _observed((_compute, _compute)),
    _observed((_compute, _observe)),
    _observed((_compute, _record)),
    _runtime("observer and op on the CPU", (_observe, _compute), 0),
    _runtime("two observers and an op", (_observe, _compute, _observe), 0),
    _runtime("recorder and op on a simulated GPU", (_record, _compute), 1),
    _runtime("restart and op on the CPU", (_restart, _compute), 0),
    _runtime("restart and op on a simulated GPU", (_restart, _compute), 1),
    _runtime("restart and observer", (_restart, _observe), 0),
    _runtime("restart, observer and op", (_restart, _observe, _compute), 0),
    _runtime("two restarts and an op", (_restart, _restart, _compute), 1),
    _generator(2),
    _generator(3),
    _seeds(2),
    _seeds(3),
    _first_generator(),
    _session(2),
    _session(3),
]

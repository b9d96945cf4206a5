"""Every block of the public API, interrupted at every instruction: is what it has changed taken back?"""

from __future__ import annotations

import contextvars
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf import summary
from nbtf._runtime.blocks import current_scope, end_cell
from nbtf._runtime.context import CURRENT
from nbtf._runtime.scopes import SCOPE
from nbtf.compat import v1
from tests.interrupts.tracing import interrupted
from tests.machines import machine

_NAMESPACES = (tf, tf.distribute, tf.keras.utils, tf.runtime, tf.summary, v1, v1.distribute, v1.summary, v1.train)

_RETURNED = ("ContextManager", "Change[", "Generator[", "within", "variable_scope", "Scope")
"""What stands in the annotation of a function that returns a block."""

_POINTS = 100
"""How many instructions of each block are interrupted, evenly spread; there are 29,266 in all blocks."""

_NO_CHANGES = {"InteractiveSession", "LocalCluster"}
"""A session that is no block, and says so when it is used as one; and processes, of which the context knows nothing."""


class Things:
    """What blocks are made of, and what they change."""

    def __init__(self, folder: Path) -> None:
        """Makes them anew."""
        self.graph, self.tape = tf.Graph(), tf.GradientTape()
        with self.graph.as_default():
            self.node, self.session = v1.constant(1.0), v1.Session()
        self.writer = tf.summary.create_file_writer(str(folder))
        self.strategy = tf.distribute.MirroredStrategy(["CPU:0"])
        self.file = v1.summary.FileWriter(str(folder))

    def state(self) -> list[Any]:
        """Returns what blocks may change."""
        scope = SCOPE()
        with self.graph.as_default():
            variables = v1.get_variable_scope().name
        tapes = [] if self.tape._tape is None else [self.tape._tape.hearing]
        return [
            *(scope, self.graph._around, variables, v1.get_default_session(), CURRENT.context.observers.all),
            *(tf.keras.utils.get_custom_objects().copy(), summary._destination(), tapes),
            tuple(sys.meta_path),
        ]


def monitored(session: Any) -> Any:
    """Makes a session of a graph of its own: it is finalized."""
    with tf.Graph().as_default():
        return session()


OPENING: dict[str, Callable[[Things], Any]] = {
    "Coordinator.stop_on_exception": lambda things: v1.train.Coordinator().stop_on_exception(),
    "FileWriter": lambda things: things.file,
    "GradientTape": lambda things: tf.GradientTape(),
    "GradientTape.stop_recording": lambda things: things.tape.stop_recording(),
    "Graph.as_default": lambda things: things.graph.as_default(),
    "Graph.colocate_with": lambda things: things.graph.colocate_with(things.node),
    "Graph.control_dependencies": lambda things: things.graph.control_dependencies([things.node]),
    "Graph.device": lambda things: things.graph.device("CPU:0"),
    "Graph.grouped_with": lambda things: things.graph.grouped_with("other"),
    "Graph.inside": lambda things: things.graph.inside(),
    "Graph.name_scope": lambda things: things.graph.name_scope("name"),
    "Graph.outermost": lambda things: things.graph.outermost(),
    "MonitoredTrainingSession": lambda things: monitored(v1.train.MonitoredTrainingSession),
    "Session": lambda things: things.session,
    "Session.as_default": lambda things: things.session.as_default(),
    "Strategy.scope": lambda things: things.strategy.scope(),
    "StrategyExtended.colocate_vars_with": lambda things: things.strategy.extended.colocate_vars_with(tf.Variable(1.0)),
    "SummaryWriter.as_default": lambda things: things.writer.as_default(),
    "colocate_with": lambda things: v1.colocate_with(None),
    "control_dependencies": lambda things: v1.control_dependencies(None),
    "custom_object_scope": lambda things: tf.keras.utils.custom_object_scope({"Own": Things}),
    "device": lambda things: tf.device("CPU:0"),
    "init_scope": lambda things: v1.init_scope(),
    "name_scope": lambda things: tf.name_scope("name"),
    "record_if": lambda things: tf.summary.record_if(True),
    "recording": lambda things: tf.runtime.recording(),
    "variable_creator_scope": lambda things: tf.variable_creator_scope(lambda make, **how: make(**how)),
    "variable_scope": lambda things: v1.variable_scope("name"),
    "watch": lambda things: tf.runtime.watch("torch"),
}
IN_GRAPHS = [
    *("GradientTape", "Graph.device", "Session.as_default", "control_dependencies", "device", "init_scope"),
    *("name_scope", "variable_scope", "colocate_with"),
]
"""Those that are opened inside a graph as well, where some do something else."""


def public_blocks() -> Iterator[str]:
    """Yields what the public functions and classes are called that are blocks or return one."""
    for value in [getattr(space, name) for space in _NAMESPACES for name in dir(space) if not name.startswith("_")]:
        if not getattr(value, "__module__", "").startswith("nbtf"):
            continue
        if inspect.isclass(value):
            members = {member: item for base in value.__mro__ for member, item in vars(base).items()}
            if "__exit__" in members:
                yield value.__name__
            functions = [item for name, item in members.items() if not name.startswith("_")]
        else:
            functions = [value]
        for function in functions:
            if isinstance(function, types.FunctionType) and function.__module__.startswith("nbtf"):
                annotation = str(function.__annotations__.get("return"))
                is_block = any(part in annotation for part in _RETURNED)
                if is_block and not annotation.startswith(("VariableScope", "Iterator")):
                    yield function.__qualname__.removeprefix("Symbolic").replace(
                        "GraphBlocks", "Graph"
                    )  # inherited by `tf.Graph`


def test_every_public_block_is_interrupted_here() -> None:
    assert set(OPENING) == set(public_blocks()) - _NO_CHANGES


@pytest.mark.parametrize(
    ("name", "in_graph"), [*((name, False) for name in sorted(OPENING)), *((name, True) for name in IN_GRAPHS)]
)
def test_wherever_a_block_is_interrupted_its_change_is_taken_back(
    name: str, in_graph: bool, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    with machine(0):
        things = Things(tmp_path)
        points = interrupt(name, in_graph, things, 0)
        for point in range(1, points + 1, max(1, points // _POINTS)):
            interrupt(name, in_graph, things, point)
        end_cell()
        assert SCOPE() is None


def interrupt(name: str, in_graph: bool, things: Things, point: int) -> int:
    """Interrupts a block inside others before an instruction; returns how many there were."""
    with things.tape, things.graph.as_default() if in_graph else tf.device("CPU:0"):
        before, block = things.state(), OPENING[name](things)

        def action() -> None:
            with block:
                pass

        interrupter = interrupted(action, point, KeyboardInterrupt, by_line=False)
        current_scope()
        assert before == things.state(), interrupter.place
    return interrupter.points


@pytest.mark.parametrize("name", ["Graph.name_scope", "Graph.device", "Session", "variable_scope", "record_if"])
def test_what_a_lost_block_has_changed_is_taken_back_with_one_line(
    name: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    things = Things(tmp_path)
    before = things.state()
    block = OPENING[name](things)
    bound = block.__exit__
    block.__enter__()
    del bound

    tf.add(1.0, 2.0)

    assert before == things.state()
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert line.startswith("nbtf: closed blocks that were left open: ")


def test_a_recording_may_end_in_another_task_than_it_began() -> None:
    block = tf.runtime.recording()
    record = contextvars.copy_context().run(block.__enter__)
    tf.constant([1.0])

    contextvars.copy_context().run(block.__exit__, None, None, None)
    tf.constant([2.0])

    assert [("_EagerConst", "CPU:0")] == record.ops
    with pytest.raises(RuntimeError, match="not open"):
        block.__exit__(None, None, None)

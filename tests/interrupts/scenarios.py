"""The interrupted actions: each scenario has a preparation, one action, and conditions that must hold afterwards."""

from __future__ import annotations

import builtins
import tempfile
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nbtf as tf
from tests.interrupts.first_use import USES, first_use
from tests.machines import machine

Action = Callable[[], Any]
Check = Callable[[], None]
Ready = tuple[Action, Check]


class Scenario(NamedTuple):
    """A scenario: `by_line` if it has too many instructions, `apart` if it needs a separate process."""

    start: Callable[[], AbstractContextManager[Ready]]
    by_line: bool = False
    apart: bool = False


def nothing() -> None:
    """Checks only the conditions that apply to every scenario."""


@contextmanager
def op_on_the_cpu() -> Generator[Ready]:
    """The express lane, and an op on the road."""
    with machine(0):
        a, b = tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])

        def action() -> None:
            c = a + b
            tf.concat([a, c], axis=0)

        yield action, nothing


@contextmanager
def constants() -> Generator[Ready]:
    """Constants of numbers with a log, which may repeat a constant after an interrupt but must not miss one."""
    with machine(2) as context:
        x, log = tf.ones([4]), list[str]()
        numbers, lost = [0], list[int]()
        context.set_log(lambda op, device: log.append(op))

        def action() -> None:
            tf.constant(numbers[-1] + 0.5)
            tf.roll(x, numbers[-1], 0)
            if log.count("_EagerConst") < 2:
                lost.append(numbers[-1])
            numbers.append(len(numbers))  # last, so that the same number is used again after an interrupt
            log.clear()

        def check() -> None:
            action()
            assert not lost

        yield action, check


@contextmanager
def op_on_a_gpu() -> Generator[Ready]:
    """The road, with a simulated GPU's memory."""
    with machine(2):
        a = tf.ones([4, 4])

        def action() -> None:
            b = tf.matmul(a, a + 1.0)
            tf.split(b, 2)

        yield action, nothing


@contextmanager
def copies() -> Generator[Ready]:
    """Copies from one device to another, and to NumPy."""
    with machine(2):
        a = tf.ones([4, 4])

        def action() -> None:
            with tf.device("GPU:1"):
                b = tf.identity(a)
            b.numpy()

        yield action, nothing


@contextmanager
def device_scope() -> Generator[Ready]:
    """Nested blocks, some of them with a name."""
    with machine(2):
        named, a = tf.device("GPU:1"), tf.ones([2])

        def action() -> None:
            with named, tf.name_scope("outer"), tf.device("CPU:0"):
                with tf.variable_creator_scope(lambda make, **how: make(**how)):
                    tf.Variable(1.0)
                tf.add(a, a)

        yield action, nothing


@contextmanager
def tape_step() -> Generator[Ready]:
    """A tape, its gradient, and an update."""
    with machine(2):
        w, x = tf.Variable([[1.0, 2.0]]), tf.ones([2, 1])

        def action() -> None:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.matmul(w, x) ** 2)
            w.assign_sub(tape.gradient(loss, w) * 0.0)

        def check() -> None:
            assert [[1.0, 2.0]] == w.numpy().tolist()

        yield action, check


@contextmanager
def variable_updates() -> Generator[Ready]:
    """Updates of variables on the CPU and on a GPU."""
    with machine(1):
        with tf.device("CPU:0"):
            here = tf.Variable(0.0)
        there = tf.Variable([0.0, 0.0])

        def action() -> None:
            here.assign_add(1.0)
            there.scatter_nd_add([[0]], [1.0])
            there.assign(there * 0.0)

        def check() -> None:
            assert here.numpy() == int(here.numpy())
            assert there.numpy().tolist() in ([0.0, 0.0], [1.0, 0.0])
            there.assign([0.0, 0.0])

        yield action, check


def _model() -> Any:
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Input((3,)), layers.Dense(4, activation="relu"), layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    return model


@contextmanager
def _fitting(devices: int) -> Generator[Ready]:
    x, y = np.ones((4, 3), np.float32), np.ones((4, 1), np.float32)
    with machine(devices):
        with tf.distribute.MirroredStrategy().scope():
            model = _model()

        def action() -> None:
            model.fit(x, y, batch_size=4, verbose=0)

        def check() -> None:
            for variable in [*model.weights, *model.optimizer.variables]:
                values = [part.numpy().tolist() for part in getattr(variable.handle, "values", (variable.handle,))]
                assert all(value == values[0] for value in values), variable.name

        yield action, check


@contextmanager
def session_run() -> Generator[Ready]:
    """A graph with a variable update, and a product on a GPU."""
    from nbtf.compat import v1

    with machine(2), v1.Graph().as_default():
        counter = v1.get_variable("counter", initializer=0.0)
        product = v1.matmul(v1.ones([2, 2]), v1.ones([2, 2]))
        update = v1.assign_add(counter, 1.0)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())

            def action() -> None:
                session.run([update, product])

            def check() -> None:
                value = session.run(counter)
                assert value == int(value)

            yield action, check


@contextmanager
def save() -> Generator[Ready]:
    """Weights and a whole model, saved over earlier ones."""
    with machine(1), tempfile.TemporaryDirectory() as folder:
        model, weights, whole = _model(), Path(folder) / "m.weights.h5", Path(folder) / "m.keras"

        def action() -> None:
            model.save_weights(weights, overwrite=True)
            model.save(whole)

        def check() -> None:
            if whole.exists():
                model.load_weights(weights)
                tf.keras.models.load_model(whole)

        yield action, check


@contextmanager
def view_update() -> Generator[Ready]:
    """The updates of a live view, while a recorder is active."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    from nbtf.notebook.session import SESSIONS
    from nbtf.notebook.views.feed import Feed

    before = set(vars(builtins))
    with machine(2):
        shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
        extensions: Any = shell.extension_manager
        extensions.load_extension("nbtf")
        feed, a = Feed(SESSIONS[shell]), tf.ones([4, 4])

        def action() -> None:
            tf.matmul(a, a)
            feed.with_maps(feed.state(busy=True))

        yield action, nothing
        extensions.unload_extension("nbtf")
        InteractiveShell.clear_instance()
        for name in set(vars(builtins)) - before:  # IPython leaves its mark there, by which the placement log knows it
            delattr(builtins, name)


SCENARIOS: dict[str, Scenario] = {
    "op on the CPU": Scenario(op_on_the_cpu),
    "op on a GPU": Scenario(op_on_a_gpu),
    "constants of numbers": Scenario(constants),
    "copy": Scenario(copies),
    "device scope": Scenario(device_scope),
    "tape step": Scenario(tape_step),
    "variable updates": Scenario(variable_updates),
    "fit on one GPU": Scenario(lambda: _fitting(1), by_line=True),
    "fit on two GPUs": Scenario(lambda: _fitting(2), by_line=True),
    "session run": Scenario(session_run, by_line=True),
    "save": Scenario(save, by_line=True),
    "view update": Scenario(view_update, by_line=True),
    **{f"first use of tf.{name}": Scenario(partial(first_use, name), by_line=True, apart=True) for name in USES},
}

"""Do events say which phase of a step and which layer they are of, also after an interrupt at any instruction?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime import phases
from nbtf._runtime.phases import PHASES, part_of, stage
from tests.interrupts.tracing import interrupted
from tests.machines import machine

X = np.ones((8, 3), np.float32)
Y = np.zeros((8, 1), np.float32)


def heard(action: Callable[[], object]) -> list[Any]:
    with tf.runtime.recording() as record:
        action()
    return list(record.events)


def phases_of(events: list[Any], op: str) -> list[tuple[str, str]]:
    return [(one.phase, one.layer) for one in events if isinstance(one, tf.runtime.OpExecuted) and one.op == op]


def model(**compiled: Any) -> Any:
    inner = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu", name="hidden")], name="tower")
    made = tf.keras.Sequential([tf.keras.layers.Input((3,)), inner, tf.keras.layers.Dense(1, name="top")], name="net")
    made.compile(optimizer="adam", loss="mse", metrics=["mae"], **compiled)
    return made


def test_what_runs_by_itself_has_no_phase() -> None:
    assert {("", "")} == set(phases_of(heard(lambda: tf.matmul(X, X, transpose_b=True)), "MatMul"))


def test_a_tape_tells_forward_from_backward() -> None:
    w = tf.Variable([[2.0]])

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.matmul(w, w)
        tape.gradient(loss, w)

    assert [("forward", ""), ("backward", ""), ("backward", "")] == phases_of(heard(step), "MatMul")


def test_jacobians_are_backward() -> None:
    x = tf.constant([1.0, 2.0])

    def step() -> None:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        tape.jacobian(y, x)

    assert {"backward"} == {phase for phase, _ in phases_of(heard(step), "Mul")[1:]}


def test_layers_are_told_by_their_path_with_and_without_a_tape() -> None:
    build = model()

    for training in (False, True):
        found = phases_of(heard(lambda training=training: build(X, training=training)), "MatMul")
        assert [("forward", "net/tower/hidden"), ("forward", "net/top")] == found


def test_a_step_of_fit_has_all_phases_in_order() -> None:
    build = model()
    build.fit(X, Y, verbose=0)

    order = list(dict.fromkeys(one.phase for one in heard(lambda: build.fit(X, Y, verbose=0)) if one.phase))

    # The metrics begin anew before the first batch.
    assert ["input", "forward", "backward", "update"] == [one for one in order if one != "metrics"]
    assert "metrics" in order


def test_evaluate_has_no_step_back() -> None:
    build = model()

    assert {"", "input", "forward", "metrics"} >= {one.phase for one in heard(lambda: build.evaluate(X, Y, verbose=0))}


def test_each_replica_has_its_phases_and_the_reduction_its_own() -> None:
    with machine(2, "Tesla K20m"):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            build = model()
        build.fit(X, Y, verbose=0)
        events = heard(lambda: build.fit(X, Y, verbose=0))

    ops = [(one.replica, one.phase) for one in events if isinstance(one, tf.runtime.OpExecuted) and one.op == "MatMul"]
    assert [(0, "forward"), (0, "backward"), (1, "forward"), (1, "backward")] == list(dict.fromkeys(ops))
    moved = [one for one in events if isinstance(one, tf.runtime.Copied) and one.kind == "move" and one.nbytes > 50]
    assert {"all-reduce"} == {one.phase for one in moved}
    assert {"update"} == {one.phase for one in events if getattr(one, "op", "") == "AssignSubVariableOp"}


def test_replicas_that_wait_for_each_other_keep_their_phases() -> None:
    with machine(2, "Tesla K20m"):
        strategy = tf.distribute.MirroredStrategy()

        def replica() -> None:
            here = tf.distribute.get_replica_context()
            assert here is not None
            with tf.GradientTape() as tape:
                x = tf.constant([2.0])
                tape.watch(x)
                y = here.all_reduce("SUM", x * x)
                z = tf.exp(y)
            tape.gradient(z, x)

        events = heard(lambda: strategy.run(replica))

    assert {("forward", "")} == set(phases_of(events, "Exp"))
    assert {"all-reduce"} == {one.phase for one in events if isinstance(one, tf.runtime.Copied) and one.kind == "move"}


def test_datasets_are_input() -> None:
    numbers = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(tf.negative)

    assert {"input"} == {phase for phase, _ in phases_of(heard(lambda: list(numbers)), "Neg")}


def test_a_metric_of_ones_own_is_told_as_such() -> None:
    class Largest(tf.keras.metrics.Metric):
        def __init__(self) -> None:
            super().__init__()
            self.largest = self.add_weight(name="largest")

        def update_state(self, values: Any, sample_weight: Any = None) -> None:
            """Keeps the largest."""
            self.largest.assign(tf.maximum(self.largest, tf.reduce_max(values)))

        def result(self) -> Any:
            return self.largest.value

    largest = Largest()

    assert {("metrics", "")} == set(phases_of(heard(lambda: largest.update_state([1.0, 5.0])), "Max"))
    assert 5.0 == float(largest.result())
    assert "Keeps the largest." == Largest.update_state.__doc__


def test_phases_are_those_that_are_documented() -> None:
    assert PHASES == ("forward", "backward", "all-reduce", "update", "input", "metrics")


# Interrupts


def _action_of_stages() -> None:
    with stage("backward", "a"), stage("update"):
        part_of(None)


def _action_of_functions() -> None:
    phases.during("update")(phases.in_layer("b", lambda: part_of(None)))()


@pytest.mark.parametrize("action", [_action_of_stages, _action_of_functions], ids=["stages", "functions"])
def test_an_interrupt_at_any_instruction_leaves_no_phase(
    action: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phases.HERE, "watched", True)
    action.__code__ = action.__code__.replace(co_name="action")
    points = interrupted(action, 0, KeyboardInterrupt, False).points

    for at in range(1, points + 1):
        place = interrupted(action, at, KeyboardInterrupt, False).place
        assert ("", "") == (part_of(None).phase, part_of(None).layer), place
    assert points > 50


def test_nobody_listening_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> Any:
        raise AssertionError("a phase was said")

    build = model()
    build.fit(X, Y, verbose=0)  # slots say at their birth what they are, listened to or not
    monkeypatch.setattr(phases.stage, "__init__", never)

    build.fit(X, Y, verbose=0)

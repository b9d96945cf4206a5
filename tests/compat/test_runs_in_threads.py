"""Is every update that a session runs done as if its thread were alone?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nbtf.compat.v1 as tf
from nbtf.compat._v1._variables.ops import RESOURCE_OPS, UPDATES
from tests.threads import in_threads, switching_often

THREADS, TIMES = 8, 20
ROWS = [0.0] * THREADS

# Each adds 1, or -1, to the row of its thread or to all.
ADDS: dict[str, tuple[Callable[[Any, int], Any], float]] = {
    "AssignAdd": (lambda v, number: tf.assign_add(v, [1.0] * THREADS), THREADS),
    "AssignSub": (lambda v, number: tf.assign_sub(v, [1.0] * THREADS), -THREADS),
    "ScatterAdd": (lambda v, number: tf.scatter_add(v, [number], [1.0]), 1),
    "ScatterSub": (lambda v, number: tf.scatter_sub(v, [number], [1.0]), -1),
    "ScatterNdAdd": (lambda v, number: tf.scatter_nd_add(v, [[number]], [1.0]), 1),
    "ScatterNdSub": (lambda v, number: tf.scatter_nd_sub(v, [[number]], [1.0]), -1),
}
# Each doubles the row of its thread.
SCALES: dict[str, Callable[[Any, int], Any]] = {
    "ScatterMul": lambda v, number: tf.scatter_mul(v, [number], [2.0]),
    "ScatterDiv": lambda v, number: tf.scatter_div(v, [number], [0.5]),
}
# Each writes how often it has run, which is fed.
WRITES: dict[str, Callable[[Any, int, Any], Any]] = {
    "ScatterUpdate": lambda v, number, value: tf.scatter_update(v, [number], [value]),
    "ScatterNdUpdate": lambda v, number, value: tf.scatter_nd_update(v, [[number]], [value]),
    "StridedSliceAssign": lambda v, number, value: v[number].assign(value),
    "ScatterMax": lambda v, number, value: tf.scatter_max(v, [number], [value]),
    "ScatterMin": lambda v, number, value: tf.scatter_min(v, [number], [-value]),
    "ScatterNdMax": lambda v, number, value: v.scatter_nd_max([[number]], [value]),
    "ScatterNdMin": lambda v, number, value: v.scatter_nd_min([[number]], [-value]),
}

both_forms = pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default(), switching_often():
        yield


def started() -> Any:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def test_every_op_that_updates_a_variable_is_here() -> None:
    references = {op.type for op in UPDATES if op in RESOURCE_OPS}

    assert references == ADDS.keys() | SCALES.keys() | WRITES.keys()


@both_forms
@pytest.mark.parametrize("type", sorted(ADDS))
def test_no_run_is_lost(type: str, use_resource: bool) -> None:
    build, expected = ADDS[type]
    variable = tf.Variable(ROWS, use_resource=use_resource)
    nodes = [build(variable, number) for number in range(THREADS)]

    with started() as session:
        in_threads(lambda number: [session.run(nodes[number]) for _ in range(TIMES)])

        assert session.run(variable).tolist() == [expected * TIMES] * THREADS


@both_forms
@pytest.mark.parametrize("type", sorted(SCALES))
def test_no_factor_is_lost(type: str, use_resource: bool) -> None:
    variable = tf.Variable([1.0] * THREADS, use_resource=use_resource)
    nodes = [SCALES[type](variable, number) for number in range(THREADS)]

    with started() as session:
        in_threads(lambda number: [session.run(nodes[number]) for _ in range(TIMES)])

        assert session.run(variable).tolist() == [2.0**TIMES] * THREADS


@both_forms
def test_no_step_of_an_optimizer_is_lost(use_resource: bool) -> None:
    variable = tf.Variable(ROWS, use_resource=use_resource)
    step = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(-variable))

    with started() as session:
        in_threads(lambda number: [session.run(step) for _ in range(TIMES)])

        assert session.run(variable).tolist() == [THREADS * TIMES] * THREADS


def test_a_step_updates_a_variable_and_its_slot_together() -> None:
    variable = tf.Variable([0.0])
    optimizer = tf.train.MomentumOptimizer(1.0, momentum=1.0)
    step = optimizer.minimize(tf.reduce_sum(-variable))

    with started() as session:
        in_threads(lambda number: [session.run(step) for _ in range(TIMES)])

        runs = THREADS * TIMES
        assert session.run(optimizer.get_slot(variable, "momentum")).tolist() == [-runs]
        assert session.run(variable).tolist() == [runs * (runs + 1) / 2]


def test_runs_that_start_together_share_one_variable() -> None:
    variable = tf.Variable(0.0)
    zero, node = variable.initializer, tf.assign_add(variable, 1.0)

    for _ in range(20):
        session = tf.Session()
        in_threads(lambda number, session=session: session.run(zero), 4)
        in_threads(lambda number, session=session: session.run(node), 4)

        assert session.run(variable) == 4.0

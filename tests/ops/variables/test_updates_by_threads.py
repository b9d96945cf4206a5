"""Is every update of a variable done as if its thread were alone?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

import nbtf as tf
from nbtf._devices.discovery import simulated_machine
from nbtf._runtime.context import Context, use_context
from tests.ops.table import OPS
from tests.ops.updates import ROWS, THREADS, TIMES, UPDATES
from tests.threads import in_threads, switching_often

ELSEWHERE = {"AssignVariableOp", "RngReadAndSkip"}
"""What has a test of its own below."""

every_update = pytest.mark.parametrize("type", sorted(UPDATES))


@pytest.fixture(params=["lane", "observed", "simulated"])
def road(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where updates run: in the express lane, on the road on the CPU, and on a simulated GPU."""
    cards = simulated_machine(1, "Tesla K20m") if request.param == "simulated" else None
    with use_context(Context(cards, environ={})), switching_often():
        if request.param == "observed":
            tf.runtime.observe(lambda event: None)
        yield request.param


def test_every_op_that_updates_a_variable_is_here() -> None:
    assert {type for type, record in OPS.items() if record.updates} == UPDATES.keys() | ELSEWHERE


@every_update
def test_no_update_is_lost(type: str, road: str) -> None:
    variable, (update, expected) = tf.Variable(ROWS), UPDATES[type]

    in_threads(lambda number: [update(variable, number, i) for i in range(TIMES)], THREADS)

    assert variable.numpy().tolist() == [expected] * THREADS


def test_updates_of_all_types_at_once_lose_nothing(road: str) -> None:
    variable = tf.Variable(ROWS)
    adds = [UPDATES[type] for type in sorted(UPDATES) if "Add" in type or "Sub" in type]
    assert TIMES % len(adds) == 0

    in_threads(lambda number: [adds[i % len(adds)][0](variable, number, i) for i in range(TIMES)], THREADS)

    expected = sum(total for _, total in adds) / len(adds)
    assert variable.numpy().tolist() == [expected] * THREADS


def test_what_was_assigned_is_not_undone_by_an_update_that_had_begun(road: str) -> None:
    variable, seen = tf.Variable(0.0), list[float]()

    def work(number: int) -> None:
        for i in range(TIMES):
            if number == 0:
                seen.append(float(variable.assign(float(i)).numpy()))
            elif number % 2:
                variable.assign_add(0.0)
            else:
                variable.assign_sub(0.0)

    in_threads(work, THREADS)

    assert seen == [float(i) for i in range(TIMES)]


def test_no_two_threads_draw_the_same_numbers(road: str) -> None:
    generator, drawn = tf.random.Generator.from_key_counter(1, [0, 0], "philox"), list[float]()

    in_threads(lambda number: drawn.extend(float(generator.normal([], dtype=tf.float64)) for _ in range(TIMES)))

    assert len(set(drawn)) == THREADS * TIMES
    assert generator.state.numpy()[0] == THREADS * TIMES * 256  # what each draw sets aside


def test_the_global_generator_is_the_same_one_in_all_threads() -> None:
    with switching_often():
        generators = list[Any]()

        in_threads(lambda number: generators.append(tf.random.get_global_generator()))

    assert len({id(one) for one in generators}) == 1


@pytest.mark.parametrize("seed", [None, 7])
def test_ops_in_several_threads_draw_different_numbers(seed: int | None) -> None:
    drawn = list[float]()
    with switching_often():
        tf.random.set_seed(3)

        in_threads(lambda number: drawn.extend(float(tf.random.normal([], seed=seed)) for _ in range(TIMES)))

    assert len(set(drawn)) == THREADS * TIMES


def test_copies_of_a_mirrored_variable_stay_equal() -> None:
    with use_context(Context(simulated_machine(2, "Tesla K20m"), environ={})), switching_often():
        with tf.distribute.MirroredStrategy().scope():
            variable: Any = tf.Variable(0.0)
        numbers = count()

        def work(number: int) -> None:
            for _ in range(20):
                variable.assign_add(1.0)
                if number == 0:
                    variable.assign(float(1000 * next(numbers)))

        in_threads(work, THREADS)

        first, second = (float(copy.numpy()) for copy in variable.values)
        assert first == second


def test_an_observer_may_update_the_variable_whose_update_it_hears_of() -> None:
    variable = tf.Variable(1.0)
    undo = tf.runtime.observe(lambda event: variable.assign(5.0))

    variable.assign_add(1.0)
    undo()

    assert variable.numpy() in (2.0, 5.0, 6.0)
    assert variable.assign_add(1.0) is variable


def test_an_update_that_fails_leaves_the_variable_free() -> None:
    variable = tf.Variable([1.0, 2.0])
    with pytest.raises(tf.errors.InvalidArgumentError):
        variable.scatter_nd_add([[5]], [1.0])

    in_threads(lambda number: variable.assign_add([1.0, 1.0]), 2)

    assert variable.numpy().tolist() == [3.0, 4.0]

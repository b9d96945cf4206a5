"""`tf.test.TestCase`: what its assertions accept and refuse, in eager code and in graphs."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import nbtf as tf

tf1: Any = tf.compat.v1


class Pair(NamedTuple):
    a: Any
    b: Any


@pytest.fixture
def case() -> Any:
    class Case(tf.test.TestCase):
        __test__ = False

        def runTest(self) -> None:  # noqa: N802
            pass

    case = Case()
    case.setUp()
    yield case
    case.tearDown()


def c(*values: Any) -> Any:
    return tf.constant(*values)


CHECKS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "assertAllClose": (
        lambda t: t.assertAllClose([1.0, 2.0], c([1.0, 2.0000002])),
        lambda t: t.assertAllClose([1.0], c([1.1])),
    ),
    "close structures": (
        lambda t: t.assertAllClose(
            {"a": [1.0, [2.0, 3.0]], "b": Pair(1, c(2))}, {"a": [c(1.0), [2.0, 3.0]], "b": Pair(1, 2)}
        ),
        lambda t: t.assertAllClose({"a": [1.0, [2.0]]}, {"a": [1.0, [3.0]]}),
    ),
    "close keys": (lambda t: t.assertAllClose({}, {}), lambda t: t.assertAllClose({"a": 1}, {"b": 1})),
    "close shapes": (lambda t: t.assertAllClose([[1.0]], c([[1.0]])), lambda t: t.assertAllClose([1.0], c([[1.0]]))),
    "close limits": (lambda t: t.assertAllClose(1.0, 1.1, 0.2), lambda t: t.assertAllClose(1.0, 1.1, atol=0.01)),
    "assertAllCloseAccordingToType": (
        lambda t: t.assertAllCloseAccordingToType(np.array([1.0], np.float16), c([1.0009])),
        lambda t: t.assertAllCloseAccordingToType([1.0], c([1.0009])),
    ),
    "assertNotAllClose": (
        lambda t: t.assertNotAllClose(c([1.0]), [2.0]),
        lambda t: t.assertNotAllClose(c([1.0]), [1.0]),
    ),
    "assertAllEqual": (lambda t: t.assertAllEqual([1, 2], c([1, 2])), lambda t: t.assertAllEqual([1, 2], c([1, 3]))),
    "equal texts": (
        lambda t: t.assertAllEqual(["a", b"b"], c(["a", "b"])),
        lambda t: t.assertAllEqual(["a"], c(["b"])),
    ),
    "equal nan": (lambda t: t.assertAllEqual([np.nan], c([np.nan])), lambda t: t.assertAllEqual([np.nan], c([1.0]))),
    "equal shapes": (lambda t: t.assertAllEqual([], c([])), lambda t: t.assertAllEqual([1], c(1))),
    "assertNotAllEqual": (lambda t: t.assertNotAllEqual([1, 2], c([1, 3])), lambda t: t.assertNotAllEqual([1], c([1]))),
    "assertNear": (lambda t: t.assertNear(1.0, 1.1, 0.2), lambda t: t.assertNear(1.0, 1.1, 0.01, "far")),
    "assertArrayNear": (
        lambda t: t.assertArrayNear([1.0], [1.1], 0.2),
        lambda t: t.assertArrayNear([1.0], [1.1], 0.01),
    ),
    "assertNDArrayNear": (
        lambda t: t.assertNDArrayNear(c([1.0]), [1.1], 0.2),
        lambda t: t.assertNDArrayNear([1.0], [2.0], 0.2),
    ),
    "assertShapeEqual": (
        lambda t: t.assertShapeEqual(np.ones(2), c([1, 2])),
        lambda t: t.assertShapeEqual(np.ones(2), c(1)),
    ),
    "assertDTypeEqual": (
        lambda t: t.assertDTypeEqual(c(1.0), np.float32),
        lambda t: t.assertDTypeEqual(c(1.0), tf.int32),
    ),
    "assertAllGreater": (lambda t: t.assertAllGreater(c([2, 3]), 1), lambda t: t.assertAllGreater(c([2, 1]), 1)),
    "assertAllLess": (lambda t: t.assertAllLess(c([2, 3]), 4), lambda t: t.assertAllLess(c([2, 4]), 4)),
    "assertAllGreaterEqual": (
        lambda t: t.assertAllGreaterEqual(c([2, 1]), 1),
        lambda t: t.assertAllGreaterEqual(c([0]), 1),
    ),
    "assertAllLessEqual": (lambda t: t.assertAllLessEqual(c([2, 4]), 4), lambda t: t.assertAllLessEqual(c([5]), 4)),
    "assertAllInRange": (
        lambda t: t.assertAllInRange(c([1, 2]), 1, 2),
        lambda t: t.assertAllInRange(c([1]), 1, 2, open_lower_bound=True),
    ),
    "assertAllInSet": (lambda t: t.assertAllInSet(c([1, 2]), {1, 2}), lambda t: t.assertAllInSet(c([1, 3]), [1, 2])),
    "assertDeviceEqual": (
        lambda t: t.assertDeviceEqual("/cpu:0", "/device:CPU:0"),
        lambda t: t.assertDeviceEqual("/cpu:0", "/gpu:0"),
    ),
    "assertProtoEquals": (
        lambda t: t.assertProtoEquals("timeout_in_ms: 5", tf1.RunOptions(timeout_in_ms=5)),
        lambda t: t.assertProtoEquals("timeout_in_ms: 6", tf1.RunOptions(timeout_in_ms=5)),
    ),
    "assertStartsWith": (lambda t: t.assertStartsWith("abc", "ab"), lambda t: t.assertStartsWith("abc", "b")),
    "assertLen": (lambda t: t.assertLen([1, 2], 2), lambda t: t.assertLen([1], 2)),
    "assertEmpty": (lambda t: t.assertEmpty([]), lambda t: t.assertEmpty([1])),
    "assertNotEmpty": (lambda t: t.assertNotEmpty([1]), lambda t: t.assertNotEmpty([])),
    "assertBetween": (lambda t: t.assertBetween(2, 1, 2), lambda t: t.assertBetween(3, 1, 2)),
    "assertSameElements": (lambda t: t.assertSameElements([1, 1, 2], [2, 1]), lambda t: t.assertSameElements([1], [2])),
    "assertItemsEqual": (lambda t: t.assertItemsEqual([1, 2], [2, 1]), lambda t: t.assertItemsEqual([1, 1, 2], [2, 1])),
    "assertContainsSubset": (
        lambda t: t.assertContainsSubset([1], [1, 2]),
        lambda t: t.assertContainsSubset([3], [1, 2]),
    ),
    "assertSequenceAlmostEqual": (
        lambda t: t.assertSequenceAlmostEqual([1.0], [1.01], places=1),
        lambda t: t.assertSequenceAlmostEqual([1.0], [1.2], places=1),
    ),
}


@pytest.mark.parametrize("check", CHECKS)
def test_an_assertion_accepts_what_holds_and_refuses_what_does_not(case: Any, check: str) -> None:
    holds, fails = CHECKS[check]

    holds(case)
    with pytest.raises(AssertionError):
        fails(case)


@pytest.mark.parametrize(
    "check", ["assertAllClose", "close structures", "equal texts", "equal nan", "assertAllInRange"]
)
def test_assertions_evaluate_the_tensors_of_a_graph(case: Any, check: str) -> None:
    holds, fails = CHECKS[check]

    with tf.Graph().as_default(), case.cached_session():
        holds(case)
        with pytest.raises(AssertionError):
            fails(case)


def test_values_come_in_the_structure_of_the_tensors(case: Any) -> None:
    values = case.evaluate({"a": c(1.0), "b": [tf.Variable(2), None, 3], "s": tf.sparse.from_dense([0, 5])})

    assert (1.0, 2, None, 3) == (values["a"], *values["b"])
    assert ([[1]], [5]) == (values["s"].indices.tolist(), values["s"].values.tolist())
    assert "float32" == values["a"].dtype.name


def test_a_session_of_the_test_keeps_its_variables(case: Any) -> None:
    with tf.Graph().as_default():
        v = tf1.get_variable("v", initializer=1.0)
        with case.cached_session() as session:
            case.evaluate(tf1.global_variables_initializer())
            session.run(v.assign_add(1.0))
        with case.cached_session() as again:
            assert session is again
            assert 3.0 == case.evaluate(v + 1.0)


def test_a_session_of_its_own_is_closed_after_the_block(case: Any) -> None:
    with tf.Graph().as_default() as graph:
        x = c(2.0)
        with case.session(graph=graph) as session:
            assert 2.0 == session.run(x)
        with pytest.raises(RuntimeError, match="closed Session"):
            session.run(x)


def test_there_is_no_session_where_ops_run_at_once(case: Any) -> None:
    for block in (case.session(), case.cached_session(), case.test_session()):
        with block as session, pytest.raises(AttributeError, match="while eager execution is enabled"):
            session.run(c(1.0))


def test_errors_of_ops_are_expected_by_pattern_or_function(case: Any) -> None:
    with case.assertRaisesOpError("requested shape has 3"):
        tf.reshape([1, 2], [3])
    with case.assertRaisesWithPredicateMatch(ValueError, lambda error: "x" in str(error)):
        raise ValueError("x")
    with case.assertRaisesIncompatibleShapesError():
        tf.add([1, 2], [1, 2, 3])
    with pytest.raises(AssertionError, match="did not match 'other'"), case.assertRaisesOpError("other"):
        tf.reshape([1, 2], [3])
    with pytest.raises(AssertionError, match="not raised"), case.assertRaisesOpError("anything"):
        pass
    with pytest.raises(TypeError, match="mine"), case.assertRaisesOpError("anything"):
        raise TypeError("mine")


def test_each_test_starts_with_the_same_seeds(case: Any) -> None:
    first = (tf.random.uniform([3]).numpy().tolist(), np.random.rand())
    case.setUp()

    assert first == (tf.random.uniform([3]).numpy().tolist(), np.random.rand())


def test_the_folder_of_a_test_is_removed(case: Any) -> None:
    folder = case.get_temp_dir()

    assert os.path.isdir(folder)
    assert folder == case.get_temp_dir()
    case.tearDown()
    assert not os.path.exists(folder)


def test_a_thread_hands_its_error_to_the_test(case: Any) -> None:
    results: list[int] = []
    good, bad = case.checkedThread(results.append, args=(3,)), case.checkedThread(lambda: 1 // 0)
    for thread in (good, bad):
        thread.start()
    good.join()

    assert [3] == results
    with pytest.raises(AssertionError, match="Error in checkedThread"):
        bad.join()


def test_a_derived_class_runs_with_unittest() -> None:
    class Sums(tf.test.TestCase):
        def test_right(self) -> None:
            self.assertAllEqual(3, tf.add(1, 2))

        def test_wrong(self) -> None:
            self.assertAllEqual(4, tf.add(1, 2))

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Sums).run(result)

    assert (3, 1, 1) == (result.testsRun, len(result.failures), len(result.skipped))


def test_main_runs_the_tests_of_the_program(tmp_path: Any) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import nbtf as tf\n\n\nclass T(tf.test.TestCase):\n    def test_sum(self):\n"
        "        self.assertAllEqual([2], tf.constant([1]) + 1)\n\n\ntf.test.main()\n"
    )

    run = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)

    assert 0 == run.returncode
    assert "Ran 2 tests" in run.stderr


def test_gradients_are_compared_with_differences() -> None:
    x, y = c([1.0, 2.0]), c([3.0, 4.0])
    exact, measured = tf.test.compute_gradient(lambda x, y: x * y, [x, y])

    assert [[[3, 0], [0, 4]], [[1, 0], [0, 2]]] == [matrix.tolist() for matrix in exact]
    assert [[[3, 0], [0, 4]], [[1, 0], [0, 2]]] == [matrix.round(2).tolist() for matrix in measured]
    with pytest.raises(ValueError, match="must be a list"):
        tf.test.compute_gradient(tf.square, c(1.0))  # pyright: ignore[reportArgumentType]

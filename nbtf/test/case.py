"""`tf.test.TestCase`: a `unittest.TestCase` with sessions and TensorFlow's assertions."""

from __future__ import annotations

import random
import re
import tempfile
import threading
import unittest
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from nbtf._ops.arrays.creation import executing_eagerly
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor
from nbtf._ops.structure import map_structure
from nbtf._runtime.tensor import Tensor
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._session.defaults import get_default_session
from nbtf.compat._v1._session.fetches import parts_of
from nbtf.compat._v1._session.session import Session
from nbtf.errors import OpError
from nbtf.random import set_seed
from nbtf.test.arrays import ArrayAssertions

SEED = 87654321
"""The random seed of each test. Source: TensorFlow, `random_seed.DEFAULT_GRAPH_SEED`."""

_NO_SESSION = (
    "Trying to access properties or call methods on the result of self.session(), self.cached_session(), etc while "
    "eager execution is enabled. If you're porting this test case to TF 2.0, either adapt the test to work with eager "
    "execution or insert a call to tf.disable_eager_execution() in the main() function of this test file."
)


class _NoSession:
    """Replaces the session while ops run eagerly: every attribute access raises an error."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(_NO_SESSION)


class TestCase(ArrayAssertions):
    """A `unittest.TestCase` for TensorFlow programs, with more assertions and with sessions.

    Each test starts with the same random seeds.

    >>> class Squares(tf.test.TestCase):
    ...     def test_square(self):
    ...         self.assertAllClose([1.0, 4.0], tf.square([1.0, 2.0]))
    >>> Squares("test_square").run().wasSuccessful()
    True
    """

    __test__ = False  # pytest collects only the subclasses

    def __init_subclass__(cls, **options: Any) -> None:
        """Lets pytest collect the tests of subclasses."""
        super().__init_subclass__(**options)
        cls.__test__ = True

    def __init__(self, methodName: str = "runTest") -> None:  # noqa: N803
        """Creates a test that runs one method."""
        super().__init__(methodName)
        self._cached: Session | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def setUp(self) -> None:
        """Sets the random seeds of Python, NumPy and TensorFlow."""
        super().setUp()
        if self._testMethodName == "test_session":
            self.skipTest("Not a test.")
        random.seed(SEED)
        np.random.seed(SEED)  # seeds the global generator that tested programs use
        set_seed(SEED)

    def tearDown(self) -> None:
        """Closes the session and removes the test's temporary folder."""
        if self._cached is not None:
            self._cached.close()
        if self._folder is not None:
            self._folder.cleanup()
        self._cached = self._folder = None
        super().tearDown()

    def get_temp_dir(self) -> str:
        """Returns a temporary folder that is removed after the test."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="nbtf-test-")
        return self._folder.name

    # Values

    def evaluate(self, tensors: Any) -> Any:
        """Returns the values of eager tensors or graph nodes.

        Args:
          tensors: a tensor, a graph node, or a structure of them; other values are returned unchanged.
        """
        if executing_eagerly():
            return map_structure(_value, tensors)
        session = get_default_session() or self._session_of_test(None, None)
        return session.run(tensors)

    @contextmanager
    def session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Generator[Any]:
        """Opens a session and its graph for a block.

        Args:
          graph: the graph; None for the default graph.
          config: the session's configuration.
          use_gpu: accepted and ignored; ops are placed as in any session.
          force_gpu: accepted and ignored, like `use_gpu`.

        Yields:
          The session. While ops run eagerly, a placeholder whose attributes raise `AttributeError`.
        """
        if executing_eagerly():
            yield _NoSession()
            return
        with Session(graph=graph, config=config) as session:
            yield session

    @contextmanager
    def cached_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Generator[Any]:
        """Opens the session that the whole test shares; its variables live until the test ends. See `session`."""
        if executing_eagerly():
            yield _NoSession()
            return
        session = self._session_of_test(graph, config)
        with session.graph.as_default(), session.as_default():
            yield session

    test_session = session
    """Older name of `session`."""

    def _session_of_test(self, graph: Graph | None, config: Any) -> Session:
        if self._cached is None:
            self._cached = Session(graph=graph, config=config)
        elif graph is not None and graph is not self._cached.graph:
            raise ValueError(
                "The graph used to get the cached session is different than the one that was used to create the "
                "session."
            )
        return self._cached

    # Errors

    @contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: Any, expected_err_re_or_predicate: str | Callable[[Any], bool]
    ) -> Generator[None]:
        """Fails unless the block raises an error of a given class that matches a pattern or a function.

        Args:
          exception_type: the class, or a tuple of classes.
          expected_err_re_or_predicate: a regular expression that is searched in the error text, which for an `OpError`
            ends with its node; or a function that takes the error and returns whether it is the expected one.
        """
        try:
            yield
        except exception_type as error:
            if callable(expected_err_re_or_predicate):
                accepted = expected_err_re_or_predicate(error)
            else:
                accepted = re.search(expected_err_re_or_predicate, _text_of(error)) is not None
            if not accepted:
                raise self.failureException(
                    f"Exception of type {type(error)}: {error} did not match {expected_err_re_or_predicate!r}."
                ) from error
            return
        raise self.failureException(f"{exception_type} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """Fails unless the block raises an `OpError`; see `assertRaisesWithPredicateMatch`."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    def assertRaisesIncompatibleShapesError(self, exception_type: Any = OpError) -> Any:
        """Fails unless the block raises an error about incompatible shapes."""
        pattern = r"Incompatible shapes|Dimensions must be equal|required broadcastable shapes|must be equal"
        return self.assertRaisesWithPredicateMatch((exception_type, ValueError), pattern)

    # Other values

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Fails unless two device names refer to the same device."""
        from nbtf._devices.names import DeviceSpec

        self.assertEqual(DeviceSpec.from_string(device1).to_string(), DeviceSpec.from_string(device2).to_string(), msg)

    def assertProtoEquals(self, expected_message_maybe_ascii: Any, message: Any, msg: str | None = None) -> None:
        """Fails unless two messages are equal; the expected message may be given in text format."""
        expected = expected_message_maybe_ascii
        first, second = (re.sub(r"\s+", " ", str(value)).strip() for value in (expected, message))
        self.assertEqual(first, second, msg)

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """Fails unless a string starts with another one."""
        if not actual.startswith(expected_start):
            self.fail(self._formatMessage(msg, f"{actual!r} does not start with {expected_start!r}"))

    def assertLen(self, container: Any, expected_len: int, msg: str | None = None) -> None:
        """Fails unless a container has the expected number of items."""
        if len(container) != expected_len:
            self.fail(self._formatMessage(msg, f"{container!r} has {len(container)} items, not {expected_len}"))

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:
        """Fails unless a container has no items."""
        self.assertLen(container, 0, msg)

    def assertNotEmpty(self, container: Any, msg: str | None = None) -> None:
        """Fails if a container has no items."""
        self.assertGreater(len(container), 0, msg)

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: str | None = None) -> None:
        """Fails unless a value is between two others, inclusive."""
        self.assertGreaterEqual(value, minv, msg)
        self.assertLessEqual(value, maxv, msg)

    def assertSameElements(self, expected_seq: Any, actual_seq: Any, msg: str | None = None) -> None:
        """Fails unless two containers have the same set of items; order and repetition do not matter."""
        self.assertCountEqual(_each_once(expected_seq), _each_once(actual_seq), msg)

    def assertItemsEqual(self, expected_seq: Any, actual_seq: Any, msg: str | None = None) -> None:
        """Fails unless two containers have the same items equally often; order does not matter."""
        self.assertCountEqual(expected_seq, actual_seq, msg)

    def assertContainsSubset(
        self, expected_subset: Collection[Any], actual_set: Collection[Any], msg: str | None = None
    ) -> None:
        """Fails unless all expected items are in a set."""
        missing = [item for item in expected_subset if item not in actual_set]
        if missing:
            self.fail(
                self._formatMessage(
                    msg, f"Missing elements {missing}. Expected: {expected_subset}. Actual: {actual_set}"
                )
            )

    def assertSequenceAlmostEqual(
        self, expected_seq: Any, actual_seq: Any, places: int | None = None, msg: str | None = None, delta: Any = None
    ) -> None:
        """Fails unless two sequences of numbers are nearly equal element by element; see `assertAlmostEqual`."""
        self.assertEqual(len(expected_seq), len(actual_seq), msg)
        for expected, actual in zip(expected_seq, actual_seq, strict=True):
            self.assertAlmostEqual(expected, actual, places, msg, delta)

    # Threads

    def checkedThread(self, target: Callable[..., Any], args: Any = None, kwargs: Any = None) -> CheckedThread:
        """Returns a thread whose errors make the test fail when the thread is joined.

        Args:
          target: function that the thread calls.
          args: its positional arguments.
          kwargs: its keyword arguments.
        """
        return CheckedThread(self, target, args, kwargs)


class CheckedThread:
    """A thread whose errors are raised when it is joined; created by `TestCase.checkedThread`."""

    def __init__(self, testcase: TestCase, target: Callable[..., Any], args: Any, kwargs: Any) -> None:
        """Prepares a thread for a test."""
        self._testcase = testcase
        self._call: tuple[Any, Any, Any] = (target, args or (), kwargs or {})
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        target, args, kwargs = self._call
        try:
            target(*args, **kwargs)
        except BaseException as error:
            self._error = error

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def join(self) -> None:
        """Waits for the thread and fails the test if the thread raised an error."""
        self._thread.join()
        if self._error is not None:
            raise self._testcase.failureException(f"Error in checkedThread: {self._error}") from self._error

    def is_alive(self) -> bool:
        """Returns whether the thread is running."""
        return self._thread.is_alive()


def _value(tensor: Any) -> Any:
    if isinstance(tensor, SparseTensor | IndexedSlices):
        components: Any = parts_of(tensor)
        return type(components)(*[None if item is None else np.asarray(_value(item)) for item in components])
    if hasattr(tensor, "to_list") and not isinstance(tensor, Tensor):
        return tensor.to_list()
    return tensor.numpy() if hasattr(tensor, "numpy") else tensor


def _text_of(error: BaseException) -> str:
    """Returns an error's text, followed by its node if it is an `OpError`."""
    node = getattr(error, "op", None)
    return str(error) if node is None else f"{getattr(error, 'message', error)}\nCaused by op: {node.name}"


def _each_once(items: Any) -> list[Any]:
    distinct: list[Any] = []
    for item in items:
        if item not in distinct:
            distinct.append(item)
    return distinct


def main(argv: Sequence[str] | None = None) -> None:
    """Runs all tests of the program and exits, as `unittest.main` does.

    Args:
      argv: the program's name and arguments; None for `sys.argv`.
    """
    unittest.main(argv=None if argv is None else list(argv))

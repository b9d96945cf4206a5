"""What can be read from any recording, a new one or one from a file? Its events and its page; both can be checked."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from os import PathLike
from types import FunctionType
from typing import Any, NoReturn, SupportsIndex

from nbtf._devices.names import short_name
from nbtf._devices.sites import WORDING
from nbtf._displayed import Drawn
from nbtf._frameworks import library_name
from nbtf._record.events import Copied, Event, OpPlaced, Traced
from nbtf._record.recorder import Recorder, Snapshot
from nbtf._runtime.expectations import MemoryUse, check_memory, check_placement


class RecordedEvents(Drawn):
    """The events of a recording and the checks of them."""

    _recorder: Recorder

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Gives a class its own copies of the methods.

        Python names a method as its first class does when its arguments are wrong. A user's object has another class.
        """
        super().__init_subclass__(**arguments)
        for name, method in list(vars(RecordedEvents).items()):
            if isinstance(method, FunctionType) and not name.startswith("_") and name not in vars(cls):
                setattr(cls, name, _as_method_of(cls, method))

    @property
    def memory(self) -> list[MemoryUse]:
        """The memory use of each GPU since the recording began, in bytes."""
        raise NotImplementedError

    def snapshot(self, last: int | None = None) -> Snapshot:
        """Returns the totals and the last events.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> record.snapshot().executed
        3
        """
        return self._recorder.snapshot(last)

    @property
    def events(self) -> Sequence[Event]:
        """The events, oldest first; they are created when read, and the recorder's capacity limits their number.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> [type(event).__name__ for event in record.events[-2:]]
        ['OpPlaced', 'OpExecuted']
        """
        return self._recorder.snapshot().events

    @property
    def ops(self) -> list[tuple[str, str]]:
        """The ops that were placed, in order, each with the short name of its device.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> record.ops
        [('_EagerConst', 'CPU:0'), ('_EagerConst', 'CPU:0'), ('AddV2', 'CPU:0')]
        """
        return [(e.op, short_name(e.device)) for e in self.events if isinstance(e, OpPlaced)]

    @property
    def copies(self) -> list[tuple[str, str, int]]:
        """The copies between devices: source, target and number of bytes.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     total = float(tf.constant(1.0) + tf.fill([], 2.0))
        >>> record.copies[-1]
        ('GPU:0', 'CPU:0', 4)
        """
        return [(short_name(e.source), short_name(e.target), e.nbytes) for e in self.events if isinstance(e, Copied)]

    @property
    def traces(self) -> list[Traced]:
        """The traces of `tf.function`, in order, each with what was new if the function was traced before.

        >>> @tf.function
        ... def double(x):
        ...     return tf.add(x, x)
        >>> with tf.runtime.recording() as record:
        ...     results = double(tf.constant(1.0)), double(tf.constant(1))
        >>> [(trace.cause, trace.arguments) for trace in record.traces]
        [('first', ('x: float32[]',)), ('arguments', ('x: int32[]',))]
        """
        return list(self._recorder.snapshot(0).traces)

    def to_pandas(self) -> Any:
        """Returns the events as a pandas DataFrame: a row for each event, with the columns of a CSV export.

        Sizes are in bytes, times in seconds. A column that an event lacks has no value in its row.

        Raises:
          ModuleNotFoundError: if pandas is not installed.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> frame = record.to_pandas()                            # doctest: +SKIP
        >>> frame[frame.kind == "executed"].groupby("op").size()  # doctest: +SKIP
        """
        columns, rows = sys.modules["nbtf"]._event_rows(self._recorder.snapshot(), WORDING.describe)
        return import_module("pandas").DataFrame(rows, columns=columns)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuses to be pickled or copied.

        Raises:
          TypeError: always; the message names what saves a recording.
        """
        raise TypeError("A recording cannot be pickled or copied. Save it with record.save('run.nbtf').")

    def to_html(self, path: str | PathLike[str]) -> None:
        """Saves the recording as one HTML file, which opens without a kernel, a server or a network.

        It contains a timeline and, for simulated GPUs, the memory step by step: what was stored where, and what did not
        fit. Its texts are in the language that `NBTF_LANG` requests, otherwise in English.

        Args:
          path: the file; an existing one is replaced once the new one is complete.

        Raises:
          ValueError: if nothing ran.
          OSError: if the file cannot be written.

        >>> import pathlib, tempfile
        >>> with tf.runtime.recording() as record:
        ...     c = tf.matmul([[1.0]], [[2.0]])
        >>> file = pathlib.Path(tempfile.mkdtemp(), "step.html")
        >>> record.to_html(file)
        >>> file.read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        sys.modules["nbtf"]._save_page(self, path)  # an indirect call, because the runtime must not import the views

    def expect(self, *rules: str, no_copies: bool = False, without: Collection[str] = ()) -> None:
        """Checks where ops ran. Fails if other libraries worked in the block, because their ops are not recorded.

        Args:
          *rules: each `OP=DEVICE`, such as `"MatMul=GPU:1"`: at least one op of that type ran, and all of them ran
            there. The op may be a pattern: `"*MatMul"`.
          no_copies: whether copies of tensors between devices fail the check as well. Converting Python values to
            tensors on a device is not a copy.
          without: libraries to leave out of the check: `"torch"`, `"tensorflow"`, `"cupy"`, `"jax"`.

        Raises:
          ExpectationError: if the check fails; an `AssertionError` that reports the differences and their reasons.
          ValueError: if a rule or a library is invalid.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.matmul([[1.0]], [[2.0]])
        >>> record.expect("MatMul=CPU:0", no_copies=True)
        """
        check_placement(self._recorder.snapshot(), rules, no_copies, WORDING.describe, self._unrecorded(without))

    def expect_memory(
        self, at_most: int | str | None = None, kept: int | str | None = None, without: Collection[str] = ()
    ) -> None:
        """Checks the memory use of the GPUs, including that of PyTorch, TensorFlow, CuPy and JAX on real ones.

        Args:
          at_most: upper limit for the peak of every GPU: `"512MiB"`, or a number of bytes.
          kept: upper limit for the growth of memory still in use at the end; 0 if everything must be freed.
          without: libraries to leave out of the check: `"torch"`, `"tensorflow"`, `"cupy"`, `"jax"`.

        Raises:
          ExpectationError: if the check fails; an `AssertionError` that reports the differences, and libraries
            whose memory is unknown.
          ValueError: if a size or a library is invalid.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> record.expect_memory(at_most="1MiB")
        """
        unmeasured, left_out = self._unmeasured(without), set(map(library_name, without))
        check_memory([use for use in self.memory if use.library not in left_out], at_most, kept, unmeasured)

    def _unrecorded(self, without: Collection[str]) -> list[str]:
        """Returns sentences about work that was not recorded; `without` names modules of libraries to leave out."""
        raise NotImplementedError

    def _unmeasured(self, without: Collection[str]) -> list[str]:
        """Returns sentences about memory that was not measured; `without` names modules of libraries to leave out."""
        raise NotImplementedError


def _as_method_of(owner: type, method: FunctionType) -> FunctionType:
    """Returns a copy of a method, named as a method of another class."""
    copy = FunctionType(method.__code__, method.__globals__, method.__name__, method.__defaults__, method.__closure__)
    for name in ("__doc__", "__kwdefaults__", "__annotations__", "__module__"):
        setattr(copy, name, getattr(method, name))
    copy.__qualname__ = f"{owner.__qualname__}.{method.__name__}"
    return copy

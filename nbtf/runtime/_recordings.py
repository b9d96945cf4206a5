"""What happened? Observers are notified of events, and recordings store them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from nbtf._counts import counted
from nbtf._devices.names import short_name, without_cuda
from nbtf._devices.sites import WORDING
from nbtf._record.events import Allocated, Copied, Event, OpPlaced, Traced
from nbtf._record.recorder import Recorder, Snapshot
from nbtf._runtime.arguments import unexpected
from nbtf._runtime.changes import Change, block
from nbtf._runtime.context import CURRENT
from nbtf._runtime.expectations import (
    Account,
    MemoryUse,
    accounts,
    check_memory,
    check_placement,
    memory_use,
    size_in_bytes,
)
from nbtf._runtime.fitting import Fit, fit_of_device, started_maps
from nbtf.runtime._libraries import frameworks

if TYPE_CHECKING:
    from nbtf._devices.bfc.report import RegionView


def observe(observer: Callable[[Event], object]) -> Callable[[], None]:
    """Calls `observer` with every event until the returned function is called.

    Events are plain data (`OpPlaced`, `OpExecuted`, `Copied`, `Allocated`, `Freed`, `Refused`, `Traced`) and keep no
    tensor alive. Ops that the observer runs are not reported. An observer that raises is removed, with a warning.

    Args:
      observer: a function of one event.

    Returns:
      The function that ends it.

    Raises:
      TypeError: if `observer` is not a function.

    >>> seen = []
    >>> stop = tf.runtime.observe(seen.append)
    >>> c = tf.add(1.0, 2.0)
    >>> stop()
    >>> [event.op for event in seen if isinstance(event, tf.runtime.OpPlaced)]
    ['_EagerConst', '_EagerConst', 'AddV2']
    """
    if not callable(observer):
        raise TypeError(f"observe takes a function of one event, got {observer!r}")
    return CURRENT.context.observers.add(observer)


class Recording:
    """The events of a block, as recorded by `recording()`; it stays readable after the block.

    >>> with tf.runtime.recording() as record:
    ...     c = tf.add(1.0, 2.0)
    >>> record
    Recording: 3 ops, 0 copies
    >>> record.ops
    [('_EagerConst', 'CPU:0'), ('_EagerConst', 'CPU:0'), ('AddV2', 'CPU:0')]
    """

    def __init__(self, recorder: Recorder) -> None:
        """Wraps a recorder that starts to record now.

        Raises:
          TypeError: if it is not a recorder.
        """
        if not isinstance(recorder, Recorder):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers pass anything
            raise TypeError(f"Recording takes a tf.runtime.Recorder, got {recorder!r}")
        self._recorder = recorder
        from nbtf._frameworks.watching import FrameworkWatch  # imported late: `import nbtf` does not need it

        self._before = accounts()
        self._maps = started_maps()
        self._last = recorder.snapshot(0)
        self._after: dict[str, Account] | None = None
        self.watch: FrameworkWatch = FrameworkWatch()

    def __repr__(self) -> str:
        """Returns the number of recorded events; if there are none, also the libraries that were not recorded.

        A notebook with the extension draws a timeline instead.
        """
        totals = self._recorder.snapshot(0)
        ops, copies = totals.executed, sum(totals.copies.values())
        text = f"Recording: {counted(ops, 'op')}, {counted(copies, 'copy', 'copies')}"
        silence = "" if ops or copies else self.watch.silence()
        return f"{text}. {silence}" if silence else text

    def finish(self) -> None:
        """Fixes `memory` at what is in use now, as the end of the block does.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> record.finish()
        >>> del x
        >>> record.memory[0].kept
        4096
        """
        self.watch.stop()
        self._after = accounts()

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

    @property
    def memory(self) -> list[MemoryUse]:
        """The memory use of each GPU since the recording began, in bytes.

        If PyTorch, CuPy or JAX are imported, there is an entry for each card that they have started to use.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> [(use.label, use.peak, use.kept) for use in record.memory]
        [('GPU:0 (simulated)', 5632, 4096)]
        """
        uses = memory_use(self._recorder.snapshot(0), self._before, self._after or accounts())
        return uses + self.watch.memory()

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

    def fits(
        self,
        limit: int | str | None = None,
        without: Iterable[Allocated] | Mapping[Allocated, int] = (),
        device: str = "GPU:0",
    ) -> Fit:
        """Returns whether the requested memory would fit, by repeating all requests in the allocator.

        Memory in use before the recording is laid out as it was then. Failed requests are repeated too; memory for one
        that now fits stays allocated to the end.

        Args:
          limit: memory limit of the device, `"54MiB"` or a number of bytes; None for its own.
          without: allocations to free earlier, given as their events: before the first failed request (if none failed,
            right after they are allocated), or before the event number that a mapping gives.
          device: a simulated GPU.

        Returns:
          A result that is true if all requests fit; with the peak, and the requests that do not fit.

        Raises:
          ValueError: if there is no such simulated GPU, `limit` is not a size, or the first events were dropped.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1, memory="64MiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 64 MiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.zeros([2**22])
        ...     y = x + 1.0
        >>> bool(record.fits("40MiB")), bool(record.fits("30MiB"))
        (True, False)
        """
        snapshot = self.snapshot()
        if snapshot.cut:
            raise ValueError(
                f"The first {counted(snapshot.cut, 'event is', 'events are')} no longer kept. "
                "Use recording(capacity=...) to keep more."
            )
        if snapshot.heard != self._last.heard:
            self._last = snapshot  # kept for its cached results
        bytes_limit = None if limit is None else size_in_bytes(limit)
        return fit_of_device(self._last, self._maps, without_cuda(device), bytes_limit, without)

    def regions_before(self, device: str = "GPU:0") -> tuple[RegionView, ...]:
        """Returns the `memory_map` of a simulated GPU at the start of the recording; empty if it was not in use.

        Args:
          device: name of the GPU.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> x = tf.fill([1000], 1.0)
        >>> with tf.runtime.recording() as record:
        ...     del x
        >>> [chunk.size for region in record.regions_before() for chunk in region.chunks if chunk.in_use]
        [1280, 4096]
        """
        maps = [regions for name, (_, regions) in self._maps.items() if short_name(name) == short_name(device)]
        return tuple(maps[0]) if maps else ()

    def expect(self, *rules: str, no_copies: bool = False, without: Collection[str] = ()) -> None:
        """Checks where ops ran. Fails if other libraries worked in the block, because their ops are not recorded.

        Args:
          *rules: each `OP=DEVICE`, such as `"MatMul=GPU:1"`: at least one op of that type ran, and all of them ran
            there. The op may be a pattern: `"*MatMul"`.
          no_copies: whether copies of tensors between devices fail the check as well. Converting Python values to
            tensors on a device is not a copy.
          without: libraries to leave out of the check: `"torch"`, `"cupy"`, `"jax"`.

        Raises:
          ExpectationError: if the check fails; an `AssertionError` that reports the differences and their reasons.
          ValueError: if a rule or a library is invalid.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.matmul([[1.0]], [[2.0]])
        >>> record.expect("MatMul=CPU:0", no_copies=True)
        """
        unrecorded = self.watch.unrecorded(without)
        check_placement(self._recorder.snapshot(), rules, no_copies, WORDING.describe, unrecorded)

    def expect_memory(
        self, at_most: int | str | None = None, kept: int | str | None = None, without: Collection[str] = ()
    ) -> None:
        """Checks the memory use of the GPUs, including that of PyTorch, CuPy and JAX on real ones.

        Args:
          at_most: upper limit for the peak of every GPU: `"512MiB"`, or a number of bytes.
          kept: upper limit for the growth of memory still in use at the end; 0 if everything must be freed.
          without: libraries to leave out of the check: `"torch"`, `"cupy"`, `"jax"`.

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
        unmeasured = self.watch.unmeasured(without)
        left_out = {library.name for library in frameworks() if library.module_name in without}
        check_memory([use for use in self.memory if use.library not in left_out], at_most, kept, unmeasured)


@block
def recording(capacity: int = 1_000_000) -> Change[Recording]:
    """Records the events of a block independently of earlier ones: constants of numbers are reported again.

    Args:
      capacity: number of events to keep; totals count all of them.

    Raises:
      TypeError: if `capacity` is not an integer.
      ValueError: if `capacity` is negative.

    >>> with tf.runtime.recording() as record:
    ...     c = tf.matmul([[1.0]], [[2.0]])
    >>> record.ops[-1]
    ('MatMul', 'CPU:0')
    """
    recorder = Recorder(capacity)
    record, observers, ends = Recording(recorder), CURRENT.context.observers, list[Callable[[], None]]()

    def write(listens: bool) -> None:
        if listens:
            observers.add_note_taker(recorder)
            ends.append(CURRENT.context.constants.begin_anew())
            record.watch.start()
            return
        try:
            for end in ends:
                end()
            record.finish()
        finally:
            observers.remove_note_taker(recorder)
            CURRENT.context.last_recorder = recorder

    return Change("tf.runtime.recording", write, False, True, record)


def start_recorder(recorder: Recorder) -> Callable[[], None]:
    """Starts a recorder, which runs until the returned function is called; `explain_placement` can then use it.

    Args:
      recorder: a `tf.runtime.Recorder`.

    Returns:
      The function that stops it.

    Raises:
      TypeError: if `recorder` is something else.

    >>> recorder = tf.runtime.Recorder()
    >>> stop = tf.runtime.start_recorder(recorder)
    >>> c = tf.add(1.0, 2.0)
    >>> stop()
    >>> recorder.snapshot().placed
    3
    """
    if not isinstance(recorder, Recorder):  # pyright: ignore[reportUnnecessaryIsInstance]  # users pass other things
        raise unexpected(recorder, "recorder", "a tf.runtime.Recorder")
    remove = CURRENT.context.observers.add_note_taker(recorder)

    def stop() -> None:
        remove()
        CURRENT.context.last_recorder = recorder  # only the last one, because each may keep 48 MB

    return stop

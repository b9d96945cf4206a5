"""What happened? Told to observers and taken down by recordings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from nbtf._counts import counted
from nbtf._devices.names import short_name, without_cuda
from nbtf._devices.sites import WORDING
from nbtf._runtime.arguments import unexpected
from nbtf._runtime.changes import Change, block
from nbtf._runtime.context import CURRENT
from nbtf._runtime.events import Allocated, Copied, Event, OpPlaced, Traced
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
from nbtf._runtime.recorder import Recorder, Snapshot
from nbtf.runtime._libraries import frameworks

if TYPE_CHECKING:
    from nbtf._devices.bfc.report import RegionView


def observe(observer: Callable[[Event], object]) -> Callable[[], None]:
    """Has a function told of every event, until the returned function is called.

    Events are plain data (`OpPlaced`, `OpExecuted`, `Copied`, `Allocated`, `Freed`, `Refused`, `Traced`) and keep no
    tensor alive. Ops that the observer runs are not reported. An observer that raises is removed, with a warning.

    Raises:
      TypeError: not a function.

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
    """What `recording()` took down; it stays readable after the block.

    >>> with tf.runtime.recording() as record:
    ...     c = tf.add(1.0, 2.0)
    >>> record
    Recording: 3 ops, 0 copies
    >>> record.ops
    [('_EagerConst', 'CPU:0'), ('_EagerConst', 'CPU:0'), ('AddV2', 'CPU:0')]
    """

    def __init__(self, recorder: Recorder) -> None:
        """Wraps a recorder that listens from now on.

        Raises:
          TypeError: it is no recorder.
        """
        if not isinstance(recorder, Recorder):  # pyright: ignore[reportUnnecessaryIsInstance]  # whatever a caller has
            raise TypeError(f"Recording takes a tf.runtime.Recorder, got {recorder!r}")
        self._recorder = recorder
        from nbtf._frameworks.watching import FrameworkWatch  # late: `import nbtf` does without it

        self._before = accounts()
        self._maps = started_maps()
        self._last = recorder.snapshot(0)
        self._after: dict[str, Account] | None = None
        self.watch: FrameworkWatch = FrameworkWatch()

    def __repr__(self) -> str:
        """Returns how much was taken down, and who worked unheard where that is nothing.

        A notebook with the extension draws a timeline.
        """
        totals = self._recorder.snapshot(0)
        ops, copies = totals.executed, sum(totals.copies.values())
        text = f"Recording: {counted(ops, 'op')}, {counted(copies, 'copy', 'copies')}"
        silence = "" if ops or copies else self.watch.silence()
        return f"{text}. {silence}" if silence else text

    def finish(self) -> None:
        """Notes what is in use now: `memory` stays as it is when the block is over.

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
        """Returns totals and the last events.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> record.snapshot().executed
        3
        """
        return self._recorder.snapshot(last)

    @property
    def events(self) -> Sequence[Event]:
        """The events, the oldest first, made when they are looked at; the recorder's capacity bounds them.

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
        """The copies between devices: source, target, bytes.

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
        """The functions that `tf.function` has traced, in order, each with what was new if it was traced before.

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
        """What happened to the memory of each GPU since the recording began, in bytes.

        Of PyTorch, CuPy and JAX, where they are imported, there is an entry for each card that they have begun to use.

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
        """Saves what was taken down as one HTML file, which opens without a kernel, a server or a network.

        It has a timeline and, of simulated GPUs, the memory step by step: what was where, and what did not fit.
        Its words are in the language that `NBTF_LANG` asks for, else in English.

        Args:
          path: the file; one that is there is replaced when the new one is complete.

        Raises:
          ValueError: nothing ran.
          OSError: the file cannot be written.

        >>> import pathlib, tempfile
        >>> with tf.runtime.recording() as record:
        ...     c = tf.matmul([[1.0]], [[2.0]])
        >>> file = pathlib.Path(tempfile.mkdtemp(), "step.html")
        >>> record.to_html(file)
        >>> file.read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        sys.modules["nbtf"]._save_page(self, path)  # from above: the runtime does not know the views

    def fits(
        self,
        limit: int | str | None = None,
        without: Iterable[Allocated] | Mapping[Allocated, int] = (),
        device: str = "GPU:0",
    ) -> Fit:
        """Tries whether the memory that was asked for would fit: all requests go once more through the allocator.

        What was in use before the recording is laid out as it was then. Requests that were refused count too; where
        one fits now, its memory stays taken to the end.

        Args:
          limit: of the device, `"54MiB"` or a number of bytes; its own when None.
          without: pieces that are freed earlier, as the events that told of them: before the first request that was
            refused (if none was, as soon as they are there), or before the event with the number that a mapping has.
          device: a simulated GPU.

        Returns:
          What is true if all fit; with the peak, and the requests that do not fit.

        Raises:
          ValueError: there is no such simulated GPU, or not a size, or the recording has lost its first events.

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
                f"The first {counted(snapshot.cut, 'event is', 'events are')} no longer kept: "
                "recording(capacity=...) keeps more."
            )
        if snapshot.heard != self._last.heard:
            self._last = snapshot  # it keeps what is read of it
        bytes_limit = None if limit is None else size_in_bytes(limit)
        return fit_of_device(self._last, self._maps, without_cuda(device), bytes_limit, without)

    def regions_before(self, device: str = "GPU:0") -> tuple[RegionView, ...]:
        """Returns what `memory_map` told of a simulated GPU when the recording began; nothing if it was not in use.

        Args:
          device: a name.

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
        """Checks where ops ran. What other libraries ran is not recorded, so with them in the block the check fails.

        Args:
          *rules: each `OP=DEVICE`, such as `"MatMul=GPU:1"`: all ops of that type ran there, and one did at least. The
            op may be a pattern: `"*MatMul"`.
          no_copies: whether copies of tensors between devices are wrong too. Python values that become tensors on a
            device are no copies.
          without: libraries to leave out of the check: `"torch"`, `"cupy"`, `"jax"`.

        Raises:
          ExpectationError: an `AssertionError`; its text compares what was expected with what was seen, and says why.
          ValueError: a text is no rule, or no library.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.matmul([[1.0]], [[2.0]])
        >>> record.expect("MatMul=CPU:0", no_copies=True)
        """
        unrecorded = self.watch.unrecorded(without)
        check_placement(self._recorder.snapshot(), rules, no_copies, WORDING.describe, unrecorded)

    def expect_memory(
        self, at_most: int | str | None = None, kept: int | str | None = None, without: Collection[str] = ()
    ) -> None:
        """Checks what happened to the memory of the GPUs, that of PyTorch, CuPy and JAX on real ones included.

        Args:
          at_most: the highest peak of any GPU: `"512MiB"`, or a number of bytes.
          kept: how much more than before may be in use at the end; 0 when everything must be freed.
          without: libraries to leave out of the check: `"torch"`, `"cupy"`, `"jax"`.

        Raises:
          ExpectationError: an `AssertionError`; its text compares what was expected with what was seen, and names
            libraries whose memory could not be asked for.
          ValueError: not a size, or no library.

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
    """Records what happens in a block, whatever happened before: constants of numbers are told of anew.

    Args:
      capacity: how many events are kept; totals count all of them.

    Raises:
      TypeError: `capacity` is not a whole number.
      ValueError: `capacity` is less than 0.

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
    """Has a recorder listen until the returned function is called; `explain_placement` looks into it.

    Args:
      recorder: a `tf.runtime.Recorder`.

    Raises:
      TypeError: something else.

    >>> recorder = tf.runtime.Recorder()
    >>> stop = tf.runtime.start_recorder(recorder)
    >>> c = tf.add(1.0, 2.0)
    >>> stop()
    >>> recorder.snapshot().placed
    3
    """
    if not isinstance(recorder, Recorder):  # pyright: ignore[reportUnnecessaryIsInstance]  # users do give other things
        raise unexpected(recorder, "recorder", "a tf.runtime.Recorder")
    remove = CURRENT.context.observers.add_note_taker(recorder)

    def stop() -> None:
        remove()
        CURRENT.context.last_recorder = recorder  # and no more than the last: each may keep 48 MB

    return stop

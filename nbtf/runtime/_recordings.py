"""What happened? Observers are notified of events, and recordings store them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING

from nbtf._counts import counted
from nbtf._devices.names import short_name, without_cuda
from nbtf._record.events import Allocated, Event
from nbtf._record.recorder import Recorder, Snapshot
from nbtf._runtime.arguments import unexpected
from nbtf._runtime.changes import Change, block
from nbtf._runtime.context import CURRENT
from nbtf._runtime.expectations import (
    Account,
    MemoryUse,
    accounts,
    memory_use,
    size_in_bytes,
)
from nbtf._runtime.fitting import Fit, fit_of_device, started_maps
from nbtf._runtime.inventory import devices
from nbtf._runtime.what_ifs import WhatIf
from nbtf.runtime._recorded_events import RecordedEvents

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


class Recording(RecordedEvents):
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

        A notebook draws a timeline instead.
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

    @property
    def memory(self) -> list[MemoryUse]:
        """The memory use of each GPU since the recording began, in bytes.

        If PyTorch, TensorFlow, CuPy or JAX are imported, there is an entry for each card that they have started to use.

        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> [(use.label, use.peak, use.kept) for use in record.memory]
        [('GPU:0 (simulated)', 5632, 4096)]
        """
        uses = memory_use(self._recorder.snapshot(0), self._before, self._after or accounts())
        return uses + self.watch.memory()

    def save(self, path: str | PathLike[str]) -> None:
        """Saves the recording to a file, which `tf.runtime.read_recording` and `nbtf view` open on any machine.

        The file contains all events, the totals, the devices, and the memory maps from before the first event. It is an
        archive of JSON and arrays; opening it executes nothing. A million events have about 11 MB.

        Args:
          path: the file, usually `*.nbtf`; an existing one is replaced once the new one is complete.

        Raises:
          ValueError: if the recording exceeds a limit of saved files.
          OSError: if the file cannot be written.

        >>> import pathlib, tempfile
        >>> with tf.runtime.recording() as record:
        ...     c = tf.matmul([[1.0]], [[2.0]])
        >>> file = pathlib.Path(tempfile.mkdtemp(), "step.nbtf")
        >>> record.save(file)
        >>> tf.runtime.read_recording(file).events == record.events
        True
        """
        from nbtf._record.saved import (  # imported late: few programs save
            Surroundings,
            recorded_devices,
            save_recording,
        )

        unrecorded, unmeasured = self.watch.unrecorded_by_library(), self.watch.unmeasured_by_library()
        uses, known_devices = [tuple(use) for use in self.memory], recorded_devices(devices())
        save_recording(path, self._recorder, Surroundings(known_devices, self._maps, uses, unrecorded, unmeasured))

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
        bytes_limit = None if limit is None else size_in_bytes(limit)
        return fit_of_device(self._complete(), self._maps, without_cuda(device), bytes_limit, without)

    def _complete(self) -> Snapshot:
        """Returns all events.

        Raises:
          ValueError: if the first ones were dropped.
        """
        snapshot = self.snapshot()
        if snapshot.cut:
            raise ValueError(
                f"The first {counted(snapshot.cut, 'event is', 'events are')} no longer kept. "
                "Use recording(capacity=...) to keep more."
            )
        if snapshot.heard != self._last.heard:
            self._last = snapshot  # kept for its cached results
        return self._last

    def what_if(
        self,
        settings: str | None = None,
        card: int | str | None = None,
        without: str | None = None,
        device: str = "GPU:0",
    ) -> WhatIf:
        """Returns the memory that the program would need under other circumstances, by repeating all requests.

        The replay stops at the first request that fails although it was granted. The program would have ended there.

        Args:
          settings: settings for PyTorch's allocator, as in `PYTORCH_ALLOC_CONF`. For TensorFlow's, `allow_growth:True`
            or `allow_growth:False`. None for the recorded ones.
          card: `"24GiB"`, a number of bytes or the name of a card; for TensorFlow's allocator, its memory limit. None
            for the recorded one.
          without: a line whose allocations are left out, such as `"train.py:41"`.
          device: a simulated GPU.

        Returns:
          Peaks of memory allocated and reserved, fragmentation, retries and the first request that does not fit.

        Raises:
          ValueError: if there is no such simulated GPU, an argument does not apply to it, or the first events were
            dropped.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1, memory="64MiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 64 MiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.zeros([2**22])
        ...     y = x + 1.0
        >>> answer = record.what_if("allow_growth:True", card="30MiB")
        >>> answer.peak_allocated >> 20, answer.stopped, answer.refusal.requested >> 20
        (16, True, 16)
        """
        from nbtf.runtime._what_if import pytorch_on, what_if_of_device  # imported late: `import nbtf` does not need it

        snapshot = self._complete()
        name = without_cuda(device)
        gpus = [gpu for gpu in CURRENT.context.gpus.made if name in (gpu.name, gpu.short_name)]
        allocator = gpus[0].fresh_allocator(None) if gpus else None
        recorded: set[str] = {*snapshot.peaks, *self._maps}
        names = [each for each in recorded if short_name(each) == short_name(name)]
        full = gpus[0].name if gpus else names[0] if names else name
        beginning = self._maps.get(full, (0, ()))
        return what_if_of_device(
            snapshot, full, beginning, allocator, pytorch_on(full), settings=settings, card=card, without=without
        )

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

    def _unrecorded(self, without: Collection[str]) -> list[str]:
        return self.watch.unrecorded(without)

    def _unmeasured(self, without: Collection[str]) -> list[str]:
        return self.watch.unmeasured(without)


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

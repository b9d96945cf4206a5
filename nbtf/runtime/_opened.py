"""What is in a file with a recording? The same as in a new recording, without its machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from nbtf._counts import counted
from nbtf._devices.bfc.allocator import BFCAllocator
from nbtf._devices.names import short_name, without_cuda
from nbtf._record import opened, saved
from nbtf._record.events import Allocated, OpExecuted
from nbtf._record.opened import RecordedDevice as RecordedDevice
from nbtf._record.totals import Snapshot
from nbtf._runtime.expectations import MemoryUse, size_in_bytes
from nbtf._runtime.fitting import Fit, fit_in
from nbtf._runtime.what_ifs import WhatIf
from nbtf._traces import reading
from nbtf._traces.figures import TraceFigures
from nbtf.runtime._recorded_events import RecordedEvents


class OpenedRecording(RecordedEvents, opened.OpenedRecording):
    """A recording that was read from a file. It offers what a `Recording` offers; its devices need not exist here.

    `source` is the name of the file, and `devices` are those of the machine that made it.

    >>> import pathlib, tempfile
    >>> with tf.runtime.recording() as record:
    ...     c = tf.matmul([[1.0]], [[2.0]])
    >>> file = pathlib.Path(tempfile.mkdtemp(), "step.nbtf")
    >>> record.save(file)
    >>> opened = tf.runtime.read_recording(file)
    >>> opened.ops == record.ops, [device.name for device in opened.devices]
    (True, ['CPU:0'])
    """

    figures: TraceFigures | None = None
    """Where the time of a profiler's trace went; None for a recording of nbtf."""

    _beside = saved.Surroundings((), {}, None, {}, {})

    @property
    def ops(self) -> list[tuple[str, str]]:
        """The ops in order, each with the short name of its device: those placed or, in a profiler's trace, those run.

        >>> import json, pathlib, tempfile
        >>> kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 5.0, "dur": 2.0, "args": {"stream": 7}}
        >>> file = pathlib.Path(tempfile.mkdtemp(), "trace.json")
        >>> _ = file.write_text(json.dumps({"traceEvents": [kernel]}))
        >>> tf.runtime.read_trace(file).ops
        [('gemm', 'GPU:0')]
        """
        if self.figures is None:
            return super().ops
        return [(event.op, short_name(event.device)) for event in self.events if isinstance(event, OpExecuted)]

    @property
    def memory(self) -> list[MemoryUse]:
        """The memory use of each GPU since the recording began, in bytes; empty if the file does not contain it.

        >>> import pathlib, tempfile
        >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.fill([1000], 1.0)
        >>> file = pathlib.Path(tempfile.mkdtemp(), "step.nbtf")
        >>> record.save(file)
        >>> tf.runtime.read_recording(file).memory[0].kept
        4096
        """
        return [MemoryUse(*use) for use in self._beside.memory or ()]

    def _unrecorded(self, without: Collection[str]) -> list[str]:
        return _sentences(self._beside.unrecorded, without)

    def _unmeasured(self, without: Collection[str]) -> list[str]:
        absent = [f"{self.source} does not contain the memory use of its GPUs."] if self._beside.memory is None else []
        return absent + _sentences(self._beside.unmeasured, without)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Saves the recording as one HTML file, the page of `nbtf view`: it opens without a kernel or a network.

        Args:
          path: the file; an existing one is replaced once the new one is complete.

        Raises:
          ValueError: if the recording has no ops and no copies.
          OSError: if the file cannot be written.

        >>> import pathlib, tempfile
        >>> with tf.runtime.recording() as record:
        ...     c = tf.matmul([[1.0]], [[2.0]])
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> record.save(folder / "step.nbtf")
        >>> tf.runtime.read_recording(folder / "step.nbtf").to_html(folder / "step.html")
        >>> (folder / "step.html").read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        sys.modules["nbtf"]._save_opened_page(self, path)  # an indirect call: the runtime must not import the views

    def fits(
        self,
        limit: int | str | None = None,
        without: Iterable[Allocated] | Mapping[Allocated, int] = (),
        device: str = "GPU:0",
    ) -> Fit:
        """Returns whether the requested memory would fit, by repeating all requests in the allocator.

        Args:
          limit: memory limit of the device, `"54MiB"` or a number of bytes; None for its own.
          without: allocations to free earlier, as in `Recording.fits`.
          device: a simulated GPU of the machine that made the recording.

        Raises:
          ValueError: if the recording has no such simulated GPU, or its first events were dropped.

        >>> import pathlib, tempfile
        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1, memory="64MiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 64 MiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.zeros([2**22])
        ...     y = x + 1.0
        >>> file = pathlib.Path(tempfile.mkdtemp(), "step.nbtf")
        >>> record.save(file)
        >>> opened = tf.runtime.read_recording(file)
        >>> bool(opened.fits("40MiB")), bool(opened.fits("30MiB"))
        (True, False)
        """
        snapshot, name, allocator, (number, regions) = self._device(device)
        if allocator is None:
            raise ValueError(f"{self.source} has no memory of a simulated GPU {device!r}.")
        size = None if limit is None else size_in_bytes(limit)
        return fit_in(allocator.fresh(size), snapshot, name, number, regions, without)

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
          device: a simulated GPU of the machine that made the recording.

        Returns:
          Peaks of memory allocated and reserved, fragmentation, retries and the first request that does not fit.

        Raises:
          ValueError: if there is no such simulated GPU, an argument does not apply to it, or the first events were
            dropped.

        >>> import pathlib, tempfile
        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(1, memory="64MiB")
        1 simulated GPU (Tesla V100-SXM2-16GB, 64 MiB): NumPy on this computer's CPU. No GPU is used.
        >>> with tf.runtime.recording() as record:
        ...     x = tf.zeros([2**22])
        ...     y = x + 1.0
        >>> file = pathlib.Path(tempfile.mkdtemp(), "step.nbtf")
        >>> record.save(file)
        >>> tf.runtime.read_recording(file).what_if(card="30MiB").stopped
        True
        """
        from nbtf.runtime._what_if import UNKNOWN, what_if_of_device  # imported late: `import nbtf` does not need it

        snapshot, name, allocator, beginning = self._device(device)
        return what_if_of_device(
            snapshot, name, beginning, allocator, UNKNOWN, settings=settings, card=card, without=without
        )

    def _device(self, device: str) -> tuple[Snapshot, str, BFCAllocator | None, tuple[int, Sequence[Any]]]:
        """Returns all events, the device's full name, its allocator if it is simulated, and its first regions.

        Raises:
          ValueError: if the recording has no memory of the device, or its first events were dropped.
        """
        snapshot, short = self.snapshot(), short_name(without_cuda(device))
        if snapshot.cut:
            raise ValueError(f"The first {counted(snapshot.cut, 'event is', 'events are')} not in {self.source}.")
        matching = [each for each in self.devices if each.simulated and short_name(each.name) == short]
        if self.figures is not None:
            raise ValueError(
                f"{self.source} is a profiler's trace. It does not contain allocations, so none can be repeated. "
                "Record a memory snapshot: torch.cuda.memory._record_memory_history(), and _dump_snapshot at the end."
            )
        recorded = {*snapshot.peaks, *[name for _, name in snapshot.library_peaks], *self._beside.maps}
        names = [name for name in recorded if short_name(name) == short]
        if not names:
            gpus = ", ".join(sorted(map(short_name, recorded)))
            raise ValueError(
                f"{self.source} has no memory of a simulated GPU {device!r}. GPUs in it: {gpus or 'none'}."
            )
        if snapshot.allocations.get(names[0]) and not len(snapshot.memory_of(names[0])):
            raise ValueError(
                f"{self.source} has no addresses of memory, so allocations cannot be repeated. Save the recording with "
                "record.save(FILE), or with %placement_log export FILE.nbtf."
            )
        allocator = None
        if matching:
            pools = snapshot.levels.get(names[0], ((), (), (0,)))[2]
            maps_all = len(pools) > 0 and int(pools[0]) == matching[0].limit
            allocator = BFCAllocator(matching[0].limit, growth=not maps_all)
        return snapshot, names[0], allocator, self._beside.maps.get(names[0], (0, ()))


def read_recording(path: str | os.PathLike[str]) -> OpenedRecording:
    """Returns the recording in a file that `record.save(FILE)` or `%placement_log export FILE.nbtf` wrote.

    Opening it executes nothing: the file contains JSON and arrays of numbers, and each part is checked.

    Args:
      path: the file.

    Raises:
      TypeError: if `path` is not a path.
      OSError: if the file cannot be read.
      tf.errors.DataLossError: if it is not a recording, is damaged, or was written by a later nbtf. It is also
        a `ValueError`.

    >>> import pathlib, tempfile
    >>> with tf.runtime.recording() as record:
    ...     c = tf.add(1.0, 2.0)
    >>> file = pathlib.Path(tempfile.mkdtemp(), "step.nbtf")
    >>> record.save(file)
    >>> tf.runtime.read_recording(file).ops[-1]
    ('AddV2', 'CPU:0')
    """
    record = saved.read_recording(path)
    opened_recording = OpenedRecording(record.source, record.recorder, record.devices, record.maps)
    opened_recording._beside = record.surroundings
    return opened_recording


def read_trace(path: str | os.PathLike[str]) -> OpenedRecording:
    """Returns the recording in a trace of a profiler: PyTorch's, TensorFlow's, JAX's, or an export of nbtf.

    The file is in the Chrome form (`traceEvents`), as `export_chrome_trace` of `torch.profiler` writes it, and may be
    compressed with gzip. Kernels, copies and outermost ops of the host become events with measured times. `figures`
    has the shares of compute, copies and idle time, the waits of the host, and how many events are not shown.

    Args:
      path: the file.

    Raises:
      TypeError: if `path` is not a path.
      OSError: if the file cannot be read.
      tf.errors.DataLossError: if it is not a trace, is damaged, or has no ops, kernels or copies. It is also a
        `ValueError`.

    >>> import json, pathlib, tempfile
    >>> kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 5.0, "dur": 2.0, "args": {"stream": 7}}
    >>> file = pathlib.Path(tempfile.mkdtemp(), "trace.json")
    >>> _ = file.write_text(json.dumps({"traceEvents": [kernel]}))
    >>> opened = tf.runtime.read_trace(file)
    >>> opened.ops
    [('gemm', 'GPU:0')]
    """
    record = reading.read_trace(path)
    opened_recording = OpenedRecording(record.source, record.recorder, record.devices)
    opened_recording.figures = record.figures
    return opened_recording


def _sentences(by_library: Mapping[str, Any], without: Collection[str]) -> list[str]:
    return [text for library, texts in by_library.items() if library not in without for text in texts]

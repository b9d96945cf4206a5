"""`tf.summary`: writes numbers, histograms and text to event files for TensorBoard."""

from contextvars import ContextVar as _ContextVar
from functools import cache as _cache
from typing import Any as _Any
from typing import NamedTuple as _NamedTuple

from nbtf._runtime.blocks import current_scope as _current_scope
from nbtf._runtime.changes import Change as _Change
from nbtf._runtime.changes import block as _block
from nbtf._runtime.context import CURRENT as _CURRENT
from nbtf._runtime.context import open_graph as _open_graph
from nbtf._runtime.conversion import as_tensor as _as_tensor
from nbtf._runtime.logger import get_logger as _get_logger
from nbtf._runtime.scopes import SCOPE as _SCOPE
from nbtf._storage import summaries as _summaries
from nbtf._storage.event_files import EventFile as _EventFile
from nbtf.summary import experimental as experimental


class _Destination(_NamedTuple):
    """The current target of summaries."""

    writer: "SummaryWriter | None" = None
    step: _Any = None
    records: _Any = True


_NOWHERE = _Destination()
_NO_STEP = (
    "No step set. Please specify one either through the `step` argument or through the `step` of "
    "`as_default` or `set_as_default`."
)
_BLOCK: _ContextVar[_Destination] = _ContextVar("nbtf summaries", default=_NOWHERE)


def _destination() -> _Destination:
    """Returns the current target: that of the innermost block, otherwise that of `set_as_default`."""
    if _SCOPE() is not None:
        _current_scope()
    block = _BLOCK.get()
    return block if block is not _NOWHERE else _CURRENT.context.summaries or _NOWHERE


@_cache
def _warn_not_written(noun: str) -> None:
    """Logs once that a kind of summary is not written."""
    _get_logger().warning(f"nbtf does not write {noun} to event files, only numbers, histograms and text.")


class SummaryWriter:
    """Writes summaries to an event file in a folder.

    Args:
      logdir: the folder, which is created; None writes nothing.
      max_queue: number of summaries to buffer before writing.
      filename_suffix: end of the file's name.

    Raises:
      OSError: if the file cannot be created.

    >>> import tempfile
    >>> with tf.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     tf.summary.scalar("loss", 0.5, step=1)
    True
    """

    def __init__(self, logdir: str | None = None, max_queue: int = 10, filename_suffix: str = ".v2") -> None:
        """Creates the folder and the file."""
        self.logdir = logdir
        self._closed = False
        self._file = None if logdir is None else _EventFile(logdir, filename_suffix, max_queue)

    @_block
    def as_default(self, step: _Any = None) -> _Change["SummaryWriter"]:
        """Opens a block whose summaries go to this writer.

        Args:
          step: default step of the summaries in the block.
        """
        outer = _destination()
        inner = outer._replace(writer=self, step=outer.step if step is None else step)
        return _Change("tf.summary.SummaryWriter.as_default", _BLOCK.set, _BLOCK.get(), inner, self)

    def set_as_default(self, step: _Any = None) -> None:
        """Sends summaries to this writer from now on."""
        outer = _destination()
        _CURRENT.context.summaries = outer._replace(writer=self, step=outer.step if step is None else step)

    def init(self) -> None:
        """Does nothing, because the file exists already."""

    def flush(self) -> None:
        """Writes the buffered summaries.

        Raises:
          OSError: if they cannot be written.
        """
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Writes the buffered summaries; later summaries raise an error.

        Raises:
          OSError: if they cannot be written.
        """
        self.flush()
        self._closed = True

    def _add(self, step: _Any, content: bytes, field: int = _summaries.SUMMARY) -> bool:
        """Adds a message; returns whether it will be written."""
        if self._closed:
            raise RuntimeError("SummaryWriter is already closed")
        if self._file is not None:
            self._file.add(int(step), field, content)
        return self._file is not None


def create_file_writer(
    logdir: str,
    max_queue: int | None = None,
    flush_millis: int | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: _Any = None,
) -> SummaryWriter:
    """Returns a writer, creating its folder and file.

    Args:
      logdir: the folder.
      max_queue: number of summaries to buffer before writing; 10 by default.
      flush_millis: accepted and ignored.
      filename_suffix: end of the file's name; `.v2` by default.
      name: accepted and ignored.
      experimental_trackable: accepted and ignored.
      experimental_mesh: accepted and ignored.

    Raises:
      OSError: if the file cannot be created.
    """
    queue = 10 if max_queue is None else max_queue
    return SummaryWriter(str(logdir), queue, ".v2" if filename_suffix is None else filename_suffix)


def create_noop_writer() -> SummaryWriter:
    """Returns a writer that writes nothing."""
    return SummaryWriter()


def _noted(message: _Any, name: str, data: _Any, step: _Any, *details: _Any) -> bool:
    """Writes a message if recording is on; returns whether it was."""
    destination = _destination()
    if destination.writer is None or not _is_recording(destination):
        return False
    number = destination.step if step is None else step
    if number is None:
        raise ValueError(_NO_STEP)
    return destination.writer._add(number, message(name, _as_tensor(data).numpy(), *details))


def scalar(name: str, data: _Any, step: _Any = None, description: str | None = None) -> bool:
    """Writes a number; returns whether a writer is set.

    Args:
      name: name of the number.
      data: the number.
      step: training step; by default the step of `as_default`.
      description: text that explains the number.

    Raises:
      ValueError: if no step is set.
    """
    return _noted(_summaries.scalar, name, data, step, description or "")


def histogram(name: str, data: _Any, step: _Any = None, buckets: int | None = None, description: _Any = None) -> bool:
    """Writes a histogram of numbers; see `scalar`.

    Args:
      name: name of the histogram.
      data: the numbers.
      step: training step.
      buckets: number of bins of equal width; 30 by default.
      description: text that explains the numbers.
    """
    count = _summaries.BINS if buckets is None else buckets
    return _noted(_summaries.bins, name, data, step, count, description or "")


def image(name: str, data: _Any, step: _Any = None, max_outputs: int = 3, description: _Any = None) -> bool:
    """Logs a warning that images are not written, and returns False."""
    _warn_not_written("images")
    return False


def audio(
    name: str,
    data: _Any,
    sample_rate: int,
    step: _Any = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: _Any = None,
) -> bool:
    """Logs a warning that audio is not written, and returns False."""
    _warn_not_written("sounds")
    return False


def text(name: str, data: _Any, step: _Any = None, description: _Any = None) -> bool:
    """Writes one or several strings; see `scalar`."""
    return _noted(_summaries.tensor, name, data, step, "text", description or "")


def write(tag: str, tensor: _Any, step: _Any = None, metadata: _Any = None, name: str | None = None) -> bool:
    """Writes a tensor of floats or strings; see `scalar`.

    Args:
      tag: name of the tensor.
      tensor: the tensor.
      step: training step.
      metadata: a `tf.compat.v1.SummaryMetadata`, which names the plugin of TensorBoard.
      name: accepted and ignored.
    """
    return _noted(_summaries.tensor_with, tag, tensor, step, b"" if metadata is None else metadata.SerializeToString())


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Writes the buffered summaries of a writer, by default the current one."""
    writer = _destination().writer if writer is None else writer
    if writer is not None:
        writer.flush()


@_block
def record_if(condition: _Any) -> _Change[None]:
    """Opens a block whose summaries are written only if a condition holds.

    Args:
      condition: a bool, or a function that returns one.
    """
    inner = _destination()._replace(records=condition)
    return _Change("tf.summary.record_if", _BLOCK.set, _BLOCK.get(), inner, None)


def should_record_summaries() -> _Any:
    """Returns whether summaries are currently written, as a bool tensor: `record_if` may prevent it.

    >>> tf.summary.should_record_summaries()
    <tf.Tensor: shape=(), dtype=bool, numpy=False>
    """
    return _as_tensor(_is_recording(_destination()))


def _is_recording(destination: _Destination) -> bool:
    condition = destination.records() if callable(destination.records) else destination.records
    return destination.writer is not None and bool(condition)


def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: _Any = None) -> None:
    """Starts a trace, which `trace_export` ends. To inspect functions and ops in nbtf, use `tf.runtime.recording()`.

    Args:
      graph: whether to trace graphs of functions.
      profiler: whether to collect a profile.
      profiler_outdir: accepted; no profile is written.

    >>> tf.summary.trace_on()
    >>> tf.summary.trace_off()
    """
    if _open_graph() is not None:
        inside = getattr(_open_graph(), "building_function", False)
        _get_logger().warning(
            "Cannot enable trace inside a tf.function." if inside else "Must enable trace in eager mode."
        )
    elif _CURRENT.context.trace is not None:
        _get_logger().warning("Trace already enabled")
    else:
        _CURRENT.context.trace = (graph, profiler)


def trace_export(name: str, step: _Any = None, profiler_outdir: _Any = None) -> None:
    """Ends the trace. Graphs and profiles are not written to event files; a warning is logged.

    Args:
      name: name of the trace.
      step: training step.
      profiler_outdir: accepted; no profile is written.

    Raises:
      ValueError: if `trace_on` was not called before, or if a writer is set but no step.
    """
    if _open_graph() is not None:
        inside = getattr(_open_graph(), "building_function", False)
        _get_logger().warning(
            "Cannot export trace inside a tf.function." if inside else "Can only export trace while executing eagerly."
        )
        return
    if _CURRENT.context.trace is None:
        raise ValueError("Must enable trace before export through tf.summary.trace_on.")
    graph, profiler = _CURRENT.context.trace
    destination = _destination()
    if destination.writer is not None and step is None and destination.step is None:
        raise ValueError(_NO_STEP)
    if graph:
        _warn_not_written("graphs")
    if profiler:
        _warn_not_written("profiles")
    trace_off()


def trace_off() -> None:
    """Ends the trace without writing anything; does nothing without a trace."""
    _CURRENT.context.trace = None

"""`tf.summary`: what programs note down for TensorBoard, in the event files that it reads."""

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


class _Destination(_NamedTuple):
    """Where notes go now."""

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
    """Returns where notes go: as the innermost block says, else as `set_as_default` did."""
    if _SCOPE() is not None:
        _current_scope()
    block = _BLOCK.get()
    return block if block is not _NOWHERE else _CURRENT.context.summaries or _NOWHERE


@_cache
def _warn_not_written(noun: str) -> None:
    """Says once what is not written."""
    _get_logger().warning(f"nbtf writes no {noun} into event files; numbers, histograms and texts it does.")


class SummaryWriter:
    """Writes notes into a file of a folder.

    Args:
      logdir: the folder, which is made; None writes nothing.
      max_queue: how many notes wait before they are written.
      filename_suffix: what the file's name ends with.

    Raises:
      OSError: the file cannot be made.

    >>> import tempfile
    >>> with tf.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     tf.summary.scalar("loss", 0.5, step=1)
    True
    """

    def __init__(self, logdir: str | None = None, max_queue: int = 10, filename_suffix: str = ".v2") -> None:
        """Makes folder and file."""
        self.logdir = logdir
        self._closed = False
        self._file = None if logdir is None else _EventFile(logdir, filename_suffix, max_queue)

    @_block
    def as_default(self, step: _Any = None) -> _Change["SummaryWriter"]:
        """Opens a block in which notes go to this writer.

        Args:
          step: of the notes that name none.
        """
        outer = _destination()
        inner = outer._replace(writer=self, step=outer.step if step is None else step)
        return _Change("tf.summary.SummaryWriter.as_default", _BLOCK.set, _BLOCK.get(), inner, self)

    def set_as_default(self, step: _Any = None) -> None:
        """Has notes go to this writer from now on."""
        outer = _destination()
        _CURRENT.context.summaries = outer._replace(writer=self, step=outer.step if step is None else step)

    def init(self) -> None:
        """Does nothing: the file is there."""

    def flush(self) -> None:
        """Writes what waits.

        Raises:
          OSError: it cannot be written.
        """
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Writes what waits; notes of later are refused.

        Raises:
          OSError: it cannot be written.
        """
        self.flush()
        self._closed = True

    def _add(self, step: _Any, content: bytes, field: int = _summaries.SUMMARY) -> bool:
        """Adds a message, and tells whether it is written."""
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
    """Returns a writer, and makes its folder and file.

    Args:
      logdir: the folder.
      max_queue: how many notes wait before they are written, 10 by default.
      flush_millis: accepted and ignored.
      filename_suffix: what the file's name ends with, `.v2` by default.
      name: accepted and ignored.
      experimental_trackable: accepted and ignored.
      experimental_mesh: accepted and ignored.

    Raises:
      OSError: the file cannot be made.
    """
    queue = 10 if max_queue is None else max_queue
    return SummaryWriter(str(logdir), queue, ".v2" if filename_suffix is None else filename_suffix)


def create_noop_writer() -> SummaryWriter:
    """Returns a writer that writes nothing."""
    return SummaryWriter()


def _noted(message: _Any, name: str, data: _Any, step: _Any, *details: _Any) -> bool:
    """Writes a message, if anybody writes now, and tells whether."""
    destination = _destination()
    if destination.writer is None or not should_record_summaries():
        return False
    number = destination.step if step is None else step
    if number is None:
        raise ValueError(_NO_STEP)
    return destination.writer._add(number, message(name, _as_tensor(data).numpy(), *details))


def scalar(name: str, data: _Any, step: _Any = None, description: str | None = None) -> bool:
    """Writes a number, and returns whether there is a writer.

    Args:
      name: of the number.
      data: the number.
      step: when it was; by default the step of `as_default`.
      description: what it means.

    Raises:
      ValueError: there is no step.
    """
    return _noted(_summaries.scalar, name, data, step, description or "")


def histogram(name: str, data: _Any, step: _Any = None, buckets: int | None = None, description: _Any = None) -> bool:
    """Writes how numbers are spread; see `scalar`.

    Args:
      name: of the numbers.
      data: the numbers.
      step: when they were.
      buckets: into how many bins of equal width they go, 30 by default.
      description: what they mean.
    """
    count = _summaries.BINS if buckets is None else buckets
    return _noted(_summaries.bins, name, data, step, count, description or "")


def image(name: str, data: _Any, step: _Any = None, max_outputs: int = 3, description: _Any = None) -> bool:
    """Returns False: pictures are not written, which a warning says."""
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
    """Returns False: sounds are not written, which a warning says."""
    _warn_not_written("sounds")
    return False


def text(name: str, data: _Any, step: _Any = None, description: _Any = None) -> bool:
    """Writes a text or several; see `scalar`."""
    return _noted(_summaries.tensor, name, data, step, "text", description or "")


def write(tag: str, tensor: _Any, step: _Any = None, metadata: _Any = None, name: str | None = None) -> bool:
    """Writes a tensor of floats or texts; see `scalar`.

    Args:
      tag: its name.
      tensor: the tensor.
      step: when it was.
      metadata: accepted and ignored.
      name: accepted and ignored.
    """
    return _noted(_summaries.tensor, tag, tensor, step)


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Writes what waits in a writer, by default in that to which notes go now."""
    writer = _destination().writer if writer is None else writer
    if writer is not None:
        writer.flush()


@_block
def record_if(condition: _Any) -> _Change[None]:
    """Opens a block in which notes are written if a condition holds.

    Args:
      condition: a truth value, or a function that returns one.
    """
    inner = _destination()._replace(records=condition)
    return _Change("tf.summary.record_if", _BLOCK.set, _BLOCK.get(), inner, None)


def should_record_summaries() -> bool:
    """Returns whether notes are written now: there is a writer, and no `record_if` forbids it."""
    destination = _destination()
    condition = destination.records() if callable(destination.records) else destination.records
    return destination.writer is not None and bool(condition)


def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: _Any = None) -> None:
    """Starts a trace, which `trace_export` ends. What nbtf records of functions and ops is in `tf.runtime.recording()`.

    Args:
      graph: whether the graphs of functions are wanted.
      profiler: whether a profile is wanted.
      profiler_outdir: accepted; a profile is not written.

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
    """Ends the trace. Graphs and profiles are not written into event files, which a warning says.

    Args:
      name: what the trace is called.
      step: when it was.
      profiler_outdir: accepted; a profile is not written.

    Raises:
      ValueError: if `trace_on` was not called before, or if there is a writer but no step.
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
    """Ends the trace without writing anything; without a trace it does nothing."""
    _CURRENT.context.trace = None

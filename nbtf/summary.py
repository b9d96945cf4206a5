"""`tf.summary`: what programs note down for TensorBoard. It is accepted, and a warning says that nothing is written."""

from contextlib import nullcontext as _nullcontext
from functools import cache as _cache
from typing import Any as _Any

from nbtf._runtime.logger import get_logger as _get_logger


@_cache
def _warn_of_no_files() -> None:
    """Says once that nothing is written."""
    _get_logger().warning(
        "nbtf writes no event files: what tf.summary and the callback TensorBoard are given is dropped. `fit` returns "
        "losses and metrics, and the callback CSVLogger writes them into a file."
    )


class SummaryWriter:
    """Accepts what it is given and writes no file, which a warning says: event files are TensorBoard's.

    Args:
      logdir: the folder; it is not made.

    >>> with tf.summary.create_file_writer("logs").as_default():
    ...     tf.summary.scalar("loss", 0.5, step=1)
    False
    """

    def __init__(self, logdir: str | None = None) -> None:
        """Takes the folder."""
        self.logdir = logdir
        if logdir is not None:
            _warn_of_no_files()

    def as_default(self, step: _Any = None) -> _nullcontext["SummaryWriter"]:
        """Returns a block in which notes would go to this writer."""
        return _nullcontext(self)

    def set_as_default(self, step: _Any = None) -> None:
        """Does nothing."""

    def init(self) -> None:
        """Does nothing."""

    def flush(self) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""

    def __enter__(self) -> "SummaryWriter":
        """Opens the block of `as_default`."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Closes it."""


def create_file_writer(
    logdir: str,
    max_queue: int | None = None,
    flush_millis: int | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: _Any = None,
) -> SummaryWriter:
    """Returns a writer that accepts everything and writes nothing.

    Args:
      logdir: the folder; it is not made.
      max_queue: accepted and ignored.
      flush_millis: accepted and ignored.
      filename_suffix: accepted and ignored.
      name: accepted and ignored.
      experimental_trackable: accepted and ignored.
      experimental_mesh: accepted and ignored.
    """
    return SummaryWriter(logdir)


def create_noop_writer() -> SummaryWriter:
    """Returns a writer that writes nothing."""
    return SummaryWriter()


def scalar(name: str, data: _Any, step: _Any = None, description: str | None = None) -> bool:
    """Returns False: the number is not written.

    Args:
      name: of the number.
      data: the number.
      step: when it was.
      description: what it means.
    """
    return False


def histogram(name: str, data: _Any, step: _Any = None, buckets: int | None = None, description: _Any = None) -> bool:
    """Returns False: the values are not written."""
    return False


def image(name: str, data: _Any, step: _Any = None, max_outputs: int = 3, description: _Any = None) -> bool:
    """Returns False: the pictures are not written."""
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
    """Returns False: the sounds are not written."""
    return False


def text(name: str, data: _Any, step: _Any = None, description: _Any = None) -> bool:
    """Returns False: the text is not written."""
    return False


def write(tag: str, tensor: _Any, step: _Any = None, metadata: _Any = None, name: str | None = None) -> bool:
    """Returns False: the tensor is not written."""
    return False


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Does nothing."""


def record_if(condition: _Any) -> _nullcontext[None]:
    """Returns a block in which notes are as they are elsewhere."""
    return _nullcontext()


def should_record_summaries() -> bool:
    """Returns False: nothing is written."""
    return False

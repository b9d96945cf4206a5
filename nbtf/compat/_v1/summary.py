"""`tf.compat.v1.summary`: TensorBoard summaries of TensorFlow 1, which a session computes as messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import nbtf
from nbtf._graph.tensor import GraphTensor
from nbtf._public import public_names as _public_names
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._storage import summaries
from nbtf._types import string
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.deferred import Deferred
from nbtf.compat._v1._surface.absent import refusal
from nbtf.compat._v1._variables.keys import GraphKeys


def __dir__() -> list[str]:
    return _public_names(__name__)


Message = Callable[[list[Any]], bytes]
"""A function that makes a message from the values of tensors."""


def _node(type: str, inputs: Sequence[Any], name: str, message: Message) -> GraphTensor:
    """Returns a string node whose value is the message made from its inputs."""
    graph = building()
    assert graph is not None

    def written(values: Sequence[Tensor]) -> list[Any]:
        return [as_tensor(message([value.numpy() for value in values]), string)]

    with graph.inside():
        tensors = [as_tensor(value) for value in inputs]
        graph.settle()
        shapes_and_dtypes = [(TensorShape(()), string)]
        record = Deferred(type, written, own_gradient=lambda grads: [])
        return graph.add_known(record, tensors, {}, name, lambda node: shapes_and_dtypes).outputs[0]


def _add_summary(type: str, name: str, value: Any, collections: Any, family: str | None, message: Any = None) -> Any:
    graph = building()
    if graph is None:
        return False
    tag = re.sub(r"[^A-Za-z0-9_.\\/>-]", "_", name).lstrip("/")
    tag = f"{family}/{tag}" if family else tag
    scope = graph.get_name_scope()
    full_tag = f"{scope}/{tag}" if scope else tag
    summary = _node(type, [value], tag, lambda values: message(full_tag, *values) if message else b"")
    graph.add_to_collections([GraphKeys.SUMMARIES] if collections is None else collections, summary)
    return summary


def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Any:
    r"""Returns a TensorBoard message for a number; a session computes the message and a `FileWriter` writes it.

    Args:
      name: name of the summary.
      tensor: the number.
      collections: collections to which the node is added; by default the summaries collection.
      family: prefix of the name; None for none.

    >>> import nbtf.compat.v1 as tf1
    >>> with tf1.Graph().as_default(), tf1.Session() as sess:
    ...     print(sess.run(tf1.summary.scalar("loss", 0.5)))
    b'\n\x0b\n\x04loss\x15\x00\x00\x00?'
    """
    return _add_summary("ScalarSummary", name, tensor, collections, family, summaries.number)


def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Any:
    """Returns a TensorBoard message for a histogram; see `scalar`."""
    return _add_summary("HistogramSummary", name, values, collections, family, summaries.histogram)


def image(name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: str | None = None) -> Any:
    """Returns an empty message, because images are not written; see `scalar`."""
    return _add_summary("ImageSummary", name, tensor, collections, family)


def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Any:
    """Returns an empty message, because audio is not written; see `scalar`."""
    return _add_summary("AudioSummaryV2", name, tensor, collections, family)


def text(name: str, tensor: Any, collections: Any = None) -> Any:
    """Returns a TensorBoard message for text; see `scalar`."""
    return _add_summary("TensorSummaryV2", name, tensor, collections, None, _text)


def tensor_summary(name: str, tensor: Any, collections: Any = None, family: str | None = None, **ignored: Any) -> Any:
    """Returns a message for a tensor of floats or strings; see `scalar`."""
    return _add_summary("TensorSummaryV2", name, tensor, collections, family, summaries.tensor)


def merge(inputs: Sequence[Any], collections: Any = None, name: str | None = None) -> Any:
    """Returns one message that contains several.

    Args:
      inputs: nodes returned by `scalar` and similar functions.
      collections: collections to which the node is added.

    Raises:
      RuntimeError: if ops run eagerly.
    """
    graph = building()
    if graph is None:
        raise RuntimeError("Merging tf.summary.* ops is not compatible with eager execution. Use tf.contrib.summary.")
    merged = _node("MergeSummary", list(inputs), name or "Merge/MergeSummary", b"".join)
    graph.add_to_collections(collections or (), merged)
    return merged


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Any:
    """Returns one message for all summaries in a collection; None if it is empty.

    Args:
      key: name of the collection.
      scope: prefix of their names; None includes all.
    """
    graph = building()
    if graph is None:
        raise RuntimeError("Merging tf.summary.* ops is not compatible with eager execution. Use tf.contrib.summary.")
    summaries = graph.get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None


class FileWriter(nbtf.summary.SummaryWriter):
    """Writes messages to a file in a folder; creates both at once.

    Args:
      logdir: the folder.
      graph, flush_secs, graph_def, session: accepted for compatibility and ignored.
      max_queue: number of messages that are buffered before they are written.
      filename_suffix: end of the file name.

    Raises:
      OSError: if the file cannot be created.
    """

    def __init__(
        self,
        logdir: str,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        """Creates the folder and the file."""
        super().__init__(str(logdir), max_queue, filename_suffix or "")

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def get_logdir(self) -> str | None:
        """Returns the folder."""
        return self.logdir

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Writes a summary that a session has computed.

        Args:
          summary: the message.
          global_step: training step; 0 by default.

        Raises:
          TypeError: if the message is not bytes.
        """
        if not isinstance(summary, bytes):
            raise TypeError(f"A summary must be the bytes that a session returned for it. Got {summary!r:.80}.")
        self._add(0 if global_step is None else global_step, summary)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Does nothing, because graphs are not written."""

    def add_event(self, event: Any) -> None:
        """Does nothing, because nbtf has no event class."""

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Does nothing, because run metadata is not written."""

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Does nothing, because nbtf has no session log class."""

    def reopen(self) -> None:
        """Accepts messages again after `close`."""
        self._closed = False


def _text(tag: str, value: Any) -> bytes:
    return summaries.tensor(tag, value, "text")


def __getattr__(name: str) -> NoReturn:
    raise refusal(f"summary.{name}")

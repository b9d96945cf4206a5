"""`tf.compat.v1.summary`: what programs of TensorFlow 1 note down for TensorBoard: messages that a session computes."""

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
"""What makes a message of the values of tensors."""


def _node(type: str, inputs: Sequence[Any], name: str, message: Message) -> GraphTensor:
    """Returns a text that takes tensors, and is the message of their values."""
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
    r"""Returns a number's message for TensorBoard, which a session computes and a `FileWriter` writes.

    Args:
      name: what it is called.
      tensor: the number.
      collections: collections that it is put into; by default that of summaries.
      family: stands in front of the name.

    >>> import nbtf.compat.v1 as tf1
    >>> with tf1.Graph().as_default(), tf1.Session() as sess:
    ...     print(sess.run(tf1.summary.scalar("loss", 0.5)))
    b'\n\x0b\n\x04loss\x15\x00\x00\x00?'
    """
    return _add_summary("ScalarSummary", name, tensor, collections, family, summaries.number)


def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Any:
    """Returns a histogram's message for TensorBoard; see `scalar`."""
    return _add_summary("HistogramSummary", name, values, collections, family, summaries.histogram)


def image(name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: str | None = None) -> Any:
    """Returns an empty message: images are not written; see `scalar`."""
    return _add_summary("ImageSummary", name, tensor, collections, family)


def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Any:
    """Returns an empty message: sounds are not written; see `scalar`."""
    return _add_summary("AudioSummaryV2", name, tensor, collections, family)


def text(name: str, tensor: Any, collections: Any = None) -> Any:
    """Returns a text's message for TensorBoard; see `scalar`."""
    return _add_summary("TensorSummaryV2", name, tensor, collections, None, _text)


def tensor_summary(name: str, tensor: Any, collections: Any = None, family: str | None = None, **ignored: Any) -> Any:
    """Returns the message of a tensor of floats or texts; see `scalar`."""
    return _add_summary("TensorSummaryV2", name, tensor, collections, family, summaries.tensor)


def merge(inputs: Sequence[Any], collections: Any = None, name: str | None = None) -> Any:
    """Returns the message of several.

    Args:
      inputs: what `scalar` and the like returned.
      collections: collections that it is put into.

    Raises:
      RuntimeError: ops run at once.
    """
    graph = building()
    if graph is None:
        raise RuntimeError("Merging tf.summary.* ops is not compatible with eager execution. Use tf.contrib.summary.")
    merged = _node("MergeSummary", list(inputs), name or "Merge/MergeSummary", b"".join)
    graph.add_to_collections(collections or (), merged)
    return merged


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Any:
    """Returns the message of all in a collection; None if it is empty.

    Args:
      key: the collection.
      scope: what their names begin with.
    """
    graph = building()
    if graph is None:
        raise RuntimeError("Merging tf.summary.* ops is not compatible with eager execution. Use tf.contrib.summary.")
    summaries = graph.get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None


class FileWriter(nbtf.summary.SummaryWriter):
    """Writes messages into a file of a folder, both made at once.

    Args:
      logdir: the folder.
      graph, flush_secs, graph_def, session: accepted for TensorFlow's sake, without effect.
      max_queue: how many messages wait before they are written.
      filename_suffix: what the file's name ends with.

    Raises:
      OSError: the file cannot be made.
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
        """Makes folder and file."""
        super().__init__(str(logdir), max_queue, filename_suffix or "")

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def get_logdir(self) -> str | None:
        """Returns the folder."""
        return self.logdir

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Writes what a session has made of a summary.

        Args:
          summary: the message.
          global_step: of the training, 0 by default.

        Raises:
          TypeError: the message is no bytes.
        """
        if not isinstance(summary, bytes):
            raise TypeError(f"A summary is the bytes that a session returns for it. Got {summary!r:.80}.")
        self._add(0 if global_step is None else global_step, summary)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Does nothing: graphs are not written."""

    def add_event(self, event: Any) -> None:
        """Does nothing: nbtf has no class of events."""

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Does nothing: what a run cost is not written."""

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Does nothing: nbtf has no class of session logs."""

    def reopen(self) -> None:
        """Takes messages again after `close`."""
        self._closed = False


def _text(tag: str, value: Any) -> bytes:
    return summaries.tensor(tag, value, "text")


def __getattr__(name: str) -> NoReturn:
    raise refusal(f"summary.{name}")

"""`tf.compat.v1.summary`: TensorBoard summaries of TensorFlow 1, which a session computes as messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import nbtf
from nbtf._graph.tensor import GraphTensor
from nbtf._missing import of_tensorflow_1 as _missing
from nbtf._public import public_names as _public_names
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._storage import summaries
from nbtf._types import string
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.deferred import Deferred
from nbtf.compat._v1._graph.session_graph import Graph
from nbtf.compat._v1._surface.control import add_node
from nbtf.compat._v1._surface.removed import without_arguments, without_attributes
from nbtf.compat._v1._variables.keys import GraphKeys


def __dir__() -> list[str]:
    return _public_names(__name__)


def __getattr__(name: str) -> NoReturn:
    raise _missing(f"summary.{name}")


def _node(graph: Graph, type: str, inputs: Sequence[Any], name: str, message: Callable[..., bytes]) -> GraphTensor:
    """Returns a string node whose value is the message made from a list of its inputs' values."""

    def written(values: Sequence[Tensor]) -> list[Any]:
        return [as_tensor(message([value.numpy() for value in values]), string)]

    with graph.inside():
        record = Deferred(type, written, own_gradient=lambda grads: [])
        return add_node(record, inputs, [(TensorShape(()), string)], name).outputs[0]


def _add_summary(
    type: str, name: str, value: Any, collections: Any, family: str | None, message: Callable[..., bytes] | None = None
) -> Any:
    graph = building()
    if graph is None:
        return False
    tag = re.sub(r"[^A-Za-z0-9_.\\/>-]", "_", name).lstrip("/")
    tag = f"{family}/{tag}" if family else tag
    scope = graph.get_name_scope()
    full_tag = f"{scope}/{tag}" if scope else tag

    def written(values: list[Any]) -> bytes:
        return message(full_tag, *values) if message else b""

    summary = _node(graph, type, [value], tag, written)
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


def merge(inputs: Sequence[Any], collections: Any = None, name: str | None = None) -> Any:
    """Returns one message that contains several.

    Args:
      inputs: nodes returned by `scalar` and similar functions.
      collections: collections to which the node is added.

    Raises:
      RuntimeError: if ops run eagerly.
    """
    graph = _graph()
    merged = _node(graph, "MergeSummary", inputs, name or "Merge/MergeSummary", b"".join)
    graph.add_to_collections(collections or (), merged)
    return merged


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Any:
    """Returns one message for all summaries in a collection; None if it is empty.

    Args:
      key: name of the collection.
      scope: prefix of their names; None includes all.
    """
    messages = _graph().get_collection(key, scope)
    return merge(messages, name=name) if messages else None


def _graph() -> Graph:
    graph = building()
    if graph is None:
        raise RuntimeError("Merging tf.summary.* ops is not compatible with eager execution. Use tf.contrib.summary.")
    return graph


@without_attributes("summary.FileWriter")
class FileWriter(nbtf.summary.SummaryWriter):
    """Writes messages to a file in a folder; creates both at once.

    Args:
      logdir: the folder.
      graph: accepted and ignored, because graphs are not written.
      max_queue: number of messages that are buffered before they are written.
      flush_secs: accepted and ignored.
      filename_suffix: end of the file name.

    Raises:
      OSError: if the file cannot be created.
    """

    @without_arguments("summary.FileWriter.__init__")
    def __init__(
        self,
        logdir: str,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str | None = None,
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

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Does nothing, because run metadata is not written."""

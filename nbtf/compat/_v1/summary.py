"""`tf.compat.v1.summary`: what programs of TensorFlow 1 note down for TensorBoard; accepted, and nothing is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

import nbtf
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import string
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.deferred import Deferred
from nbtf.compat._v1._graph.tensor import GraphTensor
from nbtf.compat._v1._surface.absent import refusal
from nbtf.compat._v1._variables.keys import GraphKeys


def _node(type: str, inputs: Sequence[Any], name: str) -> GraphTensor:
    """Returns a text that takes tensors, so that they are computed, and says nothing of them."""
    graph = building()
    assert graph is not None

    def told(values: Sequence[Tensor]) -> list[Any]:
        return [as_tensor(b"", string)]

    with graph.inside():
        given = [as_tensor(one) for one in inputs]
        graph.settle()
        known = [(TensorShape(()), string)]
        record = Deferred(type, told, own_gradient=lambda grads: [])
        return graph.add_known(record, given, {}, name, lambda node: known).outputs[0]


def _noted(type: str, name: str, value: Any, collections: Any, family: str | None) -> Any:
    graph = building()
    if graph is None:
        return False
    tag = re.sub(r"[^A-Za-z0-9_.\\/>-]", "_", name).lstrip("/")
    made = _node(type, [value], f"{family}/{tag}" if family else tag)
    graph.add_to_collections([GraphKeys.SUMMARIES] if collections is None else collections, made)
    return made


def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Any:
    """Returns a text that stands for a number in TensorBoard.

    Args:
      name: what it is called.
      tensor: the number.
      collections: collections that it is put into; by default that of summaries.
      family: stands in front of the name.

    >>> import nbtf.compat.v1 as tf1
    >>> with tf1.Graph().as_default(), tf1.Session() as sess:
    ...     print(sess.run(tf1.summary.scalar("loss", 0.5)))
    b''
    """
    return _noted("ScalarSummary", name, tensor, collections, family)


def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Any:
    """Returns a text that stands for a histogram in TensorBoard; see `scalar`."""
    return _noted("HistogramSummary", name, values, collections, family)


def image(name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: str | None = None) -> Any:
    """Returns a text that stands for images in TensorBoard; see `scalar`."""
    return _noted("ImageSummary", name, tensor, collections, family)


def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Any:
    """Returns a text that stands for sounds in TensorBoard; see `scalar`."""
    return _noted("AudioSummaryV2", name, tensor, collections, family)


def text(name: str, tensor: Any, collections: Any = None) -> Any:
    """Returns a text that stands for texts in TensorBoard; see `scalar`."""
    return _noted("TensorSummaryV2", name, tensor, collections, None)


def tensor_summary(name: str, tensor: Any, collections: Any = None, family: str | None = None, **ignored: Any) -> Any:
    """Returns a text that stands for a tensor in TensorBoard; see `scalar`."""
    return _noted("TensorSummaryV2", name, tensor, collections, family)


def merge(inputs: Sequence[Any], collections: Any = None, name: str | None = None) -> Any:
    """Returns a text that stands for several.

    Args:
      inputs: what `scalar` and the like returned.
      collections: collections that it is put into.
      name: what the node is to be called.

    Raises:
      RuntimeError: ops run at once.
    """
    graph = building()
    if graph is None:
        raise RuntimeError("Merging tf.summary.* ops is not compatible with eager execution. Use tf.contrib.summary.")
    made = _node("MergeSummary", list(inputs), name or "Merge/MergeSummary")
    graph.add_to_collections(collections or (), made)
    return made


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Any:
    """Returns a text that stands for all in a collection; None if it is empty.

    Args:
      key: the collection.
      scope: what their names begin with.
      name: what the node is to be called.
    """
    graph = building()
    if graph is None:
        raise RuntimeError("Merging tf.summary.* ops is not compatible with eager execution. Use tf.contrib.summary.")
    found = graph.get_collection(key, scope)
    return merge(found, name=name) if found else None


class FileWriter(nbtf.summary.SummaryWriter):
    """Accepts what it is given and writes no file: event files are TensorBoard's.

    Args:
      logdir: the folder; it is not made.
      graph: accepted and ignored, as is all that follows.
      *ignored: as above.
      **more: as above.
    """

    def __init__(self, logdir: str, graph: Any = None, *ignored: Any, **more: Any) -> None:
        """Takes the folder."""
        super().__init__(logdir)

    def get_logdir(self) -> str | None:
        """Returns the folder."""
        return self.logdir

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Does nothing."""

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Does nothing."""

    def add_event(self, event: Any) -> None:
        """Does nothing."""

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Does nothing."""

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Does nothing."""

    def reopen(self) -> None:
        """Does nothing."""


def __getattr__(name: str) -> NoReturn:
    raise refusal(f"summary.{name}")

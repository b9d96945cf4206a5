"""Decoders of connectionist temporal classification: the likeliest labels of logits, by steps or by a beam search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import as_int
from nbtf._ops.nn.ctc_loss import check_batch, check_lengths
from nbtf._ops.op import no_gradient, op
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import TensorLike, float32, float64, int64
from nbtf.errors import FailedPreconditionError, InvalidArgumentError

_FLOATS = frozenset({float32, float64})
Decoded = tuple[list[SparseTensor], Tensor]


def _decoded_specs(inputs: Spec, sequence_length: Spec, **attrs: Any) -> list[Spec]:
    check_batch(inputs, sequence_length)
    count = attrs.get("top_paths", 1)
    probabilities = Spec((inputs.shape[1], count), inputs.dtype)
    return [
        *[Spec((None, 2), int64)] * count,
        *[Spec((None,), int64)] * count,
        *[Spec((2,), int64)] * count,
        probabilities,
    ]


def _decoded_partly(inputs: Any, sequence_length: Any, **attrs: Any) -> list[Any]:
    count = attrs.get("top_paths", 1)
    return [*[(None, 2)] * count, *[(None,)] * count, *[(2,)] * count, (None, count)]


def _sparse_parts(xp: Any, rows: Sequence[Sequence[int]]) -> tuple[Any, Any, Any]:
    """Returns places, values and shape of the sparse tensor of some rows."""
    positions = [(row, at) for row, labels in enumerate(rows) for at in range(len(labels))]
    values = [label for labels in rows for label in labels]
    shape = [len(rows), max([0, *map(len, rows)])]
    return xp.array(positions, xp.int64).reshape(-1, 2), xp.array(values, xp.int64), xp.array(shape, xp.int64)


@op(
    "T int32 -> int64 int64 int64 T",
    T=_FLOATS,
    cpu_only=True,
    data_dependent=True,
    plain={"blank_index": as_int},
    infer=_decoded_specs,
    partly=_decoded_partly,
)
def CTCGreedyDecoder(xp: Any, inputs: Any, sequence_length: Any, merge_repeated: bool, blank_index: int) -> Any:
    check_batch(inputs, sequence_length)
    steps, batch, classes = inputs.shape
    lengths = sequence_length.tolist()
    check_lengths(lengths, batch, steps, FailedPreconditionError)
    if not -classes <= blank_index < classes:
        text = f"blank_index expected to be between {-classes} and {classes - 1} but was {blank_index}"
        raise InvalidArgumentError(text)
    blank = blank_index % classes
    likeliest = inputs.argmax(2)
    rows = list[list[int]]()
    for row, length in enumerate(lengths):
        labels = likeliest[:length, row].tolist()
        classes_in_turn = [
            label for at, label in enumerate(labels) if not (merge_repeated and at and label == labels[at - 1])
        ]
        rows.append([label for label in classes_in_turn if label != blank])
    counts = xp.arange(steps)[:, None] < sequence_length
    scores = 0 - xp.where(counts, inputs.max(2), 0).sum(0, dtype=inputs.dtype)  # 0 steps score 0, not -0
    return [*_sparse_parts(xp, rows), scores[:, None]]


def ctc_greedy_decoder(
    inputs: TensorLike, sequence_length: TensorLike, merge_repeated: bool = True, blank_index: int | None = None
) -> Decoded:
    """Returns the labels of the likeliest class at each step, without blanks.

    Args:
      inputs: logits of shape `[steps, batch, classes]`.
      sequence_length: the number of steps of each row.
      merge_repeated: whether repeated classes without a blank between them are one label; True by default.
      blank_index: the class of the blank, counted from the end if negative; the last by default.

    Returns:
      A list with one sparse tensor of labels `[batch, longest]`, and the negative sum of the largest logits of each
      row, shape `[batch, 1]`.

    Raises:
      FailedPreconditionError: if a row has more steps than the logits.
      InvalidArgumentError: if the class of the blank does not exist.

    >>> labels, _ = tf.nn.ctc_greedy_decoder([[[0.0, 5.0, 1.0]], [[0.0, 5.0, 1.0]], [[7.0, 0.0, 0.0]]], [3])
    >>> tf.sparse.to_dense(labels[0]).numpy()
    array([[1, 0]])
    """
    blank = -1 if blank_index is None else blank_index
    indices, values, shape, scores = CTCGreedyDecoder(
        as_tensor(inputs), sequence_length, merge_repeated=merge_repeated, blank_index=blank
    )
    return [SparseTensor(indices, values, shape)], scores


class _Prefix:
    """A sequence of labels in the beam, with logarithms of the probability that the steps so far spell it."""

    __slots__ = ("children", "label", "now", "parent", "then")

    def __init__(self, parent: _Prefix | None, label: int) -> None:
        self.parent, self.label = parent, label
        self.children: dict[int, _Prefix] = {}
        self.reset()

    def reset(self) -> None:
        """Leaves the beam."""
        self.then = self.now = _NOTHING

    def labels(self, merges: bool) -> list[int]:
        """Returns the labels from the first to the last."""
        sequence, prefix = list[int](), self
        while prefix.parent is not None:
            if not (merges and sequence and prefix.label == sequence[-1]):
                sequence.append(prefix.label)
            prefix = prefix.parent
        return sequence[::-1]


_NOTHING = (-math.inf, -math.inf, -math.inf)
"""Logarithms of total, blank and label: the probabilities that the last step was any, a blank, or the last label."""


def _sum(x: float, y: float) -> float:
    """Returns the logarithm of the sum of two probabilities."""
    larger, smaller = (x, y) if x > y else (y, x)
    return larger if smaller == -math.inf else larger + math.log1p(math.exp(smaller - larger))


class _Beam:
    """The prefixes of one row: at most `width`, the least likely leaves first."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.heap: list[tuple[float, int, _Prefix]] = []
        self.count = 0
        root = _Prefix(None, -1)
        root.now = (0.0, 0.0, -math.inf)
        self.push(root)

    def push(self, prefix: _Prefix) -> None:
        """Adds a prefix; if the beam is full, the least likely one leaves it."""
        if len(self.heap) == self.width:
            heappop(self.heap)[2].reset()
        self.count += 1
        heappush(self.heap, (prefix.now[0], -self.count, prefix))

    def accepts(self, total: float) -> bool:
        """Returns whether a prefix of this probability belongs in the beam."""
        return total > -math.inf and (len(self.heap) < self.width or total > self.heap[0][0])

    def best(self) -> list[_Prefix]:
        """Returns the prefixes, the likeliest first."""
        return [prefix for _, _, prefix in sorted(self.heap, key=lambda leaf: (-leaf[0], -leaf[1]))]

    def step(self, scores: Sequence[float], blank: int) -> None:
        """Takes one more step, given the logarithms of the classes' probabilities."""
        prefixes, self.heap = self.best(), []
        for prefix in prefixes:
            prefix.then = prefix.now
        for prefix in prefixes:
            total, _, label = prefix.then
            parent = prefix.parent
            if parent is not None:
                if parent.now[0] != -math.inf:
                    label = _sum(label, parent.then[1 if prefix.label == parent.label else 0])
                label += scores[prefix.label]
            by_blank = total + scores[blank]
            prefix.now = (_sum(by_blank, label), by_blank, label)
            self.push(prefix)
        for prefix in prefixes:
            if self.accepts(prefix.then[0]):
                self._extend(prefix, scores, blank)

    def _extend(self, prefix: _Prefix, scores: Sequence[float], blank: int) -> None:
        """Adds the prefixes that are one label longer."""
        for label, score in enumerate(scores):
            if label == blank:
                continue
            total = score + prefix.then[1 if label == prefix.label else 0]
            child = prefix.children.get(label)
            if not self.accepts(total) or (child is not None and child.now[0] != -math.inf):
                continue
            if child is None:
                child = prefix.children[label] = _Prefix(prefix, label)
            child.now = (total, -math.inf, total)
            self.push(child)


@op(
    "T int32 -> out_types*",
    T=_FLOATS,
    cpu_only=True,
    data_dependent=True,
    plain={"beam_width": as_int, "top_paths": as_int},
    infer=_decoded_specs,
    partly=_decoded_partly,
)
def CTCBeamSearchDecoder(
    xp: Any, inputs: Any, sequence_length: Any, beam_width: int, top_paths: int, merge_repeated: bool, out_types: Any
) -> Any:
    check_batch(inputs, sequence_length)
    steps, batch, classes = inputs.shape
    lengths = sequence_length.tolist()
    check_lengths(lengths, batch, steps, FailedPreconditionError)
    if top_paths > beam_width:
        raise InvalidArgumentError("requested more paths than the beam width.")
    shifted = inputs.astype(xp.float64)
    shifted = shifted - shifted.max(2, keepdims=True)
    scores = (shifted - xp.log(xp.exp(shifted).sum(2, keepdims=True))).transpose(1, 0, 2).tolist()
    rows: list[list[list[int]]] = [[] for _ in range(top_paths)]
    probabilities = xp.empty((batch, top_paths), inputs.dtype)
    for row, length in enumerate(lengths):
        beam = _Beam(beam_width)
        for step in range(length):
            beam.step(scores[row][step], classes - 1)
        best = beam.best()[:top_paths]
        if len(best) < top_paths:
            raise InvalidArgumentError("Less leaves in the beam search than requested.")
        probabilities[row] = [prefix.now[0] for prefix in best]
        for path, prefix in enumerate(best):
            rows[path].append(prefix.labels(merge_repeated))
    indices, values, shapes = zip(*[_sparse_parts(xp, path) for path in rows], strict=True)
    return [*indices, *values, *shapes, probabilities]


no_gradient(CTCGreedyDecoder)
no_gradient(CTCBeamSearchDecoder)


def ctc_beam_search_decoder(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> Decoded:
    """Returns the likeliest sequences of labels, found by a beam search; the last class is the blank.

    Args:
      inputs: logits of shape `[steps, batch, classes]`.
      sequence_length: the number of steps of each row.
      beam_width: how many sequences each step keeps; 100 by default.
      top_paths: the number of sequences to return; 1 by default.

    Returns:
      A list of sparse tensors of labels `[batch, longest]`, the likeliest sequence of each row first, and the
      logarithms of their probabilities, shape `[batch, top_paths]`.

    Raises:
      FailedPreconditionError: if a row has more steps than the logits.
      InvalidArgumentError: if the beam holds fewer sequences than `top_paths`.

    >>> labels, _ = tf.nn.ctc_beam_search_decoder([[[0.0, 5.0, 1.0]], [[0.0, 1.0, 5.0]], [[7.0, 0.0, 0.0]]], [3])
    >>> tf.sparse.to_dense(labels[0]).numpy()
    array([[1, 0]])
    """
    return beam_search(inputs, sequence_length, beam_width, top_paths, False)


def beam_search(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int, top_paths: int, merge_repeated: bool
) -> Decoded:
    """Returns the likeliest sequences; `merge_repeated` makes repeated labels one label in each sequence."""
    logits = as_tensor(inputs)
    *components, probabilities = CTCBeamSearchDecoder(
        logits,
        sequence_length,
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
        out_types=[*[int64] * (3 * top_paths), logits.dtype],
    )
    groups = (components[:top_paths], components[top_paths : 2 * top_paths], components[2 * top_paths :])
    return [SparseTensor(*path) for path in zip(*groups, strict=True)], probabilities

"""Sums over all paths of connectionist temporal classification: losses, and their gradients by the logits."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

LOG_OF_NOTHING = log(1e-307)
"""What TensorFlow's loss of dense labels uses for the logarithm of 0, where a path ends before its last label."""


class Labels(NamedTuple):
    """The labels of a batch, one row each."""

    numbers: Any
    """Class numbers, shape `[batch, longest]`."""
    lengths: Any
    """The number of labels of each row."""


class Rules(NamedTuple):
    """Which paths count."""

    blank: int
    """The class of the blank."""
    merges: bool
    """Whether repeated labels without a blank between them are merged."""
    penalty: float
    """The logarithm of the probability that a path ends before its last label."""


def losses_and_gradients(xp: Any, logits: Any, labels: Labels, lengths: Any, rules: Rules) -> tuple[Any, Any]:
    """Returns the loss of each row, and its gradient by the logits.

    Args:
      xp: the array library.
      logits: shape `[steps, batch, classes]`.
      labels: the labels of each row.
      lengths: the number of steps of each row.
      rules: which paths count.
    """
    steps, batch, classes = logits.shape
    shifted = logits.astype(xp.float64)
    shifted = shifted - shifted.max(2, keepdims=True) if classes else shifted
    log_probabilities = shifted - xp.log(xp.exp(shifted).sum(2, keepdims=True))
    paths = _Paths(xp, log_probabilities, labels, lengths, rules)
    forward, likelihood = paths.forward()
    occupied = xp.zeros((steps, batch, classes))
    possible = xp.isfinite(likelihood)
    if steps:
        shares = forward + paths.backward() - xp.where(possible, likelihood, 0)[:, None]
        shares = xp.where(paths.is_class & possible[:, None], xp.exp(shares), 0)
        classes_of_states = paths.classes[:, :, None] == xp.arange(classes)
        occupied = xp.matmul(shares.transpose(1, 0, 2), classes_of_states.astype(xp.float64)).transpose(1, 0, 2)
    counts = xp.arange(steps)[:, None] < lengths
    gradients = xp.where(counts[:, :, None], xp.exp(log_probabilities) - occupied, 0)
    return (-likelihood).astype(logits.dtype), gradients.astype(logits.dtype)


class _Paths:
    """The states of all rows, blanks and labels in turn, and the transitions between them."""

    def __init__(self, xp: Any, log_probabilities: Any, labels: Labels, lengths: Any, rules: Rules) -> None:
        batch, longest = labels.numbers.shape
        self.xp, self.lengths, self.penalty = xp, lengths, rules.penalty
        self.classes = xp.full((batch, 2 * longest + 1), rules.blank, labels.numbers.dtype)
        self.classes[:, 1::2] = labels.numbers
        self.is_class = (self.classes >= 0) & (self.classes < log_probabilities.shape[2])
        states = xp.arange(2 * longest + 1)
        is_label = states % 2 == 1
        counts = (2 * xp.minimum(labels.lengths, longest) + 1)[:, None]
        self.ends = (states >= counts - 2) & (states < counts) & (labels.lengths <= longest)[:, None]
        self.begins = xp.broadcast_to(states < 2, self.classes.shape)
        previous = xp.concatenate([self.classes[:, :2], self.classes[:, :-2]], 1)[:, : 2 * longest + 1]
        self.skips = is_label & (states > 2) & ((self.classes != previous) | (not rules.merges))
        self.stays = xp.broadcast_to(~is_label | rules.merges, self.classes.shape)
        where = xp.broadcast_to(xp.where(self.is_class, self.classes, 0), (len(log_probabilities), *self.classes.shape))
        scores = xp.take_along_axis(log_probabilities, where.astype(xp.int64), 2)
        self.scores = xp.where(states < counts, xp.where(self.is_class, scores, 0), -xp.inf)
        self.is_empty = labels.lengths == 0

    def forward(self) -> tuple[Any, Any]:
        """Returns the logarithms of the paths' probabilities up to each step, and that of all paths of each row."""
        xp, steps = self.xp, len(self.scores)
        totals = xp.empty(self.scores.shape)
        values = xp.where(self.begins, 0.0, -xp.inf)
        for step in range(steps):
            moved = values if step == 0 else self._moved(values, 1)
            values = xp.where((step < self.lengths)[:, None], moved + self.scores[step], values)
            totals[step] = values
        reached = self._total(xp.where(self.ends, values, -xp.inf))
        reached = xp.logaddexp(reached, self._total(values) + self.penalty)
        return totals, xp.where(self.lengths > 0, reached, xp.where(self.is_empty, 0.0, self.penalty))

    def backward(self) -> Any:
        """Returns the logarithms of the paths' probabilities after each step."""
        xp, steps = self.xp, len(self.scores)
        totals = xp.empty(self.scores.shape)
        values = totals[-1] = xp.where(self.ends, 0.0, self.penalty)
        for step in range(steps - 2, -1, -1):
            moved = self._moved(values + self.scores[step + 1], -1)
            values = totals[step] = xp.where((step + 1 < self.lengths)[:, None], moved, values)
        return totals

    def _moved(self, values: Any, direction: int) -> Any:
        """Returns the values after one transition, forwards for 1 and backwards for -1."""
        xp = self.xp
        skipping = self._shifted(values, 2) if direction > 0 else values
        skipping = xp.where(self.skips, skipping, -xp.inf)
        skipping = skipping if direction > 0 else self._shifted(skipping, -2)
        staying = xp.where(self.stays, values, -xp.inf)
        return xp.logaddexp(xp.logaddexp(staying, self._shifted(values, direction)), skipping)

    def _shifted(self, values: Any, count: int) -> Any:
        """Returns the values of the states `count` places before."""
        result = self.xp.full(values.shape, -self.xp.inf)
        if count > 0:
            result[:, count:] = values[:, :-count]
        else:
            result[:, :count] = values[:, -count:]
        return result

    def _total(self, values: Any) -> Any:
        """Returns the logarithm of the sum of each row's probabilities."""
        largest = values.max(1)
        shift = self.xp.where(self.xp.isfinite(largest), largest, 0.0)
        sums = self.xp.exp(values - shift[:, None]).sum(1)
        is_there = sums > 0
        return self.xp.where(is_there, self.xp.log(self.xp.where(is_there, sums, 1.0)) + shift, -self.xp.inf)

"""Messages in event files that TensorBoard reads: numbers, histograms and text.

Messages can be concatenated: the concatenation of several summaries is one message with all of them.

Source: TensorFlow, `tensorflow/core/framework/summary.proto`, `histogram.proto` and `tensor.proto`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from nbtf._storage.wire import block, double, doubles, single, whole_number

SUMMARY, GRAPH = 5, 4
"""The fields of an event that are written."""

BINS = 30
"""Number of bins in a TensorFlow 2 histogram. Source: `tensorboard.plugins.histogram.summary_v2`."""

_FLOAT, _DOUBLE, _STRING = 1, 2, 7
"""Numbers of dtypes in a message. Source: `tensorflow/core/framework/types.proto`."""


def number(tag: str, value: float) -> bytes:
    """Returns the summary of a number in the format of TensorFlow 1."""
    return _summary(tag, single(2, value))


def histogram(tag: str, values: Any) -> bytes:
    """Returns a histogram summary in the format of TensorFlow 1, whose bins grow by a tenth."""
    array = np.asarray(values, "float64").ravel()
    limits = _limits()
    counts = np.bincount(np.searchsorted(limits, array, "right").clip(max=len(limits) - 1), minlength=len(limits))
    bins = list(_join_bins(limits, counts)) if array.size else [(sys.float_info.max, 0.0)]
    extremes = (array.min(), array.max()) if array.size else (0.0, 0.0)
    figures = (*extremes, array.size, array.sum(), np.square(array).sum())
    fields = [double(field, float(figure)) for field, figure in enumerate(figures, 1)]
    fields += [doubles(6, [limit for limit, _ in bins]), doubles(7, [count for _, count in bins])]
    return _summary(tag, block(5, b"".join(fields)))


@cache
def _limits() -> Any:
    """Returns the upper limits of the bins. Source: `tensorflow/core/lib/histogram/histogram.cc`."""
    positive: list[float] = []
    limit = 1.0e-12
    while limit < 1.0e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(sys.float_info.max)
    return np.array([*(-end for end in reversed(positive)), 0.0, *positive])


def _join_bins(limits: Any, counts: Any) -> Iterator[tuple[float, float]]:
    """Yields the bins, merging adjacent empty ones."""
    for index, (limit, count) in enumerate(zip(limits, counts, strict=True)):
        is_last = index + 1 == len(limits)
        if count or is_last or counts[index + 1]:
            yield float(limit), float(count)


def scalar(tag: str, value: float, description: str = "") -> bytes:
    """Returns the summary of a number in the format of TensorFlow 2."""
    return tensor(tag, np.float32(value), "scalars", description)


def bins(tag: str, values: Any, count: int = BINS, description: str = "") -> bytes:
    """Returns a histogram summary in the format of TensorFlow 2: equal bins as rows of left, right, count."""
    array = np.asarray(values, "float64").ravel()
    rows = np.zeros((count, 3))
    if array.size:
        low, high = array.min(), array.max()
        if low == high:
            rows[:] = low, low, 0.0
            rows[-1, 2] = array.size
        else:
            counts, edges = np.histogram(array, count, (low, high))
            rows = np.stack([edges[:-1], edges[1:], counts], 1)
    return tensor(tag, rows, "histograms", description)


def tensor(tag: str, values: Any, plugin: str = "", description: str = "") -> bytes:
    """Returns the summary of an array of floats or strings.

    Args:
      tag: name of the summary.
      values: an array of numbers, written as float32 or float64, or an object array of bytes.
      plugin: the TensorBoard plugin that shows it.
      description: text that explains the values.
    """
    metadata = block(1, block(1, plugin)) + (block(3, description) if description else b"")
    return tensor_with(tag, values, metadata)


def tensor_with(tag: str, values: Any, metadata: bytes) -> bytes:
    """Returns the summary of an array of floats or strings, with a `SummaryMetadata` message; empty for none."""
    array = np.array(values, object if isinstance(values, bytes | str) else None)
    shape = b"".join(block(2, whole_number(1, length)) for length in array.shape)
    if array.dtype.kind == "O":
        content = whole_number(1, _STRING) + block(2, shape) + b"".join(block(8, text) for text in array.ravel())
    else:
        dtype, code = (_FLOAT, "<f4") if array.dtype == np.float32 else (_DOUBLE, "<f8")
        content = whole_number(1, dtype) + block(2, shape) + block(4, array.astype(code).tobytes())
    return _summary(tag, block(8, content), metadata)


def _summary(tag: str, value: bytes, metadata: bytes = b"") -> bytes:
    return block(1, block(1, tag) + value + (block(9, metadata) if metadata else b""))

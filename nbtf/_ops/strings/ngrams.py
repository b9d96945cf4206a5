"""N-grams: the runs of a number of neighbouring strings. Everything runs on the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, cast

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.joining import concat
from nbtf._ops.arrays.ranges import range as range_of
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.math.arithmetic import multiply
from nbtf._ops.op import no_gradient, op
from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.ragged_and_sparse.row_splits import splits_of
from nbtf._ops.reductions.means_and_extremes import reduce_prod
from nbtf._ops.specs import Dims, bracketed
from nbtf._ops.strings import kernels
from nbtf._runtime.arguments import check_text, check_whole, unexpected
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import int32, int64, string
from nbtf.errors import InvalidArgumentError


def _grams_partly(data: Any, data_splits: Any, **attrs: Any) -> list[Dims]:
    return [(None,), None if data_splits.shape is None else data_splits.shape]


@op(
    "string Tsplits -> string Tsplits",
    Tsplits=frozenset({int32, int64}),
    data_dependent=True,
    cpu_only=True,
    partly=_grams_partly,
)
def StringNGrams(
    xp: Any,
    data: Any,
    data_splits: Any,
    separator: str,
    ngram_widths: tuple[int, ...],
    left_pad: str,
    right_pad: str,
    pad_width: int,
    preserve_short_sequences: bool,
) -> list[Any]:
    texts, between, left, right = data.tolist(), separator.encode(), left_pad.encode(), right_pad.encode()
    rows: list[list[bytes]] = []
    for begin, end in pairwise(data_splits.tolist()):
        row, grams = texts[begin:end], list[bytes]()
        for width in ngram_widths:
            padding = width - 1 if pad_width < 0 else min(pad_width, width - 1)
            grams.extend(_runs([left] * padding + row + [right] * padding, width, between))
        if preserve_short_sequences and row and not grams:
            padding = max(pad_width, 0)
            grams.append(between.join([left] * padding + row + [right] * padding))
        rows.append(grams)
    splits = xp.array(splits_of([len(grams) for grams in rows]), data_splits.dtype)
    return [kernels.filled(xp, (gram for grams in rows for gram in grams), (int(splits[-1]),), object), splits]


def _runs(texts: Sequence[bytes], width: int, between: bytes) -> Iterator[bytes]:
    for start in range(len(texts) - width + 1):
        yield between.join(texts[start : start + width])


@StringNGrams.infer
def _(data: Spec, data_splits: Spec, **attrs: Any) -> list[Spec]:
    for name, spec in (("data", data), ("data_splits", data_splits)):
        if len(spec.shape) != 1:
            raise InvalidArgumentError(f"{name} must be a vector, received shape: {bracketed(spec.shape)}")
    return [Spec((None,), string), data_splits]


no_gradient(StringNGrams)


def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the n-grams along the last axis: the runs of `ngram_width` neighbouring strings, joined.

    Args:
      data: a string tensor with at least one axis, or a ragged tensor.
      ngram_width: number of strings per n-gram, at least 1; or a list of numbers, whose n-grams follow each other.
      separator: the text between the strings; a space by default.
      pad_values: a string that is placed before and after each row, or a pair of them; none by default.
      padding_width: number of padding strings on each side, at least 1 and below `ngram_width`; by default one less
        than `ngram_width`.
      preserve_short_sequences: whether a row that is shorter than all n-grams becomes an n-gram; False by default.

    Returns:
      The n-grams: a tensor for a tensor, a ragged tensor for a ragged tensor.

    Raises:
      TypeError: if `pad_values` is neither a string nor a pair of strings.
      ValueError: if a width is below 1, `data` is a scalar, or `padding_width` comes without `pad_values`.

    >>> tf.strings.ngrams(["a", "b", "c"], 2).numpy()
    array([b'a b', b'b c'], dtype=object)
    >>> tf.strings.ngrams(tf.ragged.constant([["a", "b"], ["c"]]), 2, pad_values=("<", ">"))
    <tf.RaggedTensor [[b'< a', b'a b', b'b >'], [b'< c', b'c >']]>
    """
    left_pad, right_pad = _pads(pad_values)
    if padding_width is not None and check_whole(padding_width, "padding_width") < 1:
        raise ValueError("padding_width must be greater than 0.")
    if padding_width is not None and pad_values is None:
        raise ValueError("pad_values must be provided if padding_width is set.")
    widths = cast("Sequence[Any]", ngram_width) if isinstance(ngram_width, list | tuple) else [ngram_width]
    if any(check_whole(width, "ngram_width") < 1 for width in widths):
        raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
    attrs: dict[str, Any] = {
        "separator": check_text(separator, "separator"),
        "ngram_widths": tuple(map(int, widths)),
        "left_pad": left_pad,
        "right_pad": right_pad,
        "pad_width": 0 if pad_values is None else -1 if padding_width is None else int(padding_width),
        "preserve_short_sequences": bool(preserve_short_sequences),
        "name": name,
    }
    return _of_rows(data, attrs) if isinstance(data, RaggedTensor) else _of_dense(as_tensor(data, string), attrs)


def _pads(pad_values: Any) -> tuple[str, str]:
    if pad_values is None:
        return "", ""
    pair = cast("Sequence[Any]", pad_values) if isinstance(pad_values, list | tuple) else [pad_values] * 2
    if len(pair) != 2 or not all(isinstance(text, str | bytes) for text in pair):
        raise unexpected(pad_values, "pad_values", "a string, a pair of strings, or None")
    return check_text(pair[0], "pad_values"), check_text(pair[1], "pad_values")


def _of_rows(rows: RaggedTensor, attrs: dict[str, Any]) -> RaggedTensor:
    if isinstance(rows.values, RaggedTensor):
        return rows.with_values(_of_rows(rows.values, attrs))
    return RaggedTensor(*StringNGrams(rows.values, rows.row_splits, **attrs))


def _of_dense(texts: Tensor, attrs: dict[str, Any]) -> Tensor:
    if texts.shape.rank is None:
        raise ValueError("Rank of data must be known.")
    if texts.shape.rank == 0:
        raise ValueError("Data must have rank>0")
    lengths = shape_of(texts, int64)
    splits = multiply(range_of(reduce_prod(lengths[:-1]) + 1), lengths[-1])
    grams, _ = StringNGrams(reshape(texts, [-1]), splits, **attrs)
    return grams if texts.shape.rank == 1 else reshape(grams, concat([lengths[:-1], [-1]], 0))

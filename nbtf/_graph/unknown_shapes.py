"""Shapes of results where a shape or an attribute is only known in part: one rule for each op that has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbtf._graph.static import known_lengths
from nbtf._graph.tensor import GraphTensor

Dims = Sequence[int | None] | None
Rule = Callable[[Sequence[Any], Mapping[str, Any], frozenset[str]], Dims]


def dims_of_results(
    op: Any, arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str], count: int
) -> list[Dims]:
    """Returns what is known of each result's shape; None where not even its rank is.

    Args:
      op: the op.
      arguments: its inputs, of which some may have no known rank.
      attrs: its attributes.
      unknown: the names of those which are tensors that only a run gives a value.
      count: the number of results.
    """
    rule = _RULES.get(op.type)
    return [None if rule is None else rule(arguments, attrs, unknown)] * count


def _dims(value: Any) -> Dims:
    tensor: GraphTensor = value[0] if value.__class__ is list else value
    return tensor._shape.dims


def _nothing_known(value: Any) -> Dims:
    dims = _dims(value)
    return None if dims is None else [None] * len(dims)


def _as_asked(attr: str) -> Rule:
    """The rule of ops whose result has the shape that an attribute says."""

    def rule(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
        return known_lengths(attrs[attr])

    return rule


def _like_first(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    return _dims(arguments[0])


def _same_rank(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    return _nothing_known(arguments[0])


def _vector(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    return [None]


def _scalar(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    return []


def _places(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    rank = arguments[0]._shape.rank
    return [None, rank]


def _image(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    return [None] * 4


def _reduced(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    if attrs["keepdims"]:
        return _nothing_known(arguments[0])
    return None if unknown or attrs["axis"] is not None else []


def _one_axis_less(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    dims = _nothing_known(arguments[0])
    return None if not dims else dims[1:]


def _one_axis_more(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    dims = _nothing_known(arguments[0])
    return None if dims is None else [None, *dims]


def _last_open(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    dims = _dims(arguments[0])
    return None if not dims else [*dims[:-1], None]


def _one_hot(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    dims = _dims(arguments[0])
    if dims is None:
        return None
    depth = None if "depth" in unknown else int(attrs["depth"])
    place = len(dims) if attrs["axis"] in (None, -1) else attrs["axis"]
    return [*dims[:place], depth, *dims[place:]]


def _sliced(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    lengths = known_lengths(attrs["size"])
    return _nothing_known(arguments[0]) if lengths is None else lengths


def _strided(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    dims, masks, begin = _dims(arguments[0]), attrs["masks"], known_lengths(attrs["begin"])
    count = None if begin is None else len(begin)
    if dims is None or count is None:
        return None
    named = count - bin(masks.new_axis).count("1") - bin(masks.ellipsis).count("1")
    found: list[int | None] = []
    place = 0
    for number in range(count):
        bit = 1 << number
        if masks.ellipsis & bit:
            skipped = len(dims) - named
            found += dims[place : place + skipped]
            place += skipped
        elif masks.new_axis & bit:
            found.append(1)
        else:
            if not masks.shrink_axis & bit:
                found.append(dims[place] if masks.begin & bit and masks.end & bit else None)
            place += 1
    return [*found, *dims[place:]]


def _joined(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    shapes = [one._shape.dims for one in arguments[0]]
    known = [dims for dims in shapes if dims is not None]
    if not known:
        return None
    axis = None if "axis" in unknown else attrs["axis"] % len(known[0])
    found: list[int | None] = []
    for place in range(len(known[0])):
        lengths = {dims[place] for dims in known} - {None}
        found.append(None if axis is None or place == axis or len(lengths) != 1 else lengths.pop())
    return found


def _merged(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    shape = arguments[0][0]._shape
    for one in arguments[0][1:]:
        shape = shape.merge_with(one._shape)
    return shape.dims


def _segments(arguments: Sequence[Any], attrs: Mapping[str, Any], unknown: frozenset[str]) -> Dims:
    data, ids = _dims(arguments[0]), _dims(arguments[1])
    return None if data is None or ids is None else [None, *data[len(ids) :]]


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum"), _reduced),
    **dict.fromkeys(("Pad", "PadV2", "MirrorPad", "Tile", "Transpose", "ConjugateTranspose"), _same_rank),
    **dict.fromkeys(("Split", "SplitV"), _same_rank),
    **dict.fromkeys(("ReverseV2", "Roll", "Cumsum", "Cumprod", "Softmax", "LogSoftmax", "BiasAdd"), _like_first),
    **dict.fromkeys(
        ("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt"), _as_asked("shape")
    ),
    **dict.fromkeys(
        ("UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd"), _segments
    ),
    **dict.fromkeys(("Conv2D", "MaxPool", "AvgPool", "DepthwiseConv2dNative"), _image),
    **dict.fromkeys(("Rank", "Size", "L2Loss"), _scalar),
    **dict.fromkeys(("Shape", "Range", "LinSpace", "Unique", "UniqueWithCounts"), _vector),
    **dict.fromkeys(("Reshape", "BroadcastTo", "ScatterNd"), _as_asked("shape")),
    **dict.fromkeys(("ArgMax", "ArgMin"), _one_axis_less),
    "Fill": _as_asked("dims"),
    "Where": _places,
    "ExpandDims": _one_axis_more,
    "TopKV2": _last_open,
    "Multinomial": _last_open,
    "OneHot": _one_hot,
    "Slice": _sliced,
    "StridedSlice": _strided,
    "ConcatV2": _joined,
    "AddN": _merged,
}

"""Draws pieces that are too short to be drawn individually, as the load of each column of pixels, by colour."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import ceil, inf

import numpy as np

from nbtf.notebook.stills.marks import Boxes
from nbtf.notebook.stills.palette import OF_PHASE
from nbtf.notebook.stills.schedule import WAIT, Numbers, Pieces, Schedule, Transfer, Work

_FAMILIES = {
    "products": (
        "wgt",
        r"MatMul|Conv|Einsum|::\w*(mm|mv|dot|conv|attention)|::_?(matmul|(bi)?linear)$|gemm|gemv|cutlass|convolve|[wd]grad|flash_|fmha"
        r"|(?i:mm|mv|dot|linear|attention)Backward",
    ),
    "reductions": (
        "upd",
        r"^(Sum|Mean|Prod|Max|Min|All|Any|Arg\w+|Cum\w+)$|^(?=\w*$)\w*Pool"
        r"|::_?(sum|mean|prod|a?(max|min)(?!imum)|all|any|arg|cum|\w*pool|\w*loss|cross_entropy|logsumexp)|reduce_kernel"
        r"|::(\w+_)?(segment_(sum|mean|prod|max|min)|cross_entropy\w*|bincount)(_backward)?$"
        r"|triton_(red|per)_|(Sum|Mean|Prod|Max|Min|Loss\w*)Backward",
    ),
    "randoms": (
        "py",
        r"Random|Multinomial|::(rand|rng|\w*truncated_normal|normal|uniform|bernoulli|multinomial|\w*dropout)|fused_dropout|distribution_"
        r"|DropoutBackward",
    ),
    "norms": (
        "bwd",
        r"softmax|SoftMax|SoftmaxBackward|_norm(?!al)|layer_?norm|batch_?norm|NormBackward|bn_[fb]w|::(norm$|lrn)",
    ),
    "copying": (
        "mov",
        r"^Mem(set|cpy)|direct_copy|CatArray|[Nn]chwTo|[Nn]hwcTo|::(_?copy_?|to|_to_copy|clone|contiguous|cat|stack|concat|(un)?pack|cast|identity(_n)?)$"
        r"|(Copy|Clone|Cat|Stack|CopySlices)Backward",
    ),
    "elementwise": (
        "fwd",
        r"elementwise|multi_tensor_apply|triton_poi_|::_?(foreach_)?((bias_)?add(_n)?|r?sub|mul|div|neg|abs|exp(m1)?"
        r"|log(1p)?|r?sqrt|pow|squared?(_difference)?|reciprocal|a?(sin|cos|tan)h?|atan2|sigmoid|\w*[rsg]?elu6?|silu|mish"
        r"|erf(c|inv)?|ndtri|hard\w+|softplus|softsign|clamp\w*|where|select|threshold|addc\w+|lerp|eq|ne|[lg][te]"
        r"|(not_)?equal|(less|greater)(_equal)?|(logical|bitwise)_\w+|invert|(left|right)_shift|maximum|minimum|sign"
        r"|round|rint|floor|ceil|is_?(nan|inf|finite)|next_after|(real|floor|truncate)_(div|mod)|(mul|div)_no_nan"
        r"|xdivy|xlog1?p?y|conj|complex(_abs)?|real|imag|angle|masked_fill|fill|zeros?(_like)?|ones(_like)?|\w*sgd"
        r"|\w*adamw?|assign_(add|sub)_variable)(_backward)?_?$"
        r"|(Add|R?sub|Mul|Div|Neg|Abs|Exp|Log|R?sqrt|Pow|Tanh|Sigmoid|\w*[RESG]elu|Silu|Where|Clamp\w*)Backward",
    ),
    "other": ("tmp", ""),
}
"""The fill of ops if the program has no phases, by pattern of their names; the first pattern that matches counts.

The names are those of PyTorch ops and gradients, CUDA kernels, and TensorFlow ops as PyTorch would write them.
"""

COPIES, WAITS = "cpyf", "wait"
"""The fills of copies, and of a program that waits for a device's result."""

FAMILIES = tuple(name for name in _FAMILIES if name != "other")
"""The names of the families, without the one of all other ops."""

_TEMPLATE = re.compile(r"<[^<>]*>")
"""The arguments of a kernel's template, which name many other functions."""

_TENSORFLOW = re.compile(r"([A-Z]\w*?)((?:Grad)*)([Vv]\d|Op)*")
"""The name of a TensorFlow op: of a gradient or not, and with or without a version."""

_WORD = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
"""The beginning of a word in such a name."""

_PHASES = ("forward", "backward", "update", "input")

WORK_COLUMNS = (*_PHASES, "other", *FAMILIES)
"""The columns in which ops are counted: by phase or, without one, by family; unknown phases count as other."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps times to px: the px of the beginning and of the end, and the seconds in between."""

    begin: float
    end: float
    seconds: float

    @property
    def width(self) -> float:
        """In px."""
        return self.end - self.begin

    def at(self, moment: float) -> float:
        """Returns the px of a time, rounded to tenths, so that pieces adjacent in time are adjacent in the picture."""
        return round(self.exact(moment), 1)

    def exact(self, moment: float) -> float:
        """Returns the px of a time without rounding."""
        return self.begin + (moment / self.seconds if self.seconds else 0.0) * self.width

    def at_all(self, moments: Numbers) -> Numbers:
        """Returns the px of times, rounded as `at` does."""
        return np.round(self.begin + moments / (self.seconds or inf) * self.width, 1)


@dataclass(frozen=True, slots=True)
class Colouring:
    """The colour of each op, and the texts of the legend: by phase, or by family without phases."""

    by_phase: bool
    ops: tuple[Work, ...]

    def of(self, work: Work) -> str:
        """Returns the token of an op."""
        if work.phase == WAIT:
            return WAITS
        if self.by_phase:
            return OF_PHASE.get(work.phase, "tmp")
        return _FAMILIES[family_of(work.op)][0]

    def keys(self) -> list[tuple[str, str]]:
        """Returns the tokens that occur, with their names."""
        waits = [(WAIT, WAITS)] if any(work.phase == WAIT for work in self.ops) else []
        ops = [work for work in self.ops if work.phase != WAIT]
        if self.by_phase:
            names = {work.phase if work.phase in _PHASES else "other" for work in ops}
            return [(name, OF_PHASE.get(name, "tmp")) for name in (*_PHASES, "other") if name in names] + waits
        names = {family_of(work.op) for work in ops}
        return [(name, token) for name, (token, _) in _FAMILIES.items() if name in names] + waits


def colouring(schedule: Schedule) -> Colouring:
    """Returns the colours of a schedule's ops."""
    return Colouring(schedule.has_phases, tuple(schedule.ops.at(~schedule.ops.folded).distinct()))


@lru_cache(4096)
def family_of(op: str) -> str:
    """Returns the family of an op, which determines its colour if the program has no phases."""
    name, remaining = "direct_copy" if "direct_copy" in op else op, -1
    while remaining:
        name, remaining = _TEMPLATE.subn("", name)
    names = name, _as_in_pytorch(name)
    return next(family for family, (_, pattern) in _FAMILIES.items() if any(re.search(pattern, each) for each in names))


def _as_in_pytorch(op: str) -> str:
    """Returns the name of a TensorFlow op as PyTorch would write it; any other name unchanged.

    >>> _as_in_pytorch("AddV2"), _as_in_pytorch("LogSoftmax"), _as_in_pytorch("ReluGrad"), _as_in_pytorch("aten::add")
    ('::add', '::log_softmax', '::relu_backward', 'aten::add')
    """
    match = None if "Backward" in op else _TENSORFLOW.fullmatch(op)
    return f"::{_WORD.sub('_', match[1]).lower()}{'_backward' if match[2] else ''}" if match else op


_MOST_COLUMNS = 640
"""Maximum number of columns in a picture with many short pieces; each is then several px wide."""


ROWS_IN_SIGHT = 24
"""Devices and folded groups that a page shows at once; it requests others when they come into sight."""


def column_width(columns: int, width: float) -> float:
    """Returns the width of columns in px, given how many of 1 px would be needed and the length of all lanes together.

    >>> column_width(300, 3200), column_width(2900, 3200)
    (1.0, 5.0)
    """
    return 1.0 if columns <= _MOST_COLUMNS else float(max(1, ceil(width / _MOST_COLUMNS)))


Spans = Mapping[str, tuple[Numbers, Numbers]]
"""Start and end times of each token's pieces, in seconds; both sorted."""


def spans_of(ops: Pieces[Work], copies: Pieces[Transfer], colours: Colouring) -> Spans:
    """Returns the start and end times of a lane's ops and copies, by token."""
    tokens = sorted({colours.of(work) for work in ops.distinct()})
    number = ops.of_each(lambda work: tokens.index(colours.of(work)), np.int64)
    pieces = {token: ops.at(number == at) for at, token in enumerate(tokens)}
    spans = {token: (each.start, np.sort(each.end)) for token, each in (*pieces.items(), (COPIES, copies))}
    return {token: span for token, span in spans.items() if len(span[0])}


def busy_between(starts: Numbers, ends: Numbers, edges: Numbers) -> Numbers:
    """Returns the total duration of pieces between adjacent edges; pieces may overlap, and may lie outside."""
    return np.diff(_time_since(starts, edges) - _time_since(ends, edges))


def _time_since(moments: Numbers, edges: Numbers) -> Numbers:
    """Returns, for each edge, the sum of the times since all earlier moments; none is before the first edge."""
    origin = edges[0]
    first, last = moments.searchsorted(edges[[0, -1]])
    inside = moments[first:last] - origin  # sums from the very beginning would be less exact
    count = inside.searchsorted(edges - origin)
    return (first + count) * (edges - origin) - np.concatenate([[0.0], np.cumsum(inside)])[count]


def stacked(spans: Spans, scale: Scale, y: float, height: float, step: float = 1.0) -> Iterator[Boxes]:
    """Yields the load of each column, by token, stacked from below.

    Wide columns have heights in whole px; equal neighbours are combined into one box.

    Args:
      spans: spans of one lane.
      scale: the picture's scale.
      y: upper edge of the lane, in px.
      height: height of the lane, in px.
      step: width of a column, in px.
    """
    rate, digits = scale.width / step / (scale.seconds or inf), 1 if step == 1.0 else 0
    edges = np.arange(ceil(scale.width / step) + 1.0)
    shares = {token: busy_between(begins * rate, ends * rate, edges) for token, (begins, ends) in spans.items()}
    columns = [
        _levels(dict(zip(shares, column, strict=True)), height, digits) for column in zip(*shares.values(), strict=True)
    ]
    boxes: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
    for levels, run in groupby(range(len(columns)), columns.__getitem__):
        numbers = [*run]
        x, base = scale.begin + numbers[0] * step, y + height
        for token, size in levels:
            base -= size
            boxes[token].append((x, base, min(len(numbers) * step, scale.end - x), size))
    yield from (Boxes(tuple(sides), token) for token, sides in boxes.items())


def _levels(shares: Mapping[str, float], height: float, digits: int) -> tuple[tuple[str, float], ...]:
    """Returns the parts of a column from below, in px; sorted, so that equal columns compare equal."""
    loads = {token: min(float(share), 1.0) for token, share in sorted(shares.items())}
    total = max(sum(loads.values()), 1.0)  # pieces of several colours may overlap
    levels = [(token, round(height * share / total, digits)) for token, share in loads.items()]
    return tuple((token, size) for token, size in levels if size > 0)

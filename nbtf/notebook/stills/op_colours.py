"""The colours of a timeline: by phase, or by family of ops if the program has no phases."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from nbtf.notebook.stills.palette import OF_PHASE
from nbtf.notebook.stills.schedule import WAIT, Schedule, Work

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

"""Why did PyTorch run out of memory? Rules on the figures of its message, with the arithmetic behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nbtf._error_texts import actions
from nbtf._error_texts.finding import Action, Nbytes, Statement, Value
from nbtf._error_texts.torch_memory import TorchMemory

_GIB, _MIB = 1 << 30, 1 << 20
_OWN_CONTEXT = 1 * _GIB
"""Bytes that CUDA, cuBLAS and cuDNN use in a process at most; its context on recent cards has 0.3 to 0.8 GiB."""
_OTHERS_AND_CONTEXT = 3 * _GIB // 2
"""Bytes outside PyTorch that are ordinary if a message does not separate the context from other processes."""
_LARGE, _NOTABLE = 0.10, 0.05
"""Shares of a card from which memory that tensors cannot use is the cause, and from which it is for a large request."""
_LARGE_REQUEST = 0.02
_DECIDES = 1.5
"""How many times larger than the second cause the first one must be."""
_NEARLY_FULL = 0.02
"""Share of a card below which free memory is not worth mentioning, even if it is larger than a request."""
_UNCLEAR = 0.15
"""Share of a card from which memory outside PyTorch may be that of other processes, if a message does not say it."""
_LEVEL_ZERO = 4 * _GIB
"""Bytes of the largest allocation of Intel's driver, unless a program lifts its limit."""
_SMALLEST_SEGMENTS = (2 * _MIB, 20 * _MIB)
_MARGINS = 4
_ALSO = {
    "fragmentation": "fragmentationAlso",
    "otherProcess": "otherProcessAlso",
    "privatePools": "privatePoolsAlso",
    "outsidePyTorch": "outsidePyTorchAlso",
}
"""Texts of what contributes, by the names of the causes."""


class Reasons(NamedTuple):
    """Why a request failed; the fields are those of a finding."""

    arithmetic: Sequence[Statement]
    causes: Sequence[Statement]
    also: Sequence[Statement]
    actions: Sequence[Action]
    values: Mapping[str, Value] = {}


class Candidate(NamedTuple):
    """Memory that the program's tensors could not use: the name of its text, and bytes."""

    name: str
    nbytes: int


class Account:
    """The figures of a message, and others that follow from them, in bytes."""

    def __init__(self, memory: TorchMemory) -> None:
        """Computes the figures that the message does not contain."""
        self.memory = memory
        self.request: int = memory.request.nbytes
        self.total: int = memory.total.nbytes
        self.free: int | None = memory.free.nbytes if memory.free else None
        sizes = (memory.request, memory.total, memory.free, memory.process, memory.allocated, memory.unallocated)
        self.margin: int = sum(size.margin for size in sizes if size)
        used = None if self.free is None else self.total - self.free
        self.listed: int = sum(size.nbytes for _, size in memory.other_processes)
        self.others = self.outside = self.others_or_outside = None
        if memory.process is not None:
            self.outside = memory.process.nbytes - memory.reserved
            self.others = None if used is None else used - memory.process.nbytes
        elif used is not None and not memory.is_async:
            self.others_or_outside = used - memory.reserved

    @property
    def unallocated(self) -> int:
        """Bytes that PyTorch keeps without using them."""
        return self.memory.unallocated.nbytes if self.memory.unallocated else 0

    def values(self) -> dict[str, Nbytes]:
        """Returns all figures by the names that sentences use."""
        memory = self.memory
        figures = {
            "request": self.request,
            "total": self.total,
            "free": self.free,
            "process": memory.process and memory.process.nbytes,
            "allowed": memory.allowed and memory.allowed.nbytes,
            "allocated": memory.allocated.nbytes,
            "pools": memory.pools and memory.pools.nbytes,
            "unallocated": self.unallocated,
            "reserved": memory.reserved,
            "others": self.others if self.others_or_outside is None else self.others_or_outside,
            "outside": self.outside,
            "listed": self.listed,
            "needed": memory.allocated.nbytes + self.request,
            "missing": None if self.free is None else self.request - self.free,
            "usable": None if self.free is None else self.free + self.unallocated,
            "wanted": memory.reserved + self.request,
        }
        return {name: Nbytes(nbytes) for name, nbytes in figures.items() if nbytes is not None}

    def candidates(self) -> list[Candidate]:
        """Returns all memory without which the request would have fit, the largest first."""
        pools = self.memory.pools.nbytes if self.memory.pools else 0
        possible = [
            Candidate("fragmentation", self.unallocated),
            Candidate("otherProcess", self.others or 0),
            Candidate("privatePools", pools),
            Candidate("outsidePyTorch", (self.outside or 0) - _OWN_CONTEXT),
            Candidate("otherProcess", (self.others_or_outside or 0) - _OTHERS_AND_CONTEXT),
        ]
        fitting = [each for each in possible if each.nbytes > 0 and (self.free or 0) + each.nbytes >= self.request]
        return sorted(fitting, key=lambda each: -each.nbytes)

    def explains(self, candidate: Candidate) -> bool:
        """Returns whether a candidate is large enough to be the cause."""
        share = candidate.nbytes / max(self.total, 1)
        return share >= _LARGE or (share >= _NOTABLE and self.request >= _LARGE_REQUEST * self.total)


def reasons_of(memory: TorchMemory) -> Reasons:
    """Returns why a request failed."""
    account = Account(memory)
    values = account.values()
    names, also = _causes(account)
    return Reasons(
        _arithmetic(account, values),
        [Statement(name) for name in names],
        [Statement(_ALSO[name]) for name in also],
        _actions(account, names, also),
        values,
    )


def _causes(account: Account) -> tuple[list[str], list[str]]:
    """Returns the names of the causes, and of what contributes."""
    memory, request = account.memory, account.request
    allowed = memory.allowed.nbytes if memory.allowed else None
    is_large = memory.backend == "XPU" and request >= _LEVEL_ZERO
    if request > account.total:
        return ["requestExceedsCard"], []
    if allowed is not None and request > allowed:
        return ["requestExceedsAllowed"], []
    is_over_limit = allowed is not None and memory.reserved + request > allowed
    if is_over_limit and account.free is not None and account.free >= request:
        return ["fractionLimit"], []
    if account.free is None and not _is_explained(account):
        return (["oneAllocation"] if is_large else ["freeUnknownOther", "freeUnknownDriver"]), []
    if account.free is not None and account.free >= max(request, _NEARLY_FULL * account.total):
        return (["oneAllocation"] if is_large else ["releasedMeanwhile", "driverRefused"]), []
    candidates = account.candidates()
    strong = [each for each in candidates if account.explains(each)]
    if not strong and (account.others_or_outside or 0) >= max(_UNCLEAR * account.total, _OWN_CONTEXT):
        return ["cardFull", "otherProcess"], []
    if not strong:
        return ["cardFull"], list(dict.fromkeys(each.name for each in candidates))
    decided = [each for each in strong if each.nbytes * _DECIDES > strong[0].nbytes]
    names = list(dict.fromkeys(each.name for each in decided))
    return names[:2], [name for name in dict.fromkeys(each.name for each in candidates) if name not in names[:2]]


def _is_explained(account: Account) -> bool:
    """Returns whether figures without that of free memory show why a request failed."""
    needed = account.memory.allocated.nbytes + account.request
    return needed > account.total or account.unallocated >= account.request


def _arithmetic(account: Account, values: Mapping[str, Nbytes]) -> list[Statement]:
    memory, sums = account.memory, list[str]()
    if memory.unallocated is not None:
        sums.append("sumReserved")
    sums += _sums_of_others(account)
    if account.free is not None:
        sums.append("sumMissing" if account.request > account.free else "sumEnough")
        sums.append("sumUsable" if account.free + account.unallocated >= account.request else "sumNotUsable")
    sums.append("sumNeededExceeds" if values["needed"] > account.total else "sumNeededFits")
    if memory.allocated.nbytes > account.total + account.margin:
        sums.append("moreThanCard")
    if memory.allowed is not None:
        sums.append("sumAllowed" if values["wanted"] > memory.allowed.nbytes else "sumAllowedFits")
    if memory.request.nbytes in _SMALLEST_SEGMENTS:
        sums.append("smallestSegment")
    return [Statement(name) for name in sums]


def _sums_of_others(account: Account) -> list[str]:
    """Returns the texts about memory that PyTorch does not manage, and whether the figures add up."""
    memory, sums = account.memory, list[str]()
    if account.outside is not None and account.outside > -account.margin:
        sums.append("sumOutside")
    if account.others is not None:
        # A negative rest within the precision of the figures means that no other process uses the card.
        sums.append("sumOthers" if account.others > account.margin else "sumNoOthers")
        if account.others < -max(_MARGINS * account.margin, account.total // 100):
            sums[-1] = "sumDiffers"
    if memory.other_processes:
        sums.append("sumListed")
    if account.others_or_outside is not None:
        sums.append("sumOthersOrOutside" if account.others_or_outside > -account.margin else "sumDiffersOld")
    return sums


def _actions(account: Account, names: Sequence[str], also: Sequence[str]) -> list[Action]:
    memory = account.memory
    suggested = [action for name in names for action in _against(name, account)]
    if account.request * 4 >= account.total:
        suggested.append(actions.SMALLER)
    suggested.append(actions.HALVE)
    if "cardFull" in names:
        suggested += [actions.AUTOCAST, actions.CHECKPOINT, actions.DELETE]
        suggested += _against_fragmentation(memory) if "fragmentation" in also else []
        suggested += [actions.PROCESSES] if "otherProcess" in also else []
        suggested.append(actions.SNAPSHOT)
    return [action for index, action in enumerate(suggested) if action not in suggested[:index]]


def _against(name: str, account: Account) -> list[Action]:
    """Returns the lines that help against a cause; none if only less memory helps."""
    memory = account.memory
    if name == "fragmentation":
        return _against_fragmentation(memory)
    if name == "otherProcess":
        killed = [actions.kill(pid) for pid, _ in memory.other_processes[:3]] or [actions.kill("PID")]
        return [actions.PROCESSES, *killed, actions.choose_card(0 if memory.device else 1)]
    if name == "fractionLimit":
        return [actions.fraction(memory.reserved + account.request, account.total)]
    return list(_LINES.get(name, ()))


_LINES = {
    "privatePools": (Action("fewerGraphs", 'model = torch.compile(model, mode="default")'),),
    "outsidePyTorch": (actions.PROCESSES, Action("otherLibrary", "export XLA_PYTHON_CLIENT_PREALLOCATE=false")),
    "releasedMeanwhile": (actions.SMI,),
    "driverRefused": (Action("systemLimit"),),
    "requestExceedsCard": (actions.SMALLER,),
    "requestExceedsAllowed": (actions.SMALLER,),
    "oneAllocation": (actions.SMALLER,),
    "freeUnknownOther": (actions.SMI,),
    "freeUnknownDriver": (actions.SMALLER,),
}
"""Lines against causes that need no figures."""


def _against_fragmentation(memory: TorchMemory) -> list[Action]:
    if memory.is_old:
        return [actions.max_split(memory.variable, memory.request.nbytes)]
    return [actions.expandable(memory.variable)]

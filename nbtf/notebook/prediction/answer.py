"""The answer to a prediction request: the peak, the largest batch, and the changes that save most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtf._devices.caching.fixed_parts import FixedParts, fixed_parts
from nbtf._devices.capacities import capacity_of
from nbtf._devices.discovery import gpus, simulated_machine
from nbtf._frameworks.torch.prediction.asking import IN_PART
from nbtf._frameworks.torch.prediction.callers import Callers
from nbtf._frameworks.torch.simulation.installation import Installation
from nbtf._frameworks.torch.simulation.library import load_torch
from nbtf._snapshots.opened import OpenedSnapshot
from nbtf.notebook.prediction.batches import BatchSize, largest
from nbtf.notebook.prediction.changes import changes
from nbtf.notebook.prediction.comparison import Comparison, opened
from nbtf.notebook.prediction.deletions import deletions
from nbtf.notebook.prediction.other_libraries import LeftOut
from nbtf.notebook.prediction.program import UNLIMITED, Cell, Outcome, Program
from nbtf.notebook.prediction.time_limit import TimeLimit

_SHOWN_CHANGES = 3


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer to a request, as plain data.

    Args:
      request: `cells` (each number, source, is_predicted), `card`, `count`, `batches`, `batch_name`, `seconds` for one
        loop, `limit`, the seconds for all runs, and `compare`, the path of a memory snapshot or None.

    Raises:
      ValueError: if the snapshot cannot be read.
    """
    snapshot = opened(request["compare"]) if request["compare"] else None  # before the runs, which take long
    torch = load_torch()
    cards = gpus(simulated_machine(request["count"], request["card"]), {})
    installation = Installation(torch, cards, values=False, read_as=0.0)
    cells = [Cell(*cell) for cell in request["cells"]]
    program = Program(torch, installation.machine, cells, request["seconds"], TimeLimit(request["limit"]))
    return Prediction(torch, program, cards[0].card, request, snapshot).answer()


class BatchError(Exception):
    """The program fails with another batch although it runs with its own, so the memory is unknown."""


class Prediction:
    """The runs that answer one request."""

    def __init__(
        self, torch: Any, program: Program, card: Any, request: Mapping[str, Any], snapshot: OpenedSnapshot | None
    ) -> None:
        """Stores the program, the card for which it is predicted, and the snapshot with which it is compared."""
        self._torch, self._program, self._request, self._snapshot = torch, program, request, snapshot
        self._card, self._fixed, self._total = card, fixed_parts(card), capacity_of(card)
        self._untried = 0
        """Number of changes that were not tried for lack of time."""

    def answer(self) -> dict[str, Any]:
        """Runs the program as often as the answer requires."""
        program, left_out = self._program, LeftOut()
        with left_out.listening():
            first, callers = self._run()
        notes = [*first.notes, *left_out.sentences(self._card.name)]
        ends = {
            "card": self._card.name,
            "error": first.error,
            "stopped": first.stopped,
            "limit": program.limit.seconds,
            "unprepared": first.unprepared,
            "notes": notes,
        }
        if first.peak is None:
            is_whole = first.is_whole and not left_out.has_ops
            return {
                **ends,
                "peak": None,
                "verdict": "" if is_whole else IN_PART,
                "comparison": self._comparison(first, callers),
            }
        needed, needed_callers = (first, callers) if first.fits else self._run(UNLIMITED)
        # All that is known is that the program does not fit.
        if needed.peak is None or (needed.stopped and not first.stopped):
            needed, needed_callers = first, callers
        batch = BatchSize(program.cells, self._request["batch_name"])
        if self._request["batches"] and not batch:
            raise ValueError(
                "No cell sets the batch size to a whole number, as in batch_size = 32. Name the variable: NAME=8,16."
            )
        is_whole = needed.is_whole and not left_out.has_ops
        return {
            **ends,
            "total": self._total,
            "fixed": [self._fixed.at_least, self._fixed.at_most],
            "error": needed.error,
            "stopped": needed.stopped,
            "verdict": verdict(first, self._total, self._fixed, is_whole),
            "peak": _plain(needed),
            "batch": self._batches(batch, needed.error) if batch and not needed.stopped else None,
            "changes": [] if needed.stopped else self._changes(batch, needed),
            "untried": self._untried,
            "is_cut": needed.is_cut,
            "reads": needed.reads,
            "comparison": self._comparison(needed, needed_callers),
        }

    def _run(self, total: int | None = None) -> tuple[Outcome, Callers | None]:
        """Runs the program; records the calls that allocate if it is to be compared."""
        callers = None if self._snapshot is None else Callers()
        return self._program.run(total=total, callers=callers), callers

    def _comparison(self, outcome: Outcome, callers: Callers | None) -> dict[str, Any] | None:
        """Returns how a run differs from the snapshot; None without a snapshot."""
        if self._snapshot is None or callers is None:
            return None
        program = self._program
        comparison = Comparison(program.cells, outcome, callers, self._snapshot, program.settings, self._fixed.context)
        return comparison.to_dict()

    def _batches(self, batch: BatchSize, own_error: str) -> dict[str, Any]:
        """Returns the memory with other batches; `own_error` is the error of the unchanged program, if any."""

        def run(value: int, total: int | None) -> Outcome:
            """Runs the program with another batch, by default on a card with the memory left for tensors."""
            outcome = self._program.run(batch.cells(value), total=room if total is None else total)
            if outcome.stopped:
                raise BatchError(f"the limit of {self._program.limit.seconds:g} s was reached.")
            if outcome.error and not own_error and (outcome.peak is None or outcome.fits):
                raise BatchError(f"with {batch.name} = {value:,} the program ends with {outcome.error}")
            return outcome

        room = self._total - self._fixed.at_most
        rows: list[dict[str, Any]] = []
        facts: dict[str, Any] = {"name": batch.name, "value": batch.value, "rows": rows, "error": ""}
        try:
            for value in self._request["batches"]:
                limited = run(value, None)
                needed = limited if limited.fits else run(value, UNLIMITED)
                rows.append({"batch": value, "fits": limited.fits, "peak": _plain(needed)})
            search = largest(batch.value, room, run)
        except BatchError as error:
            return {
                **facts,
                "largest": None,
                "too_large": None,
                "runs": None,
                "examples": None,
                "error": str(error),
            }
        return {
            **facts,
            "largest": search.fits,
            "too_large": search.fails,
            "runs": search.runs,
            "examples": search.examples,
        }

    def _changes(self, batch: BatchSize, first: Outcome) -> list[dict[str, Any]]:
        """Runs the program with each change; returns the changes that save most, with what they save."""
        assert first.peak is not None
        rows: list[dict[str, Any]] = []
        possible = [
            *deletions(self._torch, self._program, first.peak),
            *changes(self._torch, self._program.cells, batch),
        ]
        for number, change in enumerate(possible):
            outcome = self._program.run(change.cells, total=UNLIMITED, change=change.context)
            if outcome.stopped:
                self._untried = len(possible) - number
                break
            if outcome.error or outcome.peak is None or outcome.peak.allocated >= first.peak.allocated:
                continue
            saved = first.peak.allocated - outcome.peak.allocated
            needs = outcome.peak.reserved + self._fixed.at_most
            rows.append(
                {
                    "change": change.title,
                    "code": change.code,
                    "saved": saved,
                    "allocated": outcome.peak.allocated,
                    "reserved": outcome.peak.reserved,
                    "fits": needs <= self._total,
                }
            )
        return sorted(rows, key=lambda row: -row["saved"])[:_SHOWN_CHANGES]


def verdict(outcome: Outcome, total: int, fixed: FixedParts, is_whole: bool = True) -> str:
    """Returns whether a program fits: `fits`, `may not fit`, `does not fit` or `fits as far as it is predicted`."""
    assert outcome.peak is not None
    peak = outcome.peak
    if not outcome.fits or peak.reserved + fixed.at_least > total:
        return "does not fit"
    if not is_whole:
        return IN_PART
    return "fits" if peak.reserved + peak.modelled + fixed.at_most <= total else "may not fit"


def _plain(outcome: Outcome) -> dict[str, Any] | None:
    return None if outcome.peak is None else outcome.peak._asdict()

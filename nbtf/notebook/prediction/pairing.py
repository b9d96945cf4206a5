"""Which measured pieces correspond to which predicted ones? Rows by line and phase that add up to both peaks."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from nbtf._snapshots.libraries import library_call_of
from nbtf.notebook.prediction.peak_pieces import PeakPiece

NOT_PREDICTED, ON_A_STREAM = "not predicted", "not predicted, on another stream"
"""Names of additional memory whose stacks show no library."""

_Key = tuple[tuple[str, int] | None, str, str]


@dataclass(slots=True, eq=False)
class Row:
    """The memory of one line in one phase: its predicted and its measured pieces.

    Attributes:
      line: file and line; None if unknown.
      phase: the phase; empty if unknown.
      reason: why `line` is unknown; otherwise empty.
      predicted: pieces of the prediction.
      measured: pieces of the snapshot.
      assigned: measured bytes that have no line in the snapshot, and were assigned by their phase or size.
    """

    line: tuple[str, int] | None
    phase: str
    reason: str
    predicted: list[PeakPiece] = field(default_factory=list[PeakPiece])
    measured: list[PeakPiece] = field(default_factory=list[PeakPiece])
    assigned: int = 0

    def missing_sizes(self) -> Counter[int]:
        """Returns the sizes of predicted pieces that have no measured counterpart, each with their number."""
        return Counter([each.requested for each in self.predicted]) - Counter(
            [each.requested for each in self.measured]
        )

    def unpredicted(self) -> list[PeakPiece]:
        """Returns the measured pieces without a predicted counterpart of the same size."""
        sizes = Counter([piece.requested for piece in self.predicted])
        pieces: list[PeakPiece] = []
        for piece in self.measured:
            if sizes[piece.requested]:
                sizes[piece.requested] -= 1
            else:
                pieces.append(piece)
        return pieces


@dataclass(slots=True, eq=False)
class Addition:
    """Memory in the snapshot that has no predicted counterpart, by the library that allocated it.

    Attributes:
      library: the library, or that it is not predicted.
      function: the innermost call of the library; empty if unknown.
      pieces: the pieces.
      rows: the row of each piece.
    """

    library: str
    function: str
    pieces: list[PeakPiece] = field(default_factory=list[PeakPiece])
    rows: list[Row] = field(default_factory=list[Row])

    @property
    def nbytes(self) -> int:
        """Bytes of the pieces together."""
        return sum([piece.nbytes for piece in self.pieces])

    @property
    def main_row(self) -> Row:
        """The row with most of the bytes."""
        totals: dict[int, int] = {}
        for row, piece in zip(self.rows, self.pieces, strict=True):
            totals[id(row)] = totals.get(id(row), 0) + piece.nbytes
        return max(self.rows, key=lambda row: totals[id(row)])


def rows_of(predicted: Iterable[PeakPiece], measured: Iterable[PeakPiece]) -> list[Row]:
    """Returns rows that contain each piece once.

    A measured piece without a line is assigned to the only predicted row of its phase, if there is one. Otherwise it is
    assigned to a predicted row that lacks a piece of its size. PyTorch runs backward passes in a thread that has no
    Python calls, and a history may begin after the model was created.
    """
    rows: dict[_Key, Row] = {}
    for piece in predicted:
        _row(rows, piece).predicted.append(piece)
    without_line: list[PeakPiece] = []
    for piece in measured:
        if piece.line is None:
            without_line.append(piece)
        else:
            _row(rows, piece).measured.append(piece)
    _assign(rows, without_line)
    return [*rows.values()]


def _row(rows: dict[_Key, Row], piece: PeakPiece) -> Row:
    key = piece.line, piece.phase, piece.reason
    if key not in rows:
        rows[key] = Row(*key)
    return rows[key]


def _assign(rows: dict[_Key, Row], pieces: Sequence[PeakPiece]) -> None:
    by_phase: dict[str, list[Row]] = {}
    missing: dict[int, dict[str, deque[Row]]] = {}
    for row in rows.values():
        if row.predicted:
            by_phase.setdefault(row.phase, []).append(row)
        for size, count in row.missing_sizes().items():
            missing.setdefault(size, {}).setdefault(row.phase, deque()).extend([row] * count)
    for piece in pieces:
        of_phase = by_phase.get(piece.phase, ()) if piece.phase else ()
        row = of_phase[0] if len(of_phase) == 1 else _take(missing.get(piece.requested, {}), piece.phase)
        if row is None:
            _row(rows, piece).measured.append(piece)
        else:
            row.measured.append(piece)
            row.assigned += piece.nbytes


def _take(missing: dict[str, deque[Row]], phase: str) -> Row | None:
    """Returns the next row that lacks a piece of some size, of the given phase if it is known."""
    phases = [phase] if phase else [*missing]
    return next((missing[each].popleft() for each in phases if missing.get(each)), None)


def additions_of(rows: Iterable[Row]) -> list[Addition]:
    """Returns the measured memory that has no predicted counterpart, the largest first.

    A piece without a counterpart of its size counts if its stack shows a library. In a row that the prediction has as
    well, it also counts if the snapshot has more pieces.
    """
    additions: dict[tuple[str, str], Addition] = {}
    for row in rows:
        unknown: list[PeakPiece] = []
        for piece in row.unpredicted():
            call = library_call_of(piece.stack)
            if call is None:
                unknown.append(piece)
            else:
                _add(additions, call.library, call.function, piece, row)
        count = len(unknown) - row.missing_sizes().total()
        if row.predicted and count > 0:
            for piece in unknown[-count:]:
                _add(additions, ON_A_STREAM if piece.stream else NOT_PREDICTED, "", piece, row)
    return sorted(additions.values(), key=lambda each: -each.nbytes)


def _add(additions: dict[tuple[str, str], Addition], library: str, function: str, piece: PeakPiece, row: Row) -> None:
    addition = additions.setdefault((library, function), Addition(library, function))
    addition.pieces.append(piece)
    addition.rows.append(row)

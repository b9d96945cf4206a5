"""Does each piece belong to exactly one row, and is only memory without a counterpart listed as additional?"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from nbtf._snapshots.snapshot import Frame
from nbtf.notebook.prediction.pairing import NOT_PREDICTED, ON_A_STREAM, additions_of, rows_of
from nbtf.notebook.prediction.peak_pieces import PeakPiece
from tests.rings import seeds

CUBLAS = (Frame("??", 0, "at::cuda::getCUDABlasLtWorkspace()"),)


def _piece(
    size: int, line: int | None, phase: str = "", library: bool = False, stream: int = 0, reason: str = "older"
) -> PeakPiece:
    stack = CUBLAS if library else ()
    place = None if line is None else ("<cell 1>", line)
    return PeakPiece(size * 512, size * 512, place, phase, stack, "" if place else reason, stream)


@pytest.mark.parametrize("seed", seeds(200))
def test_rows_contain_each_piece_once(seed: int) -> None:
    random = Random(seed)

    def pieces(lines: list[int | None]) -> list[PeakPiece]:
        return [
            _piece(random.randrange(1, 5), random.choice(lines), random.choice(["", "backward", "forward"]))
            for _ in range(random.randrange(30))
        ]

    predicted, measured = pieces([1, 2, 3]), pieces([None, 2, 3, 4])

    rows = rows_of(predicted, measured)

    assert Counter(id(piece) for row in rows for piece in row.predicted) == Counter(map(id, predicted))
    assert Counter(id(piece) for row in rows for piece in row.measured) == Counter(map(id, measured))
    for row in rows:
        assert all((piece.line, piece.phase) == (row.line, row.phase) for piece in row.predicted)
        assert all(piece.line in (None, row.line) for piece in row.measured)
        assert all(piece.phase in ("", row.phase) for piece in row.measured)
        assigned = sum(piece.nbytes for piece in row.measured if piece.line is None)
        assert row.assigned == (assigned if row.predicted else 0)
        added = [piece for addition in additions_of([row]) for piece in addition.pieces]
        assert {*map(id, added)} <= {*map(id, row.measured)}
        if row.predicted:
            assert len(added) == max(0, len(row.measured) - len(row.predicted))


@pytest.mark.parametrize("seed", seeds(50))
def test_equal_pieces_leave_nothing_over(seed: int) -> None:
    random = Random(seed)
    predicted = [_piece(random.randrange(1, 9), random.randrange(1, 9)) for _ in range(40)]
    measured = [piece if random.random() < 0.5 else _piece(piece.requested // 512, None) for piece in predicted]
    random.shuffle(measured)

    rows = rows_of(predicted, measured)

    assert [len(row.predicted) for row in rows] == [len(row.measured) for row in rows]
    assert [row.missing_sizes() for row in rows] == [Counter()] * len(rows)
    assert additions_of(rows) == []


def test_the_only_row_of_a_phase_receives_its_pieces() -> None:
    predicted = [_piece(4, 1, "backward"), _piece(4, 2)]

    rows = rows_of(predicted, [_piece(9, None, "backward"), _piece(4, None)])

    assert [(row.line, [piece.requested // 512 for piece in row.measured]) for row in rows] == [
        (("<cell 1>", 1), [9, 4]),
        (("<cell 1>", 2), []),
    ]


def test_pieces_of_unknown_size_keep_their_reason() -> None:
    rows = rows_of([_piece(1, 1)], [_piece(2, None), _piece(3, None, reason="no stack")])

    assert [(row.line, row.reason, len(row.measured)) for row in rows[1:]] == [
        (None, "older", 1),
        (None, "no stack", 1),
    ]


def test_additional_memory_is_grouped_by_library() -> None:
    predicted = [_piece(1, 1), _piece(2, 2)]
    measured = [
        _piece(1, 1),
        _piece(20, 1, library=True),
        _piece(10, None, library=True),
        _piece(3, 2),  # another size, so not additional
        _piece(1, 1, stream=5),
        _piece(7, 1),
        _piece(50, 9),  # a line that occurs only in the snapshot
    ]

    additions = additions_of(rows_of(predicted, measured))

    assert [(each.library, each.function, each.nbytes // 512) for each in additions] == [
        ("cuBLAS", "at::cuda::getCUDABlasLtWorkspace", 30),
        (NOT_PREDICTED, "", 7),
        (ON_A_STREAM, "", 1),
    ]
    assert additions[0].main_row.line == ("<cell 1>", 1)

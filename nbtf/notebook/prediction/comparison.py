"""Where do a prediction and a memory snapshot of real cards differ? Their peaks by line and phase, as plain data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._frameworks.torch.prediction.callers import Callers
from nbtf._snapshots.account import DeviceAccount
from nbtf._snapshots.lines import Origins
from nbtf._snapshots.opened import OpenedSnapshot
from nbtf._snapshots.reading import open_snapshot
from nbtf._snapshots.settings import settings_of
from nbtf._snapshots.snapshot import Frame
from nbtf.notebook.code_lines import in_words
from nbtf.notebook.prediction.file_matches import FileMatches, cell_file, in_terms_of_cells, twins
from nbtf.notebook.prediction.pairing import Row, additions_of, rows_of
from nbtf.notebook.prediction.peak_pieces import PeakPiece, calls_of_program, measured_pieces, predicted_pieces
from nbtf.notebook.prediction.program import Cell, Outcome, PredictedDevice, in_cell
from nbtf.notebook.snapshots.history import DeviceHistory
from nbtf.notebook.snapshots.scene import limits_of

BOTH, PREDICTED_ONLY, MEASURED_ONLY = "both", "only in the prediction", "only in the snapshot"
"""Where a row occurs."""

OTHER_PHASE = "other"
"""Name of work outside of modules, backward passes and optimizers."""


def opened(path: str) -> OpenedSnapshot:
    """Returns the memory snapshot in a file.

    Raises:
      ValueError: if the file cannot be read, is not a snapshot, or contains no memory of a GPU.
    """
    try:
        snapshot = OpenedSnapshot.of(open_snapshot(path))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}.") from error
    if not snapshot.devices:
        raise ValueError(f"{snapshot.source} contains no memory of a GPU, so nothing can be compared with it.")
    return snapshot


class Comparison:
    """A run of a program, compared with a snapshot that the same program wrote on cards."""

    def __init__(
        self,
        cells: Sequence[Cell],
        outcome: Outcome,
        callers: Callers,
        snapshot: OpenedSnapshot,
        settings: AllocatorSettings,
        context: tuple[int, int],
    ) -> None:
        """Compares each device that both sides use, or else the fullest device of each.

        Args:
          cells: the cells of the program.
          outcome: the run, with its devices.
          callers: the calls of the run.
          snapshot: the snapshot.
          settings: the settings of the run's allocators.
          context: bytes of CUDA's context on the card, the least and the most.
        """
        self._cells, self._snapshot = cells, snapshot
        self._settings, self._context = settings, context
        self._first_twins = twins(cells)
        self._origins = Origins(snapshot)
        self._predicted = {each.peak.device: each for each in outcome.devices}
        self._pairs = self._paired_devices()
        predicted_calls = calls_of_program(in_terms_of_cells(calls, self._first_twins) for calls in callers.stacks)
        self._predicted_files = {frame.file for frame in predicted_calls}
        stacks = chain.from_iterable([_stacks_in_order(snapshot.account(number)) for _, number in self._pairs])
        self._files = FileMatches(cells, predicted_calls, calls_of_program(stacks))

    def _paired_devices(self) -> list[tuple[PredictedDevice | None, int]]:
        """Returns the predicted devices, each with the number of the snapshot's device that is compared with it."""
        numbers = [number for number in self._snapshot.devices if number in self._predicted]
        if numbers:
            return [(self._predicted[number], number) for number in sorted(numbers)]
        fullest = max(self._predicted.values(), key=lambda each: each.peak.allocated, default=None)
        return [(fullest, self._snapshot.account().device)]

    def to_dict(self) -> dict[str, Any]:
        """Returns the comparison as plain data, with sizes in bytes."""
        measured_settings = settings_of(self._snapshot)
        has_other_settings = bool(self._snapshot.settings) and measured_settings != self._settings
        compared = [number for _, number in self._pairs]
        predicted = [pair.peak.device for pair, _ in self._pairs if pair is not None]
        return {
            "snapshot": self._snapshot.source,
            "devices": [self._compared(predicted, number) for predicted, number in self._pairs],
            "only_predicted": [number for number in self._predicted if number not in predicted],
            "only_measured": [number for number in self._snapshot.devices if number not in compared],
            "files": [
                {
                    "file": match.file,
                    "program": _without_brackets(match.program_file),
                    "basis": match.basis,
                    "offset": match.offset,
                }
                for match in self._files.matches
            ],
            "unknown_files": self._files.unknown,
            "settings": [_differing(each) for each in (self._settings, measured_settings)]
            if has_other_settings
            else None,
            "context": list(self._context),
        }

    def _compared(self, predicted: PredictedDevice | None, number: int) -> dict[str, Any]:
        """Returns the comparison of two devices; without a predicted one, all memory is only in the snapshot."""
        account = self._snapshot.account(number)
        peak = None if predicted is None else predicted.peak
        pieces = () if predicted is None else predicted.pieces
        rows = rows_of(
            predicted_pieces(pieces, self._first_twins), measured_pieces(account, self._origins, self._files)
        )
        plain_rows = [self._plain_row(row) for row in rows]
        return {
            "device": number,
            "predicted": {
                "device": peak.device if peak else None,
                "allocated": peak.allocated if peak else 0,
                "reserved": peak.reserved if peak else 0,
                "line": peak.line if peak else "",
            },
            "measured": {
                "allocated": account.peak.allocated,
                "reserved": account.peak_reserved.reserved,
                "line": self._measured_line(account),
            },
            "same_size": _same_size(account, rows),
            "rows": sorted(plain_rows, key=lambda row: (-abs(row["difference"]), -row["measured"], -row["predicted"])),
            "phases": _phases(rows),
            "additions": self._additions(rows),
            "failures": len(account.failures),
            "limits": [
                {"name": name, "values": values} for name, values in limits_of(DeviceHistory(self._snapshot, number))
            ],
        }

    def _plain_row(self, row: Row) -> dict[str, Any]:
        predicted, measured = _nbytes(row.predicted), _nbytes(row.measured)
        sides = PREDICTED_ONLY if not row.measured else MEASURED_ONLY if not row.predicted else BOTH
        return {
            "line": self._words(row),
            "phase": row.phase or OTHER_PHASE,
            "predicted": predicted,
            "predicted_pieces": len(row.predicted),
            "measured": measured,
            "measured_pieces": len(row.measured),
            "difference": measured - predicted,
            "assigned": row.assigned,
            "sides": sides,
        }

    def _words(self, row: Row) -> str:
        return row.reason if row.line is None else self._line_in_words(*row.line)

    def _line_in_words(self, file: str, line: int, function: str = "") -> str:
        """Returns a line as text; the code of a file is only shown if the prediction ran it."""
        number = next((cell.number for cell in self._cells if cell_file(cell.number) == file), None)
        if number is not None:
            return in_cell(self._cells, number, line)
        if file in self._predicted_files:
            return in_words((file, line))
        name = file.replace("\\", "/").rpartition("/")[2] or file
        return f"{name}, line {line}{f' in {function}' if function else ''}"

    def _measured_line(self, account: DeviceAccount) -> str:
        """Returns the line that reached the measured peak; empty if the file does not show it."""
        event = account.peak.state - 1
        stack = int(account.trace.stack[event]) if event >= 0 else -1
        origin = self._origins[stack] if stack >= 0 else None
        if origin is None or origin.line is None or not origin.is_own:
            return ""
        return self._line_in_words(*self._files.line_of(origin.line), origin.line.function)

    def _additions(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        return [
            {
                "library": addition.library,
                "function": addition.function,
                "nbytes": addition.nbytes,
                "pieces": len(addition.pieces),
                "line": self._words(addition.main_row),
            }
            for addition in additions_of(rows)
        ]


def _same_size(account: DeviceAccount, rows: Iterable[Row]) -> int:
    """Returns the measured bytes of pieces that have a predicted counterpart of the same line and size."""
    return account.peak.allocated - sum(
        [_nbytes(row.unpredicted()) if row.predicted else _nbytes(row.measured) for row in rows]
    )


def _phases(rows: Iterable[Row]) -> list[dict[str, Any]]:
    phases: dict[str, list[Row]] = {}
    for row in rows:
        phases.setdefault(row.phase or OTHER_PHASE, []).append(row)
    figures = {
        phase: (
            _nbytes(chain.from_iterable([row.predicted for row in members])),
            _nbytes(chain.from_iterable([row.measured for row in members])),
        )
        for phase, members in phases.items()
    }
    return [
        {"phase": phase, "predicted": predicted, "measured": measured, "difference": measured - predicted}
        for phase, (predicted, measured) in sorted(figures.items(), key=lambda each: -max(each[1]))
    ]


def _stacks_in_order(account: DeviceAccount) -> list[tuple[Frame, ...]]:
    """Returns the stacks of a device in the order in which they first occur; those without an event come last."""
    stacks = account.snapshot.stacks
    numbers, first = np.unique(account.trace.stack, return_index=True)
    order = numbers[first.argsort()].tolist()
    in_blocks = [block.stack for segment in account.segments for block in segment.blocks]
    return [stacks[number] for number in dict.fromkeys([*order, *in_blocks]) if number >= 0]


def _nbytes(pieces: Iterable[PeakPiece]) -> int:
    return sum([piece.nbytes for piece in pieces])


def _differing(settings: AllocatorSettings) -> dict[str, Any]:
    """Returns the settings that differ from PyTorch's defaults."""
    pairs = zip(settings._fields, settings, AllocatorSettings(), strict=True)
    return {name: value for name, value, default in pairs if value != default}


def _without_brackets(file: str) -> str:
    return os.path.basename(file).strip("<>")

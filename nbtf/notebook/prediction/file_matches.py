"""Which cell of a notebook, or which file of its program, is a file that a snapshot names?

IPython names the code of a cell after its text, so an unchanged cell is recognised without doubt. Other files are
recognised by their name or by the lines that allocate.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from IPython.core.inputtransformer2 import TransformerManager

from nbtf._snapshots.snapshot import Frame
from nbtf.notebook.prediction.program import Cell, number_of

TEXT, NAME, LINES, ORDER = "text", "name", "lines", "order"
"""How a file was recognised."""

_CELL_FILE = re.compile(
    r"""ipykernel_\d+[/\\](?P<kernel>\d+)\.py$              # get_file_name, ipykernel/compiler.py
    | [/\\]ipython-input-(?:\d+-)?(?P<colab>\d+)\.py$       # the same number in Colab
    | ^<ipython-input-\d+-(?P<ipython>[0-9a-f]{12})>$       # code_name, IPython/core/compilerop.py
    """,
    re.VERBOSE,
)
_SEED = 0xC70F6907
"""Source: get_tmp_hash_seed, ipykernel/compiler.py."""

_Calls = set[tuple[int, str]]
"""Lines and functions of one file."""


class FileMatch(NamedTuple):
    """A file of a snapshot, the file of the program that it is, and how this was recognised.

    Attributes:
      file: the file in the snapshot.
      program_file: the file of the program; a cell is named as by `cell_file`.
      offset: how many lines further down a line is in the snapshot's file.
      lines: number of lines of the cell; None for other files.
      basis: `text`, `name`, `lines` or `order`.
    """

    file: str
    program_file: str
    offset: int
    lines: int | None
    basis: str

    def line(self, line: int) -> int | None:
        """Returns the program's line for a line of the snapshot's file; None if it is outside of the cell."""
        number = line - self.offset
        return number if self.lines is None or 1 <= number <= self.lines else None


def cell_file(number: int) -> str:
    """Returns the name that stands for the code of a cell."""
    return f"<cell {number}>"


def twins(cells: Sequence[Cell]) -> dict[int, int]:
    """Returns, for each cell, the first cell with the same text: a snapshot does not distinguish them."""
    first: dict[str, int] = {}
    return {cell.number: first.setdefault(cell.source.strip("\n"), cell.number) for cell in cells}


class FileMatches:
    """The files of a snapshot, each with the cell or file of the program that it is."""

    def __init__(self, cells: Sequence[Cell], predicted: Iterable[Frame], measured: Iterable[Frame]) -> None:
        """Compares the files.

        Args:
          cells: the cells of the program.
          predicted: calls of the program that allocated in the prediction; cells are named as by `cell_file`.
          measured: calls of the program that allocated in the snapshot, in the order in which they first did.
        """
        first_twins = twins(cells)
        self._cells = {cell_file(cell.number): cell for cell in cells if first_twins[cell.number] == cell.number}
        self._predicted, self._measured = _by_file(predicted), _by_file(measured)
        self._matches: dict[str, list[FileMatch]] = {}
        self._taken: set[str] = set()
        self._match_by_text()
        self._match_by_name()
        self._match_by_lines()
        self._match_by_order()
        self._match_scripts()

    @property
    def matches(self) -> list[FileMatch]:
        """The files that were recognised."""
        return [match for matches in self._matches.values() for match in matches]

    @property
    def unknown(self) -> list[str]:
        """The files of the snapshot that were not recognised."""
        return [file for file in self._measured if file not in self._matches]

    def line_of(self, frame: Frame) -> tuple[str, int]:
        """Returns file and line of a call in the snapshot, as the program names them if the file was recognised."""
        for match in self._matches.get(frame.file, ()):
            line = match.line(frame.line)
            if line is not None:
                return match.program_file, line
        return frame.file, frame.line

    def _match_by_text(self) -> None:
        names = {name: file for file, cell in self._cells.items() for name in _names_of_text(cell.source)}
        for file in self._measured:
            match = _CELL_FILE.search(file)
            cell = names.get(next(filter(None, match.groups()))) if match else None
            if cell is not None:
                self._add(file, cell, 0, TEXT)

    def _match_by_name(self) -> None:
        for file in self._measured:
            namesakes = [each for each in self._predicted if not _is_cell(each) and _base(each) == _base(file)]
            if namesakes and not _CELL_FILE.search(file):
                self._add(file, max(namesakes, key=lambda each: _shared_folders(each, file)), 0, NAME)

    def _match_by_lines(self) -> None:
        """Matches cells whose text differs: at least half of the calls agree, and moved cells in two lines."""
        for file in self._unmatched_cell_files():
            candidates = [(*_offset(self._measured[file], self._predicted[cell]), cell) for cell in self._free_cells()]
            candidates = [
                (offset, votes, cell)
                for offset, votes, cell in candidates
                if votes > bool(offset) and 2 * votes >= min(len(self._measured[file]), len(self._predicted[cell]))
            ]
            if candidates:
                offset, _, cell = max(candidates, key=lambda each: (each[1], -abs(each[0])))
                self._add(file, cell, offset, LINES)

    def _match_by_order(self) -> None:
        """Matches the remaining cells in order, if there are as many as files."""
        files, cells = self._unmatched_cell_files(), self._free_cells()
        if len(files) == len(cells):
            for file, cell in zip(files, cells, strict=True):
                self._add(file, cell, 0, ORDER)

    def _match_scripts(self) -> None:
        """Matches the cells that a script contains one after another, as an exported notebook does."""
        for file in self.unknown:
            if _CELL_FILE.search(file):
                continue
            end = 0
            for cell in self._free_cells():
                calls = {(line, function) for line, function in self._measured[file] if line > end}
                offset, votes = _offset(calls, self._predicted[cell])
                if offset >= end and votes > 1 and 2 * votes >= len(self._predicted[cell]):
                    self._add(file, cell, offset, LINES)
                    end = offset + self._lines(cell)

    def _add(self, file: str, program_file: str, offset: int, basis: str) -> None:
        lines = self._lines(program_file) if program_file in self._cells else None
        self._matches.setdefault(file, []).append(FileMatch(file, program_file, offset, lines, basis))
        self._taken.add(program_file)

    def _lines(self, cell: str) -> int:
        return len(self._cells[cell].source.splitlines())

    def _free_cells(self) -> list[str]:
        """Returns the cells that allocate and belong to no file yet."""
        return [cell for cell in self._cells if cell in self._predicted and cell not in self._taken]

    def _unmatched_cell_files(self) -> list[str]:
        return [file for file in self.unknown if _CELL_FILE.search(file)]


def in_terms_of_cells(calls: Iterable[tuple[str, int, str]], first_twins: Mapping[int, int]) -> tuple[Frame, ...]:
    """Returns the calls of a prediction as frames, with cells named as by `cell_file`."""
    return tuple(
        Frame(cell_file(first_twins.get(number, number)) if (number := number_of(file)) else file, line, function)
        for file, line, function in calls
    )


def _by_file(calls: Iterable[Frame]) -> dict[str, _Calls]:
    files: dict[str, _Calls] = {}
    for file, line, function in calls:
        name = "<module>" if function.startswith("<cell line") else function  # as some releases of IPython name it
        files.setdefault(file, set()).add((line, name))
    return files


def _offset(measured: _Calls, predicted: _Calls) -> tuple[int, int]:
    """Returns the offset of lines at which most calls agree, and the number of calls that do."""
    lines: dict[str, list[int]] = {}
    for line, function in predicted:
        lines.setdefault(function, []).append(line)
    votes = Counter([line - start for line, function in measured for start in lines.get(function, ())])
    offset = max(votes, key=lambda each: (votes[each], -abs(each)), default=0)
    return offset, votes[offset]


def _is_cell(file: str) -> bool:
    return file.startswith("<cell ")


def _base(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]


def _shared_folders(file: str, second: str) -> int:
    """Returns how many names at the end of two paths are equal."""
    names = [path.replace("\\", "/").split("/")[::-1] for path in (file, second)]
    return next((count for count, pair in enumerate(zip(*names, strict=False)) if pair[0] != pair[1]), len(names[0]))


def _names_of_text(source: str) -> set[str]:
    """Returns the names that IPython gives to the code of a cell."""
    sources = {source, source.strip("\n"), source.rstrip(), source.lstrip("\n")}
    names = {str(_murmur2(text.encode("utf-8", "replace"))) for text in sources}
    for text in sources:
        try:
            code = TransformerManager().transform_cell(text)
        except SyntaxError:  # such a cell does not run
            continue
        names.add(hashlib.sha1(code.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()[:12])
    return names


def _murmur2(content: bytes) -> int:
    """Returns the hash with which ipykernel names the code of a cell: MurmurHash2 for 32 bits.

    >>> _murmur2(b"x = 1")
    3427300630
    """
    factor, mask = 0x5BD1E995, 0xFFFFFFFF
    value = _SEED ^ len(content)
    aligned = len(content) & ~3
    for at in range(0, aligned, 4):
        word = int.from_bytes(content[at : at + 4], "little") * factor & mask
        word = (word ^ word >> 24) * factor & mask
        value = (value * factor & mask) ^ word
    if aligned < len(content):
        value = (value ^ int.from_bytes(content[aligned:], "little")) * factor & mask
    value = (value ^ value >> 13) * factor & mask
    return value ^ value >> 15

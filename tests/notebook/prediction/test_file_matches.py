"""Is each file of a snapshot recognised as the cell or file that it is?"""

from __future__ import annotations

from random import Random

import pytest
from ipykernel.compiler import get_tmp_hash_seed, murmur2_x86
from IPython.core.compilerop import code_name
from IPython.core.inputtransformer2 import TransformerManager

from nbtf._snapshots.snapshot import Frame
from nbtf.notebook.prediction.file_matches import FileMatches, cell_file, twins
from nbtf.notebook.prediction.program import Cell
from tests.rings import seeds


def _cell(number: int, lines: int = 9) -> Cell:
    return Cell(number, "\n".join(f"x{number} = {line}" for line in range(lines)), True)


def _kernel(source: str, process: int = 7) -> str:
    return f"/tmp/ipykernel_{process}/{murmur2_x86(source, get_tmp_hash_seed())}.py"


def _frames(file: str, *lines: int, function: str = "<module>") -> list[Frame]:
    return [Frame(file, line, function) for line in lines]


def _bases(matches: FileMatches) -> dict[str, tuple[str, int, str]]:
    return {match.file: (match.program_file, match.offset, match.basis) for match in matches.matches}


@pytest.mark.parametrize("seed", seeds(30))
def test_a_cell_is_recognised_by_the_name_that_ipython_gives_its_text(seed: int) -> None:
    random = Random(seed)
    text = "".join(random.choices("ab1 =()\n\té語🙂%!", k=random.randrange(1, 30)))
    shown = text if text.strip() else f"{text}x"
    sources = [shown, "%time x = 1\n!ls"]
    terminal = [code_name(TransformerManager().transform_cell(source), 11) for source in sources]
    colab = [_kernel(source).replace("/tmp/ipykernel_7/", "/tmp/ipython-input-3-") for source in sources]
    cells = [Cell(number, source, True) for number, source in enumerate(sources, start=1)]

    for files in (terminal, colab, [_kernel(source) for source in sources]):
        matches = FileMatches(cells, [], [Frame(file, 1, "<module>") for file in files])

        assert _bases(matches) == {file: (cell_file(number), 0, "text") for number, file in enumerate(files, start=1)}
        assert matches.unknown == []


def test_cells_of_the_same_text_are_not_distinguished() -> None:
    assert twins([Cell(1, "x = 1", True), Cell(2, "\nx = 1", True), Cell(3, "x = 2", True)]) == {1: 1, 2: 1, 3: 3}


def test_files_are_recognised_by_name_and_folders() -> None:
    predicted = [*_frames("/work/a/model.py", 3), *_frames("/work/b/model.py", 3)]
    measured = [*_frames("C:\\Users\\ann\\b\\model.py", 5), *_frames("/home/ann/other.py", 1)]

    matches = FileMatches([], predicted, measured)

    assert matches.line_of(measured[0]) == ("/work/b/model.py", 5)
    assert matches.unknown == ["/home/ann/other.py"]
    assert matches.line_of(measured[1]) == ("/home/ann/other.py", 1)


def test_changed_cells_are_recognised_by_their_lines_and_then_by_order() -> None:
    cells = [_cell(1), _cell(2), _cell(3)]
    predicted = [
        *_frames(cell_file(1), 2, 5),
        *_frames(cell_file(1), 3, function="forward"),
        *_frames(cell_file(2), 4, 6, 7),
        *_frames(cell_file(3), 9),
    ]
    moved, last = _kernel("moved"), _kernel("last")
    measured = [*_frames(moved, 4, 7), *_frames(moved, 5, function="forward"), *_frames(last, 1)]
    measured += [*_frames(_kernel(cells[1].source), 4, 6, 7)]

    matches = FileMatches(cells, predicted, measured)

    assert _bases(matches) == {
        _kernel(cells[1].source): (cell_file(2), 0, "text"),
        moved: (cell_file(1), 2, "lines"),
        last: (cell_file(3), 0, "order"),
    }
    assert matches.line_of(Frame(moved, 5, "forward")) == (cell_file(1), 3)
    assert matches.line_of(Frame(moved, 2, "<module>")) == (moved, 2)  # above the cell's first line


def test_older_releases_name_a_cells_code_after_its_line() -> None:
    edited = _kernel("edited")

    matches = FileMatches([_cell(1)], _frames(cell_file(1), 2, 5), _frames(edited, 2, 5, function="<cell line: 1>"))

    assert matches.line_of(Frame(edited, 5, "<cell line: 1>")) == (cell_file(1), 5)


def test_a_script_without_common_lines_is_not_recognised() -> None:
    matches = FileMatches([_cell(1)], _frames(cell_file(1), 1, 2, 3), _frames("/home/ann/train.py", 10, 20))

    assert matches.unknown == ["/home/ann/train.py"]

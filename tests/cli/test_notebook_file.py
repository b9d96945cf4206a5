"""Is what is no notebook refused with a sentence, whatever is wrong with it?"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtf import cli
from nbtf.cli.command_error import CommandError
from nbtf.cli.execution import CellRun, code_cells
from nbtf.cli.notebook_file import read

pytest.importorskip("nbformat", reason='needs the extra "lab"')

from nbtf.cli.generation import name_of_tensorflow_1
from nbtf.cli.run import Report

OUTPUTS = [
    {"output_type": "stream", "name": "stdout", "text": ["1\n", "2\n"]},
    {"output_type": "execute_result", "data": {"text/plain": ["3"]}, "execution_count": 1, "metadata": {}},
    {"output_type": "error", "ename": "KeyError", "evalue": "'a'", "traceback": ["KeyError: 'a'"]},
]
CODE = {"cell_type": "code", "metadata": {"tags": ["a"]}, "source": ["1\n", "2"], "outputs": OUTPUTS}
FORMATS: dict[str, Any] = {
    "4": {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"language": "python", "name": "python3", "display_name": "P"}},
        "cells": [
            {**CODE, "id": "a", "execution_count": 1},
            {"cell_type": "markdown", "id": "b", "metadata": {}, "source": ""},
        ],
    },
    "3": {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": "old"},
        "worksheets": [
            {
                "cells": [
                    {
                        "cell_type": "code",
                        "input": ["print 1"],
                        "language": "python",
                        "outputs": [{"output_type": "stream", "stream": "stdout", "text": ["1\n"]}],
                        "prompt_number": 1,
                    }
                ]
            }
        ],
    },
}
IN_THE_PLACE = [None, True, -1, 2.5, 10**30, "x", "\ud800", [], {}, [None], [[1]], {"a": 1}, {"cells": {}}]


def parts_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all parts of a notebook."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield from parts_of(part, (*path, key))


def changed(notebook: Any, path: tuple[Any, ...], *replacement: Any) -> Any:
    """A notebook in which something else stands in the place of a part, or nothing."""
    if not path:
        return replacement[0] if replacement else None
    copied = copy.deepcopy(notebook)
    outer = copied
    for key in path[:-1]:
        outer = outer[key]
    if replacement:
        outer[path[-1]] = replacement[0]
    else:
        del outer[path[-1]]
    return copied


def use(file: Path) -> None:
    """Does with a notebook what `nbtf run` does, but for the kernel."""
    notebook = read(file)
    report = Report(notebook)
    name_of_tensorflow_1(cell.source for _, cell in code_cells(notebook))
    for number, (index, cell) in enumerate(code_cells(notebook), start=1):
        report.add(CellRun(number, index, cell.source))
    report.summary()


@pytest.mark.filterwarnings("ignore")  # nbformat warns of cells without an id
@pytest.mark.parametrize("format", FORMATS)
def test_whatever_is_wrong_with_a_notebook_is_said_in_a_sentence(
    format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "n.ipynb"
    sentences: list[str] = []
    for path in parts_of(FORMATS[format]):
        for replacement in [(), *((one,) for one in IN_THE_PLACE)]:
            file.write_text(json.dumps(changed(FORMATS[format], path, *replacement)))
            try:
                use(file)
            except CommandError as error:
                sentences.append(str(error))
    capsys.readouterr()

    assert len(sentences) > 50
    assert all(one.startswith((f"{file} is not a notebook", f"{file} is in ")) for one in sentences)


TEXTS = {
    "empty": b"",
    "no JSON": b"{",
    "not UTF-8": b"\xff\xfe{}",
    "a number": b"1",
    "deep": b"[" * 100_000,
    "deep metadata": b'{"nbformat": 4, "cells": [], "metadata": ' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}",
    "a notebook to come": b'{"nbformat": 99, "nbformat_minor": 0, "cells": [], "metadata": {}}',
    "digits": b'{"nbformat": 4, "nbformat_minor": ' + b"9" * 5000 + b', "cells": [], "metadata": {}}',
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_no_notebook_ends_with_status_2(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "n.ipynb"
    file.write_bytes(TEXTS[name])

    assert 2 == cli.main(["run", str(file)])
    assert capsys.readouterr().err.startswith(f"nbtf: {file} is not a notebook")


@pytest.mark.parametrize(("name", "reason"), [("", "Is a directory"), ("none.ipynb", "No such file or directory")])
def test_what_cannot_be_read_says_why(
    name: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 2 == cli.main(["run", str(tmp_path / name)])
    assert f"nbtf: cannot read {tmp_path / name}: {reason}\n" == capsys.readouterr().err


def test_fields_that_colab_adds_do_no_harm(tmp_path: Path) -> None:
    notebook = copy.deepcopy(FORMATS["4"])
    notebook["cells"][0]["outputs"][0]["metadata"] = {"tags": []}
    file = tmp_path / "n.ipynb"
    file.write_text(json.dumps(notebook))

    assert "1\n2" == read(file).cells[0].source


@pytest.mark.parametrize("cell_type", ["Code", "heading", "", "\x1b[31m"])
def test_a_cell_of_another_type_is_not_passed_over(cell_type: str, tmp_path: Path) -> None:
    file = tmp_path / "n.ipynb"
    file.write_text(json.dumps(changed(FORMATS["4"], ("cells", 0, "cell_type"), cell_type)))

    with pytest.raises(CommandError, match=r"cell 1 has the type .*; a cell is code, markdown or raw"):
        read(file)

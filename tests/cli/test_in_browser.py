"""Do lessons in a page begin with nbtf, and say what a page cannot do, instead of failing?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from nbtf.cli.in_browser import INSTALL, SAYS, in_browser
from nbtf.cli.special_cells import IS_MISSING, install_cell
from nbtf.notebook.catalogue import language_of

LESSONS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
CHILD = "def child():\n    return subprocess.run(['ls'])\n\nchild()"


def made(*cells: Any, language: str = "") -> Any:
    return in_browser(new_notebook(cells=list(cells), metadata={"nbtf": {"language": language}} if language else {}))


def code(source: str, printed: str = "") -> Any:
    return new_code_cell(source, outputs=[new_output("stream", name="stdout", text=printed)] if printed else [])


def test_nbtf_is_installed_by_the_first_cell_that_imports_it() -> None:
    cells = made(code("1"), code("import nbtf as tf"), code("import nbtf.compat.v1")).cells

    assert ["1", f"{INSTALL}\nimport nbtf as tf", "import nbtf.compat.v1"] == [cell.source for cell in cells]


def test_hidden_cell_that_installs_nbtf_elsewhere_is_left_out() -> None:
    hidden = code(install_cell())

    assert [f"{INSTALL}\nimport nbtf"] == [cell.source for cell in made(hidden, code("import nbtf")).cells]


def test_cell_that_starts_a_program_shows_what_it_prints_on_a_computer() -> None:
    (cell,) = made(code(CHILD, "a.txt\n")).cells

    assert "markdown" == cell.cell_type
    assert f"```python\n{CHILD}\n```\n\n*{SAYS['']}*\n\n```\na.txt\n```" == cell.source


def test_what_answers_a_question_stays_folded_in_a_page() -> None:
    folded = {"collapsed": True, "jupyter": {"outputs_hidden": True}}
    program, answer = code(CHILD, "a.txt\n"), code("1 + 1", "2")
    program.metadata.update(folded)
    answer.metadata.update(folded)

    text, cell = made(program, answer).cells

    assert text.source.endswith("prints the following.</summary>\n\n```\na.txt\n```\n\n</details>")
    assert "`" not in text.source.partition("<summary>")[2].partition("</summary>")[0]
    assert ([], {"jupyter": {}}) == (cell.outputs, cell.metadata)


@pytest.mark.parametrize("source", ["!ls", "print(child())", "if True:\n    child()"])
def test_cell_that_needs_such_a_cell_is_text_too(source: str) -> None:
    assert "markdown" == made(code(CHILD), code(source)).cells[1].cell_type


def test_check_that_calls_a_function_of_such_a_cell_is_text_too() -> None:
    check = code("%check cards", "Not yet: ...\n")
    check.metadata["nbtf"] = {"check": "cards", "calls": ["child"]}

    assert "markdown" == made(code(CHILD), check).cells[1].cell_type


@pytest.mark.parametrize("source", ["import subprocess", "children()", "x != y"])
def test_other_cells_stay(source: str) -> None:
    assert "code" == made(code(CHILD), code(source)).cells[1].cell_type


@pytest.mark.parametrize("language", ["ja", "zh-CN"])
def test_translated_lessons_say_it_in_their_language(language: str) -> None:
    assert SAYS[language] in made(code("!ls"), language=language).cells[0].source


def test_views_of_a_translated_lesson_speak_its_language() -> None:
    (cell,) = made(code("import nbtf as tf"), language="zh-CN").cells

    assert [INSTALL, "import nbtf as tf"] == [line for line in cell.source.splitlines() if "NBTF_LANG" not in line]
    assert "zh_CN" == language_of(re.findall(r'"NBTF_LANG"\] = "([^"]+)"', cell.source)[0])


def test_notebook_itself_is_left_as_it_is() -> None:
    notebook = new_notebook(cells=[code("!ls"), new_markdown_cell("text")])
    in_browser(notebook)

    assert ["code", "markdown"] == [cell.cell_type for cell in notebook.cells]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_lessons_are_notebooks_that_begin_with_nbtf_and_start_nothing(path: Path) -> None:
    notebook = in_browser(nbformat.read(path, as_version=4))
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]

    nbformat.validate(notebook)
    assert sources[0].startswith(INSTALL)
    assert [] == [source for source in sources if "subprocess." in source or IS_MISSING in source]

"""Do translated notebooks say all that their originals say, with the same code and outputs?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbtf import cli
from nbtf.cli.command_error import CommandError
from nbtf.cli.languages import pieces

nbformat = pytest.importorskip("nbformat", reason='needs the extra "lab"')
translation = pytest.importorskip("nbtf.cli.translation", reason='needs the extra "lab"')
v4 = nbformat.v4

TEXT = """# A title

One paragraph
on two lines.

```python
x = 1

y = 2
```

<details>

- a list
- of two

</details>"""
TEXTS = ["# A title", "One paragraph\non two lines.", "- a list\n- of two"]


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    path = tmp_path / "one.ipynb"
    output = v4.new_output("stream", name="stdout", text="1\n")
    cells = [v4.new_markdown_cell(TEXT, id="a"), v4.new_code_cell("print(1)", outputs=[output], id="b")]
    nbformat.write(v4.new_notebook(cells=cells), path)
    return path


def translate(path: Path) -> int:
    return cli.main(["notebooks", "translate", "--language", "ja", str(path)])


def fill_in(path: Path) -> Path:
    """Translates every text into itself in capitals."""
    place = path.parent / "locale" / "ja" / "LC_MESSAGES" / "one.po"
    catalogue = translation.read(place)
    for message in catalogue:
        if message.id:
            message.string = message.id.upper()
    translation.write(place, catalogue)
    return place


def cells(path: Path) -> Any:
    return nbformat.read(path, as_version=4).cells


def test_a_text_is_cut_at_blank_lines_and_code_is_left_out() -> None:
    assert [piece for piece, is_text in pieces(TEXT) if is_text] == TEXTS
    assert "".join(piece for piece, _ in pieces(TEXT)) == TEXT


def test_a_new_catalogue_has_every_text_and_no_translation(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = translate(notebook)

    made = notebook.parent / "ja" / "one.ipynb"
    assert status == 1
    assert capsys.readouterr().out == f"{made}: 3 texts without translation, 0 changed since\n"
    assert cells(made)[0].source == TEXT


def test_what_is_translated_stands_in_the_notebook_beside_the_same_code(notebook: Path) -> None:
    translate(notebook)
    fill_in(notebook)

    status = translate(notebook)

    made = notebook.parent / "ja" / "one.ipynb"
    expected = TEXT
    for text in TEXTS:
        expected = expected.replace(text, text.upper())
    assert (status, cells(made)[0].source) == (0, expected)
    assert cells(made)[1] == cells(notebook)[1]
    assert nbformat.read(made, as_version=4).metadata.nbtf.language == "ja"


def test_a_text_that_has_changed_is_to_be_looked_at_again(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    translate(notebook)
    fill_in(notebook)
    changed = nbformat.read(notebook, as_version=4)
    changed.cells[0].source = TEXT.replace("two lines", "three lines")
    nbformat.write(changed, notebook)
    capsys.readouterr()

    status = translate(notebook)

    assert (status, "0 texts without translation, 1 changed since" in capsys.readouterr().out) == (1, True)


def test_a_catalogue_is_the_same_when_it_is_written_again(notebook: Path) -> None:
    translate(notebook)
    place = fill_in(notebook)
    before = place.read_text(encoding="utf-8")

    translate(notebook)

    assert place.read_text(encoding="utf-8") == before


def test_a_translation_with_other_code_is_found(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    translate(notebook)
    made = notebook.parent / "ja" / "one.ipynb"
    assert cli.main(["notebooks", "check", str(made)]) == 0
    changed = nbformat.read(made, as_version=4)
    changed.cells[1].source = "print(2)"
    nbformat.write(changed, made)

    status = cli.main(["notebooks", "check", str(made)])

    assert (status, "build it again" in capsys.readouterr().out) == (1, True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff", "is not a catalogue"),
        (b'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=os\\n"\n', "declares the charset 'os'"),
    ],
    ids=["bytes", "charset"],
)
def test_a_catalogue_that_is_damaged_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.po").write_bytes(content)

    with pytest.raises(CommandError, match=message):
        translation.read(tmp_path / "a.po")

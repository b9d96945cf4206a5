"""Are the documentation's statements true: error messages exist, and packages can be installed?"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtf import _install
from tests.docs.record import DOCS

ROOT = DOCS.parents[1]
ENTRY = re.compile(r"^`([^`]+)`\n: (.*)$", re.MULTILINE)
"""A message of the page of error messages, and what to do about it."""

OTHERS = "PyTorch's own error"
"""How the explanation of another library's message begins."""


def texts_of(node: ast.AST) -> Iterator[str]:
    """Yields the texts in a piece of code; what an f-string fills in is a space."""
    for each in ast.walk(node):
        if isinstance(each, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else " " for part in each.values)  # type: ignore
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


@pytest.fixture(scope="module")
def messages() -> str:
    """Every text in nbtf's code."""
    paths = sorted((ROOT / "nbtf").rglob("*.py"))
    return "\n".join(text for path in paths for text in texts_of(ast.parse(path.read_text(encoding="utf-8"))))


def test_every_listed_error_message_exists(messages: str) -> None:
    entries = ENTRY.findall((DOCS / "reference" / "errors.md").read_text(encoding="utf-8"))
    own = [message for message, help_text in entries if not help_text.startswith(OTHERS)]
    parts = [(message, part.strip()) for message in own for part in message.split("…") if part.strip()]

    assert len(own) > 40
    assert [] == [message for message, part in parts if part not in messages]


def test_error_messages_are_sorted() -> None:
    page = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    for letter, section in re.findall(r"^## (\w)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL):
        initials = {re.sub(r"^[^A-Za-z]+", "", message)[0].upper() for message, _ in ENTRY.findall(section)}
        assert {letter} == initials


# ---- what pages tell people to install


def pages() -> Iterator[tuple[Path, str]]:
    """Yields the pages of the repository: Markdown, and the texts and code of notebooks."""
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.md"), *(ROOT / "notebooks").rglob("*.md")]):
        yield path, path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        yield path, "\n".join("".join(cell["source"]) for cell in cells)


def from_an_index(text: str) -> list[str]:
    """Returns the arguments of `pip install` that would fetch nbtf from an index of packages."""
    found = re.findall(r"\b(?:pip3?|uv pip) install\b([^`\n]*?)(?=`|&&|;|$)", text, re.MULTILINE)
    word = re.compile(r"""(?:^|[\s"'])nbtf(?:\[[\w,]+\])?(?:[=<>~!][\w.]+)?(?=["'\s]|$)(?! @ )""")
    return [arguments for arguments in found if word.search(arguments)]


@pytest.mark.parametrize(
    "line",
    [
        'pip install "nbtf[cluster]"',
        "run `pip install nbtf` first",
        "%pip install -q nbtf[views]",
        "uv pip install nbtf",
    ],
)
def test_an_installation_from_an_index_is_noticed(line: str) -> None:
    assert len(from_an_index(line)) == 1


@pytest.mark.parametrize(
    "line",
    [
        'pip install -e ".[lab]" && .venv/bin/nbtf lab',
        'pip install "./nbtf[views]"',
        "`pip install torch`, then nbtf runs",
    ],
)
def test_other_installations_are_fine(line: str) -> None:
    assert [] == from_an_index(line)


@pytest.mark.skipif(_install.SOURCE == _install.INDEX, reason="an index of packages has nbtf")
def test_no_page_installs_nbtf_from_an_index_that_lacks_it() -> None:
    wrong = {path.relative_to(ROOT).as_posix(): from_an_index(text) for path, text in pages()}

    assert {} == {name: lines for name, lines in wrong.items() if lines}


def test_no_link_consists_of_code_alone() -> None:
    """Code that the reference documents becomes a link, and a link around a link has no text."""
    texts = {path: path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}

    assert {} == {path: links for path, text in texts.items() if (links := re.findall(r"\[`[^`\]]*`\]\(", text))}

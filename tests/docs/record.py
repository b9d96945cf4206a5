"""Updates the outputs on the documentation's pages: `python -m tests.docs.record [PAGE ...]`.

Runs the `python` blocks of each page and writes their output to the `text` blocks that follow. Pages that import
PyTorch or TensorFlow are skipped if it is not installed, and TensorFlow's run one at a time: name the page.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbtf as tf
from nbtf.notebook.holders import search, table
from tests.machines import machine
from tests.shells import interactive_shell

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # otherwise TensorFlow replaces ops such as MatMul on some processors

DOCS = Path(__file__).parents[2] / ".github" / "docs"

SAMPLE = DOCS / "_static" / "snapshot.json.gz"
"""A memory snapshot that pages open by its name."""

TEST_FILE = "# test_lesson.py\n"
"""The first line of a block that contains a file for pytest."""

_BLOCK = re.compile(r"(?P<code>^```python\n.*?^```\n)(?:\n```text\n(?P<said>.*?)```\n)?", re.DOTALL | re.MULTILINE)


def library_of(page: str) -> str:
    """Returns the library that the code of a page needs, `torch` or `tensorflow`; empty if it needs neither."""
    codes = [found["code"] for found in _BLOCK.finditer(page)]
    return next((name for name in ("torch", "tensorflow") if any(f"import {name}" in code for code in codes)), "")


def pages(library: str = "") -> list[Path]:
    """Returns the pages with code to run that needs a library or none; the gallery's code only draws pictures."""
    paths = sorted(path for path in DOCS.rglob("*.md") if "locale" not in path.parts and path.name != "gallery.md")
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    return [path for path, text in texts.items() if "```python" in text and library_of(text) == library]


def shown(ran: Any, printed: str) -> str:
    """Returns what a cell shows: its error, its result or what it printed."""
    error = getattr(ran, "error_in_exec", None) or getattr(ran, "error_before_exec", None)
    if error is not None:
        return f"{type(error).__name__}: {error}"
    return printed if ran.result is None else str(ran.result)


def recorded(page: str) -> str:
    """Returns a page with the current outputs of its code."""
    with TemporaryDirectory() as folder, interactive_shell(Path(folder) / "ipython") as shell, machine(2):
        home = Path.cwd()
        os.chdir(folder)
        shutil.copy(SAMPLE, folder)
        try:
            return _BLOCK.sub(lambda found: _with_output(shell, found), page)
        finally:
            os.chdir(home)
            tf.unload_ipython_extension(shell)
            tf.runtime.restart()


def _with_output(shell: Any, found: re.Match[str]) -> str:
    code = found["code"].removeprefix("```python\n").removesuffix("```\n")
    if code.startswith(TEST_FILE):
        return found[0]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        ran = shell.run_cell(code, store_history=True)
    text = shown(ran, printed.getvalue()).strip("\n").rstrip()
    return found["code"] + (f"\n```text\n{text}\n```\n" if text else "")


def chosen(names: Iterable[str]) -> Iterator[Path]:
    """Yields the pages to record: the named pages, or all pages whose code can run here."""
    yield from map(Path, names)
    if not names:
        yield from pages()
        yield from pages("torch") if find_spec("torch") else ()


def main() -> None:
    """Records pages."""
    # The search for holders must not stop early, and must not follow objects of this program.
    installed = (*search._installed(), f"{Path(__file__).parents[1]}{os.sep}")
    search._installed = lambda: installed
    table.SECONDS = 600.0
    for path in chosen(sys.argv[1:]):
        text = path.read_text(encoding="utf-8")
        new = recorded(text)
        path.write_text(new, encoding="utf-8")
        print(path.name, "unchanged" if new == text else "recorded")  # a command


if __name__ == "__main__":
    main()

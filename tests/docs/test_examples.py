"""Do the examples of the documentation's pages run, and print what stands there?"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from doctest import ELLIPSIS, OutputChecker
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import nbtf as tf
from nbtf import cli
from nbtf.notebook.holders import table
from tests.notebook.conftest import ENOUGH, Shell
from tests.notebook.conftest import bare as bare
from tests.notebook.test_pages import blocks

DOCS = Path(__file__).parents[2] / ".github" / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "locale" not in path.parts)
COMMANDS = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")

STARTS = {"lab", "site", "predict"}
"""Commands that serve, fetch or need PyTorch: their examples are read here, and run by other tests and `.ci/run`."""

TEST_FILE = "# test_lesson.py\n"
"""The first line of a block that is a file for pytest."""

STRICT = ["-W", "error::pytest.PytestUnknownMarkWarning"]
PLUGIN = [] if entry_points(group="pytest11", name="nbtf") else ["-p", "nbtf.cli.pytest_nbtf"]
"""Our plugin, where this environment was installed before there was one."""

PROGRAMS = {
    "nbtf": ["-c", "import sys; from nbtf.cli import main; sys.exit(main())"],
    "pytest": ["-m", "pytest", *STRICT, *PLUGIN],
}

MAY_FAIL = " || true"
"""Stands behind a command whose status is not 0."""

PROJECT = '[project.urls]\nSource = "https://github.com/someone/lessons"\n'


def consoles(page: Path) -> list[tuple[str, str]]:
    """The commands of a page, each with what it prints."""
    text = "\n".join(re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", f"{text}\n", re.MULTILINE)


def named(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


@pytest.fixture
def lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the notebook that the examples speak of, as it was recorded; the working directory."""
    nbformat = pytest.importorskip("nbformat", reason='needs the extra "lab"')
    v4 = nbformat.v4
    device = "/job:localhost/replica:0/task:0/device:GPU:0\n"
    machine = "4 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used.\n"
    cells = [
        v4.new_markdown_cell("# Where did it run?"),
        v4.new_code_cell(
            'import nbtf as tf\n\n_ = tf.runtime.simulate_gpus(4, model="Tesla K20m")',
            execution_count=1,
            outputs=[v4.new_output("stream", name="stdout", text=machine)],
        ),
        v4.new_code_cell(
            "print(tf.ones([2, 2]).device)",
            execution_count=2,
            outputs=[v4.new_output("stream", name="stdout", text=device)],
        ),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), tmp_path / "lesson.ipynb")
    tests = [code for page in PAGES for code, _ in blocks(page.read_text("utf-8")) if code.startswith(TEST_FILE)]
    (tmp_path / "test_lesson.py").write_text("".join(tests), encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "lesson.ipynb"


@pytest.mark.parametrize("page", [page for page in PAGES if "```python" in page.read_text("utf-8")], ids=named)
def test_code_prints_what_the_page_says(page: Path, bare: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "SECONDS", ENOUGH)  # a process of many tests has many objects
    tf.runtime.restart()
    for code, said in blocks(page.read_text(encoding="utf-8")):
        if code.startswith(TEST_FILE):
            continue
        ran = bare.run(code)
        shown = ran.out if ran.result is None else str(ran.result)
        if ran.error is not None:
            shown = f"{type(ran.error).__name__}: {ran.error}"
        assert said.strip() == shown.strip(), code


@pytest.mark.parametrize("page", [page for page in PAGES if consoles(page)], ids=named)
def test_commands_print_what_the_page_says(page: Path, lesson: Path) -> None:
    for command, said in consoles(page):
        words = shlex.split(command.removesuffix(MAY_FAIL))
        settings = dict(word.split("=", 1) for word in words if word.startswith("NBTF_"))
        program, *arguments = words[len(settings) :]
        if arguments[0] in STARTS:
            cli._parser().parse_args(arguments)
            continue
        ran = run(program, arguments, settings)
        assert (ran.returncode == 0) != command.endswith(MAY_FAIL), ran.stderr
        expected, shown = (f"{text.strip()}\n" for text in (said.strip() or ran.stdout, ran.stdout))
        assert OutputChecker().check_output(expected, shown, ELLIPSIS), shown


def run(program: str, arguments: list[str], settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a command as a shell does."""
    assert program in PROGRAMS
    environ = os.environ | settings | {"PYTHONPATH": str(DOCS.parents[1]), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, *PROGRAMS[program], *arguments],
        env=environ,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_every_command_has_an_example() -> None:
    examples = [example for example, _ in consoles(DOCS / "reference" / "commands.md")]

    for name in command_names(cli._parser()):
        assert f"\n## `{name}`\n" in COMMANDS
        assert any(f"{name} " in f"{example} " for example in examples), name


def command_names(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The commands that do something, each by all its words."""
    doors = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not doors:
        yield parser.prog
    for door in doors:
        for child in door.choices.values():
            yield from command_names(child)

"""Do the examples of the documentation's pages run and print what the pages show?"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import shutil
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
from tests.docs.record import DOCS, SAMPLE, TEST_FILE, pages
from tests.notebook.conftest import ENOUGH, Ran, Shell
from tests.notebook.conftest import bare as bare
from tests.notebook.test_pages import blocks

PAGES = sorted(path for path in DOCS.rglob("*.md") if "locale" not in path.parts)
COMMANDS = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")

STARTS = {"lab", "site", "predict"}
"""Commands that serve, fetch or need PyTorch: their examples are parsed here, and run by other tests and `.ci/run`."""

STRICT = ["-W", "error::pytest.PytestUnknownMarkWarning"]
PLUGIN = [] if entry_points(group="pytest11", name="nbtf") else ["-p", "nbtf.cli.pytest_nbtf"]
"""Our plugin, for environments installed before it existed."""

PROGRAMS = {
    "nbtf": ["-c", "import sys; from nbtf.cli import main; sys.exit(main())"],
    "nbtf-check": ["-c", "import sys; from nbtf.cli import check; sys.exit(check())"],
    "pytest": ["-m", "pytest", *STRICT, *PLUGIN],
}

MAY_FAIL = " || true"
"""Follows a command whose exit status is not 0."""

PROJECT = '[project.urls]\nSource = "https://github.com/someone/lessons"\n'


def consoles(page: Path) -> list[tuple[str, str]]:
    """Returns the commands of a page, each with its output."""
    text = "\n".join(re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", f"{text}\n", re.MULTILINE)


def named(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


LOG = """step 12
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 15.60 GiB of \
which 400.00 MiB is free. Including non-PyTorch memory, this process has 15.20 GiB memory in use. Of the allocated \
memory 9.00 GiB is allocated by PyTorch, and 5.10 GiB is reserved by PyTorch but unallocated.
"""


def save_recording(path: Path, device_name: str) -> None:
    """Saves a recording of one op on a device."""
    tf.runtime.restart()
    with contextlib.redirect_stdout(io.StringIO()):
        tf.runtime.simulate_gpus(1, memory="1GiB")
    with tf.runtime.recording() as record, tf.device(device_name):
        tf.linalg.diag(tf.fill([64], 1.0))
    record.save(path)
    tf.runtime.restart()


@pytest.fixture
def lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the recorded notebook that the examples use; its folder is the working directory."""
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
    shutil.copy(SAMPLE, tmp_path)
    (tmp_path / "train.log").write_text(LOG, encoding="utf-8")
    (tmp_path / "train.py").write_text("import nbtf as tf\n\ntf.ones([2])\n", encoding="utf-8")
    for name, device_name in (("yesterday", "GPU:0"), ("today", "CPU:0")):
        save_recording(tmp_path / f"{name}.nbtf", device_name)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "lesson.ipynb"


@pytest.mark.parametrize("page", pages(), ids=named)
def test_code_prints_what_the_page_shows(
    page: Path, bare: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(SAMPLE, tmp_path)
    monkeypatch.setattr(table, "SECONDS", ENOUGH)  # a process of many tests has many objects
    tf.runtime.restart()
    text = page.read_text(encoding="utf-8")
    for code, said in blocks(text):
        if not code.startswith(TEST_FILE):
            ran = bare.run(code)
            assert said.strip() == shown_by(ran).strip(), code


def shown_by(ran: Ran) -> str:
    """Returns what a cell shows: its error, its result or what it printed."""
    if ran.error is not None:
        return f"{type(ran.error).__name__}: {ran.error}"
    return ran.out if ran.result is None else str(ran.result)


@pytest.mark.parametrize("page", [*pages("torch"), *pages("tensorflow")], ids=named)
def test_pages_for_other_libraries_show_outputs(page: Path) -> None:
    """`test_documentation.py` in `tests/frameworks/` runs them."""
    assert "```text" in page.read_text(encoding="utf-8")


def test_the_gallery_has_a_picture_for_each_cell_that_shows_one(tmp_path: Path) -> None:
    page = DOCS / "gallery.md"
    environ = os.environ | {"PYTHONPATH": str(DOCS.parents[1]), "NBTF_LANG": "en"}
    subprocess.run([sys.executable, str(DOCS / "pictures.py"), str(page), str(tmp_path)], env=environ, check=True)
    text = page.read_text(encoding="utf-8")
    files = re.findall(r"(?:\{image\}|:file:) (pictures/\S+)", text)

    assert len(files) > 9
    assert files == [name for name in files if (tmp_path / name).stat().st_size > 500]
    assert text.count("{image}") == text.count(":alt: ")
    assert (tmp_path / "extra" / "recording.html").is_file()


@pytest.mark.parametrize("page", [page for page in PAGES if consoles(page)], ids=named)
def test_commands_print_what_the_page_shows(page: Path, lesson: Path) -> None:
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
    """Runs a command as a shell would."""
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
    """Yields the commands without subcommands, each with its full name."""
    doors = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not doors:
        yield parser.prog
    for door in doors:
        for child in door.choices.values():
            yield from command_names(child)

"""`nbtf lab`: where are the tutorials copied, and how are they opened? Copies them once and starts JupyterLab."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import nbtf
from nbtf._storage import files
from nbtf._storage.reading import read_bytes, read_text
from nbtf.cli.arguments import add_parser
from nbtf.cli.command_error import CommandError, require
from nbtf.cli.images import copy_images
from nbtf.cli.special_cells import empty_folded_cells, is_install_cell

VARIABLE = "NBTF_LANG"
"""The environment variable that sets the language of the live views."""

_CONFIG = Path(__file__).with_name("jupyter")
"""Defaults for JupyterLab: it asks no questions about news. The user's own settings have precedence."""


def add_command(commands: Any) -> None:
    """Adds `lab` to the command line."""
    add_parser(commands, "lab", lab, jupyter={"help": argparse.SUPPRESS})


def lab(chosen: argparse.Namespace) -> int:
    """Copies the tutorials, prints what it opens, and replaces this process with JupyterLab."""
    require(["jupyterlab", "ipykernel"], "nbtf lab")
    originals = lessons()
    language = choose_language(originals, chosen.language, os.environ.get(VARIABLE, ""))
    if chosen.language is not None:
        os.environ[VARIABLE] = chosen.language  # kernels inherit it, so views use this language as well
    copies = copy_tutorials(originals, chosen.dir)
    first = next(lesson.relative_path for lesson in originals if lesson.language == language)
    print(describe_copies(copies, chosen.dir, first), flush=True)  # signing and JupyterLab take some seconds
    sign(chosen.dir / copy.relative_path for copy in copies if copy.state != "yours")
    return start(jupyter_command(chosen.dir, first, chosen.no_browser, chosen.jupyter))


class Lesson(NamedTuple):
    """One tutorial shipped with nbtf, and its path in a folder of tutorials, such as `ja/00_start_here.ipynb`."""

    original: Path
    relative_path: str

    @property
    def language(self) -> str:
        """The language's folder; empty for English."""
        return self.relative_path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Copy:
    """One tutorial in the user's folder; `state` is new, same or yours."""

    relative_path: str
    state: str


def lessons() -> list[Lesson]:
    """Returns the tutorials shipped with nbtf, in order: English, then each language that has a folder.

    An installed nbtf has them inside the package; in a repository they are beside it.

    Raises:
      CommandError: if there are none.
    """
    package = Path(nbtf.__file__).parent
    for folder in (package / "_tutorials", package.parent / "notebooks"):
        notebooks = [*sorted(folder.glob("*.ipynb")), *sorted(folder.glob("[!.]*/*.ipynb"))]
        if notebooks:
            return [Lesson(path, path.relative_to(folder).as_posix()) for path in notebooks]
    raise CommandError(f"found no tutorials in {package}. Install nbtf again, or run `nbtf lab` in its repository.")


def choose_language(originals: Sequence[Lesson], requested: str | None, usual: str) -> str:
    """Returns the folder of the tutorials' language; empty for English.

    Args:
      originals: the available tutorials.
      requested: the requested language, such as `zh_CN`, `zh-CN` or `zh`; None for the default.
      usual: the default language, used if there are tutorials in it.

    Raises:
      CommandError: if the tutorials are not available in the requested language.
    """
    wished = (usual if requested is None else requested).partition(".")[0].lower().replace("-", "_")
    languages = sorted({lesson.language for lesson in originals} - {""})
    language_folder = next((language for language in languages if _is_for(language.lower(), wished)), "")
    if requested is not None and not language_folder and wished.partition("_")[0] != "en":
        raise CommandError(f"no tutorials in {requested!r}. Available languages: {', '.join(['en', *languages])}.")
    return language_folder


def _is_for(language: str, wished: str) -> bool:
    """Whether a language's tutorials suit the requested one: zh_cn suits zh_cn and zh but not zh_tw; ja suits ja_jp."""
    return wished in (language, language.partition("_")[0]) or language == wished.partition("_")[0]


def copy_tutorials(originals: Iterable[Lesson], folder: Path) -> list[Copy]:
    """Copies the tutorials that are not in the folder yet, with their drawings; never overwrites a file.

    All languages are copied because the lessons link to each other across languages.

    Raises:
      CommandError: if the folder cannot be written.
    """
    try:
        return [
            Copy(lesson.relative_path, _copy_lesson(lesson.original, folder / lesson.relative_path))
            for lesson in originals
        ]
    except OSError as error:
        raise CommandError(
            f"cannot write the tutorials into {folder}: {error.strerror}. Choose another --dir."
        ) from error


def _copy_lesson(original: Path, path: Path) -> str:
    """Copies a lesson in one step, so that neither a partial copy nor an overwritten file can result."""
    text = read_bytes(original)
    lesson: dict[str, Any] = json.loads(text)
    files.make_folder(path.parent)
    copy_images(lesson, original.parent, path.parent)
    if _prepare(lesson):
        text = f"{json.dumps(lesson, indent=1, ensure_ascii=False)}\n".encode()
    try:
        files.create(path, text)
    except FileExistsError:
        return "same" if read_bytes(path) == text else "yours"
    return "new"


def _prepare(lesson: dict[str, Any]) -> bool:
    """Adapts a lesson for use in this environment, and returns whether that changed it.

    This environment already has everything that the hidden cell installs, so the first visible code cell becomes the
    lesson's own. Outputs that answer a question are hidden until readers run the cell.
    """
    cells = [cell for cell in lesson["cells"] if not is_install_cell(cell)]
    is_shorter = len(cells) < len(lesson["cells"])
    lesson["cells"] = cells
    is_labelled = _add_version(lesson["metadata"].get("language_info", {}))
    return empty_folded_cells(cells) or is_shorter or is_labelled


def _add_version(language: dict[str, Any]) -> bool:
    """Adds Python's version to a lesson's metadata, and returns whether it is new.

    Otherwise the kernel adds it when it starts, and JupyterLab then marks the lesson as changed.
    """
    is_new = bool(language) and "version" not in language
    if is_new:
        language["version"] = platform.python_version()
    return is_new


def sign(notebooks: Iterable[Path]) -> None:
    """Marks unchanged notebooks as trusted by Jupyter, so that it draws their saved views."""
    nbformat = importlib.import_module("nbformat")
    notary = importlib.import_module("nbformat.sign").NotebookNotary()
    for notebook in notebooks:
        notary.sign(nbformat.reads(read_text(notebook), as_version=4))
    notary.store.close()


def describe_copies(copies: Sequence[Copy], folder: Path, first: str) -> str:
    """Returns the text printed before JupyterLab starts."""
    yours = [copy.relative_path for copy in copies if copy.state == "yours"]
    new = sum(copy.state == "new" for copy in copies)
    lines = [f"Tutorials: {folder.resolve()} ({len(copies)}, {new} of them copied now)"]
    if yours:
        lines.append(f"Kept with your changes: {', '.join(yours)}. Delete one to get a fresh copy.")
    lines.append(f"Opening {first} in JupyterLab. Press Ctrl-C here to stop it.")
    lines.append("The GPUs in the tutorials are simulated by NumPy on this computer's CPU. No GPU is used or needed.")
    return "\n".join(lines)


def jupyter_command(folder: Path, notebook: str, no_browser: bool, options: Sequence[str]) -> list[str]:
    """Returns the command that opens a notebook of a folder in this Python's JupyterLab."""
    command = [
        sys.executable,
        *("-m", "jupyterlab"),
        f"--ServerApp.root_dir={folder.resolve()}",
        # The printed address also leads to the notebook; `doc` leaves the file browser folded.
        f"--LabApp.default_url=/doc/tree/{quote(notebook)}",
    ]
    if no_browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # Root is the usual user in a container, and JupyterLab otherwise refuses to start.
        command.append("--allow-root")
    return [*command, *options]


def start(command: Sequence[str]) -> int:
    """Replaces this process with the program, so that signals reach it; on Windows runs it and returns its status."""
    folders = [os.environ.get("JUPYTER_CONFIG_PATH", ""), str(_CONFIG)]
    environment = {**os.environ, "JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, folders))}
    if os.name == "posix":
        os.execve(command[0], list(command), environment)
    return subprocess.call(command, env=environment)

"""`nbtf lab`: where do the tutorials go, and how are they opened? Copies them once and starts JupyterLab."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbtf
from nbtf.cli.command_error import CommandError, require


def add_command(commands: Any) -> None:
    """Adds `lab` to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "lab",
        help="open the tutorials in JupyterLab",
        description="Copies the tutorials into a folder, unless they are there, and opens the first one in JupyterLab. "
        "A copy that you have changed is kept. The GPUs in the tutorials are simulated.",
        epilog='Options for JupyterLab itself stand after --, as in "nbtf lab -- --port=9000".',
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address instead of opening a browser")
    parser.add_argument(
        "--dir",
        type=Path,
        default=Path("nbtf-tutorials"),
        metavar="D",
        help="where the copies go (default: ./nbtf-tutorials)",
    )
    parser.add_argument("jupyter", nargs="*", metavar="OPTION", help=argparse.SUPPRESS)
    parser.set_defaults(command=lab)


def lab(chosen: argparse.Namespace) -> int:
    """Copies the tutorials, says what it opens, and becomes JupyterLab."""
    require(["jupyterlab", "ipykernel"], "nbtf lab")
    copies = copy_tutorials(tutorials(), chosen.dir)
    print(told(copies, chosen.dir), flush=True)
    return start(jupyter_command(copies[0].path, chosen.no_browser, chosen.jupyter))


@dataclass(frozen=True, slots=True)
class Copy:
    """One tutorial in the user's folder; `state` is new, same or yours."""

    path: Path
    state: str


def tutorials() -> list[Path]:
    """Returns the tutorials that came with nbtf, in order.

    An installed nbtf carries them inside the package; in a checkout they stand beside it.

    Raises:
      CommandError: there are none.
    """
    package = Path(nbtf.__file__).parent
    for folder in (package / "_tutorials", package.parent / "notebooks"):
        found = sorted(folder.glob("*.ipynb"))
        if found:
            return found
    raise CommandError(f"found no tutorials in {package}. Install nbtf again, or run `nbtf lab` in its repository.")


def copy_tutorials(originals: Iterable[Path], folder: Path) -> list[Copy]:
    """Copies the tutorials that are not in the folder yet and overwrites none.

    Raises:
      CommandError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_copied(original, folder / original.name) for original in originals]
    except OSError as error:
        raise CommandError(
            f"cannot write the tutorials into {folder}: {error.strerror}. Choose another --dir."
        ) from error


def _copied(original: Path, path: Path) -> Copy:
    """One copy. Its text goes in one piece, with mode `x`, so that nothing that is there can be overwritten."""
    text = original.read_bytes()
    try:
        with path.open("xb") as file:
            file.write(text)
    except FileExistsError:
        return Copy(path, "same" if path.read_bytes() == text else "yours")
    return Copy(path, "new")


def told(copies: Sequence[Copy], folder: Path) -> str:
    """Returns what is said before JupyterLab starts."""
    yours = [copy.path.name for copy in copies if copy.state == "yours"]
    new = sum(copy.state == "new" for copy in copies)
    lines = [f"Tutorials: {folder.resolve()} ({len(copies)}, {new} of them copied now)"]
    if yours:
        lines.append(f"Kept as you changed them: {', '.join(yours)}. Delete one to get a fresh copy.")
    lines.append(f"Opening {copies[0].path.name} in JupyterLab; Ctrl-C here stops it.")
    lines.append("The GPUs in the tutorials are simulated: NumPy on this computer's CPU. No GPU is used or needed.")
    return "\n".join(lines)


def jupyter_command(notebook: Path, no_browser: bool, options: Sequence[str]) -> list[str]:
    """Returns the command that opens a notebook in the JupyterLab of this very Python."""
    command = [
        sys.executable,
        *("-m", "jupyterlab"),
        f"--ServerApp.root_dir={notebook.resolve().parent}",
        f"--LabApp.default_url=/lab/tree/{quote(notebook.name)}",  # the address printed leads to the notebook, too
    ]
    if no_browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # a container's usual user; JupyterLab refuses it otherwise
    return [*command, *options]


def start(command: Sequence[str]) -> int:
    """Becomes the given program, so that signals reach it and not us; elsewhere runs it and returns its status."""
    if os.name == "posix":
        os.execv(command[0], list(command))
    return subprocess.call(command)

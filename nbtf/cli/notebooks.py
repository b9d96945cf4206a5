"""`nbtf notebooks`: how does a folder of notebooks stay correct? Checks, records, copies for students, translates."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nbtf._counts import counted
from nbtf._storage import files
from nbtf.cli.arguments import add_parser
from nbtf.cli.badges import address_in, badges, with_badges
from nbtf.cli.checking import command as checking
from nbtf.cli.command_error import CommandError, require, writing
from nbtf.cli.exercises import student_copy, teacher_copy
from nbtf.cli.images import copy_images
from nbtf.cli.languages import catalogue_of, language_of, translation_of
from nbtf.cli.notebook_choice import notebooks_in
from nbtf.cli.notebook_file import OtherLanguageError, read, write
from nbtf.cli.recording import CELL_SECONDS, execute, tidy
from nbtf.cli.special_cells import install_cell, is_install_cell


def add_command(commands: Any) -> None:
    """Adds `notebooks` to the command line."""
    parser = add_parser(commands, "notebooks")
    doors = parser.add_subparsers(title="commands", metavar="check|record|student|translate|badges", required=True)
    checking.add_command(doors)
    timeout = {"type": checking.SECONDS, "default": CELL_SECONDS}
    add_parser(doors, "notebooks record", record_all, timeout=timeout)
    for name, command in (("student", copy_all), ("translate", translate_all), ("badges", badge_all)):
        add_parser(doors, f"notebooks {name}", command)


def record_all(chosen: argparse.Namespace) -> int:
    """Records the notebooks, prints a line for each, and returns the exit status."""
    require(["nbclient", "nbformat", "ipykernel"], "nbtf notebooks record")
    failed = 0
    for path, notebook in _originals(chosen.paths):
        try:
            execute(notebook, path.resolve().parent, chosen.timeout or None)
        except CommandError as error:
            print(f"{path}: not changed; {error}", flush=True)
            failed += 1
            continue
        left_out = tidy(notebook)
        write(path, notebook)
        print(f"{path}: recorded", *left_out, sep="; ", flush=True)
    return 1 if failed else 0


def copy_all(chosen: argparse.Namespace) -> int:
    """Writes the copies and returns the exit status."""
    require(["nbformat"], "nbtf notebooks student")
    copy_of = teacher_copy if chosen.solutions else student_copy
    for path, notebook in _in_python(chosen.paths):
        copy = chosen.output / path.name
        if copy.exists() and copy.samefile(path):
            raise CommandError(f"{copy} is the notebook itself, which is never changed. Choose another folder for -o.")
        with writing(chosen.output):
            files.make_folder(chosen.output)
            copy_images(notebook, path.parent, chosen.output)
        write(copy, copy_of(notebook))
        print(f"{copy}: written")
    return 0


def translate_all(chosen: argparse.Namespace) -> int:
    """Updates the catalogues, writes the translations, and returns the exit status."""
    require(["nbformat", "babel"], "nbtf notebooks translate")
    from nbtf.cli import translation

    incomplete = 0
    for path, notebook in _originals(chosen.paths):
        target = catalogue_of(path, chosen.language)
        catalogue = translation.updated(target, notebook, chosen.language)
        target_file = translation_of(path, chosen.language)
        with writing(target):
            translation.write(target, catalogue)
        with writing(target_file):
            files.make_folder(target_file.parent)
        write(target_file, translation.translated(notebook, catalogue, chosen.language))
        lacks = translation.missing(catalogue, notebook)
        lacking = counted(len(lacks.untranslated), "text")
        print(f"{target_file}: {lacking} without translation, {len(lacks.stale)} changed since")
        incomplete += bool(lacks.untranslated or lacks.stale)
    return 1 if incomplete else 0


def badge_all(chosen: argparse.Namespace) -> int:
    """Puts the buttons into the notebooks and returns the exit status."""
    require(["nbformat"], "nbtf notebooks badges")
    for path, notebook in _in_python(chosen.paths):
        full_path = path.resolve()
        project = next((folder for folder in full_path.parents if (folder / "pyproject.toml").is_file()), None)
        address = "" if project is None else address_in(project / "pyproject.toml")
        if project is None or not address:
            raise CommandError(f"{path}: no pyproject.toml above it has a GitHub address in [project.urls].")
        notebook = with_badges(notebook, badges(address, full_path.relative_to(project).as_posix()))
        for cell in filter(is_install_cell, notebook.cells):
            cell.source = install_cell()
        write(path, notebook)
        print(f"{path}: buttons are in place")
    return 0


def _originals(paths: Iterable[Path]) -> Iterator[tuple[Path, Any]]:
    """Returns the notebooks that are not translations, because translations are built, not recorded."""
    return ((path, notebook) for path, notebook in _in_python(paths) if not language_of(notebook))


def _in_python(paths: Iterable[Path]) -> Iterator[tuple[Path, Any]]:
    """Yields the notebooks at some paths; prints a line for those in another language."""
    for path in notebooks_in(paths):
        try:
            yield path, read(path)
        except OtherLanguageError as error:
            print(f"{path}: skipped: needs {error.language}", flush=True)

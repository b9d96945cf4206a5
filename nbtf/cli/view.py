"""`nbtf view`: what does a memory snapshot, a trace or a recording show? Writes a page and opens it in the browser."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from nbtf._storage import files
from nbtf._storage.refusal import RefusedFileError
from nbtf.cli.arguments import add_parser, whole_number, worded
from nbtf.cli.command_error import CommandError, reading, writing
from nbtf.cli.lab import VARIABLE
from nbtf.cli.printable import printable, wrapped
from nbtf.notebook.catalogue import ENGLISH, LANGUAGES
from nbtf.notebook.opened_files import OpenedFile, Options, open_file
from nbtf.notebook.snapshots.what_ifs import Question

_Answer = TypeVar("_Answer")

_DEVICE = re.compile(r"(?:(?:/device:)?GPU|cuda):(\d+)", re.IGNORECASE)


def add_command(commands: Any) -> None:
    """Adds `view` to the command line."""
    event = whole_number("an event")
    language = {"choices": [ENGLISH, *LANGUAGES]}
    settings = {"device": worded(_device), "around": event, "from": event, "to": event}
    add_parser(commands, "view", view, **settings, language=language)


def view(chosen: argparse.Namespace) -> int:
    """Prints the figures of a file, and writes and opens its page, unless figures alone are asked for."""
    if (chosen.first is None) != (chosen.last is None):
        raise CommandError("--from needs --to, and --to needs --from. For the events around one, use --around.")
    if chosen.language is not None:
        os.environ[VARIABLE] = chosen.language
    with reading(chosen.file):
        opened = _opened(chosen)
    if chosen.json:
        print(json.dumps(_answered(opened.figures), indent=1))
        return 0
    for line in _answered(opened.summary):
        print(wrapped(printable(line)))
    sys.stdout.flush()  # the page of a large file takes seconds
    page = chosen.output or Path(tempfile.mkdtemp(prefix="nbtf-view-"), f"{chosen.file.name}.html")
    with writing(page):
        files.write(page, _answered(opened.page))
    print(f"Page: {printable(str(page))}")
    if not chosen.no_browser and chosen.output is None:
        webbrowser.open(page.resolve().as_uri())
    return 0


def _opened(chosen: argparse.Namespace) -> OpenedFile:
    between = None if chosen.first is None else (chosen.first, chosen.last)
    options = Options(chosen.device, chosen.around, between, chosen.anonymous, _questions(chosen))
    try:
        return open_file(chosen.file, options)
    except (RefusedFileError, ValueError) as error:
        raise CommandError(str(error)) from error


def _questions(chosen: argparse.Namespace) -> list[Question]:
    """Returns a question for each combination of settings and lines, all with the card that was given."""
    if not (chosen.what_if or chosen.card or chosen.without):
        return []
    combinations = product(chosen.what_if or [None], chosen.without or [None])
    return [Question(settings, chosen.card, without) for settings, without in combinations]


def _answered(answer: Callable[[], _Answer]) -> _Answer:
    """Returns what a file answers to a question."""
    try:
        return answer()
    except (ValueError, NotImplementedError) as error:
        raise CommandError(str(error)) from error


def _device(text: str) -> int:
    """Returns the number of a GPU.

    Raises:
      ValueError: if the text does not name one.
    """
    match = _DEVICE.fullmatch(text)
    if match is None:
        raise ValueError(f"expected a GPU such as GPU:1, got {text!r}")
    return int(match[1])

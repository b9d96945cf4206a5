"""The parsers of the commands, whose texts are in `commands.json`, and what their arguments accept."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, TypeVar

from nbtf._arguments import add_arguments, in_one_text
from nbtf._own_files import own_json

T = TypeVar("T")
Command = Callable[[argparse.Namespace], int]


def add_parser(
    commands: Any, name: str, command: Command | None = None, **settings: Callable[..., Any] | dict[str, Any]
) -> argparse.ArgumentParser:
    """Adds a command to a command line.

    Args:
      commands: the commands of a parser.
      name: name of the command, such as `notebooks check`.
      command: function that runs it; None if it has commands of its own.
      **settings: the types or other settings of its arguments; see `add_arguments`.
    """
    arguments, texts = texts_of(name)
    parser: argparse.ArgumentParser = commands.add_parser(name.rpartition(" ")[2], **texts)
    add_arguments(parser, arguments, **settings)
    if command is not None:
        parser.set_defaults(command=command)
    return parser


def texts_of(name: str) -> tuple[list[Any], dict[str, Any]]:
    """Returns the arguments of a command, and the settings of its parser: help, description and their layout."""
    texts = dict(own_json("nbtf.cli", "commands.json")[name])
    arguments, texts["description"] = texts.pop("arguments"), in_one_text(texts["description"])
    if "\n" in texts["description"]:
        texts["formatter_class"] = argparse.RawDescriptionHelpFormatter
    return arguments, texts


def worded(read: Callable[[str], T]) -> Callable[[str], T]:
    """Returns a function that reads an argument and whose errors argparse shows in their own words."""

    def read_argument(text: str) -> T:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read_argument


def whole_number(noun: str) -> Callable[[str], int]:
    """Returns a function that reads a whole number of something, 0 or more."""

    def read(text: str) -> int:
        if not text.isdecimal():
            raise argparse.ArgumentTypeError(f"expected a number of {noun}, got {text!r}")
        return int(text)

    return read


def share(text: str) -> float:
    """Returns a number, 0 or more.

    Raises:
      ValueError: for any other text.
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise ValueError(f"expected a number, 0 or more, got {text!r}")
    return number

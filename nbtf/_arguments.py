"""The arguments of commands and magics, as JSON files describe them: their names, texts and choices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argparse import ArgumentParser

_TYPES = {"path": Path, "float": float}


def in_one_text(lines: str | list[str]) -> str:
    """Returns a text that a JSON file may store as a list of lines."""
    return lines if isinstance(lines, str) else "\n".join(lines)


def add_arguments(
    parser: ArgumentParser, descriptions: Iterable[Mapping[str, Any]], **settings: Callable[..., Any] | dict[str, Any]
) -> None:
    """Adds arguments to a parser.

    Args:
      parser: parser of the command or magic.
      descriptions: the keyword arguments of `add_argument`; also `flags`, the argument's names separated by spaces, and
        `group`, the number of the group of arguments that exclude each other.
      **settings: the type of an argument, or several of its settings, by its name.
    """
    groups: defaultdict[int, Any] = defaultdict(parser.add_mutually_exclusive_group)
    for description in descriptions:
        options = dict(description)
        flags, group = options.pop("flags").split(), options.pop("group", None)
        if "type" in options:
            options["type"] = _TYPES[options["type"]]
        extra = settings.get(flags[-1].strip("-").replace("-", "_"), {})
        options |= extra if isinstance(extra, dict) else {"type": extra}
        (parser if group is None else groups[group]).add_argument(*flags, **options)

"""Generates the page of commands: the options of each parser, followed by the page's examples."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from nbtf.cli import _parser

_HEADING = re.compile(r"^## `(nbtf[^`]*)`$", re.MULTILINE)


def commands_page(text: str) -> str:
    """Returns the page, with the description and the options of each command before its example."""
    parsers = dict(leaves(_parser()))
    sections = {name: section(name, parser) for name, parser in parsers.items()}
    page = _HEADING.sub(lambda heading: sections.pop(heading[1], heading[0]), text)
    return "\n\n".join([page.rstrip(), *sections.values()])


def leaves(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yields the commands without subcommands, each with its full name, such as `nbtf notebooks check`."""
    doors = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not doors:
        yield parser.prog, parser
    for door in doors:
        for child in door.choices.values():
            yield from leaves(child)


def section(name: str, parser: argparse.ArgumentParser) -> str:
    """Returns the heading, the description, the usage and the options of a command."""
    formatter = parser.formatter_class(prog=parser.prog, width=80)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    anchor = name.replace(" ", "-")
    parts = [
        f"({anchor})=\n## `{name}`",
        plain(parser.description or ""),
        f"```text\n{formatter.format_help().strip()}\n```",
    ]
    parts += [f"{names(action)}\n: {plain(explained(action))}" for action in parser._actions if told(action)]
    return "\n\n".join([*parts, *([plain(parser.epilog)] if parser.epilog else [])])


def told(action: argparse.Action) -> bool:
    """Tells whether an option is listed; `--help` is not."""
    return action.help not in (None, argparse.SUPPRESS) and "--help" not in action.option_strings


def names(action: argparse.Action) -> str:
    """Returns an option as it is typed, such as `-o DIR`, `--output DIR`."""
    choices = "|".join(map(str, action.choices)) if action.choices else action.dest.upper()
    value = action.metavar if isinstance(action.metavar, str) else choices
    if not action.option_strings:
        return f"`{value}`"
    return ", ".join(f"`{option} {value}`" if action.nargs != 0 else f"`{option}`" for option in action.option_strings)


def explained(action: argparse.Action) -> str:
    """Returns the help text of an option, with its values filled in."""
    values = vars(action) | {"prog": "nbtf"}
    return str(action.help) % values


def plain(text: str) -> str:
    """Escapes a text for Markdown, except its code, and makes lines that begin a sentence paragraphs."""
    text = re.sub(r"\.\n(?=[A-Z])", ".\n\n", text)
    return re.sub(r"(`[^`]*`)|([*_<\[\]])", lambda match: match[1] or f"\\{match[2]}", text)

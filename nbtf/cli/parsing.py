"""How are the words of a command line read? By argparse, with suggestions for names that do not exist."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from typing import Any, NoReturn


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors name the closest command or option, and show the usage of the command that was typed."""

    _commands: Any = None

    def add_subparsers(self, **settings: Any) -> Any:
        """Adds commands, as argparse does, and remembers them."""
        self._commands = super().add_subparsers(**settings)
        return self._commands

    def read(self, words: Sequence[str], chosen: argparse.Namespace | None = None) -> argparse.Namespace:
        """Returns the chosen command and its arguments; ends the program after an error, or after `--help`.

        Args:
          words: the command line without the program's name.
          chosen: arguments that are known already; the others are added to it.
        """
        parser = self._parser_of(words)
        chosen = argparse.Namespace() if chosen is None else chosen
        _, unknown = self.parse_known_args(words, chosen)
        if unknown:
            parser.refuse("unrecognized arguments: " + " ".join(unknown), unknown[0], parser.options())
        return chosen

    def options(self) -> list[str]:
        """Returns the options of this parser."""
        return [flag for action in self._actions for flag in action.option_strings]

    def refuse(self, message: str, word: str, names: Sequence[str]) -> NoReturn:
        """Ends the program with an error that suggests the name closest to a word."""
        close = difflib.get_close_matches(word.partition("=")[0], names, 1)
        self.error(f"{message}. Did you mean {close[0]}?" if close else message)

    def _parser_of(self, words: Sequence[str]) -> CommandParser:
        """Returns the parser of the command that is typed."""
        name = next((word for word in words if not word.startswith("-")), None)
        if self._commands is None or name is None:
            return self
        parsers: dict[str, CommandParser] = self._commands.choices
        if name not in parsers:
            self.refuse(f"unknown command {name!r}", name, list(parsers))
        return parsers[name]._parser_of(words[words.index(name) + 1 :])

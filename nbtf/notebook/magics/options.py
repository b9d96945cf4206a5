"""What can follow a magic's name, and what does a user see after a mistake?"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, NoReturn

from nbtf._arguments import add_arguments, in_one_text
from nbtf._own_files import own_json
from nbtf.notebook.session import say
from nbtf.notebook.usage_error import UsageError

_LIKE = 0.7
"""Similarity, from 0 to 1, at which one word may have been meant as another: `who` and `--who` have 0.75."""


class _RefusedError(Exception):
    """Raised if a string is rejected with a message that needs no addition."""


class Options(argparse.ArgumentParser):
    """The options of a magic. A line that cannot be read raises a `UsageError` of one line."""

    def __init__(self, name: str, purpose: str) -> None:
        """Stores the magic's name with its `%`, and its description."""
        as_written = argparse.RawTextHelpFormatter
        super().__init__(name, description=purpose, add_help=False, allow_abbrev=False, formatter_class=as_written)
        self.color = False  # Python 3.14 colours help; a notebook's output is compared as text
        self.add_argument("-h", "--help", action="store_true", help="show this text")

    @property
    def words(self) -> tuple[str, ...]:
        """The words that can be typed: the choices of arguments, and options by their long names."""
        first, *actions = self._actions  # the help option is listed last
        return tuple(str(word) for each in (*actions, first) for word in each.option_strings[-1:] or each.choices or ())

    def error(self, message: str) -> NoReturn:
        """Raises instead of ending the process; an unknown option is answered with the available ones."""
        _, unknown, typed_words = message.partition("unrecognized arguments: ")  # argparse's own text
        if unknown:
            there_are = ", ".join(self.words)
            message = f"unknown option {typed_words}.{self._suggestion(typed_words.split())} Options: {there_are}"
        raise UsageError(f"{self.prog}: {message}. Run {self.prog} -h for help.")

    def _suggestion(self, typed_words: Iterable[str]) -> str:
        """Returns a question that suggests the most similar available word; empty if none is similar."""
        unknown = [word for word in typed_words if word not in self.words]
        guesses = [guess for word in unknown for guess in get_close_matches(word, self.words, 1, _LIKE)]
        return f" Did you mean {guesses[0]}?" if guesses else ""

    def read(self, line: str) -> argparse.Namespace | None:
        """Returns the options of a line; None after showing the requested help.

        Raises:
          UsageError: if an option is unknown, or a required one is missing.
        """
        try:
            words = _words(line)
        except ValueError as error:
            self.error(f"{error} in {line.strip()!r}")
        return self.read_words(words)

    def read_words(self, words: list[str]) -> argparse.Namespace | None:
        """Returns the options of the words of a line; see `read`."""
        if {"-h", "--help"} & set(words):
            say(self.format_help().rstrip())
            return None
        try:
            return self.parse_args(words)
        except _RefusedError as error:
            raise UsageError(f"{self.prog}: {error}{self._suggestion(words)}") from None


def before_comment(line: str) -> str:
    """Returns a magic's line without its comment: a `#` after a space, outside quotes, and all that follows.

    >>> before_comment("show  # why?"), before_comment("--op '* # *'"), before_comment("a#b")
    ('show  ', "--op '* # *'", 'a#b')
    """
    quote, previous = "", " "
    for index, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "#" and previous.isspace():
            return line[:index]
        previous = letter
    return line


def _words(line: str) -> list[str]:
    """Returns the words of a line; quotes keep spaces together, and backslashes are literal, as in Windows paths."""
    reader = shlex.shlex(before_comment(line), posix=True)
    reader.whitespace_split, reader.commenters, reader.escape = True, "", ""
    return list(reader)


def typed(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    """Returns a converter for an option whose own error messages are shown to the user."""

    def converted(value: str) -> Any:
        try:
            return convert(value)
        except ValueError as error:
            raise _RefusedError(str(error)) from None

    return converted


def options_of(name: str, **settings: Callable[[str], Any] | dict[str, Any]) -> Options:
    """Returns the options of a magic, whose texts are in `magics.json`.

    Args:
      name: name of the magic with its `%`.
      **settings: the converters or other settings of arguments, by their names; see `add_arguments`.
    """
    texts = own_json("nbtf.notebook.magics", "magics.json")[name]
    options = Options(name, in_one_text(texts["purpose"]))
    converters = {key: typed(each) if callable(each) else each for key, each in settings.items()}
    add_arguments(options, texts["arguments"], **converters)
    return options

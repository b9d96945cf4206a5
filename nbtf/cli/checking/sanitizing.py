"""What varies from run to run without meaning anything, and what is compared instead?

Rules are pairs of lines, `regex: ...` and `replace: ...`, in files as nbval's `--nbval-sanitize-with` reads them. A
line `contains: ...` below them saves time: the rule is tried where a text contains one of these words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from nbtf._storage.reading import read_text
from nbtf.cli.checking.page_ids import PageIds
from nbtf.cli.checking.time_limit import TooSlowError
from nbtf.cli.command_error import CommandError

BUILT_IN = Path(__file__).parents[1] / "nbval_sanitize.cfg"
"""Our own rules; pytest's `--nbval-sanitize-with` takes the same file."""


class Rule(NamedTuple):
    """A pattern and its replacement. A rule with words is tried in texts that contain one of them, else in all."""

    pattern: re.Pattern[str]
    replacement: str
    contains: tuple[str, ...] = ()

    def applied_to(self, text: str) -> str:
        """Returns the text with this rule applied."""
        if self.contains and not any(word in text for word in self.contains):
            return text
        return self.pattern.sub(self.replacement, text)


ANNOUNCEMENT = Rule(
    re.compile(r"^nbtf: \d+ simulated GPUs? \(.*\): NumPy on this computer.*\n?", re.MULTILINE), "", ("simulated GPU",)
)
"""What `--gpus` makes nbtf say in the first cell that uses a device."""

_RULE = re.compile(r"^regex: (.*)$\n^replace: (.*)$(?:\n^contains: (.*)$)?", re.MULTILINE)
_DATE = re.compile(r"<dc:date>[^<]*</dc:date>")
_PAGES = ("text/html", "image/svg+xml")


def read_rules(paths: Iterable[Path]) -> list[Rule]:
    """Returns the rules of files, in order; a regex that comes again gets the later replacement.

    Raises:
      CommandError: a file cannot be read, or has a rule that is none.
    """
    rules: dict[str, Rule] = {}
    for path in paths:
        try:
            written = _RULE.findall(read_text(path))
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"cannot read the rules in {path}: {error}") from error
        rules.update((regex, _rule(regex, replacement, words)) for regex, replacement, words in written)
    return list(rules.values())


def _rule(regex: str, replacement: str, words: str) -> Rule:
    try:
        pattern = re.compile(regex)
        pattern.sub(replacement, "")  # a replacement may name a group that is not there
    except (re.error, IndexError) as error:
        raise CommandError(f"the rule {regex!r} with the replacement {replacement!r} is none: {error}") from error
    return Rule(pattern, replacement, tuple(words.split()))


def sanitized(text: str, rules: Sequence[Rule], content: str = "text/plain") -> str:
    """Returns what is compared of a text.

    Args:
      text: of an output.
      rules: what varies.
      content: its MIME type. The ids of a page, which programs draw at random, are numbered in their order.

    >>> sanitized("<object at 0x7f3a2b1c4d5e>, 3.1 ms", read_rules([BUILT_IN]))
    '<object at ADDRESS>, TIME'
    >>> sanitized('<i id="a1"></i><b href="#a1">', [], "text/html")
    '<i id="ID-1"></i><b href="#ID-1">'
    """
    return with_rules(text, rules, ids_in(text, content))


def ids_in(text: str, content: str) -> PageIds | None:
    """Returns the ids of a page, or None for a text that is not a page."""
    return PageIds(text) if content in _PAGES else None


def with_rules(text: str, rules: Sequence[Rule], ids: PageIds | None = None) -> str:
    """Returns what is compared of a text, or of a part of one.

    Args:
      text: of an output.
      rules: what varies.
      ids: those of the page that the text belongs to; None if it is not a page.

    Raises:
      TooSlowError: if the time for comparing is over; the error names the rule.
    """
    if ids is not None:
        text = ids.numbered(_DATE.sub("", text))
    for rule in rules:
        try:
            text = rule.applied_to(text)
        except TooSlowError as error:
            error.rule = rule.pattern.pattern
            raise
    return text

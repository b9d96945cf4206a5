"""Which parts of a text vary between runs without meaning anything, and how are they compared?

Rules are pairs of lines, `regex: ...` and `replace: ...`, in files as nbval's `--nbval-sanitize-with` reads them. A
line `contains: ...` below them saves time: the rule is tried only if a text contains one of these words.
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
"""Our own rules; pytest's `--nbval-sanitize-with` accepts the same file."""


class Rule(NamedTuple):
    """A pattern and its replacement. A rule with words is tried only in texts that contain one of them."""

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
"""The message that `--gpus` makes nbtf print in the first cell that uses a device."""

_RULE = re.compile(r"^regex: (.*)$\n^replace: (.*)$(?:\n^contains: (.*)$)?", re.MULTILINE)
_DATE = re.compile(r"<dc:date>[^<]*</dc:date>")
_PAGES = ("text/html", "image/svg+xml")


def read_rules(paths: Iterable[Path]) -> list[Rule]:
    """Returns the rules in files, in order; for a repeated regex, the later replacement counts.

    Raises:
      CommandError: if a file cannot be read, or contains an invalid rule.
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
        pattern.sub(replacement, "")  # a replacement may name a group that does not exist
    except (re.error, IndexError) as error:
        raise CommandError(f"invalid rule {regex!r} with the replacement {replacement!r}: {error}") from error
    return Rule(pattern, replacement, tuple(words.split()))


def sanitized(text: str, rules: Sequence[Rule], content: str = "text/plain") -> str:
    """Returns a text with its varying parts replaced, ready to be compared.

    Args:
      text: text of an output.
      rules: rules for the parts that vary.
      content: its MIME type. The ids of a page, which programs choose at random, are numbered in their order.

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
    """Returns a text, or a part of one, with its varying parts replaced.

    Args:
      text: text of an output.
      rules: rules for the parts that vary.
      ids: the ids of the page that contains the text; None if it is not a page.

    Raises:
      TooSlowError: if the time limit for comparing is reached; the error names the rule.
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

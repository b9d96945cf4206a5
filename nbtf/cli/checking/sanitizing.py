"""Which parts of a text vary between runs without meaning anything, and how are they compared?

Rules are pairs of lines, `regex: ...` and `replace: ...`, in files as nbval's `--nbval-sanitize-with` reads them. A
line `contains: ...` below them saves time: the rule is tried only if a text contains one of these words. The sections
of our own file are groups: some always apply, others only where a user lets their values vary.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import islice, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, TypeAlias

from nbtf._counts import counted
from nbtf._storage.reading import read_text
from nbtf.cli.checking.page_ids import PageIds
from nbtf.cli.checking.time_limit import TooSlowError
from nbtf.cli.command_error import CommandError

BUILT_IN = Path(__file__).parents[1] / "nbval_sanitize.cfg"
"""Our own rules; pytest's `--nbval-sanitize-with` accepts the same file."""

LAYOUT, IDS = "layout", "ids"
"""The group whose rules change no values, and the group of random names, to which the ids of pages belong."""

USUAL = ("timings", "progress", "objects", "code", LAYOUT)
"""Groups of our rules that apply unless a check is strict."""

OPTIONAL = ("times", "addresses", IDS, "counters")
"""Groups of our rules that apply where a user chooses them."""

MOST_COUNTED = 200
"""Values of a group that are kept, so that a long output is not in memory twice."""

Varied: TypeAlias = dict[str, list[str]]
"""The values that rules replaced, by group, in their order."""


class Rule(NamedTuple):
    """A pattern and its replacement. A rule with words is tried only in texts that contain one of them.

    `group` is the section of our own file that contains the rule; empty for the rules of users.
    """

    pattern: re.Pattern[str]
    replacement: str
    contains: tuple[str, ...] = ()
    group: str = ""

    def applied_to(self, text: str, varied: Varied | None = None) -> str:
        """Returns the text with this rule applied.

        Args:
          text: text of an output.
          varied: receives the values that the rule replaced.
        """
        if self.contains and not any(word in text for word in self.contains):
            return text
        if varied is not None and self.group not in ("", LAYOUT):
            values = varied.setdefault(self.group, [])
            matches = map(itemgetter(0), self.pattern.finditer(text))
            values.extend(islice(matches, MOST_COUNTED - len(values)))
        return self.pattern.sub(self.replacement, text)


ANNOUNCEMENT = Rule(
    re.compile(r"^nbtf: \d+ simulated GPUs? \(.*\): NumPy on this computer.*\n?", re.MULTILINE), "", ("simulated GPU",)
)
"""The message that `--gpus` makes nbtf print in the first cell that uses a device."""

_RULE = re.compile(r"^\[(.*)\]$|^regex: (.*)$\n^replace: (.*)$(?:\n^contains: (.*)$)?", re.MULTILINE)
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
        group = ""
        for section, regex, replacement, words in written:
            if section:
                group = section if path == BUILT_IN else ""
            else:
                rules[regex] = _rule(regex, replacement, words)._replace(group=group)
    return list(rules.values())


def _rule(regex: str, replacement: str, words: str) -> Rule:
    try:
        pattern = re.compile(regex)
        pattern.sub(replacement, "")  # a replacement may name a group that does not exist
    except (re.error, IndexError) as error:
        raise CommandError(f"invalid rule {regex!r} with the replacement {replacement!r}: {error}") from error
    return Rule(pattern, replacement, tuple(words.split()))


def chosen_rules(rules: Iterable[Rule], vary: Collection[str]) -> list[Rule]:
    """Returns the rules of users, our usual rules, and those of the groups that a user lets vary."""
    return [rule for rule in rules if rule.group in ("", *USUAL, *vary)]


def sanitized(text: str, rules: Sequence[Rule], content: str = "text/plain", varied: Varied | None = None) -> str:
    """Returns a text with its varying parts replaced, ready to be compared.

    Args:
      text: text of an output.
      rules: rules for the parts that vary.
      content: its MIME type. The ids of a page, which programs choose at random, are numbered in their order.
      varied: receives the values that were replaced.

    >>> sanitized("<object at 0x7f3a2b1c4d5e>, 3.1 ms", read_rules([BUILT_IN]))
    '<object at ADDRESS>, TIME'
    >>> sanitized('<i id="a1"></i><b href="#a1">', [], "text/html")
    '<i id="ID-1"></i><b href="#ID-1">'
    """
    return with_rules(text, rules, ids_in(text, content, varied), varied)


def ids_in(text: str, content: str, varied: Varied | None = None) -> PageIds | None:
    """Returns the ids of a page, or None for a text that is not a page; `varied` receives them."""
    if content not in _PAGES:
        return None
    ids = PageIds(text)
    if varied is not None:
        varied.setdefault(IDS, []).extend(ids.numbers)
    return ids


def with_rules(text: str, rules: Sequence[Rule], ids: PageIds | None = None, varied: Varied | None = None) -> str:
    """Returns a text, or a part of one, with its varying parts replaced.

    Args:
      text: text of an output.
      rules: rules for the parts that vary.
      ids: the ids of the page that contains the text; None if it is not a page.
      varied: receives the values that were replaced.

    Raises:
      TooSlowError: if the time limit for comparing is reached; the error names the rule.
    """
    if ids is not None:
        text = ids.numbered(_DATE.sub("", text))
    for rule in rules:
        try:
            text = rule.applied_to(text, varied)
        except TooSlowError as error:
            error.rule = rule.pattern.pattern
            raise
    return text


def notes_on(then: Varied, now: Varied) -> list[str]:
    """Returns a line about the values that differ and were not compared; none if all are equal.

    Args:
      then: the values replaced in the recorded outputs.
      now: those replaced in the outputs of this run.

    >>> notes_on({"times": ["3 s", "1 s"]}, {"times": ["4 s", "1 s"]})
    ['1 value not compared (times)']
    """
    groups = list(dict.fromkeys([*then, *now]))
    differing = {
        group: sum(old != new for old, new in zip_longest(then.get(group, []), now.get(group, []))) for group in groups
    }
    names = [group for group in groups if differing[group]]
    or_more = " or more" if any(len(now.get(group, [])) >= MOST_COUNTED for group in names) else ""
    return [f"{counted(sum(differing.values()), 'value')}{or_more} not compared ({', '.join(names)})"] if names else []

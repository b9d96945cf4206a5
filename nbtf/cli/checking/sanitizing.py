"""What varies from run to run without meaning anything, and what is compared instead?

Rules are pairs of lines, `regex: ...` and `replace: ...`, in files as nbval's `--nbval-sanitize-with` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from nbtf._storage.reading import read_text
from nbtf.cli.command_error import CommandError

BUILT_IN = Path(__file__).parents[1] / "nbval_sanitize.cfg"
"""Our own rules; pytest's `--nbval-sanitize-with` takes the same file."""

Rule: TypeAlias = tuple[re.Pattern[str], str]

ANNOUNCEMENT: Rule = (re.compile(r"^nbtf: \d+ simulated GPUs? \(.*\): NumPy on this computer.*\n?", re.MULTILINE), "")
"""What `--gpus` makes nbtf say in the first cell that uses a device."""

_PAIR = re.compile(r"^regex: (.*)$\n^replace: (.*)$", re.MULTILINE)
_ID = re.compile(r"""\bid=(["'])(.+?)\1""")
_DATE = re.compile(r"<dc:date>[^<]*</dc:date>")
_PAGES = ("text/html", "image/svg+xml")


def read_rules(paths: Iterable[Path]) -> list[Rule]:
    """Returns the rules of files, in order; a regex that comes again gets the later replacement.

    Raises:
      CommandError: a file cannot be read, or has a rule that is none.
    """
    replacements: dict[str, str] = {}
    for path in paths:
        try:
            replacements.update(_PAIR.findall(read_text(path)))
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"cannot read the rules in {path}: {error}") from error
    return [_rule(regex, replacement) for regex, replacement in replacements.items()]


def _rule(regex: str, replacement: str) -> Rule:
    try:
        pattern = re.compile(regex)
        pattern.sub(replacement, "")  # a replacement may name a group that is not there
    except (re.error, IndexError) as error:
        raise CommandError(f"the rule {regex!r} with the replacement {replacement!r} is none: {error}") from error
    return pattern, replacement


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
    if content in _PAGES:
        text = _with_numbered_ids(_DATE.sub("", text))
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


def _with_numbered_ids(page: str) -> str:
    numbers: dict[str, str] = {}
    for match in _ID.finditer(page):
        numbers.setdefault(match[2], f"ID-{len(numbers) + 1}")
    if not numbers:
        return page
    longest_first = sorted(numbers, key=len, reverse=True)
    names = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])")
    return names.sub(lambda match: numbers[match[0]], page)

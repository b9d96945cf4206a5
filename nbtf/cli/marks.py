"""What do a cell's tags and comments request from a check? Those of nbval and nbclient, and our own.

nbval's are `NBVAL_IGNORE_OUTPUT`, `NBVAL_CHECK_OUTPUT`, `NBVAL_RAISES_EXCEPTION` and `NBVAL_SKIP`: each a comment on
its own line, or a tag (`nbval-ignore-output`). Ours set limits: `# NBTF_TOLERANCE=1e-6`, or `nbtf-tolerance=1e-6`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nbtf.cli.command_error import CommandError
from nbtf.cli.limits import NAMES, read_limits
from nbtf.cli.needs import missing_modules

RAISES, NOT_RUN = "raises-exception", "skip-execution"
"""nbclient's tags."""

_COMPARED = {"nbval-check-output": True, "nbval-ignore-output": False, "pytest-validate-ignore-output": False}
_RAISING = ("nbval-raises-exception", RAISES)
_SKIPPED = ("nbval-skip", NOT_RUN)
_PREFIX = "nbtf-"
_COMMENT = re.compile(r"NBVAL_[A-Z_]+|PYTEST_VALIDATE_IGNORE_OUTPUT|NBTF_[A-Z_]+(=\S+)?")


@dataclass(slots=True)
class Marks:
    """The settings in a cell's marks; `compared` is None if they do not mention it."""

    compared: bool | None = None
    skipped: bool = False
    may_raise: bool = False
    limits: dict[str, Any] = field(default_factory=dict[str, Any])


def tags(cell: Any) -> list[str]:
    """Returns the tags of a cell."""
    return list(cell.get("metadata", {}).get("tags", []))


def marks(cell: Any, name: str = "cell") -> Marks:
    """Returns a cell's settings; a comment overrides a tag, and a later mark overrides an earlier one.

    Args:
      cell: a code cell.
      name: its name, for messages.

    Raises:
      CommandError: if a mark of ours does not exist, or has an invalid value.

    >>> marks({"source": "# NBVAL_IGNORE_OUTPUT", "metadata": {"tags": ["raises-exception", "nbtf-kept=0"]}})
    Marks(compared=False, skipped=False, may_raise=True, limits={'kept_memory': '0'})
    """
    cell_marks = Marks(limits=read_limits(cell.get("metadata", {}).get("nbtf", {}).get("limits", {}), name))
    cell_marks.skipped = bool(missing_modules(cell.get("metadata", {})))
    for mark in (*tags(cell), *_comments(cell["source"])):
        cell_marks.compared = _COMPARED.get(mark, cell_marks.compared)
        cell_marks.skipped |= mark in _SKIPPED
        cell_marks.may_raise |= mark in _RAISING
        if mark.startswith(_PREFIX):
            _add_limit(cell_marks.limits, mark.removeprefix(_PREFIX), name)
    return cell_marks


def _add_limit(limits: dict[str, Any], mark: str, name: str) -> None:
    words, _, value = mark.partition("=")
    limit = words.replace("-", "_")
    if limit not in NAMES:
        names = ", ".join(f"{_PREFIX}{each.replace('_', '-')}" for each in NAMES)
        raise CommandError(f"{name}: unknown mark {_PREFIX}{words}. Marks: {names}")
    rules = limits.get(limit, ()) if limit == "placement" else ()
    limits |= read_limits({limit: [*rules, value] if limit == "placement" else value}, name)


def _comments(source: str) -> Iterator[str]:
    """Yields the marks in the comments of a cell, written as tags."""
    for line in source.splitlines():
        comment = line.strip()
        text = comment.lstrip("#").strip()
        name, sign, value = text.partition("=")
        mark = name.lower().replace("_", "-")
        if comment.startswith("#") and _COMMENT.fullmatch(text) and (not mark.startswith(_PREFIX) or _is_meant(mark)):
            yield mark + sign + value


def _is_meant(mark: str) -> bool:
    """Returns whether this is probably meant as a mark, and not, say, as one of our environment variables."""
    return bool(difflib.get_close_matches(mark, [_PREFIX + name.replace("_", "-") for name in NAMES], 1, 0.75))

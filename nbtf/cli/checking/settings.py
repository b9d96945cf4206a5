"""Which options can a project store? Those in the tables of a `pyproject.toml`, or of a separate file.

    [tool.nbtf.check]                          # options of the command, by their names
    gpus = "4xA100-40GB"
    timeout = 300
    tolerance = 1e-6
    vary = ["times"]
    exclude = ["drafts", "old_*.ipynb"]
    sanitize = ["rules.cfg"]

    [tool.nbtf.check.limits."06_*.ipynb"]      # limits of the notebooks whose path matches, as in their metadata
    at_most = "2GiB"
    placement = ["MatMul=GPU:1"]

The setting closest to the cell wins, in this order: the cell's tags and metadata, those of the notebook, this file's
limits, the command line, this file's options.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from nbtf._storage.reading import read_text
from nbtf.cli.command_error import CommandError
from nbtf.cli.limits import read_limits

OPTIONS = {
    "gpus": str,
    "timeout": int,
    "startup_timeout": int,
    "tolerance": float,
    "pictures": float,
    "redirect": str,
    "kernel": str,
    "lax": bool,
    "strict": bool,
    "vary": list,
    "exclude": list,
}
"""Options allowed in the file, with their types; also `sanitize`, which is a list of paths."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The contents of the file: options by name, files of rules, and limits by pattern."""

    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    sanitize: tuple[Path, ...] = ()
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def limits_of(self, path: Path) -> dict[str, Any]:
        """Returns the limits of a notebook; if two patterns match, the later one wins.

        Args:
          path: the notebook's file.
        """
        limits: dict[str, Any] = {}
        for pattern, named in self.limits.items():
            if path.resolve().match(pattern):
                limits |= named
        return limits


def find_settings(start: Path) -> Settings:
    """Returns the settings in the nearest `pyproject.toml` at or above a folder; empty if it has no such table."""
    for folder in (start.resolve(), *start.resolve().parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            tables = _tables(file)
            return read_tables(tables, file) if tables is not None else Settings()
    return Settings()


def read_settings(file: Path) -> Settings:
    """Returns the settings in a file.

    Raises:
      CommandError: if it cannot be read, has no table `[tool.nbtf.check]`, or contains an unknown or invalid setting.
    """
    tables = _tables(file)
    if tables is None:
        raise CommandError(f"{file} has no table [tool.nbtf.check]")
    return read_tables(tables, file)


def read_tables(tables: object, file: Path) -> Settings:
    """Returns the settings in the table `[tool.nbtf.check]`.

    Args:
      tables: the parsed table.
      file: the file that contains it; its relative paths start there.

    Raises:
      CommandError: if a setting is unknown or invalid.
    """
    if not isinstance(tables, Mapping):
        raise CommandError(f"{file}: [tool.nbtf.check] is not a table")
    named = dict(cast("Mapping[str, Any]", tables))
    limits, rules = named.pop("limits", {}), named.pop("sanitize", [])
    for name, value in named.items():
        expected = OPTIONS.get(name)
        if expected is None:
            raise CommandError(f"{file}: unknown option {name!r}. Options: {', '.join([*OPTIONS, 'sanitize'])}")
        is_right = type(value) is expected or (expected is float and type(value) is int)
        if not is_right or (
            expected is list and not all(isinstance(item, str) for item in cast("list[object]", value))
        ):
            raise CommandError(f"{file}: {name} must be {_WORDS[expected]}, got {value!r}")
    if not isinstance(limits, Mapping):
        raise CommandError(f"{file}: [tool.nbtf.check.limits] is not a table")
    by_pattern = {
        pattern: read_limits(value, f"{file}, limits of {pattern}")
        for pattern, value in cast("Mapping[str, object]", limits).items()
    }
    paths = [rules] if isinstance(rules, str) else list(rules)
    return Settings(named, tuple(file.parent / path for path in paths), by_pattern)


_WORDS = {str: "a string", int: "a whole number", float: "a number", bool: "true or false", list: "a list of strings"}


def _tables(file: Path) -> object | None:
    """Returns the table in a file; None if it has none."""
    try:
        content = tomllib.loads(read_text(file))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CommandError(f"cannot read {file}: {error}") from error
    return content.get("tool", {}).get("nbtf", {}).get("check")

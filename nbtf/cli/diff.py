"""`nbtf diff`: did anything move? Compares two saved recordings; a check for CI."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from nbtf import runtime
from nbtf._counts import counted
from nbtf._storage.limits import UnsavableError
from nbtf._storage.reading import open_bytes
from nbtf._storage.refusal import RefusedFileError
from nbtf.cli.arguments import add_parser, worded
from nbtf.cli.command_error import CommandError, reading
from nbtf.cli.printable import printable
from nbtf.notebook.json_exports import read_export

_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%", re.ASCII)


def add_command(commands: Any) -> None:
    """Adds `diff` to the command line."""
    add_parser(commands, "diff", diff, peak=worded(_share))


def diff(chosen: argparse.Namespace) -> int:
    """Prints the differences; returns 0 if there are none, otherwise 1."""
    old, new = _opened(chosen.old), _opened(chosen.new)
    for path, record in ((chosen.old, old), (chosen.new, new)):
        _check(path, record, chosen.only)
    difference = runtime.compare_recordings(old, new, chosen.only, chosen.peak or 0.0)
    if chosen.json:
        print(json.dumps(difference.as_data(), indent=1))
        return int(bool(difference))
    for line in (*difference.in_words(), *[f"note: {text}" for text in difference.notes]):
        print(printable(line))
    if not difference:
        compared = chosen.only or "placement, copies and memory"
        print(printable(f"no difference in {compared} ({old.snapshot(0).placed:,} ops)"))
    return int(bool(difference))


def _check(path: Path, record: runtime.OpenedRecording, only: str | None) -> None:
    """Checks that a recording contains everything that is compared.

    Raises:
      CommandError: if it does not.
    """
    totals = record.snapshot(0)
    if only == "memory":
        if not (record.memory or totals.peaks or totals.library_peaks):
            raise CommandError(f"{path} has no memory of a GPU, so it cannot be compared.")
        return
    if not totals.placed:
        raise CommandError(f"{path} has no ops, so it cannot be compared. Record a program that runs ops.")
    cut = totals.heard - len(record.events)
    if cut:
        raise CommandError(
            f"the first {counted(cut, 'event is', 'events are')} not in {path}, so it cannot be compared. Record with "
            "a larger capacity, or use --only memory."
        )


def _opened(path: Path) -> runtime.OpenedRecording:
    try:
        with reading(path):
            with open_bytes(path) as file:
                is_archive = file.read(2) == b"PK"
            return runtime.read_recording(path) if is_archive else read_export(path)
    except (RefusedFileError, UnsavableError) as error:
        raise CommandError(str(error)) from error


def _share(text: str) -> float:
    match = _PERCENT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected a percentage such as 5%, got {text!r}")
    return float(match[1]) / 100

"""Who answers what a program takes on a card? A process of its own, in which it runs again without values."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nbtf._devices.catalog import find_card

IN_PART = "fits as far as it is predicted"
"""What is said of a program that was not predicted to its end, or not all of it."""

_MODULE = "nbtf.notebook.prediction"
SECONDS = 20.0
"""How long a loop may take before it is looked at whether its memory still changes."""
LIMIT = 300.0
"""How long all runs may take together."""
_GRACE = 120.0
"""How long beside that an answer is waited for: PyTorch is imported, and what runs below Python is not interrupted."""


class PredictionError(Exception):
    """The process could not answer; its last words are the text."""


def ask(
    program: str,
    cells: Sequence[tuple[int, str, bool]],
    card: str,
    count: int = 1,
    batches: Sequence[int] = (),
    batch_name: str | None = None,
    seconds: float = SECONDS,
    folder: Path | None = None,
    limit: float = LIMIT,
) -> dict[str, Any]:
    """Has cells run again for a card, and returns what came of it as plain data, and as `text`.

    Args:
      program: what is predicted, in words: `cell 4`.
      cells: number, text, and whether the memory of the cell is of interest; the others prepare it.
      card: its name in the catalog.
      count: how many of them.
      batches: batch sizes to try beside the program's own.
      batch_name: which name of the program holds the batch size; the usual ones are looked for when None.
      seconds: how long a loop may take before it is looked at whether its memory still changes.
      folder: where the program runs.
      limit: how many seconds all runs may take together; what is known by then is returned. 0: any time.

    Raises:
      PredictionError: the process ended without an answer, or did not end in time.
    """
    request = {
        "program": program,
        "cells": [list(cell) for cell in cells],
        "card": card,
        "count": count,
        "batches": list(batches),
        "batch_name": batch_name,
        "seconds": seconds,
        "limit": limit,
    }
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(Path(__file__).parents[4])])
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": path, "NBTF_SIMULATED_GPUS": "0"}
    environment.pop("NBTF_SIMULATE", None)
    try:
        process = subprocess.run(
            [sys.executable, "-m", _MODULE],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=folder,
            env=environment,
            check=False,
            timeout=limit + _GRACE if limit else None,
        )
    except subprocess.TimeoutExpired:
        raise PredictionError(f"it did not end within {limit:g} s, and could not be interrupted.") from None
    try:
        answer = json.loads(process.stdout)
    except ValueError:
        lines = process.stderr.strip().splitlines() or [f"it ended with status {process.returncode}"]
        raise PredictionError(lines[-1]) from None
    if "refused" in answer:
        raise PredictionError(answer["refused"])
    return answer


def read_cards(text: str) -> tuple[int, str]:
    """Returns how many cards a text asks for, and the full name of such a card in the catalog.

    Raises:
      ValueError: there is none, or several have these words, which the text of the error lists; or the number is 0.

    >>> read_cards("4xA100-40GB"), read_cards("T4")
    ((4, 'NVIDIA A100-SXM4-40GB'), (1, 'Tesla T4'))
    """
    match = re.fullmatch(r"(?:(\d+)\s*[xX]\s*)?(.+)", text.strip())
    if match is None or (match[1] and not int(match[1])):
        raise ValueError(f"expected cards such as 1xA100-40GB, got {text!r}")
    return int(match[1] or 1), find_card(match[2]).name


def read_batches(text: str) -> tuple[str | None, tuple[int, ...]]:
    """Returns batch sizes to try, and the name that holds them where one is given.

    Raises:
      ValueError: they are no whole numbers above 0.

    >>> read_batches("8,16,32"), read_batches("BATCH=4")
    ((None, (8, 16, 32)), ('BATCH', (4,)))
    """
    name, equals, sizes = text.rpartition("=")
    words = [word.strip() for word in sizes.split(",")]
    if not all(word.isdecimal() and int(word) for word in words) or (equals and not name.strip().isidentifier()):
        raise ValueError(
            f"Batch sizes are whole numbers with commas between, as in 8,16,32 or NAME=8,16; got {text!r}."
        )
    return name.strip() or None, tuple(int(word) for word in words)

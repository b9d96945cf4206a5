"""Predicts what a program allocates on a GPU by running it again in a separate process, without values."""

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
"""The verdict on a program that was predicted only in part."""

_MODULE = "nbtf.notebook.prediction"
SECONDS = 20.0
"""Default for `seconds`: how long a loop may run before the prediction checks whether its memory still changes."""
LIMIT = 300.0
"""Limit for all runs together, in seconds."""
_GRACE = 120.0
"""Extra seconds to wait for an answer: PyTorch must be imported, and native code cannot be interrupted."""


class PredictionError(Exception):
    """The process gave no answer; the error text is the last line that it printed."""


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
    compare: Path | None = None,
) -> dict[str, Any]:
    """Returns the prediction for cells run again on the given GPUs, as plain data and as `text`.

    Args:
      program: name of the predicted program, such as `cell 4`.
      cells: for each cell its number, its text, and whether to report its memory; other cells only prepare it.
      card: the card's name in the catalog.
      count: number of cards.
      batches: batch sizes to try besides the program's own.
      batch_name: the program's variable for the batch size; None tries the usual names.
      seconds: how long a loop may run before the prediction checks whether its memory still changes.
      folder: working directory of the program.
      limit: seconds for all runs together, after which partial results are returned; 0 means no limit.
      compare: a memory snapshot of PyTorch with which to compare the prediction; None compares nothing.

    Raises:
      PredictionError: if the process ends without an answer or does not finish in time.
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
        "compare": None if compare is None else str(compare.resolve()),
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
        raise PredictionError(f"it did not finish within {limit:g} s and could not be interrupted.") from None
    try:
        answer = json.loads(process.stdout)
    except ValueError:
        lines = process.stderr.strip().splitlines() or [f"it ended with exit status {process.returncode}"]
        raise PredictionError(lines[-1]) from None
    if "refused" in answer:
        raise PredictionError(answer["refused"])
    return answer


def read_cards(text: str) -> tuple[int, str]:
    """Returns the number of cards that a text requests, and the card's full name in the catalog.

    Raises:
      ValueError: if no card or several cards match (the error lists them), or if the number is 0.

    >>> read_cards("4xA100-40GB"), read_cards("T4")
    ((4, 'NVIDIA A100-SXM4-40GB'), (1, 'Tesla T4'))
    """
    match = re.fullmatch(r"(?:(\d+)\s*[xX]\s*)?(.+)", text.strip())
    if match is None or (match[1] and not int(match[1])):
        raise ValueError(f"expected cards such as 1xA100-40GB, got {text!r}")
    return int(match[1] or 1), find_card(match[2]).name


def read_batches(text: str) -> tuple[str | None, tuple[int, ...]]:
    """Returns the batch sizes to try, and the variable that holds them if the text names one.

    Raises:
      ValueError: if the sizes are not positive whole numbers.

    >>> read_batches("8,16,32"), read_batches("BATCH=4")
    ((None, (8, 16, 32)), ('BATCH', (4,)))
    """
    name, equals, sizes = text.rpartition("=")
    words = [word.strip() for word in sizes.split(",")]
    if not all(word.isdecimal() and int(word) for word in words) or (equals and not name.strip().isidentifier()):
        raise ValueError(f"Batch sizes must be positive whole numbers, as in 8,16,32 or NAME=8,16; got {text!r}.")
    return name.strip() or None, tuple(int(word) for word in words)

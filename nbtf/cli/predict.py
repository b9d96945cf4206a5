"""`nbtf predict`: how much GPU memory will a PyTorch notebook need on a card that is not available?"""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nbtf._frameworks.torch.prediction.asking import (
    IN_PART,
    LIMIT,
    SECONDS,
    PredictionError,
    ask,
    read_batches,
    read_cards,
)
from nbtf.cli.command_error import CommandError, require
from nbtf.cli.execution import code_cells
from nbtf.cli.notebook_file import read
from nbtf.cli.printable import printable


def add_command(commands: Any) -> None:
    """Adds `predict` to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "predict",
        help="predict how much GPU memory a PyTorch notebook needs",
        description="Run a PyTorch notebook on simulated GPUs without computing values. Report its peak allocated and "
        "reserved memory, the line that reaches the peak, and what the memory is used for. The report also names the "
        "largest batch that fits and the changes that save the most memory; each is computed by running the notebook "
        "again. Exit status 1 if the notebook does not fit, 2 if it cannot be predicted to its end.",
    )
    parser.add_argument("notebook", type=Path, metavar="NOTEBOOK.ipynb")
    parser.add_argument(
        "--gpus", type=_cards, required=True, metavar="NxCARD", help="the GPUs, for example 1xA100-40GB or L4"
    )
    parser.add_argument(
        "--batch",
        type=_batches,
        default=(None, ()),
        metavar="SIZES",
        help="other batch sizes to try, for example 8,16,32; NAME=8,16 if the variable has an unusual name",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        metavar="S",
        help=f"end a loop after S seconds, once three optimizer steps have not raised the peak (default: {SECONDS:g})",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=LIMIT,
        metavar="S",
        help=f"stop after S seconds and report the prediction so far; 0: no limit (default: {LIMIT:g})",
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON; sizes are in bytes")
    parser.set_defaults(command=predict)


def predict(chosen: argparse.Namespace) -> int:
    """Predicts a notebook, prints the report and returns the exit status."""
    require(["nbformat", "IPython"], "nbtf predict")
    if find_spec("torch") is None:
        raise CommandError("`nbtf predict` needs PyTorch, which is not installed. Install with: pip install torch")
    notebook = read(chosen.notebook)
    count, card = chosen.gpus
    name, batches = chosen.batch
    cells = [(number, cell.source, True) for number, (_, cell) in enumerate(code_cells(notebook), start=1)]
    try:
        answer = ask(
            chosen.notebook.name,
            cells,
            card,
            count,
            batches,
            name,
            chosen.seconds,
            chosen.notebook.resolve().parent,
            chosen.timeout,
        )
    except PredictionError as error:
        raise CommandError(f"cannot predict {chosen.notebook.name}: {error}") from error
    text = answer.pop("text")
    print(json.dumps(answer, indent=1) if chosen.json else printable(text))
    return {"fits": 0, IN_PART: 2}.get(answer.get("verdict", ""), 1)


def _cards(text: str) -> tuple[int, str]:
    """The number of GPUs, and their model."""
    try:
        return read_cards(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _batches(text: str) -> tuple[str | None, tuple[int, ...]]:
    """Batch sizes, and the name of the variable that holds them."""
    try:
        return read_batches(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None

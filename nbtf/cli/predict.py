"""`nbtf predict`: what will a PyTorch notebook take on a card that is not here?"""

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
        help="say what a PyTorch notebook takes on a card that is not here",
        description="Runs a PyTorch notebook without values on simulated cards, and says how much memory it allocates "
        "and reserves at most, in which line, for what, which batch is the largest that fits, and which changes save "
        "most, each computed by running it again. Exit status 1 if it does not fit, 2 if it cannot be predicted to its "
        "end.",
    )
    parser.add_argument("notebook", type=Path, metavar="NOTEBOOK.ipynb")
    parser.add_argument(
        "--gpus", type=_cards, required=True, metavar="NxCARD", help="the cards, as in 1xA100-40GB or L4"
    )
    parser.add_argument(
        "--batch",
        type=_batches,
        default=(None, ()),
        metavar="SIZES",
        help="other batch sizes to try, as in 8,16,32; NAME=8,16 where the size has an unusual name",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        metavar="S",
        help=f"end a loop that takes longer, once three steps of an optimizer exceed no peak (default: {SECONDS:g})",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=LIMIT,
        metavar="S",
        help=f"stop after so many seconds, and say what was predicted by then; 0: any time (default: {LIMIT:g})",
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON; sizes are in bytes")
    parser.set_defaults(command=predict)


def predict(chosen: argparse.Namespace) -> int:
    """Predicts a notebook, prints the answer and returns the exit status."""
    require(["nbformat", "IPython"], "nbtf predict")
    if find_spec("torch") is None:
        raise CommandError("`nbtf predict` predicts notebooks of PyTorch, which is not installed: pip install torch")
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
    """How many cards, and which."""
    try:
        return read_cards(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _batches(text: str) -> tuple[str | None, tuple[int, ...]]:
    """Batch sizes, and the name that holds them."""
    try:
        return read_batches(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None

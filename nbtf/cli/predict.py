"""`nbtf predict`: how much GPU memory will a PyTorch notebook need on a card that is not available?"""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from typing import Any

from nbtf._frameworks.torch.prediction import asking
from nbtf.cli.arguments import add_parser, worded
from nbtf.cli.command_error import CommandError, require
from nbtf.cli.execution import code_cells
from nbtf.cli.notebook_file import read
from nbtf.cli.printable import printable


def add_command(commands: Any) -> None:
    """Adds `predict` to the command line."""
    batch = {"type": worded(asking.read_batches), "default": (None, ())}
    seconds = {"type": float, "default": asking.SECONDS}
    timeout = {"type": float, "default": asking.LIMIT}
    add_parser(
        commands, "predict", predict, gpus=worded(asking.read_cards), batch=batch, seconds=seconds, timeout=timeout
    )


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
        answer = asking.ask(
            chosen.notebook.name,
            cells,
            card,
            count,
            batches,
            name,
            chosen.seconds,
            chosen.notebook.resolve().parent,
            chosen.timeout,
            chosen.compare,
        )
    except asking.PredictionError as error:
        raise CommandError(f"cannot predict {chosen.notebook.name}: {error}") from error
    text = answer.pop("text")
    print(json.dumps(answer, indent=1) if chosen.json else printable(text))
    return {"fits": 0, asking.IN_PART: 2}.get(answer.get("verdict", ""), 1)

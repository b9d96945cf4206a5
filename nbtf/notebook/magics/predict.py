"""`%%gpu_memory --predict`: how much memory will this cell need on a GPU that is not available?"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from nbtf._counts import counted
from nbtf._frameworks.torch.prediction.asking import PredictionError, ask, read_batches, read_cards
from nbtf.notebook.magics.options import typed
from nbtf.notebook.session import Session, say
from nbtf.notebook.usage_error import UsageError

if TYPE_CHECKING:
    from nbtf.notebook.prediction.report import Prediction

_QUESTION = re.compile(r"^\s*%%gpu_memory\s.*--predict")


PREDICTION = {"predict": read_cards, "batch": {"type": typed(read_batches), "default": (None, ())}}
"""The types of the options of a prediction."""


def predicted(session: Session, chosen: Any, body: str) -> Prediction:
    """Returns the predicted memory of a cell on a card, after the cells that have run so far.

    Args:
      session: the session whose earlier cells prepare it.
      chosen: the card, the batch sizes, and a memory snapshot to compare with, if any.
      body: the cell without its first line.
    """
    from nbtf.notebook.prediction.report import (
        Prediction,
    )  # imported late: it needs IPython, and few cells are predicted

    if find_spec("torch") is None:
        raise UsageError("%%gpu_memory --predict: needs PyTorch, which is not installed.")
    history = session.shell.history_manager.input_hist_raw
    number = len(history)
    cells = [
        (index, source, False)
        for index, source in enumerate(history[:-1])
        if source.strip() and not _QUESTION.match(source)
    ]
    (count, card), (name, batches) = chosen.predict, chosen.batch
    say(f"Running {_cells(len(cells))} in a separate process, without values. Nothing runs here.")
    try:
        # One line goes above the body, so that line numbers match the cell's.
        answer = ask(
            f"cell {number - 1}",
            [*cells, (number - 1, f"\n{body}", True)],
            card,
            count,
            batches=batches,
            batch_name=name,
            compare=chosen.compare,
        )
    except PredictionError as error:
        raise UsageError(f"%%gpu_memory --predict: {error}") from None
    return Prediction(answer, f"cell {number - 1}")


def _cells(count: int) -> str:
    return f"this cell, after the {counted(count, 'cell')} before it," if count else "this cell"

"""Finds PyTorch and its GPU. A stage that needs them is skipped with a note if they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from tests.gpu.stages.record import Record


def find_torch(record: Record) -> Any | None:
    """Returns PyTorch; None, with a note, if it is not installed."""
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        record.note(f"PyTorch was left out: {error}")
        return None


def torch_with_gpu(record: Record, left_out: str) -> Any | None:
    """Returns PyTorch; None, with a note, if it is not installed or has no GPU.

    Args:
      record: receives the note.
      left_out: what was skipped, for the note.
    """
    torch = find_torch(record)
    if torch is not None and not torch.cuda.is_available():
        record.note(f"PyTorch has no GPU here: {left_out}.")
        return None
    return torch

"""Is PyTorch there, and has it a GPU? A stage that is about both leaves itself out where not, and says so."""

from __future__ import annotations

import importlib
from typing import Any

from tests.gpu.stages.record import Record


def find_torch(record: Record) -> Any | None:
    """Returns PyTorch; None where it is not installed, which is noted."""
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        record.note(f"PyTorch was left out: {error}")
        return None


def torch_with_gpu(record: Record, left_out: str) -> Any | None:
    """Returns PyTorch; None where it is not installed or has no GPU, which is noted.

    Args:
      record: takes it down.
      left_out: what does not happen without a GPU.
    """
    torch = find_torch(record)
    if torch is not None and not torch.cuda.is_available():
        record.note(f"PyTorch has no GPU here: {left_out}.")
        return None
    return torch

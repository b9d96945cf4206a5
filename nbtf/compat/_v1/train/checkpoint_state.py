"""Which checkpoints a folder has, as far as it is written down."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbtf.keras.saving.latest import STATE, note_latest
from nbtf.train.files import path_of


@dataclass
class CheckpointState:
    """The last checkpoint of a folder, and all that were kept, as paths."""

    model_checkpoint_path: str = ""
    all_model_checkpoint_paths: list[str] = field(default_factory=list[str])


def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> CheckpointState | None:
    """Returns what is written down about the checkpoints of a folder; None if nothing is.

    Args:
      checkpoint_dir: the folder.
      latest_filename: the file that says so; `checkpoint` when None.
    """
    folder = os.fspath(checkpoint_dir)
    try:
        state: dict[str, Any] = json.loads((Path(folder) / (latest_filename or STATE)).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    paths = [os.path.join(folder, name) for name in state["all_model_checkpoint_paths"]]
    return CheckpointState(os.path.join(folder, state["model_checkpoint_path"]), paths)


def update_checkpoint_state(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Any = None,
    last_preserved_timestamp: Any = None,
) -> None:
    """Writes down which checkpoint of a folder is the last.

    Args:
      save_dir: the folder.
      model_checkpoint_path: the checkpoint.
      all_model_checkpoint_paths: all there are, the oldest first.
      latest_filename: the file that says so; `checkpoint` when None.
      all_model_checkpoint_timestamps: accepted and ignored, as is the next.
      last_preserved_timestamp: as above.
    """
    last = os.path.join(os.fspath(save_dir), os.path.basename(model_checkpoint_path))
    note_latest(last, [*(all_model_checkpoint_paths or []), model_checkpoint_path], latest_filename or STATE)


def checkpoint_exists(checkpoint_prefix: str | os.PathLike[str]) -> bool:
    """Tells whether there is a checkpoint of this path."""
    return path_of(checkpoint_prefix).is_file()


def remove_checkpoint(
    checkpoint_prefix: str | os.PathLike[str], checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Deletes a checkpoint.

    Args:
      checkpoint_prefix: its path without the ending.
      checkpoint_format_version: accepted and ignored, as is the next.
      meta_graph_suffix: as above.
    """
    path_of(checkpoint_prefix).unlink(missing_ok=True)

"""Which checkpoints a folder has, as far as it is written down."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from nbtf.keras.saving.latest import STATE, note_latest, read_state
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

    Raises:
      DataLossError: the file is damaged, or names checkpoints outside the folder.
    """
    state = read_state(checkpoint_dir, latest_filename)
    return None if state is None else CheckpointState(state.latest, state.paths)


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

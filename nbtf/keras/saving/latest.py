"""Which of the files of a folder is the last that was saved there?"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtf._storage import files

STATE = "checkpoint"
"""The file in each folder that says which checkpoint is the last."""


@dataclass(frozen=True, slots=True)
class FolderState:
    """What a folder's state file says, with whole paths.

    `times` are those when the checkpoints were saved, and `preserved` that of the last one which is never deleted: in
    seconds since 1970, as `time.time` has them.
    """

    latest: str
    paths: list[str]
    times: list[float]
    preserved: float


def read_state(folder: str | os.PathLike[str], file_name: str | None = None) -> FolderState | None:
    """Returns what is written down about the checkpoints of a folder; None if nothing is."""
    directory = os.fspath(folder)
    try:
        state: dict[str, Any] = json.loads((Path(directory) / (file_name or STATE)).read_text(encoding="utf-8"))
        return FolderState(
            os.path.join(directory, state["model_checkpoint_path"]),
            [os.path.join(directory, name) for name in state["all_model_checkpoint_paths"]],
            [float(seconds) for seconds in state.get("all_model_checkpoint_timestamps", [])],
            float(state.get("last_preserved_timestamp", 0.0)),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def note_latest(
    prefix: str,
    kept: Sequence[str],
    file_name: str = STATE,
    times: Sequence[float] = (),
    preserved: float = 0.0,
) -> None:
    """Writes down which checkpoint of a folder is the last, which there are, and when they were saved."""
    path = Path(prefix)
    state = {
        "model_checkpoint_path": path.name,
        "all_model_checkpoint_paths": [Path(one).name for one in kept],
        "all_model_checkpoint_timestamps": list(times),
        "last_preserved_timestamp": preserved,
    }
    files.write(path.parent / file_name, json.dumps(state, indent=1))

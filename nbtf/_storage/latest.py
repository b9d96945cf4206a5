"""The state file of a folder, which names the latest checkpoint in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtf._storage import files
from nbtf._storage.archives import inside
from nbtf._storage.documents import Schema, as_document, read_document
from nbtf._storage.limits import UnsavableError, saving
from nbtf._storage.refusal import RefusedFileError

STATE = "checkpoint"
"""The file in each folder that names the latest checkpoint."""


@dataclass(frozen=True, slots=True)
class FolderState:
    """The contents of a folder's state file, with full paths.

    `times` are the times when the checkpoints were saved. `preserved` is the time of the last checkpoint that is never
    deleted. Both are in seconds since 1970, like `time.time`.
    """

    latest: str
    paths: list[str]
    times: list[float]
    preserved: float


_SECONDS: Schema = (float, int)
_SCHEMA: Schema = {
    "model_checkpoint_path": str,
    "all_model_checkpoint_paths": [str],
    "all_model_checkpoint_timestamps?": [_SECONDS],
    "last_preserved_timestamp?": _SECONDS,
}


def read_state(folder: str | os.PathLike[str], file_name: str | None = None) -> FolderState | None:
    """Returns the state of the checkpoints in a folder, or None if the folder has no state file.

    Raises:
      RefusedFileError: if the file is damaged, or names checkpoints outside the folder.
      OSError: if the file is not a regular file, such as a FIFO or a device.
    """
    directory = os.fspath(folder)
    file = os.path.join(directory, file_name or STATE)
    try:
        state: dict[str, Any] = read_document(file, _SCHEMA)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
        return None
    names: list[str] = [state["model_checkpoint_path"], *state["all_model_checkpoint_paths"]]
    for name in names:
        inside(directory, name, file)
    latest, *paths = [os.path.join(directory, name) for name in names]
    times = [float(seconds) for seconds in state.get("all_model_checkpoint_timestamps", [])]
    return FolderState(latest, paths, times, float(state.get("last_preserved_timestamp", 0.0)))


def note_latest(
    prefix: str,
    checkpoints: Sequence[str],
    file_name: str = STATE,
    times: Sequence[float] = (),
    preserved: float = 0.0,
) -> None:
    """Writes a folder's state file: the latest checkpoint, all checkpoints, and when they were saved.

    Raises:
      UnsavableError: if the folder has too many checkpoints.
      OSError: if the file cannot be written.
    """
    path = Path(prefix)
    state = {
        "model_checkpoint_path": path.name,
        "all_model_checkpoint_paths": [Path(checkpoint).name for checkpoint in checkpoints],
        "all_model_checkpoint_timestamps": list(times),
        "last_preserved_timestamp": preserved,
    }
    with saving(path.parent / file_name):
        content = as_document(state, _SCHEMA, indent=1)
    files.write(path.parent / file_name, content)


def check_prefix(prefix: str | os.PathLike[str]) -> None:
    """Checks that the name of a checkpoint can be stored in the state file, before anything is written.

    Raises:
      UnsavableError: if the name cannot be read again.
    """
    path = Path(prefix)
    with saving(path):
        try:
            inside(path.parent, path.name, STATE)
        except RefusedFileError as error:
            raise UnsavableError(str(error), "Choose another name.") from None

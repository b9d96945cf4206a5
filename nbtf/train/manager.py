"""Keeping the last checkpoints, and deleting those before."""

from __future__ import annotations

import os
from typing import Any

from nbtf.train.checkpoint import Checkpoint
from nbtf.train.files import latest_checkpoint, note_latest, path_of


class CheckpointManager:
    """Saves checkpoints into a folder, and keeps only the last ones.

    Args:
      checkpoint: what is saved.
      directory: the folder.
      max_to_keep: how many are kept; all when None.
      checkpoint_name: what their names begin with.
      **ignored: accepted for older programs.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str | os.PathLike[str],
        max_to_keep: int | None,
        checkpoint_name: str = "ckpt",
        **ignored: Any,
    ) -> None:
        """Looks which there are."""
        self._checkpoint, self._directory = checkpoint, os.fspath(directory)
        self._most, self._name = max_to_keep, checkpoint_name
        latest = latest_checkpoint(directory)
        self._checkpoints: list[str] = [] if latest is None else [latest]

    @property
    def checkpoints(self) -> list[str]:
        """Those that are kept, the oldest first."""
        return list(self._checkpoints)

    @property
    def latest_checkpoint(self) -> str | None:
        """The last one; None if there is none."""
        return self._checkpoints[-1] if self._checkpoints else None

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint:
        """What is saved."""
        return self._checkpoint

    def save(self, checkpoint_number: Any = None, **ignored: Any) -> str:
        """Saves a checkpoint, and deletes the oldest one if there are too many.

        Args:
          checkpoint_number: in its name; counted when None.
          **ignored: accepted for older programs.

        Returns:
          What `restore` takes.
        """
        stem = os.path.join(self._directory, self._name)
        if checkpoint_number is None:
            path = self._checkpoint.save(stem)
        else:
            self._checkpoint.save_counter.assign_add(1)
            path = self._checkpoint.write(f"{stem}-{int(checkpoint_number)}")
        self._checkpoints = [*(one for one in self._checkpoints if one != path), path]
        old = self._checkpoints[: -self._most] if self._most else []
        self._checkpoints = self._checkpoints[len(old) :]
        note_latest(path, self._checkpoints)
        for prefix in old:  # only now: the state names none of them any more
            path_of(prefix).unlink(missing_ok=True)
        return path

    def restore_or_initialize(self) -> str | None:
        """Restores the last one, and returns what it restored; None if there was none."""
        if self.latest_checkpoint is not None:
            self._checkpoint.restore(self.latest_checkpoint)
        return self.latest_checkpoint

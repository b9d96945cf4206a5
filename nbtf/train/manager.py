"""Keeps the latest checkpoints and deletes older ones."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from nbtf._runtime.attributes import reads
from nbtf._runtime.logger import get_logger
from nbtf._storage.latest import check_prefix, note_latest, read_state
from nbtf.train.checkpoint import Checkpoint
from nbtf.train.files import remove_checkpoint

_HOUR = 3600.0  # seconds


class CheckpointManager:
    """Saves checkpoints to a folder and keeps only the latest; continues where an earlier process ended.

    A folder of TensorFlow is continued too, and TensorFlow continues a folder of nbtf: the files are the same.

    Args:
      checkpoint: the checkpoint to save.
      directory: the folder.
      max_to_keep: number of checkpoints to keep; None keeps all.
      keep_checkpoint_every_n_hours: keeps one checkpoint permanently for each period of this many hours.
      checkpoint_name: prefix of file names.
      step_counter: a variable that counts steps.
      checkpoint_interval: minimum number of steps between two checkpoints; before that, `save` does nothing.
      init_fn: called by `restore_or_initialize` if the folder has no checkpoint.

    Raises:
      ValueError: if `max_to_keep` is not positive, or an interval is given without a counter.
      DataLossError: if the folder's state file is damaged, or names checkpoints outside the folder.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str | os.PathLike[str],
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
    ) -> None:
        """Finds the existing checkpoints."""
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.")
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("`step_counter` should be passed if `checkpoint_interval` is not None.")
        self._checkpoint, self._directory, self._name = checkpoint, os.fspath(directory), checkpoint_name
        self._most, self._hours, self._begin = max_to_keep, keep_checkpoint_every_n_hours, init_fn
        self._counter, self._interval, self._last_step = step_counter, checkpoint_interval, None
        self._times: dict[str, float] = {}
        self._recover(time.time())

    def _recover(self, now: float) -> None:
        """Restores the manager's state from the folder's state file, as in TensorFlow."""
        state = read_state(self._directory)
        self._latest, self._preserved = None, now - 1.0  # one second earlier, as another manager may start at once
        if state is None:
            return
        self._latest, self._preserved = state.latest, state.preserved
        if now < self._preserved:
            get_logger().warning("time.time() returned a value %f seconds in the past.", self._preserved - now)
            self._preserved = now
        times = state.times or [self._preserved] * len(state.paths)
        recent = zip(state.paths, (min(seconds, now) for seconds in times), strict=False)
        self._times = {path: seconds for path, seconds in recent if seconds > self._preserved}

    @property
    def checkpoints(self) -> list[str]:
        """Paths of the kept checkpoints, oldest first."""
        return list(self._times)

    latest_checkpoint: str | None = reads("_latest", "Path of the latest checkpoint; None if there is none.")

    directory: str = reads("_directory", "The folder of the checkpoints.")

    checkpoint: Checkpoint = reads("_checkpoint", "The checkpoint to save.")

    checkpoint_interval: int | None = reads("_interval", "Minimum number of steps between two checkpoints.")

    def save(self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None) -> str | None:
        """Saves a checkpoint, and deletes the oldest if there are too many.

        Args:
          checkpoint_number: number in its name; counted by default.
          check_interval: whether to skip the save before enough steps have passed.
          options: accepted and ignored.

        Returns:
          The path for `restore`; None if too few steps have passed since the last save.
        """
        check_prefix(os.path.join(self._directory, f"{self._name}-1"))
        if not self._is_due(check_interval):
            return None
        count = self._checkpoint._count_save()
        number = count if checkpoint_number is None else int(checkpoint_number)
        path = self._checkpoint.write(os.path.join(self._directory, f"{self._name}-{number}"))
        self._times.pop(path, None)  # removed first, so that it is inserted at the end
        self._times[path] = time.time()
        self._latest = path
        self._note()  # before deleting, because the state file must not name deleted files
        self._sweep()
        self._note()
        return path

    def _is_due(self, check_interval: bool) -> bool:
        if self._interval is None:
            return True
        step = int(self._counter)
        if self._last_step is not None:
            passed = step - self._last_step
            if passed == 0 or (check_interval and passed < self._interval):
                return False
        self._last_step = step
        return True

    def _note(self) -> None:
        times = list(self._times.values())
        note_latest(str(self._latest), self.checkpoints, times=times, preserved=self._preserved)

    def _sweep(self) -> None:
        while self._most and len(self._times) > self._most:
            path, seconds = next(iter(self._times.items()))
            del self._times[path]
            if self._hours and seconds - self._hours * _HOUR >= self._preserved:
                self._preserved = seconds  # the checkpoint is kept, but no longer listed
            else:
                remove_checkpoint(path)

    def restore_or_initialize(self) -> str | None:
        """Restores the latest checkpoint and returns its path; None if there was none."""
        if self._latest is not None:
            self._checkpoint.restore(self._latest)
            self._last_step = None if self._counter is None else int(self._counter)
        elif self._begin is not None:
            self._begin()
        return self._latest

    def sync(self) -> None:
        """Does nothing, because `save` returns only after checkpoints are written."""

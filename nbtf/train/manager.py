"""Keeping the last checkpoints, and deleting those before."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from nbtf._runtime.logger import get_logger
from nbtf.keras.saving.latest import check_prefix, note_latest, read_state
from nbtf.train.checkpoint import Checkpoint
from nbtf.train.files import path_of

_HOUR = 3600.0  # seconds


class CheckpointManager:
    """Saves checkpoints into a folder, and keeps only the last ones; it goes on where an earlier process ended.

    Args:
      checkpoint: what is saved.
      directory: the folder.
      max_to_keep: how many are kept; all when None.
      keep_checkpoint_every_n_hours: one checkpoint in so many hours is never deleted.
      checkpoint_name: what their names begin with.
      step_counter: a variable that counts steps.
      checkpoint_interval: how many steps are between two checkpoints; with less, `save` does nothing.
      init_fn: called by `restore_or_initialize` where there is no checkpoint.

    Raises:
      ValueError: `max_to_keep` is not positive, or there is an interval without a counter.
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
        """Looks which checkpoints there are."""
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
        """Takes over what the folder's state file says, as TensorFlow does."""
        state = read_state(self._directory)
        self._latest, self._preserved = None, now - 1.0  # a second back: another manager may come at once
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
        """Those that are kept, the oldest first."""
        return list(self._times)

    @property
    def latest_checkpoint(self) -> str | None:
        """The last one; None if there is none."""
        return self._latest

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint:
        """What is saved."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """How many steps are between two checkpoints."""
        return self._interval

    def save(self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None) -> str | None:
        """Saves a checkpoint, and deletes the oldest one if there are too many.

        Args:
          checkpoint_number: in its name; counted when None.
          check_interval: whether it is only saved after enough steps.
          options: accepted and ignored.

        Returns:
          What `restore` takes; None if there were too few steps since the last one.
        """
        check_prefix(os.path.join(self._directory, f"{self._name}-1"))
        if not self._is_due(check_interval):
            return None
        count = self._checkpoint._count_save()
        number = count if checkpoint_number is None else int(checkpoint_number)
        path = self._checkpoint.write(os.path.join(self._directory, f"{self._name}-{number}"))
        self._times.pop(path, None)  # it goes to the end
        self._times[path] = time.time()
        self._latest = path
        self._note()  # before anything is deleted: the file must not name what is gone
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
                self._preserved = seconds  # it stays, and is not named any more
            else:
                path_of(path).unlink(missing_ok=True)

    def restore_or_initialize(self) -> str | None:
        """Restores the last one, and returns what it restored; None if there was none."""
        if self._latest is not None:
            self._checkpoint.restore(self._latest)
            self._last_step = None if self._counter is None else int(self._counter)
        elif self._begin is not None:
            self._begin()
        return self._latest

    def sync(self) -> None:
        """Does nothing: checkpoints are written when `save` returns."""

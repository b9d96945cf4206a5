"""Hooks that log or save at regular intervals of steps or seconds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbtf.compat._v1 import logging
from nbtf.compat._v1._variables.initializing import get_global_step
from nbtf.compat._v1.train.hooks import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from nbtf.compat._v1.train.saver import Saver


class SecondOrStepTimer:
    """Triggers at regular intervals of seconds or steps.

    Args:
      every_secs: interval in seconds.
      every_steps: interval in steps; specify either this or `every_secs`.

    Raises:
      ValueError: if both or neither are given.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if (every_secs is None) == (every_steps is None):
            raise ValueError("Exactly one of every_secs and every_steps should be provided.")
        self._seconds, self._steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Forgets the last trigger."""
        self._last_step: int | None = None
        self._last_time = 0.0

    def should_trigger_for_step(self, step: int) -> bool:
        """Returns whether the timer triggers at this step."""
        if self._last_step is None:
            return True
        if step == self._last_step:
            return False
        if self._seconds is not None:
            return time.time() >= self._last_time + self._seconds
        assert self._steps is not None
        return step >= self._last_step + self._steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Records a trigger, and returns the seconds and steps since the last one."""
        now = time.time()
        since = (None, None) if self._last_step is None else (now - self._last_time, step - self._last_step)
        self._last_step, self._last_time = step, now
        return since

    def last_triggered_step(self) -> int | None:
        """Returns the step of the last trigger."""
        return self._last_step


class LoggingTensorHook(SessionRunHook):
    """Logs values at regular intervals of steps or seconds.

    Args:
      tensors: a dictionary of names and tensors, or a list of tensors or names.
      every_n_iter: number of runs between log lines.
      every_n_secs: number of seconds between log lines; specify either this or `every_n_iter`.
      at_end: whether to log the values at the end as well.
      formatter: function that makes the log line from a dictionary of values.
    """

    def __init__(
        self,
        tensors: Mapping[str, Any] | Sequence[Any],
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[Mapping[str, Any]], str] | None = None,
    ) -> None:
        if not at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        self._tensors: Mapping[str, Any] = (
            tensors if isinstance(tensors, Mapping) else {getattr(tensor, "name", tensor): tensor for tensor in tensors}
        )
        self._formatter, self._at_end = formatter, at_end
        once = every_n_iter is None and every_n_secs is None
        self._timer = None if once else SecondOrStepTimer(every_n_secs, every_n_iter)
        self._runs = 0

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Requests the values if they are due."""
        self._due = self._timer is not None and self._timer.should_trigger_for_step(self._runs)
        return SessionRunArgs(dict(self._tensors)) if self._due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs the values."""
        if self._due and self._timer is not None:
            seconds, _ = self._timer.update_last_triggered_step(self._runs)
            self._log(run_values.results, seconds)
        self._runs += 1

    def end(self, session: Any) -> None:
        """Logs the values once more if `at_end` is set."""
        if self._at_end:
            self._log(session.run(dict(self._tensors)), None)

    def _log(self, values: Mapping[str, Any], seconds: float | None) -> None:
        if self._formatter is not None:
            logging.info(self._formatter(values))
            return
        text = ", ".join([f"{name} = {value}" for name, value in values.items()])
        logging.info(text if seconds is None else f"{text} ({seconds:.3f} sec)")


class CheckpointSaverHook(SessionRunHook):
    """Saves checkpoints at regular intervals of steps or seconds, and at the start and end.

    Args:
      checkpoint_dir: folder of the checkpoints.
      save_secs: seconds between checkpoints.
      save_steps: steps between checkpoints; specify either this or `save_secs`.
      saver: the saver to use.
      checkpoint_basename: prefix of the checkpoint names.
      scaffold: accepted and ignored.
      **ignored: other arguments, which are ignored.
    """

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Saver | None = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        **ignored: Any,
    ) -> None:
        self._folder, self._name, self._saver = checkpoint_dir, checkpoint_basename, saver
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._step: Any = None

    def begin(self) -> None:
        """Finds the global step and, if no saver was given, the variables."""
        self._step = get_global_step()
        if self._step is None:
            raise RuntimeError("Global step should be created to use CheckpointSaverHook.")
        if self._saver is None:
            self._saver = Saver()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Saves the first checkpoint."""
        self._save(session, int(session.run(self._step)))

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Saves a checkpoint if it is due."""
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            self._save(run_context.session, step)

    def end(self, session: Any) -> None:
        """Saves the last checkpoint."""
        step = int(session.run(self._step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)

    def _save(self, session: Any, step: int) -> None:
        self._timer.update_last_triggered_step(step)
        os.makedirs(self._folder, exist_ok=True)
        assert self._saver is not None
        self._saver.save(session, os.path.join(self._folder, self._name), global_step=step)


class StepCounterHook(SessionRunHook):
    """Logs the number of steps per second.

    Args:
      every_n_steps: steps between log lines.
      every_n_secs: seconds between log lines; specify either this or `every_n_steps`.
      output_dir: accepted and ignored.
      summary_writer: accepted and ignored.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
    ) -> None:
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._step: Any = None

    def begin(self) -> None:
        """Finds the global step."""
        self._step = get_global_step()
        if self._step is None:
            raise RuntimeError("Global step should be created to use StepCounterHook.")

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs the speed if it is due."""
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds and steps:
                logging.info("%s/sec: %g", self._step.op.name, steps / seconds)

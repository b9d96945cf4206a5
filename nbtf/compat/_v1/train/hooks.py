"""What can be done before and after each run of a monitored session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from nbtf.compat._v1 import logging
from nbtf.compat._v1._variables.initializing import get_global_step


class SessionRunArgs(NamedTuple):
    """What a hook wants a run to fetch besides, and to be fed."""

    fetches: Any
    feed_dict: Mapping[Any, Any] | None = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What a run has fetched for a hook."""

    results: Any
    options: Any = None
    run_metadata: Any = None


class SessionRunContext:
    """What a hook knows of a run, and how it asks to stop.

    Args:
      original_args: what the program asked for.
      session: the session.
    """

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args, self._session, self._stop = original_args, session, False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the program asked for."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook has asked to stop."""
        return self._stop

    def request_stop(self) -> None:
        """Asks to stop after this run."""
        self._stop = True


class SessionRunHook:
    """Is told of each run of a monitored session; subclass it."""

    def begin(self) -> None:
        """Is called before the session is made; may add to the graph."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Is called when the session is made."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Is called before each run; returns what it is to fetch besides."""

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Is called after each run."""

    def end(self, session: Any) -> None:
        """Is called at the end, if there was no error."""


class NanLossDuringTrainingError(RuntimeError):
    """Says that a loss is not a number any more."""

    def __str__(self) -> str:
        return "NaN loss during training."


class StopAtStepHook(SessionRunHook):
    """Asks to stop after a number of steps, or at a step.

    Args:
      num_steps: how many more.
      last_step: which is the last; one of the two.

    Raises:
      ValueError: both or neither are given.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step
        self._step: Any = None

    def begin(self) -> None:
        """Finds the global step."""
        self._step = get_global_step()
        if self._step is None:
            raise RuntimeError("Global step should be created to use StopAtStepHook.")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Learns which step is the last."""
        if self._last_step is None:
            self._last_step = int(session.run(self._step)) + (self._num_steps or 0)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Asks to stop when it is reached."""
        if int(run_context.session.run(self._step)) >= (self._last_step or 0):
            run_context.request_stop()


class NanTensorHook(SessionRunHook):
    """Stops when a loss is not a number any more.

    Args:
      loss_tensor: the loss.
      fail_on_nan_loss: whether it is an error; otherwise the session asks to stop.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss, self._fails = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Looks at it."""
        if not np.isnan(run_values.results).any():
            return
        if self._fails:
            logging.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        logging.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


class FinalOpsHook(SessionRunHook):
    """Fetches something at the end.

    Args:
      final_ops: what it fetches.
      final_ops_feed_dict: what is fed for it.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Mapping[Any, Any] | None = None) -> None:
        self._ops, self._feeds = final_ops, final_ops_feed_dict
        self.final_ops_values: Any = None

    def end(self, session: Any) -> None:
        """Fetches it."""
        self.final_ops_values = session.run(self._ops, feed_dict=self._feeds)


class FeedFnHook(SessionRunHook):
    """Feeds what a function returns.

    Args:
      feed_fn: returns values by placeholder.
    """

    def __init__(self, feed_fn: Callable[[], Mapping[Any, Any]]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Calls it."""
        return SessionRunArgs([], dict(self.feed_fn()))

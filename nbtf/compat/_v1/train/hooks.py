"""Hooks that run before and after each run of a monitored session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from nbtf.compat._v1 import logging
from nbtf.compat._v1._variables.initializing import get_global_step


class SessionRunArgs(NamedTuple):
    """The additional fetches and feeds that a hook requests for a run."""

    fetches: Any
    feed_dict: Mapping[Any, Any] | None = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """The values that a run has fetched for a hook."""

    results: Any
    options: Any = None
    run_metadata: Any = None


class SessionRunContext:
    """Describes a run to a hook, which can request a stop through it.

    Args:
      original_args: fetches and feeds that the program requested.
      session: the session.
    """

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args, self._session, self._stop = original_args, session, False

    @property
    def original_args(self) -> SessionRunArgs:
        """The fetches and feeds that the program requested."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook has requested a stop."""
        return self._stop

    def request_stop(self) -> None:
        """Requests a stop after this run."""
        self._stop = True


class SessionRunHook:
    """Base class for hooks, whose methods a monitored session calls around each run."""

    def begin(self) -> None:
        """Called before the session is created; may add nodes to the graph."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when the session has been created."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run; returns additional fetches and feeds."""

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run."""

    def end(self, session: Any) -> None:
        """Called at the end if no error occurred."""


class NanLossDuringTrainingError(RuntimeError):
    """Raised when a loss becomes NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


class StopAtStepHook(SessionRunHook):
    """Requests a stop after a number of steps, or at a step.

    Args:
      num_steps: number of further steps.
      last_step: number of the last step; specify either this or `num_steps`.

    Raises:
      ValueError: if both or neither are given.
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
        """Determines the last step."""
        if self._last_step is None:
            self._last_step = int(session.run(self._step)) + (self._num_steps or 0)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Requests the global step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Requests a stop when the last step is reached."""
        if int(run_context.session.run(self._step)) >= (self._last_step or 0):
            run_context.request_stop()


class NanTensorHook(SessionRunHook):
    """Stops when a loss becomes NaN.

    Args:
      loss_tensor: the loss.
      fail_on_nan_loss: whether to raise an error; otherwise the hook requests a stop.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss, self._fails = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Requests the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Checks the loss."""
        if not np.isnan(run_values.results).any():
            return
        if self._fails:
            logging.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        logging.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


class FinalOpsHook(SessionRunHook):
    """Fetches values at the end.

    Args:
      final_ops: values to fetch.
      final_ops_feed_dict: feeds for that run.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Mapping[Any, Any] | None = None) -> None:
        self._ops, self._feeds = final_ops, final_ops_feed_dict
        self.final_ops_values: Any = None

    def end(self, session: Any) -> None:
        """Fetches the values."""
        self.final_ops_values = session.run(self._ops, feed_dict=self._feeds)


class FeedFnHook(SessionRunHook):
    """Feeds the values that a function returns.

    Args:
      feed_fn: function that returns a dictionary of placeholders and their values.
    """

    def __init__(self, feed_fn: Callable[[], Mapping[Any, Any]]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Calls the function."""
        return SessionRunArgs([], dict(self.feed_fn()))

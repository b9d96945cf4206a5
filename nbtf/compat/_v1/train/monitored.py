"""A session for training that initializes, restores and saves variables, and calls hooks around each run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nbtf._runtime.blocks import leaving
from nbtf._runtime.changes import ChangingBlock
from nbtf._runtime.logger import get_logger
from nbtf.compat._v1._graph.defaults import get_default_graph
from nbtf.compat._v1._session.defaults import as_default_session
from nbtf.compat._v1._session.session import Session
from nbtf.compat._v1._variables.initializing import (
    get_global_step,
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
)
from nbtf.compat._v1.train.coordinator import Coordinator
from nbtf.compat._v1.train.saver import Saver
from nbtf.errors import OutOfRangeError
from nbtf.train.files import latest_checkpoint


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
        self.original_args, self.session, self.stop_requested = original_args, session, False

    def request_stop(self) -> None:
        """Requests a stop after this run."""
        self.stop_requested = True


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

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Requests a stop when the last step is reached."""
        if int(run_context.session.run(self._step)) >= (self._last_step or 0):
            run_context.request_stop()


class NanLossDuringTrainingError(RuntimeError):
    """Raised when a loss becomes NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


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
        if np.isnan(run_values.results).any():
            get_logger().error("Model diverged with loss = NaN.")
            if self._fails:
                raise NanLossDuringTrainingError
            run_context.request_stop()


class MonitoredTrainingSession(ChangingBlock):
    """A session that restores the last checkpoint or initializes variables, and calls hooks around each run.

    It saves a checkpoint when it opens, every `save_checkpoint_secs` seconds, and when it closes.

    Args:
      master: target of the session; empty for this process.
      is_chief: accepted and ignored, because there is only one process.
      checkpoint_dir: folder of the checkpoints; None for none.
      hooks: hooks to call around each run.
      save_checkpoint_secs: seconds between checkpoints.
      config: configuration of the session.
      **ignored: other arguments of TensorFlow, which are accepted and ignored.

    >>> import nbtf.compat.v1 as tf1
    >>> with tf1.Graph().as_default():
    ...     step = tf1.train.get_or_create_global_step()
    ...     more = tf1.assign_add(step, 1)
    ...     with tf1.train.MonitoredTrainingSession(hooks=[tf1.train.StopAtStepHook(last_step=3)]) as sess:
    ...         while not sess.should_stop():
    ...             last = sess.run(more)
    >>> int(last)
    3
    """

    def __init__(
        self,
        master: str = "",
        is_chief: bool = True,
        checkpoint_dir: str | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        save_checkpoint_secs: float = 600,
        config: Any = None,
        **ignored: Any,
    ) -> None:
        """Opens the session."""
        super().__init__()
        self._hooks, self._coordinator = list(hooks or ()), Coordinator()
        self._folder, self._seconds, self._saved = checkpoint_dir, save_checkpoint_secs, time.monotonic()
        for hook in self._hooks:
            hook.begin()
        starts = global_variables_initializer(), local_variables_initializer()
        self._step = get_global_step()
        self._saver = Saver() if checkpoint_dir is not None and global_variables() else None
        self.graph = get_default_graph()
        self.graph.finalize()
        self._session: Session | None = Session(master, self.graph, config)
        self._default = as_default_session(self._session)
        checkpoint = None if checkpoint_dir is None else latest_checkpoint(checkpoint_dir)
        if checkpoint is None or self._saver is None:
            self._session.run(starts[0])
        else:
            self._saver.restore(self._session, checkpoint)
        self._session.run(starts[1])
        self._save()
        for hook in self._hooks:
            hook.after_create_session(self._session, self._coordinator)

    def _save(self) -> None:
        """Writes a checkpoint if the session has a folder for them."""
        self._saved = time.monotonic()
        if self._saver is not None and self._folder is not None:
            Path(self._folder).mkdir(parents=True, exist_ok=True)
            self._saver.save(self._session, f"{self._folder}/model.ckpt", self._step)

    def should_stop(self) -> bool:
        """Returns whether a hook has requested a stop or the session is closed."""
        return self._session is None or self._coordinator.should_stop()

    def run(
        self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Runs nodes and returns the fetched values; see `tf.Session.run`.

        Args:
          fetches: values that the program requests.
          feed_dict: values by tensor.
          options: accepted and ignored.
          run_metadata: accepted and ignored.

        Raises:
          RuntimeError: if the session is closed, or a hook feeds a tensor that is already fed.
        """
        session = self._session
        if session is None:
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), session)
        all_fetches, feeds = {"caller": fetches}, dict(feed_dict or {})
        for number, hook in enumerate(self._hooks):
            request = hook.before_run(context)
            if request is None:
                continue
            all_fetches[str(number)] = request.fetches
            for key, value in (request.feed_dict or {}).items():
                if key in feeds:
                    raise RuntimeError(f"Same tensor is fed by two hooks or by a hook and the caller: {key}")
                feeds[key] = value
        results = session.run(all_fetches, feed_dict=feeds or None)
        for number, hook in enumerate(self._hooks):
            hook.after_run(context, SessionRunValues(results.get(str(number))))
        if context.stop_requested:
            self._coordinator.request_stop()
        if time.monotonic() - self._saved > self._seconds:
            self._save()
        return results["caller"]

    def close(self) -> None:
        """Calls the hooks' `end`, saves a checkpoint, and closes the session."""
        session = self._session
        if session is not None:
            try:
                self._save()
                for hook in self._hooks:
                    hook.end(session)
            finally:
                self._session = None
                session.close()

    def __enter__(self) -> MonitoredTrainingSession:
        self.begin(self._default.plan())
        return self

    @leaving
    def __exit__(self, error_class: type[BaseException] | None, error: BaseException | None, trace: Any) -> bool:
        self.end()
        if error_class is None or issubclass(error_class, OutOfRangeError):
            self.close()
            return error_class is not None
        if self._session is not None:
            self._session.close()
            self._session = None
        return False

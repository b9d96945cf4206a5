"""Sessions that automatically initialize, restore and save variables, and that call hooks around each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbtf._runtime.blocks import leaving
from nbtf._runtime.changes import ChangingBlock
from nbtf.compat._v1._graph.defaults import get_default_graph
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._session.defaults import as_default_session
from nbtf.compat._v1._session.session import Session
from nbtf.compat._v1._variables.initializing import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
)
from nbtf.compat._v1.train.coordinator import Coordinator
from nbtf.compat._v1.train.hooks import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from nbtf.compat._v1.train.saver import Saver
from nbtf.compat._v1.train.timed_hooks import CheckpointSaverHook, StepCounterHook
from nbtf.errors import OutOfRangeError
from nbtf.train.files import latest_checkpoint


class Scaffold:
    """The nodes with which a monitored session starts.

    Args:
      init_op: initializes variables; by default all global ones.
      init_feed_dict: feeds for `init_op`.
      init_fn: function called afterwards with the scaffold and the session.
      local_init_op: initializes local variables; by default all of them.
      saver: restores and saves variables; by default all global ones.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: Any = None,
        local_init_op: Any = None,
        saver: Saver | None = None,
        **ignored: Any,
    ) -> None:
        self.init_op = init_op
        self.init_feed_dict: Mapping[Any, Any] | None = init_feed_dict
        self.init_fn: Any = init_fn
        self.local_init_op, self.saver = local_init_op, saver

    def finalize(self) -> Scaffold:
        """Creates the missing nodes and finalizes the graph."""
        if self.init_op is None:
            self.init_op: Any = global_variables_initializer()
        if self.local_init_op is None:
            self.local_init_op: Any = local_variables_initializer()
        if self.saver is None and global_variables():
            self.saver = Saver()
        get_default_graph().finalize()
        return self

    def start(self, session: Session, checkpoint: str | None) -> None:
        """Initializes or restores the variables of a session."""
        if checkpoint is not None and self.saver is not None:
            self.saver.restore(session, checkpoint)
        else:
            session.run(self.init_op, feed_dict=self.init_feed_dict)
            if self.init_fn is not None:
                self.init_fn(self, session)
        session.run(self.local_init_op)


class MonitoredSession(ChangingBlock):
    """A session that initializes or restores its variables when it opens, and calls hooks around each run.

    Args:
      checkpoint_dir: folder whose last checkpoint is restored, if it has one.
      hooks: hooks to call around each run.
      scaffold: nodes with which the session starts.
      config: configuration of the session.
      master: target of the session; empty for this process.
    """

    def __init__(
        self,
        checkpoint_dir: str | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        config: Any = None,
        master: str = "",
    ) -> None:
        """Opens the session."""
        super().__init__()
        self._hooks = list(hooks or ())
        self._coordinator = Coordinator()
        self._graph_block = get_default_graph()
        for hook in self._hooks:
            hook.begin()
        start = (scaffold or Scaffold()).finalize()
        self._session: Session | None = Session(master, self._graph_block, config)
        self._default = as_default_session(self._session)
        start.start(self._session, None if checkpoint_dir is None else latest_checkpoint(checkpoint_dir))
        for hook in self._hooks:
            hook.after_create_session(self._session, self._coordinator)

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph_block

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
        all_fetches: dict[Any, Any] = {"caller": fetches}
        feeds = dict(feed_dict or {})
        for number, hook in enumerate(self._hooks):
            request = hook.before_run(context)
            if request is not None:
                all_fetches[number] = request.fetches
                feeds.update(_check_feeds(request.feed_dict or {}, feeds))
        results = session.run(all_fetches, feed_dict=feeds or None)
        for number, hook in enumerate(self._hooks):
            hook.after_run(context, SessionRunValues(results.get(number)))
        if context.stop_requested:
            self._coordinator.request_stop()
        return results["caller"]

    def run_step_fn(self, step_fn: Any) -> Any:
        """Calls a function with the session and returns its result; its runs do not call the hooks."""
        return step_fn(self._session)

    def close(self) -> None:
        """Calls the hooks' `end` and closes the session."""
        session, self._session = self._session, None
        if session is not None:
            try:
                for hook in self._hooks:
                    hook.end(session)
            finally:
                session.close()

    def __enter__(self) -> MonitoredSession:
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


def _check_feeds(added_feeds: Mapping[Any, Any], feeds: Mapping[Any, Any]) -> Mapping[Any, Any]:
    for key in added_feeds:
        if key in feeds:
            raise RuntimeError(f"Same tensor is fed by two hooks or by a hook and the caller: {key}")
    return added_feeds


class SingularMonitoredSession(MonitoredSession):
    """A monitored session that gives access to its session.

    Args:
      hooks: hooks to call around each run.
      scaffold: nodes with which the session starts.
      master: target of the session; empty for this process.
      config: configuration of the session.
      checkpoint_dir: folder whose last checkpoint is restored, if it has one.
    """

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
    ) -> None:
        """Opens the session."""
        super().__init__(checkpoint_dir, hooks, scaffold, config, master)

    def raw_session(self) -> Session | None:
        """Returns the session."""
        return self._session


def MonitoredTrainingSession(  # noqa: N802  # TensorFlow's name
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: float | None = None,
    save_summaries_steps: Any = None,
    save_summaries_secs: Any = None,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: int | None = None,
    summary_dir: str | None = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """Returns a session for training that restores the last checkpoint, saves new ones, and logs its speed.

    Args:
      master: target of the session; empty for this process.
      save_summaries_steps, stop_grace_period_secs, max_wait_secs, summary_dir, save_graph_def: accepted for
        compatibility and ignored.
      is_chief: accepted and ignored, because there is only one process.
      checkpoint_dir: folder of the checkpoints; None for none.
      scaffold: nodes with which the session starts.
      hooks: hooks to call around each run.
      chief_only_hooks: further hooks.
      save_checkpoint_secs: seconds between checkpoints; 600 if no interval is given.
      save_summaries_secs: accepted and ignored.
      config: configuration of the session.
      log_step_count_steps: steps between log lines; None for none.
      save_checkpoint_steps: steps between checkpoints.

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
    start = scaffold or Scaffold()
    all_hooks = [*(hooks or ()), *(chief_only_hooks or ())]
    if checkpoint_dir is not None:
        if log_step_count_steps:
            all_hooks.append(StepCounterHook(log_step_count_steps))
        if save_checkpoint_steps is None and save_checkpoint_secs is None:
            save_checkpoint_secs = 600
        saving = CheckpointSaverHook(checkpoint_dir, save_checkpoint_secs, save_checkpoint_steps, start.saver)
        all_hooks.append(saving)
    return MonitoredSession(checkpoint_dir, all_hooks, start, config, master)

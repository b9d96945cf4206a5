"""Where are we: outside of strategies, across the replicas of one, or in a replica?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nbtf._ops.arrays.creation import constant
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tensor import Tensor

if TYPE_CHECKING:
    from nbtf.distribute.replicas import Replicas
    from nbtf.distribute.strategy import Strategy

CROSS_REPLICA_ONLY = "Method requires being in cross-replica context, use get_replica_context().merge_call()"


class ReplicaContext:
    """A replica, as the function that it runs sees it: `tf.distribute.get_replica_context()`.

    >>> strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    >>> strategy.run(lambda: tf.distribute.get_replica_context().num_replicas_in_sync)
    1
    """

    def __init__(self, strategy: Strategy, replica_id_in_sync_group: int, replicas: Replicas | None = None) -> None:
        """Makes the context of one replica; `replicas` are those of the `run` that it belongs to."""
        self._strategy, self._number, self._replicas = strategy, replica_id_in_sync_group, replicas

    @property
    def strategy(self) -> Strategy:
        """The strategy whose replica this is."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> Tensor | int:
        """The number of this replica, from 0: an int32 tensor in `run`, the number 0 outside."""
        return 0 if self._replicas is None else constant(self._number)

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of this replica, in a tuple."""
        return (self._strategy.extended.worker_devices[self._number],)

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Waits for the other replicas, and calls a function once for all of them.

        Args:
          merge_fn: called across replicas, with the strategy first; where replicas gave different arguments, it gets
            `PerReplica` values.
          args: this replica's arguments.
          kwargs: and those with names.

        Returns:
          Its result; of distributed values this replica's own.

        Raises:
          RuntimeError: another replica does not call it, or a branch, a loop or a `tf.function` of the replica does.
          UnimplementedError: the other replicas cannot wait, since threads cannot start here.
        """
        if self._replicas is None:
            return self._strategy._alone(merge_fn, args, kwargs or {})
        self._replicas.check_graph()
        return self._replicas.meet(self._number, merge_fn, args, kwargs or {})

    def merge_in_the_end(self, merge_fn: Callable[..., Any], args: Sequence[Any] = ()) -> Any:
        """As `merge_call`; where threads cannot start, the function is called after the last replica has finished.

        For updates whose result the replica does not need: None is returned then.
        """
        if self._replicas is None:
            return self._strategy._alone(merge_fn, args, {})
        self._replicas.check_graph()
        return self._replicas.meet(self._number, merge_fn, args, {}, deferrable=True)

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """Adds up the values of all replicas, and gives each the result, on its own device.

        Args:
          reduce_op: `"SUM"` or `"MEAN"`, or a `tf.distribute.ReduceOp`.
          value: a tensor, or a structure of them; the same shapes in all replicas.
          options: `CommunicationOptions` of this call, before those of a `MultiWorkerMirroredStrategy`; other
            strategies ignore them, as in TensorFlow.

        Returns:
          A structure like `value`. Gradients flow through it.

        Raises:
          ValueError: another `reduce_op`.
          RuntimeError: another replica does not call it.
        """
        from nbtf.distribute.reduction import all_reduced_here  # it needs the values, which need this

        return all_reduced_here(self, reduce_op, value, options)

    def all_gather(self, value: Any, axis: int, options: Any = None) -> Any:
        """Joins the tensors of all replicas along an axis, and gives each the result.

        Args:
          value: a tensor, or a structure of them.
          axis: along which they are joined.
          options: accepted and ignored.
        """
        from nbtf.distribute.reduction import all_gathered_here

        return all_gathered_here(self, value, axis)


def current() -> Strategy | ReplicaContext | None:
    """Returns what the open blocks say: a strategy across replicas, or a replica of one."""
    scope = SCOPE() and current_scope()
    return None if scope is None else scope.strategy


def get_strategy() -> Strategy:
    """Returns the strategy in whose scope we are; outside of all, the default one, which has a single replica.

    >>> tf.distribute.get_strategy().num_replicas_in_sync
    1
    """
    from nbtf.distribute.strategy import DEFAULT

    context = current()
    return DEFAULT if context is None else context.strategy if isinstance(context, ReplicaContext) else context


def has_strategy() -> bool:
    """Tells whether we are in the scope of a strategy, or in a replica of one."""
    return current() is not None


def get_replica_context() -> ReplicaContext | None:
    """Returns the replica that runs; None across replicas, and outside of strategies one that is always there."""
    from nbtf.distribute.strategy import DEFAULT

    context = current()
    if context is None:
        return ReplicaContext(DEFAULT, 0)
    return context if isinstance(context, ReplicaContext) else None


def in_cross_replica_context() -> bool:
    """Tells whether we are in a strategy, but in none of its replicas."""
    context = current()
    return context is not None and not isinstance(context, ReplicaContext)


def require_cross_replica() -> None:
    """Refuses to go on in a replica.

    Raises:
      RuntimeError: in TensorFlow's words.
    """
    if isinstance(current(), ReplicaContext):
        raise RuntimeError(CROSS_REPLICA_ONLY)

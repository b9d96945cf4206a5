"""Which context is current: no strategy, a strategy across its replicas, or a replica?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nbtf._ops.arrays.creation import constant
from nbtf._runtime.attributes import reads
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tensor import Tensor

if TYPE_CHECKING:
    from nbtf.distribute.replicas import Replicas
    from nbtf.distribute.strategy import Strategy

CROSS_REPLICA_ONLY = "Method requires being in cross-replica context, use get_replica_context().merge_call()"


class ReplicaContext:
    """The context of the running replica: `tf.distribute.get_replica_context()`.

    >>> strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    >>> strategy.run(lambda: tf.distribute.get_replica_context().num_replicas_in_sync)
    1
    """

    def __init__(self, strategy: Strategy, replica_id_in_sync_group: int, replicas: Replicas | None = None) -> None:
        """Creates the context of one replica of a `run` with the replicas `replicas`."""
        self._strategy, self._number, self._replicas = strategy, replica_id_in_sync_group, replicas

    strategy: Strategy = reads("_strategy", "The strategy whose replica this is.")

    num_replicas_in_sync: int = reads("_strategy.num_replicas_in_sync", "The number of replicas.")

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
          merge_fn: function called across replicas, with the strategy as its first argument; arguments that differ
            between replicas are `PerReplica` values.
          args: positional arguments of this replica.
          kwargs: keyword arguments of this replica.

        Returns:
          The result of the function, with this replica's own value in place of each distributed one.

        Raises:
          RuntimeError: if another replica does not call it, or if the call is in a branch, a loop or a `tf.function`.
          UnimplementedError: if this environment cannot start threads, so that the other replicas cannot wait.
        """
        if self._replicas is None:
            return self._strategy._alone(merge_fn, args, kwargs or {})
        self._replicas.check_graph()
        return self._replicas.meet(self._number, merge_fn, args, kwargs or {})

    def merge_in_the_end(self, merge_fn: Callable[..., Any], args: Sequence[Any] = ()) -> Any:
        """Behaves like `merge_call`; without threads, calls the function after the last replica has finished.

        For updates whose result the replica does not need: the result is None in that case.
        """
        if self._replicas is None:
            return self._strategy._alone(merge_fn, args, {})
        self._replicas.check_graph()
        return self._replicas.meet(self._number, merge_fn, args, {}, deferrable=True)

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """Returns the sum or mean of the values of all replicas, on the device of this replica.

        Args:
          reduce_op: `"SUM"`, `"MEAN"` or a `tf.distribute.ReduceOp`.
          value: tensor, or structure of tensors, with the same shapes in all replicas.
          options: `CommunicationOptions` of this call, which override those of a `MultiWorkerMirroredStrategy`; other
            strategies ignore them, as in TensorFlow.

        Returns:
          A structure like `value`. Gradients flow through it.

        Raises:
          ValueError: if `reduce_op` is unknown.
          RuntimeError: if another replica does not call it.
        """
        return self._strategy._all_reduced(self, reduce_op, value, options)

    def all_gather(self, value: Any, axis: int, options: Any = None) -> Any:
        """Returns the tensors of all replicas, joined along an axis.

        Args:
          value: tensor, or structure of tensors.
          axis: axis along which they are joined.
          options: accepted and ignored.
        """
        return self._strategy._all_gathered(self, value, axis)


_DEFAULTS: list[Strategy] = []


def set_default(strategy: Strategy) -> None:
    """Sets the strategy of programs outside all scopes; the file that defines it calls this function."""
    _DEFAULTS[:] = [strategy]


def _default() -> Strategy:
    return _DEFAULTS[0]


def current() -> Strategy | ReplicaContext | None:
    """Returns the current strategy across its replicas, the current replica, or None."""
    scope = SCOPE() and current_scope()
    return None if scope is None else scope.strategy


def get_strategy() -> Strategy:
    """Returns the strategy of the current scope; outside scopes, the default strategy, which has one replica.

    >>> tf.distribute.get_strategy().num_replicas_in_sync
    1
    """
    context = current()
    return _default() if context is None else context.strategy if isinstance(context, ReplicaContext) else context


def has_strategy() -> bool:
    """Returns whether the caller is in the scope of a strategy or in a replica."""
    return current() is not None


def get_replica_context() -> ReplicaContext | None:
    """Returns the current replica; None across replicas; outside strategies, the replica of the default strategy."""
    context = current()
    if context is None:
        return ReplicaContext(_default(), 0)
    return context if isinstance(context, ReplicaContext) else None


def in_cross_replica_context() -> bool:
    """Returns whether the caller is in the scope of a strategy, but not in a replica."""
    context = current()
    return context is not None and not isinstance(context, ReplicaContext)


def require_cross_replica() -> None:
    """Raises an error inside a replica.

    Raises:
      RuntimeError: if a replica calls it, with TensorFlow's message.
    """
    if isinstance(current(), ReplicaContext):
        raise RuntimeError(CROSS_REPLICA_ONLY)

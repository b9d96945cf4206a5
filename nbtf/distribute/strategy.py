"""The base class of strategies, and the default strategy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Self

from nbtf._devices.names import short_name
from nbtf._graph.autograph.conversion import converted_in_graphs
from nbtf._graph.function import Function
from nbtf._ops.arrays.joining import concat
from nbtf._ops.reductions.means_and_extremes import reduce_mean
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._runtime.blocks import ScopeStack, current_scope, leaving
from nbtf._runtime.device import placed
from nbtf._runtime.placement import STRATEGY
from nbtf._runtime.scopes import EMPTY
from nbtf.distribute.contexts import ReplicaContext, current, get_strategy, require_cross_replica, set_default
from nbtf.distribute.datasets import InputContext, of_function, split_among
from nbtf.distribute.extended import StrategyExtended
from nbtf.distribute.reduction import CPU, CrossDeviceOps, ReduceOp, all_gathered_here, all_reduced_here, reduced_over
from nbtf.distribute.replicas import Replicas, across
from nbtf.distribute.values import DistributedValues, has_replica_values, mapped, of_replica, regrouped
from nbtf.distribute.variables import DistributedVariable, not_distributed

_NOTE = re.compile(r"in replica \d+ of \d+ on ")


class ValueContext:
    """The argument of a function that makes a value for a replica."""

    def __init__(self, replica_id_in_sync_group: int = 0, num_replicas_in_sync: int = 1) -> None:
        """Stores the replica's number and the number of replicas."""
        self.replica_id_in_sync_group: int = replica_id_in_sync_group
        self.num_replicas_in_sync: int = num_replicas_in_sync


class StrategyScope(ScopeStack):
    """The block of `strategy.scope()`."""

    __slots__ = ("_strategy",)

    def __init__(self, strategy: Strategy) -> None:
        """Stores the strategy."""
        super().__init__()
        self._strategy = strategy

    def __enter__(self) -> Strategy:
        """Opens the block."""
        self._strategy._check_no_other()
        require_cross_replica()
        self.enter(across(self._strategy, current_scope() or EMPTY))
        return self._strategy

    @leaving
    def __exit__(self, *error: object) -> None:
        """Leaves the block."""
        self.leave("Exiting strategy scope without proper scope nesting")


class Strategy:
    """How a program runs on several devices: where variables are stored, and how batches are split and results joined.

    Use `MirroredStrategy` for most purposes. `get_strategy` returns the current strategy.
    """

    _cross_device_ops = CrossDeviceOps()
    _replicas_meet = True
    """Whether replicas wait for each other, even a single one; then all of them add ops to the same graph."""

    def __init__(self, devices: Sequence[str]) -> None:
        """Stores the full names of the devices, one per replica."""
        self._extended = StrategyExtended(self, tuple(devices))
        self._creator = self._create  # one bound method, so that it is found among a scope's creators

    @property
    def extended(self) -> StrategyExtended:
        """The part of the interface that is meant for libraries."""
        return self._extended

    @property
    def cluster_resolver(self) -> Any:
        """The resolver of the cluster; None for strategies of one computer."""
        return None

    @property
    def num_replicas_in_sync(self) -> int:
        """Number of replicas that take part in one step."""
        return len(self._extended.worker_devices)

    def scope(self) -> AbstractContextManager[Strategy]:
        """Opens a block in which this strategy makes the variables.

        Raises:
          RuntimeError: on entry, if another strategy's block is open or a replica is running.
        """
        return StrategyScope(self)

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: Any = None,
    ) -> Any:
        """Runs a function once in each replica, one after another, with the replica's device as `tf.device`.

        A `tf.function` is traced once for all replicas.

        Args:
          fn: function to run.
          args: its positional arguments; each replica gets its own value from a `PerReplica`.
          kwargs: its keyword arguments.
          options: accepted but ignored.

        Returns:
          The results: tensors as `PerReplica`, equal Python values unchanged, and structures element by element. With a
          single replica, its result unchanged.

        Raises:
          ValueError: if `args` is neither a list nor a tuple.
          RuntimeError: if called in a replica or in another strategy's scope.
        """
        if not isinstance(args, list | tuple):
            raise ValueError(f"positional args must be a list or tuple, got {type(args)}")
        self._check_no_other()
        require_cross_replica()
        if isinstance(fn, Function):
            return fn.wrapped_for(self, self._run_replicas)(args, kwargs or {})
        return self._run_replicas(fn, args, kwargs or {})

    def _run_replicas(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return Replicas(self, converted_in_graphs(fn), args, kwargs).run()

    def note_replica(self, error: BaseException, number: int) -> None:
        """Adds a note with the replica to an error, if there are several replicas and no such note yet."""
        count = self.num_replicas_in_sync
        if count > 1 and not any(_NOTE.match(note) for note in getattr(error, "__notes__", ())):
            error.add_note(f"in replica {number} of {count} on {short_name(self.extended.worker_devices[number])}")

    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: int | None) -> Any:
        """Reduces the replicas' values to one, on CPU:0.

        Args:
          reduce_op: `"SUM"` or `"MEAN"`.
          value: the result of `run`, or a structure of such values.
          axis: None reduces element by element across replicas; a number also reduces along that axis.

        Raises:
          ValueError: if `reduce_op` is unknown, or a value that is not `PerReplica` cannot be reduced.
          RuntimeError: if called in a replica.

        >>> strategy = tf.distribute.MirroredStrategy(["CPU:0"])
        >>> strategy.reduce("SUM", strategy.run(lambda: tf.constant(2.0)), axis=None).numpy()
        np.float32(2.0)
        """
        require_cross_replica()
        return mapped(partial(self._reduced, ReduceOp.read(reduce_op), axis), value)

    def _reduced(self, op: ReduceOp, axis: int | None, value: Any) -> Any:
        if isinstance(value, DistributedValues):
            return reduced_over(op, value, axis)
        if self.num_replicas_in_sync > 1:
            return not_distributed(op, value)
        if axis is None:
            return value
        return (reduce_sum if op is ReduceOp.SUM else reduce_mean)(value, axis)

    def gather(self, value: Any, axis: int) -> Any:
        """Returns the replicas' tensors concatenated along an axis, on CPU:0."""
        require_cross_replica()

        def gather(value: Any) -> Any:
            with placed(CPU, STRATEGY):
                return concat(list(value.values), axis) if isinstance(value, DistributedValues) else value

        return mapped(gather, value)

    # Data

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Returns the dataset with each batch split among the replicas.

        From a batch of `n`, the first replicas get `ceil(n / replicas)` rows each, in order; the last may get fewer or
        none.

        Args:
          dataset: a `tf.data.Dataset` of global batches.
          options: a `tf.distribute.InputOptions`.

        Raises:
          NotImplementedError: if the options request a dataset per replica.
        """
        return split_among(dataset, self._extended.worker_devices, options)

    def distribute_datasets_from_function(self, dataset_fn: Callable[[InputContext], Any], options: Any = None) -> Any:
        """Returns a dataset whose batches go to the replicas in turn.

        Args:
          dataset_fn: function that receives an `InputContext` and returns a dataset of batches for one replica.
          options: a `tf.distribute.InputOptions`.
        """
        return of_function(dataset_fn, self._extended.worker_devices, options)

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    def experimental_distribute_values_from_function(self, value_fn: Callable[[ValueContext], Any]) -> Any:
        """Returns a value for each replica, made by a function that is called once per replica."""
        count = self.num_replicas_in_sync
        return self._distributed([value_fn(ValueContext(number, count)) for number in range(count)])

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Returns a tuple of the replicas' values; for a value that is not distributed, a tuple with one element."""
        if isinstance(value, DistributedValues):
            return value.values
        if isinstance(value, list | tuple | dict):
            return tuple(of_replica(number, value) for number in range(self.num_replicas_in_sync))
        return (value,)

    unwrap = experimental_local_results

    # For replica contexts and subclasses

    def _all_reduced(self, context: ReplicaContext, reduce_op: Any, value: Any, options: Any) -> Any:
        """Returns the result of `ReplicaContext.all_reduce`."""
        return all_reduced_here(context, reduce_op, value, options)

    def _all_gathered(self, context: ReplicaContext, value: Any, axis: int) -> Any:
        """Returns the result of `ReplicaContext.all_gather`."""
        return all_gathered_here(context, value, axis)

    def _distributed(self, structures: Sequence[Any]) -> Any:
        """Returns the values of all replicas as one structure; those of a single replica unchanged."""
        return regrouped(structures)

    def _create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Creates a variable in the scope; `next_creator` creates one on the current device."""
        return next_creator(**kwargs)

    def _copies_of(self, variable: Any) -> tuple[Any, ...]:
        """Returns the copies of a variable; with most strategies, the variable itself is the only one."""
        return variable.values if isinstance(variable, DistributedVariable) else (variable,)

    def _alone(self, merge_fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Calls the function of a `merge_call` if a single replica exists and `run` is not running."""
        return merge_fn(self, *args, **kwargs)

    def _check_no_other(self) -> None:
        context = current()
        strategy = context.strategy if isinstance(context, ReplicaContext) else context
        if strategy is not None and strategy is not self:
            raise RuntimeError(f"Mixing different tf.distribute.Strategy objects: {strategy} is not {self}")

    def check_open(self) -> None:
        """Checks that the program is in the scope of this strategy.

        Raises:
          RuntimeError: if another strategy's scope is open, or none.
        """
        self._check_no_other()
        if get_strategy() is not self:
            raise RuntimeError(f'Need to be inside "with strategy.scope()" for {self}')

    def __deepcopy__(self, memo: Any) -> Self:
        """Returns itself, because a copied model belongs to the same strategy."""
        return self

    def __reduce__(self) -> Any:
        """Pickles as the strategy in whose scope it is unpickled."""
        return get_strategy, ()


class _DefaultStrategy(Strategy):
    """The default strategy: a single replica, on no particular device."""

    _replicas_meet = False

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: Any = None,
    ) -> Any:
        """Calls the function; a `PerReplica` value, made by another strategy, is replaced by its first value."""
        if not isinstance(args, list | tuple):
            raise ValueError(f"positional args must be a list or tuple, got {type(args)}")
        arguments: Any = (args, kwargs or {})
        if has_replica_values(arguments):
            arguments = of_replica(0, arguments)
        return converted_in_graphs(fn)(*arguments[0], **arguments[1])

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Returns the dataset unchanged."""
        return dataset

    def distribute_datasets_from_function(self, dataset_fn: Callable[[InputContext], Any], options: Any = None) -> Any:
        """Returns the dataset of the function."""
        return dataset_fn(InputContext())


set_default(_DefaultStrategy((CPU,)))

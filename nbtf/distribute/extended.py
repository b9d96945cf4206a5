"""`strategy.extended`: the part of a strategy's interface that is meant for libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from nbtf._graph.autograph.conversion import converted_in_graphs
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.attributes import reads
from nbtf._runtime.blocks import within
from nbtf._runtime.context import CURRENT
from nbtf._runtime.lanes import with_open_lane
from nbtf._runtime.placement import STRATEGY_UPDATE
from nbtf._runtime.scopes import Scope, merged
from nbtf.distribute.contexts import ReplicaContext, current, require_cross_replica
from nbtf.distribute.reduction import ReduceOp, copy_value_to, reduce_values
from nbtf.distribute.replicas import across
from nbtf.distribute.values import DistributedValues, Mirrored, PerReplica, mapped, of_replica
from nbtf.distribute.variables import not_distributed

if TYPE_CHECKING:
    from nbtf.distribute.strategy import Strategy


class StrategyExtended:
    """The part of a strategy's interface that is meant for libraries."""

    membership: int = 0
    """Number of changes of its devices; a function traced before a change has outdated variables."""

    def __init__(self, strategy: Strategy, devices: tuple[str, ...]) -> None:
        """Stores the strategy and its devices."""
        self._strategy, self._devices = strategy, devices

    def use(self, devices: tuple[str, ...]) -> None:
        """Replaces the devices that compute."""
        self._devices = devices
        self.membership += 1
        CURRENT.context.replacements += 1

    worker_devices: tuple[str, ...] = reads("_devices", "Full names of the devices that compute, one per replica.")

    parameter_devices: tuple[str, ...] = reads("_devices", "Full names of the devices that store variables.")

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[Any]:
        """Opens a block whose variables are stored on the devices of another variable: on all devices, as usual."""
        return self._strategy.scope()

    def variable_created_in_scope(self, v: Any) -> bool:
        """Returns whether this strategy made a variable."""
        return getattr(v, "distribute_strategy", None) is self._strategy

    def value_container(self, value: Any) -> Any:
        """Returns the variable that a copy belongs to; any other value unchanged."""
        owner = getattr(value, "_whole", lambda: None)()
        return value if owner is None else owner

    def update(
        self, var: Any, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None, group: bool = True
    ) -> Any:
        """Calls a function for each copy of a variable on its device; in a replica, waits for the others first.

        While the function runs, each variable of the strategy is represented by its copy on the same device.

        Args:
          var: a variable.
          fn: function that is called with the copy and its replica's part of the arguments.
          args: positional arguments; each copy gets its own value from a distributed one.
          kwargs: keyword arguments.
          group: whether the results are combined; otherwise they are returned as a tuple.
        """
        context = current()
        if isinstance(context, ReplicaContext):

            def update(strategy: Strategy, *args: Any, **kwargs: Any) -> Any:
                return strategy.extended.update(var, fn, args, kwargs, group)

            return context.merge_call(update, args, kwargs)
        copies = self._strategy._copies_of(var)
        return self._on_each([copy.device for copy in copies], fn, copies, args, kwargs, group)

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """Calls a function on each device, to update state that belongs to no variable.

        Args:
          colocate_with: devices, as returned by `non_slot_devices`.
          fn: function that is called with its device's part of the arguments.
          args: positional arguments; each call gets its own value from a distributed one.
          kwargs: keyword arguments.
          group: whether the results are combined; otherwise they are returned as a tuple.
        """
        require_cross_replica()
        devices = (colocate_with,) if isinstance(colocate_with, str) else tuple(colocate_with)
        return self._on_each(devices, fn, [], args, kwargs, group)

    def _on_each(
        self,
        devices: Sequence[str],
        fn: Callable[..., Any],
        copies: Sequence[Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None,
        group: bool,
    ) -> Any:
        fn = converted_in_graphs(fn)
        results: list[Any] = []
        for number, device_name in enumerate(devices):
            with within(partial(self._scope_of_update, number, device_name)):
                positional = [*copies[number : number + 1], *of_replica(number, list(args))]
                results.append(fn(*positional, **of_replica(number, dict(kwargs or {}))))
        return _join_results(results) if group else tuple(results)

    def _scope_of_update(self, number: int, device_name: str, outer: Scope) -> Scope:
        """Returns the scope for updating a copy: in cross-replica context, but with the variables of one replica."""
        replica = number if len(self._devices) > 1 else None
        scope = across(self._strategy, outer).with_(request=merged(device_name, None, STRATEGY_UPDATE), replica=replica)
        return with_open_lane(scope)

    def non_slot_devices(self, var_list: Any) -> tuple[str, ...]:
        """Returns the devices on which `update_non_slot` runs its function."""
        return self._devices

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Runs a function once in each replica, as `strategy.run` does.

        Args:
          fn: function to run.
          args: its positional arguments; each replica gets its own value from a `PerReplica`.
          kwargs: its keyword arguments.
        """
        return self._strategy.run(fn, args, kwargs)

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """Returns a tensor on all devices of a variable, or on one device."""
        require_cross_replica()
        copies = [copy_value_to(device_name, tensor) for device_name in _list_devices(destinations)]
        return copies[0] if len(copies) == 1 else Mirrored(copies)

    def read_var(self, v: Any) -> Any:
        """Returns the value of a variable, as seen in a replica or in cross-replica context."""
        return v.read_value()

    @property
    def experimental_require_static_shapes(self) -> bool:
        """Whether each tensor must have a known shape: always False."""
        return False

    def reduce_to(self, reduce_op: ReduceOp | str, value: Any, destinations: Any, options: Any = None) -> Any:
        """Reduces the replicas' values, and copies the result to the devices of a variable or to one device."""
        return self.batch_reduce_to(reduce_op, [(value, destinations)], options)[0]

    def batch_reduce_to(
        self, reduce_op: ReduceOp | str, value_destination_pairs: Iterable[tuple[Any, Any]], options: Any = None
    ) -> list[Any]:
        """Reduces several values at once, with few copies; see `reduce_to`."""
        require_cross_replica()
        op = ReduceOp.read(reduce_op)
        pairs = list(value_destination_pairs)
        together = all(_is_everywhere(value, target, self._devices) for value, target in pairs)
        if together and pairs:
            lists = [[value.values[number] for value, _ in pairs] for number in range(len(self._devices))]
            cross_device_ops = self._strategy._cross_device_ops.with_options(options)
            sums = cross_device_ops.all_reduce(op, lists, self._devices)
            return [Mirrored(copies) for copies in zip(*sums, strict=True)]
        return [self._reduce_one(op, value, target) for value, target in pairs]

    def _reduce_one(self, op: ReduceOp, value: Any, target: Any) -> Any:
        device_names = _list_devices(target)
        if not isinstance(value, DistributedValues):
            total = not_distributed(op, value) if len(self._devices) > 1 else value
        else:
            total = reduce_values(op, value.values, device_names[0])
        copies = [copy_value_to(device_name, total) for device_name in device_names]
        return copies[0] if len(copies) == 1 else Mirrored(copies)


def _list_devices(target: Any) -> tuple[str, ...]:
    if isinstance(target, str):
        return (target,)
    if isinstance(target, DistributedValues):
        return tuple(copy.device for copy in target.values)
    return (target.device,)


def _is_everywhere(value: Any, target: Any, devices: tuple[str, ...]) -> bool:
    return isinstance(value, PerReplica | Mirrored) and _list_devices(target) == devices


def _join_results(results: list[Any]) -> Any:
    """Returns the results of an update as one value; for copies of a variable, their values as `Mirrored`."""
    if len(results) == 1:
        return results[0]
    if all(isinstance(result, Variable) for result in results):
        return Mirrored([result.value() for result in results])

    def together(*values: Any) -> Any:
        return values[0] if all(value is values[0] for value in values) else Mirrored(values)

    return mapped(together, *results)

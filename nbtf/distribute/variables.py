"""Variables in the scope of a strategy: one copy on each device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ref

from nbtf._devices.base import Buffer
from nbtf._ops.arrays.identity import identity
from nbtf._ops.math.division import truediv
from nbtf._ops.variables.creation import VariableAggregation, alone
from nbtf._ops.variables.resource import read_variable
from nbtf._ops.variables.updates import NOTHING
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.device import placed
from nbtf._runtime.placement import STRATEGY_UPDATE, STRATEGY_VARIABLE
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import DType
from nbtf.distribute.contexts import ReplicaContext, current
from nbtf.distribute.reduction import ReduceOp, copies_reduced, copy_value_to, reduce_values
from nbtf.distribute.values import DistributedValues, Mirrored, PerReplica, of_replica, replica_number

if TYPE_CHECKING:
    from nbtf.distribute.strategy import Strategy

_REDUCE = {VariableAggregation.SUM: ReduceOp.SUM, VariableAggregation.MEAN: ReduceOp.MEAN}

_NEVER_AGGREGATED = frozenset({"scatter_update", "scatter_min", "scatter_max"})
"""Methods whose rows are not added up."""


class DistributedVariable(Variable, DistributedValues):
    """A variable with a copy on each device of a strategy.

    In a replica, it represents the replica's copy; elsewhere the copy on the current device, or else the first copy.
    """

    # It is not a buffer itself: `_array` and `_device` stay unset. Every op that uses it therefore takes the road,
    # which reads the right copy.
    __slots__ = ()

    _values: tuple[Variable, ...]
    _strategy: Strategy

    @classmethod
    def of(cls, strategy: Strategy, values: Sequence[Variable]) -> DistributedVariable:
        """Returns one variable for copies that were made on the devices of a strategy."""
        variable = Buffer.__new__(cls)
        first = values[0]
        variable.use(values)
        variable._strategy, variable._dtype = strategy, first._dtype
        variable._name, variable._trainable, variable._constraint = first._name, first._trainable, first._constraint
        variable._synchronization, variable._aggregation = first._synchronization, first._aggregation
        return variable

    def use(self, values: Sequence[Variable]) -> None:
        """Replaces the copies."""
        for copy in values:
            copy.__dict__["_whole"] = ref(self)
        self._values = tuple(values)

    # Selecting a copy

    @property
    def __tf_variable__(self) -> Variable:
        """The copy that it represents in the current context."""
        scope = SCOPE()
        if scope is not None:
            if scope.replica is not None:
                return self._values[scope.replica]
            if scope.request is not None:
                return next((copy for copy in self._values if copy.device == scope.request.name), self._values[0])
        return self._values[0]

    @property
    def distribute_strategy(self) -> Strategy:
        """The strategy in whose scope it was made."""
        return self._strategy

    @property
    def shape(self) -> TensorShape:
        """The lengths of its axes."""
        return self._values[0].shape

    @property
    def device(self) -> str:
        """The full name of the device of the copy that it represents in the current context."""
        return self.__tf_variable__.device

    # Reading

    def _read(self) -> Tensor:
        return read_variable(self.__tf_variable__)

    def value(self) -> Tensor:
        """Returns the current value, on the device of its copy."""
        return self._read()

    def read_value(self) -> Tensor:
        """Returns the current value, on the current device.

        Raises:
          RuntimeError: if another strategy's block is open.
        """
        self._strategy._check_no_other()
        return identity(self._read())

    def numpy(self) -> Any:
        """Returns a copy of the value as a NumPy array."""
        return self.__tf_variable__.numpy()

    def _displayed_value(self) -> Tensor:
        return self.__tf_variable__._displayed_value()

    def __tf_tensor__(self, dtype: DType | None = None) -> Tensor:
        """Returns its value for an op that receives this object."""
        if dtype is not None and dtype is not self._dtype:
            return self.__tf_variable__.__tf_tensor__(dtype)
        return self._read()

    def __repr__(self) -> str:
        """Returns `MirroredVariable:{` and one line per copy."""
        return self._lines(repr)

    __str__: Callable[..., Any] = __repr__

    # Assignment

    def assign(
        self, value: Any, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Assigns a value to all copies; in a replica, to its own copy, or as the aggregation requires.

        Args:
          value: value with the variable's dtype and shape, or one such value per replica.
          use_locking: accepted but ignored.
          name: accepted but ignored.
          read_value: False returns None.

        Returns:
          The variable; in a replica, its copy.

        Raises:
          ValueError: if the shape or dtype does not match, or the replicas' values cannot be aggregated.
        """
        return self._written(Variable.assign, value, read_value)

    def assign_add(
        self, delta: Any, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Adds to all copies; in a replica, to its own copy, or as the aggregation requires.

        Args:
          delta: value with the variable's dtype and shape, or one such value per replica.
          use_locking: accepted but ignored.
          name: accepted but ignored.
          read_value: False returns None.

        Returns:
          The variable; in a replica, its copy.
        """
        return self._written(Variable.assign_add, delta, read_value)

    def assign_sub(
        self, delta: Any, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtracts from all copies; in a replica, from its own copy, or as the aggregation requires.

        Args:
          delta: value with the variable's dtype and shape, or one such value per replica.
          use_locking: accepted but ignored.
          name: accepted but ignored.
          read_value: False returns None.

        Returns:
          The variable; in a replica, its copy.
        """
        return self._written(Variable.assign_sub, delta, read_value)

    def _update(self, op: Any, *inputs: Any, name: str | None = None, **attrs: Any) -> Any:
        def update_copy(copy: Variable, *values: Any) -> Any:
            return copy._update(op, *values, name=name, **attrs)

        scope = SCOPE()
        if scope is not None and scope.replica is not None:
            return update_copy(self._values[scope.replica], *inputs)
        self._everywhere(update_copy, *inputs)
        return self

    def _scatter_rows(self, op: Any, sparse_delta: Any, name: str | None) -> Any:
        self._check_scatter(f"scatter_{op.type.removeprefix('ResourceScatter').lower()}")
        return self._written(lambda copy, delta: copy._scatter_rows(op, delta, name), sparse_delta, True)

    def _check_scatter(self, method: str) -> None:
        """Checks that the replicas' rows can be aggregated.

        Raises:
          NotImplementedError: if they cannot, with TensorFlow's text.
        """
        if method in _NEVER_AGGREGATED and self._aggregation in _REDUCE:
            raise NotImplementedError(
                f"{method} is only supported for mirrored variable (variable created within certain "
                "`tf.distribute.Strategy` scope) with NONE or `ONLY_FIRST_REPLICA` aggregation, got: "
                f"{self._aggregation}."
            )

    def _written(self, write: Callable[[Variable, Any], Any], value: Any, read_value: bool) -> Any:
        """Writes the copy of the running or updated replica, or all copies; returns the written variable."""
        self._strategy._check_no_other()
        replica, context = replica_number(), current()
        if not isinstance(context, ReplicaContext):
            if replica is None:
                return self._written_across(write, value, read_value)
            written = write(self._values[replica], value)
        elif self._is_aggregated():
            written = context.merge_call(partial(self._written_by_all, write), args=(value,))
        else:
            written = write(self.__tf_variable__, value)
        return written if read_value else NOTHING

    def _is_aggregated(self) -> bool:
        """Returns whether the values that replicas write are combined."""
        return self._aggregation is not VariableAggregation.NONE and len(self._values) > 1

    def _written_across(self, write: Callable[[Variable, Any], Any], value: Any, read_value: bool) -> Any:
        self._everywhere(write, value)
        return self if read_value else NOTHING

    def _written_by_all(self, write: Callable[[Variable, Any], Any], strategy: Strategy, value: Any) -> Any:
        """Aggregates the values of all replicas and writes all copies; called once for all replicas."""
        self._everywhere(write, aggregated(self._aggregation, value, strategy))
        return PerReplica(self._values)

    def _everywhere(self, write: Callable[..., Any], *values: Any) -> None:
        alone(partial(self._each, write, values), *self._values)

    def _each(self, write: Callable[..., Any], values: tuple[Any, ...]) -> None:
        # The first copy rejects an invalid value before any copy has changed, because copies must stay equal.
        for number, copy in enumerate(self._values):
            with placed(copy.device, STRATEGY_UPDATE):
                write(copy, *of_replica(number, values))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Returns a variable with its own copies on the same devices."""
        copies: list[Variable] = []
        for copy in self._values:
            with placed(copy.device, STRATEGY_VARIABLE):
                copies.append(copy.__deepcopy__(memo))
        variable = memo[id(self)] = type(self).of(self._strategy, copies)
        return variable


class MirroredVariable(DistributedVariable):
    """A variable whose copies are equal."""

    __slots__ = ()


class SyncOnReadVariable(DistributedVariable):
    """A variable whose copies differ; reading it in cross-replica context aggregates them."""

    __slots__ = ()

    def _read(self) -> Tensor:
        return super()._read() if isinstance(current(), ReplicaContext) else self._total()

    def _total(self) -> Tensor:
        """Returns the aggregate of all copies, on the requested device or on the CPU.

        Raises:
          ValueError: if the variable has no aggregation, with TensorFlow's text.
        """
        self._check_aggregation()
        if self._aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            return read_variable(self._values[0])
        return copies_reduced(_REDUCE[self._aggregation], self._values)

    def _check_aggregation(self) -> None:
        if self._aggregation is VariableAggregation.NONE:
            raise ValueError(
                "Could not convert from `tf.VariableAggregation` VariableAggregationV2.NONE to`tf.distribute.ReduceOp` "
                "type"
            )

    def read_value(self) -> Tensor:
        """Returns the current value, on the current device."""
        self._strategy._check_no_other()
        return self._read()

    def numpy(self) -> Any:
        """Returns the value as a NumPy array."""
        return self._read().numpy()

    def _is_aggregated(self) -> bool:
        return False

    def _check_scatter(self, method: str) -> None:
        raise NotImplementedError(f"Variables with `synchronization=ON_READ` doesn't support `{method}`")

    def _written_across(self, write: Callable[[Variable, Any], Any], value: Any, read_value: bool) -> Any:
        """Writes all copies so that their aggregate is the given value; returns the value read."""
        is_summed = self._aggregation is VariableAggregation.SUM
        if is_summed and write is not Variable.assign:
            raise ValueError(
                f"SyncOnReadVariable does not support `{write.__name__}` in cross-replica context when aggregation is "
                "set to `tf.VariableAggregation.SUM`."
            )
        value = as_tensor(value, self._dtype)  # rejects values that differ between replicas
        if read_value:
            self._check_aggregation()
        if is_summed:
            value = truediv(value, len(self._values))
        self._everywhere(write, value)
        return self.read_value() if read_value else NOTHING


def aggregated(aggregation: VariableAggregation, value: Any, strategy: Strategy) -> Any:
    """Returns the aggregate of all replicas' values.

    Raises:
      ValueError: if a sum of plain Python numbers is requested, which need not be the same in all replicas.
    """
    if aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
        return value.values[0] if isinstance(value, PerReplica) else value
    op = _REDUCE[aggregation]
    if isinstance(value, PerReplica):
        devices = strategy.extended.worker_devices
        total = reduce_values(op, value.values, devices[0])
        return Mirrored([copy_value_to(device_name, total) for device_name in devices])
    return not_distributed(op, value)


def not_distributed(op: ReduceOp, value: Any) -> Any:
    """Returns a value that is the same in all replicas, if its mean is requested.

    Raises:
      ValueError: if its sum is requested.
    """
    if op is ReduceOp.SUM:
        text = f"A non-DistributedValues value {value} cannot be reduced with the given reduce op {op}."
        raise ValueError(text)
    return value

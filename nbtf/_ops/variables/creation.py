"""Creates variables, through creator scopes if any, and serializes their updates across threads."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import Enum
from typing import Any, TypeVar

from nbtf._devices.base import Buffer
from nbtf._locks import Lock, new_lock
from nbtf._ops.variables.resource import AssignVariableOp, VarHandleOp
from nbtf._runtime.blocks import within
from nbtf._runtime.context import CURRENT
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.kept_memory import register_variable
from nbtf._runtime.lanes import with_open_lane
from nbtf._runtime.placement import follows_variable
from nbtf._runtime.scopes import EMPTY, SCOPE, PlacedScope, Scope, set_scope
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import ShapeLike, TensorShape
from nbtf._types import DTypeLike, as_dtype

T = TypeVar("T")
V = TypeVar("V", bound=Buffer)


class VariableSynchronization(Enum):
    """When a variable's copies on several devices are synchronized."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(Enum):
    """How values that several replicas assign to a variable are combined."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3

    def __str__(self) -> str:
        return f"VariableAggregationV2.{self.name}"


def variable_creator_scope(variable_creator: Callable[..., Any]) -> within:
    """Returns a context manager in which a function creates the variables.

    Args:
      variable_creator: function called as `variable_creator(next_creator, **kwargs)` with the arguments of
        `tf.Variable`; `next_creator(**kwargs)` calls the next outer creator, finally nbtf's own. Its result becomes
        the result of `tf.Variable`.

    >>> def untrainable(next_creator, **kwargs):
    ...     return next_creator(**{**kwargs, "trainable": False})
    >>> with tf.variable_creator_scope(untrainable):
    ...     v = tf.Variable(1.0)
    >>> v.trainable
    False
    """

    def inner(outer: Scope) -> Scope:
        return with_open_lane(outer.with_(creators=(*outer.creators, variable_creator)))

    return within(inner)


def made(
    cls: type[V],
    initial_value: Any,
    trainable: Any = None,
    name: str | None = None,
    variable_def: Any = None,
    dtype: DTypeLike | None = None,
    constraint: Callable[[Any], Any] | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
    shape: ShapeLike = None,
    **ignored: Any,
) -> V:
    """Creates a variable without calling creators: its handle is placed like other ops, and its value follows."""
    _check_arguments(initial_value, name, variable_def, constraint, synchronization, aggregation)
    value = _initial(initial_value() if callable(initial_value) else initial_value, dtype)
    variable: Any = Buffer.__new__(cls)
    scope = SCOPE()
    variable._name = f"{'' if scope is None else scope.names}{'Variable' if name is None else name}:0"
    variable._trainable = synchronization is not VariableSynchronization.ON_READ if trainable is None else trainable
    variable._constraint = constraint
    variable._synchronization = synchronization
    variable._aggregation = aggregation
    if shape is not None:
        variable._shape = _wider(shape, value)
    handle = VarHandleOp(dtype=value._dtype, name=name)
    device = CURRENT.context.host if handle._host else handle._device  # other tasks store no strings
    variable._array, variable._dtype, variable._device = handle._array, handle._dtype, device
    begin(variable)
    variable._take(AssignVariableOp(variable, value, name=name))
    register_variable(variable)
    return variable


@contextmanager
def beside(variable: Any) -> Generator[None]:
    """Stores the variables created in a block on another variable's device, ignoring device requests."""
    outer = SCOPE()
    device = variable._device
    try:
        set_scope(PlacedScope(device, follows_variable(device), outer or EMPTY))
        yield
    finally:
        set_scope(outer)


def begin(variable: Any) -> None:
    """Prepares a new variable for updates by several threads."""
    variable._lock, variable._updating = new_lock(), []


def alone(update: Callable[[], T], *variables: Any) -> T:
    """Calls an update of variables while no other thread updates them, and returns its result.

    Readers do not wait: they see either the old value or the new one.
    """
    locks: list[Lock] = []
    marks = [True]  # all variables share them, so that one instruction removes them, which an interrupt cannot split
    try:
        for variable in sorted(variables, key=id):
            variable._lock.acquire()
            locks.append(variable._lock)
            if not variable._updating:  # an observer of the update may itself update variables
                variable._updating = marks
        return update()
    finally:
        del marks[:]
        for lock in locks:
            lock.release()


def _check_arguments(
    initial_value: Any, name: Any, variable_def: Any, constraint: Any, synchronization: Any, aggregation: Any
) -> None:
    if initial_value is None:
        raise ValueError(
            "The `initial_value` arg to `tf.Variable` must be specified except when you are not providing a "
            "`variable_def`. You provided neither."
        )
    if variable_def is not None:
        raise ValueError(
            "The variable_def and initial_value args to `tf.Variable` are mutually exclusive, but got both: "
            f"variable_def={variable_def},\ninitial_value={initial_value}"
        )
    if name is not None and not isinstance(name, str):
        raise ValueError("name for name_scope must be a string.")
    if constraint is not None and not callable(constraint):
        raise ValueError(
            f"Argument `constraint` must be None or a callable. a callable. Got a {constraint.__class__}:  {constraint}"
        )
    if not isinstance(synchronization, VariableSynchronization):
        raise ValueError(f"Invalid variable synchronization mode: {synchronization} for variable: {name}")
    if not isinstance(aggregation, VariableAggregation):
        raise ValueError(f"Invalid variable aggregation mode: {aggregation} for variable: {name}")


def _initial(value: Any, dtype: DTypeLike | None) -> Tensor:
    try:
        return as_tensor(value, None if dtype is None else as_dtype(dtype))
    except ValueError as error:
        if isinstance(value, Tensor):
            raise ValueError(f"initial_value: {error}") from None
        raise


def _wider(shape: ShapeLike, value: Tensor) -> TensorShape | None:
    """Returns the shape that later values may have, or None if it is the current shape."""
    wider = TensorShape(shape)
    if not wider.is_compatible_with(value.shape):
        raise ValueError(
            f"In this `tf.Variable` creation, the initial value's shape ({value.shape}) is not compatible with the "
            f"explicitly supplied `shape` argument ({shape})."
        )
    return None if wider.is_fully_defined() else wider

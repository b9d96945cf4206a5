"""Weights: `tf.Variable` objects with a path and the attributes that layers and optimizers need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._graph.trial import in_earnest
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.creation import convert_to_tensor
from nbtf._ops.math.arithmetic import add, cast, negative
from nbtf._ops.variables.creation import VariableAggregation, VariableSynchronization
from nbtf._ops.variables.variable import Variable as TensorVariable
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf.distribute.values import replica_number
from nbtf.distribute.variables import SyncOnReadVariable
from nbtf.keras import allowance
from nbtf.keras.dtypes import autocast, standardized
from nbtf.keras.initializers import get as initializer_of
from nbtf.keras.naming import auto_name, checked_name, path_of
from nbtf.keras.operators import Operators

_FLOATS = ("bfloat16", "float16", "float32", "float64")


class Variable(Operators):
    """A weight of a layer, or a number that an optimizer or a metric keeps.

    `value` is the underlying `tf.Variable`. In the scope of a strategy, the variable has a copy on each device.

    Args:
      initializer: initial value; if `shape` is given, also a function of shape and dtype, or the name of one.
      shape: shape of the value; required if `initializer` creates the value.
      dtype: dtype of the value; `floatx()` by default.
      trainable: whether gradients change the variable; true by default.
      autocast: whether layers with mixed precision read the variable in their compute dtype; true by default.
      aggregation: how a strategy combines the values of several replicas: `"none"`, `"sum"`, `"mean"` or
        `"only_first_replica"`.
      synchronization: when a strategy makes the copies equal: `"auto"` or `"on_read"`.
      name: last part of the path.

    Raises:
      ValueError: if an initializer is given by name without a shape, or if the name contains `/`.

    >>> v = tf.keras.Variable([[1.0, 2.0]], name="kernel")
    >>> v
    <Variable path=kernel, shape=(1, 2), dtype=float32, value=[[1. 2.]]>
    """

    __array_priority__ = 100

    def __init__(
        self,
        initializer: Any,
        shape: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        aggregation: str | None = "none",
        synchronization: str = "auto",
        name: Any = None,
        **ignored: Any,
    ) -> None:
        """Creates the variable on the device where variables are currently placed."""
        self._name = checked_name(name or auto_name("variable"))
        self._path = path_of(self._name)
        self._autocast = autocast
        self.regularizer: Any = None
        self.constraint: Any = None
        self.overwrite_with_gradient = False
        with in_earnest():
            self._value = TensorVariable(
                _first_value(initializer, shape, dtype),
                trainable=trainable,
                name=self._name,
                aggregation=VariableAggregation[(aggregation or "none").upper()],
                synchronization=VariableSynchronization[synchronization.upper()],
            )
        self._trainable = trainable

    # Attributes

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self._name

    @property
    def path(self) -> str:
        """The full path: `dense/kernel`."""
        return self._path

    @property
    def shape(self) -> TensorShape:
        """The lengths of its axes."""
        return self._value.shape

    @property
    def dtype(self) -> str:
        """The name of its dtype."""
        read_as = autocast()
        dtype_name = self._value.dtype.name
        return read_as if read_as is not None and self._autocast and dtype_name in _FLOATS else dtype_name

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._value.shape)

    @property
    def trainable(self) -> bool:
        """Whether gradients change the variable."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = bool(value)

    @property
    def aggregation(self) -> str:
        """How a strategy combines the values of several replicas."""
        return self._value.aggregation.name.lower()

    @property
    def synchronization(self) -> str:
        """When a strategy makes the copies equal."""
        return self._value.synchronization.name.lower()

    @property
    def handle(self) -> Any:
        """The resource on a device; `handle.device` is the name of the device."""
        return self._value

    @property
    def value(self) -> Any:
        """The `tf.Variable`; inside a layer with mixed precision, its value in the compute dtype."""
        read_as = autocast()
        if read_as is not None and self._autocast and self._value.dtype.name in _FLOATS:
            return cast(self._value, read_as)
        value = self._value
        if value.__class__ is not TensorVariable and value.aggregation is VariableAggregation.NONE:
            scope = SCOPE()
            if scope is not None and scope.replica is not None:  # the replica's own copy, which the express lanes know
                return getattr(value, "__tf_variable__", value)
        return value

    @property
    def __tf_variable__(self) -> Any:
        """The underlying `tf.Variable`."""
        return self._value

    def numpy(self) -> Any:
        """Returns a copy of the value as a NumPy array."""
        return self._value.numpy()

    def __repr__(self) -> str:
        shape = tuple(self.shape.as_list())
        return f"<Variable path={self._path}, shape={shape}, dtype={self.dtype}, value={self.numpy()}>"

    # Assignment

    def assign(self, value: Any) -> Any:
        """Sets the value.

        Args:
          value: new value of the same shape; it is cast to the dtype of the variable.

        Raises:
          ValueError: if the shape differs.
        """
        return self._value.assign(self._fitting(value))

    def assign_add(self, value: Any) -> Any:
        """Adds `value` to the variable."""
        return self._gather(self._fitting(value))

    def assign_sub(self, value: Any) -> Any:
        """Subtracts `value` from the variable."""
        fitting = self._fitting(value)
        return self._gather(negative(fitting)) if self._is_total() else self._value.assign_sub(fitting)

    def _gather(self, value: Any) -> Any:
        """Adds a value of the right shape; outside of replicas, adds it to the sum of all copies."""
        handle = self._value
        return handle.assign(add(handle, value)) if self._is_total() else handle.assign_add(value)

    def _is_total(self) -> bool:
        """Returns whether the value is the sum of copies that replicas change independently."""
        return self._value.__class__ is SyncOnReadVariable and replica_number() is None

    def _fitting(self, value: Any) -> Any:
        dtype = self._value.dtype
        shape = getattr(value, "shape", None)
        if shape is None or getattr(value, "dtype", None) is not dtype:
            value = self._as_tensor(value)
            shape = value.shape
        if tuple(shape) != tuple(self._value.shape):
            raise ValueError(
                "The shape of the target variable and the shape of the target value in `variable.assign(value)` must "
                f"match. variable.shape={self.shape}, Received: value.shape={tuple(shape)}. Target variable: {self}"
            )
        return value

    def _as_tensor(self, value: Any) -> Any:
        try:
            return convert_to_tensor(value, self._value.dtype)
        except (TypeError, ValueError):
            return cast(convert_to_tensor(value), self._value.dtype)

    # Use in ops and in Python

    def __tf_tensor__(self, dtype: Any = None) -> Tensor:
        """Converts the variable for ops that take a tensor."""
        value = self.value
        return convert_to_tensor(value, dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Returns a copy of the value for NumPy."""
        return self._value.__array__(dtype)

    def __getitem__(self, key: Any) -> Any:
        """Returns a slice of the value."""
        return self.value[key]

    def __int__(self) -> int:
        """Converts a scalar."""
        return int(self._value)

    def __float__(self) -> float:
        """Converts a scalar."""
        return float(self._value)

    def __bool__(self) -> bool:
        raise TypeError("A Keras Variable cannot be used as a boolean.")

    __hash__ = None  # type: ignore[assignment]


def _first_value(initializer: Any, shape: Any, dtype: Any) -> Any:
    if isinstance(initializer, str):
        if shape is None:
            raise ValueError(
                "When creating a Variable from an initializer, the `shape` argument should be specified. "
                f"Received: initializer={initializer} and shape={shape}"
            )
        initializer = initializer_of(initializer)
    if callable(initializer):
        make: Callable[..., Any] = initializer
        if shape is None:
            raise ValueError(
                "When creating a Variable from an initializer, the `shape` argument should be specified. "
                f"Received: initializer={initializer} and shape={shape}"
            )
        allowance.take(shape, standardized(dtype))
        return lambda: make(tuple(shape), dtype=standardized(dtype))
    value = convert_to_tensor(initializer) if dtype is None else _cast(initializer, standardized(dtype))
    return value if shape is None else reshape(value, shape)


def _cast(value: Any, dtype: str) -> Any:
    try:
        return convert_to_tensor(value, dtype)
    except (TypeError, ValueError):
        return cast(convert_to_tensor(value), dtype)

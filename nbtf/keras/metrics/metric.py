"""The base class of metrics, which accumulate values batch by batch and compute a result."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, fields
from types import FunctionType
from typing import Any, ClassVar, Self, dataclass_transform

from nbtf import distribute
from nbtf._ops.arrays.creation import ones_like, zeros
from nbtf._ops.math.arithmetic import cast, multiply
from nbtf._ops.math.division import divide_no_nan
from nbtf._ops.reductions.means_and_extremes import reduce_mean
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.trackable import Trackable
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.phases import METRICS, during
from nbtf._runtime.tensor import Tensor
from nbtf.keras.configured import as_options
from nbtf.keras.dtypes import as_policy, floatx
from nbtf.keras.initializers import get as initializer_of
from nbtf.keras.losses.loss import same_rank, weights_like
from nbtf.keras.naming import auto_name, inside, snake_case
from nbtf.keras.registry import deserialized, serialized
from nbtf.keras.variables import Variable


class Metric(Trackable):
    """Base class of metrics. Subclass it, create variables in `__init__`, and define `update_state` and `result`.

    Under a strategy each replica accumulates its own values, and the result combines those of all replicas.

    Args:
      dtype: dtype of the variables; `floatx()` by default.
      name: name of the metric.

    >>> class Largest(tf.keras.metrics.Metric):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.largest = self.add_weight(name="largest")
    ...     def update_state(self, values, sample_weight=None):
    ...         self.largest.assign(tf.maximum(self.largest, tf.reduce_max(values)))
    ...     def result(self):
    ...         return self.largest.value
    >>> metric = Largest()
    >>> metric.update_state([1.0, 5.0, 2.0])
    >>> float(metric.result())
    5.0
    """

    def __copy__(self) -> Self:
        """Returns a deep copy, because Keras objects share no variables."""
        return deepcopy(self)

    def __init__(self, dtype: Any = None, name: str | None = None) -> None:
        self.name: str = name or auto_name(snake_case(type(self).__name__))
        self._policy = as_policy(dtype or floatx())
        self.dtype: Any = self._policy.compute_dtype
        self._variables: list[Variable] = []
        self._inner: list[Metric] = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Wraps the methods so that events attribute their ops to metrics."""
        super().__init_subclass__(**kwargs)
        for name in ("update_state", "result"):
            if isinstance(vars(cls).get(name), FunctionType):
                setattr(cls, name, during(METRICS)(vars(cls)[name]))

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute and registers a metric in it."""
        if isinstance(value, Metric):
            self.__dict__.setdefault("_inner", []).append(value)
        super().__setattr__(name, value)

    @property
    def variables(self) -> list[Variable]:
        """All variables of the metric, followed by those of nested metrics."""
        return [*self._variables, *(variable for inner in self._inner for variable in inner.variables)]

    weights = variables

    def add_variable(
        self, shape: Any, initializer: Any, dtype: Any = None, aggregation: str = "sum", name: str | None = None
    ) -> Variable:
        """Creates a variable to accumulate values, which `reset_state` sets to 0.

        Args:
          shape: shape of the value.
          initializer: initial value.
          dtype: dtype of the value.
          aggregation: how the values of several replicas are combined.
          name: last part of the path.
        """
        with inside(self.name):
            variable = Variable(
                initializer_of(initializer),
                shape=shape,
                dtype=dtype or self._policy.variable_dtype,
                trainable=False,
                aggregation=aggregation,
                synchronization="on_read" if distribute.has_strategy() else "auto",
                name=name,
            )
        self._variables.append(variable)
        return variable

    def add_weight(
        self, shape: Any = (), initializer: Any = None, dtype: Any = None, name: str | None = None, **kwargs: Any
    ) -> Variable:
        """Creates a variable to accumulate values, initialized to 0; see `add_variable`."""
        if isinstance(shape, str):  # in Keras 2 the name is the first argument
            shape, name = (), shape
        return self.add_variable(shape, initializer or "zeros", dtype, kwargs.get("aggregation") or "sum", name)

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Adds the values of a batch."""
        raise NotImplementedError

    def result(self) -> Any:
        """Returns the result of the values so far."""
        raise NotImplementedError

    def reset_state(self) -> None:
        """Sets all variables to 0."""
        for variable in self.variables:
            variable.assign(zeros(variable.shape, variable.handle.dtype))  # not `* 0`, which would keep nan

    def reset_states(self) -> None:
        """Sets all variables to 0; the name in Keras 2."""
        self.reset_state()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds the values of a batch, and returns the result so far."""
        self.update_state(*args, **kwargs)
        return self.result()

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor arguments as a dictionary."""
        return {"name": self.name, "dtype": self.dtype}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Metric:
        """Creates a metric from the result of `get_config`."""
        return cls(**config)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"

    __str__ = __repr__

    # For subclasses

    def _as_floats(self, value: Any) -> Tensor:
        tensor = as_tensor(value)
        return tensor if tensor.dtype.name == self.dtype else cast(tensor, self.dtype)


class Sum(Metric):
    """Computes the sum of all values."""

    def __init__(self, name: str = "sum", dtype: Any = None) -> None:
        super().__init__(dtype, name)
        self.total: Variable = self.add_weight(name="total")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Adds values, multiplied by their weights."""
        values = self._as_floats(values)
        if sample_weight is not None:
            values = multiply(values, weights_like(sample_weight, values))
        self.total._gather(reduce_sum(values))

    def result(self) -> Any:
        """Returns the sum."""
        return self.total.handle.read_value()


class Mean(Metric):
    """Computes the mean of all values.

    >>> mean = tf.keras.metrics.Mean()
    >>> mean.update_state([1.0, 3.0])
    >>> float(mean.result())
    2.0
    """

    def __init__(self, name: str = "mean", dtype: Any = None) -> None:
        super().__init__(dtype, name)
        self.total: Variable = self.add_weight(name="total")
        self.count: Variable = self.add_weight(name="count")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Adds the mean of each row, with the given weights."""
        values, weights = self._as_floats(values), None
        if sample_weight is not None:
            values, weights = same_rank(values, self._as_floats(sample_weight))
            axes = len(weights.shape)
            values = _mean_behind(values, axes)
            weights = multiply(weights, ones_like(values))
            values = multiply(values, weights)
            weights = _mean_behind(weights, 1)
        values = _mean_behind(values, 1)
        count = (values.shape[0] if len(values.shape) else 1) if weights is None else reduce_sum(weights)
        self._gather(reduce_sum(values) if len(values.shape) else values, count)

    def _gather(self, total: Any, count: Any) -> None:
        self.total._gather(total)
        self.count._gather(float(count) if isinstance(count, int) else count)

    def result(self) -> Any:
        """Returns the mean, or 0 if no values were added."""
        return divide_no_nan(self.total.handle, self.count.handle)


def _mean_behind(values: Tensor, axes: int) -> Tensor:
    """Returns values with at most this number of axes: the mean over the last ones."""
    rank = len(values.shape)
    return reduce_mean(values, list(range(axes, rank))) if rank > axes else values


class MeanMetricWrapper(Mean):
    """Computes the mean of a function of labels and predictions.

    Args:
      fn: function that returns a number for each example.
      name: name of the metric.
      dtype: dtype of the variables; `floatx()` by default.
      **kwargs: further keyword arguments of `fn`.
    """

    def __init__(self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name or getattr(fn, "__name__", "mean_metric_wrapper"), dtype)
        self._fn, self._fn_kwargs = fn, kwargs

    def update_state(  # pyright: ignore[reportIncompatibleMethodOverride]  # as in Keras
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> None:
        """Adds the function's values for a batch."""
        values = self._fn(y_true, y_pred, **self._fn_kwargs)
        mask = getattr(values, "_keras_mask", None)
        mask = getattr(y_pred, "_keras_mask", None) if mask is None else mask
        if mask is not None:
            present = weights_like(mask, self._as_floats(values))
            sample_weight = (
                present if sample_weight is None else multiply(weights_like(sample_weight, present), present)
            )
        super().update_state(values, sample_weight)

    def get_config(self) -> dict[str, Any]:
        function_config = {"fn": serialized(self._fn)} if type(self) is MeanMetricWrapper else {}
        return {**super().get_config(), **function_config, **self._fn_kwargs}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Metric:
        return cls(**({**config, "fn": deserialized(config["fn"])} if "fn" in config else config))


@dataclass_transform(eq_default=False)
@dataclass(eq=False, repr=False)
class FunctionMetric(MeanMetricWrapper):
    """Base class of nbtf's own metrics: `fn` is the function, and further fields are its options."""

    _fn: ClassVar[Callable[..., Any]]
    name: str = ""
    dtype: Any = None

    def __init_subclass__(cls) -> None:
        """Makes the class a dataclass."""
        super().__init_subclass__()
        as_options(cls, cls._fn)

    def __post_init__(self) -> None:
        options = {field.name: getattr(self, field.name) for field in fields(self)}
        super().__init__(type(self)._fn, options.pop("name"), options.pop("dtype"), **options)

"""The base class of losses, which compute one number from labels and predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, dataclass_transform

from nbtf import nest
from nbtf._ops.arrays.creation import ones_like
from nbtf._ops.arrays.shapes import expand_dims, squeeze
from nbtf._ops.math.arithmetic import cast, multiply
from nbtf._ops.math.division import divide_no_nan, truediv
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.phases import FORWARD, during
from nbtf._runtime.tensor import Tensor
from nbtf.keras.configured import Configured, as_options
from nbtf.keras.dtypes import as_policy, floatx
from nbtf.keras.naming import auto_name, snake_case
from nbtf.keras.registry import deserialized, serialized

REDUCTIONS = ("sum", "sum_over_batch_size", "mean", "mean_with_sample_weight", "none", None)


class Reduction:
    """The names of reductions in Keras 2."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Returns all reductions."""
        return cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE


class Loss(Configured):
    """Base class of losses. Subclass it and define `call(y_true, y_pred)`, which returns a loss for each example.

    Args:
      name: name of the loss.
      reduction: `"sum_over_batch_size"` for the mean (the default), `"sum"`, or `"none"`.
      dtype: dtype of the result; `floatx()` by default.

    Raises:
      ValueError: if the reduction is unknown.

    >>> class Distance(tf.keras.losses.Loss):
    ...     def call(self, y_true, y_pred):
    ...         return tf.reduce_mean(tf.abs(y_true - y_pred), axis=-1)
    >>> Distance()(tf.constant([[1.0]]), tf.constant([[3.0]])).numpy()
    np.float32(2.0)
    """

    def __init__(self, name: str | None = None, reduction: Any = "sum_over_batch_size", dtype: Any = None) -> None:
        self.name: str = auto_name(snake_case(type(self).__name__)) if name is None else name
        reduction = "sum_over_batch_size" if reduction == "auto" else reduction
        if reduction not in REDUCTIONS:
            raise ValueError(
                f"Invalid value for argument `reduction`. Expected one of {set(REDUCTIONS)}. "
                f"Received: reduction={reduction}"
            )
        self.reduction = reduction
        self.dtype: str = as_policy(dtype or floatx()).compute_dtype

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Returns a loss for each example."""
        raise NotImplementedError

    @during(FORWARD)
    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Returns the loss of a batch.

        Args:
          y_true: labels, or a nested structure of them.
          y_pred: predictions in the same structure.
          sample_weight: weight of each example.
        """
        y_pred = (
            nest.map_structure(self._as_floats, y_pred)
            if isinstance(y_pred, list | tuple | dict)
            else self._as_floats(y_pred)
        )
        y_true = nest.map_structure(as_tensor, y_true) if isinstance(y_true, dict) else as_tensor(y_true)
        losses = self.call(y_true, y_pred)
        mask = getattr(y_pred, "_keras_mask", None)
        mask = getattr(losses, "_keras_mask", None) if mask is None else mask
        return reduce_losses(losses, sample_weight, self.reduction, self.dtype, mask)

    def _as_floats(self, value: Any) -> Tensor:
        tensor = as_tensor(value)
        return tensor if tensor.dtype.name == self.dtype else cast(tensor, self.dtype)

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "reduction": self.reduction}


class LossFunctionWrapper(Loss):
    """Wraps a function of labels and predictions as a `Loss`.

    Args:
      fn: function that returns a loss for each example.
      reduction: as in `Loss`.
      name: as in `Loss`.
      dtype: as in `Loss`.
      **kwargs: further keyword arguments of `fn`.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        reduction: Any = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name or getattr(fn, "__name__", None), reduction, dtype)
        self.fn: Callable[..., Any] = fn
        self._fn_kwargs = kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Returns a loss for each example."""
        if isinstance(y_true, Tensor) and isinstance(y_pred, Tensor):
            y_true, y_pred = same_rank(y_true, y_pred)
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        function_config = {"fn": serialized(self.fn)} if type(self) is LossFunctionWrapper else {}
        return {**super().get_config(), **function_config, **self._fn_kwargs}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Loss:
        if "fn" in config:
            config = {**config, "fn": deserialized(config["fn"])}
        return cls(**config)


@dataclass_transform(eq_default=False)
class FunctionLoss(LossFunctionWrapper):
    """Base class of nbtf's own losses: `fn` is the function, and the fields are its options."""

    fn: ClassVar[Callable[..., Any]]

    def __init_subclass__(cls) -> None:
        """Makes the class a dataclass."""
        as_options(cls, vars(cls).get("fn"))

    def __post_init__(self) -> None:
        options: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        arguments = [options.pop(name) for name in ("reduction", "name", "dtype")]
        super().__init__(type(self).fn, *arguments, **options)


def reduce_losses(values: Any, sample_weight: Any, reduction: str | None, dtype: str, mask: Any = None) -> Tensor:
    """Returns the losses of a batch, weighted and reduced.

    Args:
      values: loss of each example.
      sample_weight: weight of each example; may have fewer axes.
      reduction: one of `REDUCTIONS`.
      dtype: dtype of the result.
      mask: which examples to include; None for all.
    """
    losses = as_tensor(values)
    if losses.dtype.name != dtype:
        losses = cast(losses, dtype)
    weights = None
    if sample_weight is not None:
        losses, weights = same_rank(losses, cast(as_tensor(sample_weight), losses.dtype))
        losses = multiply(losses, weights)
    if mask is not None:
        present = weights_like(mask, losses)
        losses = multiply(losses, present)
    else:
        present = None
    if reduction in ("none", None) or losses.shape == [0]:  # Keras leaves an empty batch unreduced
        return losses
    total = reduce_sum(losses) if losses.shape.rank else losses
    if reduction == "sum" or not losses.shape.rank:
        return total
    if reduction == "mean_with_sample_weight" and weights is not None:
        return divide_no_nan(total, reduce_sum(weights))  # the weights as given, before they broadcast to the losses
    if present is not None:
        return divide_no_nan(total, reduce_sum(multiply(present, ones_like(losses))))
    count = losses.shape.num_elements()
    return truediv(total, float(count)) if count else multiply(total, 0.0)


def weights_like(sample_weight: Any, values: Tensor) -> Tensor:
    """Returns weights with the dtype and number of axes of the values, so that they broadcast."""
    weights = as_tensor(sample_weight)
    if weights.dtype is not values.dtype:
        weights = cast(weights, values.dtype)
    if len(weights.shape) == len(values.shape) + 1 and weights.shape[-1] == 1:
        weights = squeeze(weights, [-1])
    while 0 < len(weights.shape) < len(values.shape):
        weights = expand_dims(weights, -1)
    return weights


def same_rank(x: Tensor, y: Tensor, expand_vectors: bool = True) -> tuple[Tensor, Tensor]:
    """Returns both with the same number of axes, if they differ only in a last axis of length 1.

    Args:
      x: a tensor.
      y: another tensor.
      expand_vectors: whether to add the axis to a vector instead of removing it from the other; true by default.
    """
    extra_axes = len(x.shape) - len(y.shape)
    if extra_axes == 1 and x.shape[-1] == 1:
        return (x, expand_dims(y, -1)) if expand_vectors and len(y.shape) == 1 else (squeeze(x, [-1]), y)
    if extra_axes == -1 and y.shape[-1] == 1:
        return (expand_dims(x, -1), y) if expand_vectors and len(x.shape) == 1 else (x, squeeze(y, [-1]))
    return x, y

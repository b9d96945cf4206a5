"""Training in half precision with scaled losses, so that small gradients do not vanish."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nbtf import distribute
from nbtf._graph.trial import in_earnest
from nbtf._ops.math.arithmetic import multiply
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._runtime.arguments import unexpected
from nbtf.keras.naming import inside
from nbtf.keras.optimizers.optimizer import Optimizer
from nbtf.keras.registry import deserialized, serialized
from nbtf.keras.variables import Variable


class LossScaleOptimizer(Optimizer):
    """Wraps an optimizer: divides the gradients of a scaled loss by the scale, and skips steps that overflow.

    Args:
      inner_optimizer: optimizer that updates the weights.
      initial_scale: initial scale, which is halved after an overflow; 32768 by default.
      dynamic_growth_steps: number of steps without overflow after which the scale is doubled; 2000 by default.
    """

    def __init__(
        self, inner_optimizer: Any, initial_scale: float = 2.0**15, dynamic_growth_steps: int = 2000, **kwargs: Any
    ) -> None:
        if not isinstance(inner_optimizer, Optimizer):
            inner_optimizer = deserialized(inner_optimizer)
        if not isinstance(inner_optimizer, Optimizer):
            raise unexpected(inner_optimizer, "inner_optimizer", "an optimizer")
        self.inner_optimizer: Optimizer = inner_optimizer
        self.initial_scale: float = initial_scale
        self.dynamic_growth_steps: int = dynamic_growth_steps
        super().__init__(0.0, **kwargs)

    @property
    def learning_rate(self) -> Any:
        """The learning rate of the inner optimizer."""
        return self.inner_optimizer.learning_rate if hasattr(self, "inner_optimizer") else None

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self.inner_optimizer.learning_rate = value

    @property
    def iterations(self) -> Variable:
        """The number of completed steps."""
        return self.inner_optimizer.iterations

    @property
    def variables(self) -> list[Variable]:
        """The scale and its counter if built, followed by all variables of the inner optimizer."""
        scale_and_counter = [self.step_counter, self.dynamic_scale] if self.built else []
        return [*scale_and_counter, *self.inner_optimizer.variables]

    def build(self, variables: Iterable[Any]) -> None:
        """Creates the scale, its counter and the slots of the inner optimizer."""
        if self.built:
            return
        with in_earnest(), inside(self.name):
            self.dynamic_scale: Variable = self._number(self.initial_scale, "float32", "dynamic_scale")
            self.step_counter: Variable = self._number(0, "int64", "step_counter")
        self.inner_optimizer.build(variables)
        self.built = True

    def _number(self, value: float, dtype: str, name: str) -> Variable:
        return Variable(value, dtype=dtype, trainable=False, name=name, aggregation="only_first_replica")

    def scale_loss(self, loss: Any) -> Any:
        """Returns the loss multiplied by the scale, for computing gradients."""
        return multiply(loss, self.dynamic_scale.value if self.built else self.initial_scale)

    def apply(self, grads: Sequence[Any], trainable_variables: Sequence[Any] | None = None) -> None:
        """Divides gradients by the scale and applies them, unless one overflowed."""
        if not self.built:
            self.build(self.inner_optimizer._weights if trainable_variables is None else list(trainable_variables))
        scale = float(self.dynamic_scale)
        gradients = [grad for grad in grads if grad is not None]
        dense_parts = [dense for grad in gradients for dense in (getattr(grad, "values", None) or (grad,))]
        if not all(_is_finite(dense) for dense in dense_parts):
            self.dynamic_scale.assign(max(1.0, scale / 2.0))
            self.step_counter.assign(0)
            return
        self.inner_optimizer.apply([_divide(grad, scale) for grad in grads], trainable_variables)
        if int(self.step_counter) + 1 >= self.dynamic_growth_steps:
            self.dynamic_scale.assign(scale * 2.0)
            self.step_counter.assign(0)
        else:
            self.step_counter.assign_add(1)

    def get_config(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "inner_optimizer": serialized(self.inner_optimizer),
            "initial_scale": self.initial_scale,
            "dynamic_growth_steps": self.dynamic_growth_steps,
        }


def _is_finite(grad: Any) -> bool:
    total = float(reduce_sum(grad))
    return total - total == 0.0


def _divide(grad: Any, scale: float) -> Any:
    if grad is None:
        return None
    if isinstance(grad, distribute.DistributedValues):
        return distribute.get_strategy().experimental_distribute_values_from_function(
            lambda context: multiply(grad.values[context.replica_id_in_sync_group], 1.0 / scale)
        )
    return multiply(grad, 1.0 / scale)

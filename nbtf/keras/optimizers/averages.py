"""The running averages of an optimizer: those of weights, and those of gradients over several batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from nbtf import distribute
from nbtf._ops.arrays.creation import convert_to_tensor, zeros_like
from nbtf._ops.math.arithmetic import add, multiply
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf.keras.optimizers.copies import bare
from nbtf.keras.optimizers.slots import Slots


class Step(NamedTuple):
    """The arguments of a formula that concern a step: its number, counted from 1, and the learning rate."""

    number: int
    rate: float


class Averages(Slots):
    """The part of an optimizer that averages weights and gradients, in slots of their own."""

    use_ema: bool
    ema_momentum: float
    ema_overwrite_frequency: int | None
    gradient_accumulation_steps: int | None

    def _slot_names(self) -> tuple[str, ...]:
        names = (*self.SLOTS, *(("average",) if self.use_ema else ()))
        return (*names, "gradient_accumulator") if self.gradient_accumulation_steps else names

    def _first_value(self, slot: str, variable: Any) -> Any:
        return variable.read_value() if slot == "average" else super()._first_value(slot, variable)

    def _average(self, step: Step, weight: Any, average: Any) -> None:
        momentum = 0.0 if step.number == 1 else self.ema_momentum
        average.assign(add(multiply(average, momentum), multiply(weight, 1.0 - momentum)))
        if self.ema_overwrite_frequency and step.number % self.ema_overwrite_frequency == 0:
            weight.assign(average.value())

    def _accumulated(self, grads: Sequence[Any], slot_indices: Sequence[int], number: int, every: int) -> list[Any]:
        """Returns the mean of the last gradients if a step is due, and an empty list otherwise."""
        last = number % every == 0
        means: list[Any] = []
        for grad, slot_index in zip(grads, slot_indices, strict=True):
            sums = self._slots[slot_index][-1]
            sums.value.assign_add(grad if isinstance(grad, distribute.DistributedValues) else dense(grad))
            if last:
                means.append(multiply(sums.value, 1.0 / every))
                sums.value.assign(zeros_like(sums.value))
        return means

    def finalize_variable_values(self, var_list: Any) -> None:
        """Sets the weights to their averages at the end of training, if averages are kept."""
        if self.use_ema:
            for weight in var_list:
                average = self._slots[self._slot_of(weight)][len(self.SLOTS)]
                bare(weight).assign(bare(average).read_value())


def check_averages(use_ema: bool, momentum: Any, frequency: Any, accumulated: Any) -> None:
    """Checks the arguments for averages and accumulated gradients."""
    if accumulated and accumulated < 2:
        raise ValueError(
            "`gradient_accumulation_steps` must be an integer >= 2. "
            f"Received: gradient_accumulation_steps={accumulated}"
        )
    if use_ema and not 0 <= momentum <= 1:
        raise ValueError(f"`ema_momentum` must be in the range [0, 1]. Received: ema_momentum={momentum}")
    if use_ema and frequency and (not isinstance(frequency, int) or frequency < 1):
        raise ValueError(
            f"`ema_overwrite_frequency` must be an integer >= 1 or None. Received: ema_overwrite_frequency={frequency}"
        )


def dense(grad: Any) -> Any:
    """Returns a gradient as a tensor, even one of selected rows."""
    return convert_to_tensor(grad) if isinstance(grad, IndexedSlices) else grad

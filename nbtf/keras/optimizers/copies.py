"""The copies of weights that an optimizer updates, without computing identical updates twice.

Under a strategy a weight has a copy on each device. Arrays are immutable, so equal copies on the CPUs of one computer
share one array as long as they are updated alike. While no observer is registered, such copies are computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from nbtf import distribute
from nbtf._runtime.lanes import lane_at
from nbtf.keras.variables import Variable


class Copy(NamedTuple):
    """The copies of all weights on one device, with their gradients and slots."""

    grads: list[Any]
    weights: list[Any]
    slots: list[list[Any]]

    @property
    def variables(self) -> list[Any]:
        """The variables that an optimizer changes."""
        return [*self.weights, *chain.from_iterable(self.slots)]

    def arrays(self) -> list[Any] | None:
        """Returns all arrays if no observer sees the ops that compute them; otherwise None."""
        if lane_at(None) is None or not all([weight._device.on_host for weight in self.weights]):
            return None
        arrays = [getattr(tensor, "_array", None) for tensor in (*self.variables, *self.grads)]
        return None if any([array is None for array in arrays]) else arrays

    def follow(self, leader: Leader) -> bool:
        """Shares the new arrays of an updated copy if the old ones were the same; returns whether it did."""
        arrays = self.arrays()
        if arrays is None or any([array is not first for array, first in zip(arrays, leader.old_arrays, strict=True)]):
            return False
        for variable, first in zip(self.variables, leader.copy.variables, strict=True):
            if not variable._moved(first._array):  # something else changed the variable
                variable.assign(first.read_value())
        return True


class Leader(NamedTuple):
    """A copy that has been updated, and its arrays before the update."""

    copy: Copy
    old_arrays: list[Any]


def copies_of(grads: Sequence[Any], weights: Sequence[Any], slots: Sequence[Sequence[Any]]) -> Iterator[Copy]:
    """Yields the copies on each device; most weights have one copy.

    Args:
      grads: gradients, each either one for all devices or with one value per device.
      weights: the weights.
      slots: the slots of each weight.
    """
    weight_copies = [values_of(weight) for weight in weights]
    slot_copies = [[values_of(slot) for slot in weight_slots] for weight_slots in slots]
    counts = {len(copies) for copies in chain(weight_copies, *slot_copies)}
    if len(counts) > 1:
        raise RuntimeError(
            "Mixing different tf.distribute.Strategy objects: the weights and the optimizer have different numbers of "
            "copies. Create the model and its optimizer in the scope of the same strategy."
        )
    for number in range(len(weight_copies[0])):
        own_grads = [grad.values[number] if isinstance(grad, distribute.DistributedValues) else grad for grad in grads]
        own_slots = [[slot[number] for slot in weight_slots] for weight_slots in slot_copies]
        yield Copy(own_grads, [copies[number] for copies in weight_copies], own_slots)


def bare(weight: Any) -> Any:
    """Returns the `tf.Variable` of a weight, including all its copies."""
    return weight.handle if isinstance(weight, Variable) else weight


def values_of(weight: Any) -> tuple[Any, ...]:
    """Returns the copies of a weight; most weights have one copy."""
    variable = bare(weight)
    return variable.values if isinstance(variable, distribute.DistributedValues) else (variable,)

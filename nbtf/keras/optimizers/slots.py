"""The slots of an optimizer: the variables that it keeps for each weight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from nbtf import distribute
from nbtf._graph.trial import in_earnest
from nbtf._locks import new_lock
from nbtf._ops.arrays.creation import zeros
from nbtf._ops.trackable import Trackable
from nbtf._ops.variables.creation import beside
from nbtf._runtime.context import open_graph
from nbtf._runtime.phases import SLOTS, keeping
from nbtf.keras.naming import inside
from nbtf.keras.optimizers.copies import bare, values_of
from nbtf.keras.variables import Variable

_BUILDING = new_lock()
"""Shared by all optimizers: they are pickled and copied, and built only once."""


class Slots(Trackable):
    """The part of an optimizer that creates slots and finds those of a weight."""

    SLOTS: tuple[str, ...] = ()
    name: str
    built: bool
    _strategy: Any
    _weights: list[Any]
    _indices: dict[int, int]
    _slots: list[list[Variable]]

    def build(self, variables: Iterable[Any]) -> None:
        """Creates the slots of each weight.

        A slot is stored on the device of its weight; in a traced function, on the requested device, as in TensorFlow.

        Args:
          variables: the weights, as Keras variables or as `tf.Variable`.

        Raises:
          RuntimeError: if the optimizer was created in the scope of another strategy.
        """
        is_traced = open_graph() is not None
        with _BUILDING, in_earnest():  # threads that share the optimizer may reach their first step at the same time
            if not self.built:
                keeping(SLOTS, self._build, list(variables), is_traced)

    def _build(self, weights: list[Any], is_traced: bool) -> None:
        """Creates all slots before it stores any, so that other threads never see a partly built optimizer."""
        slots: list[list[Variable]] = []
        if weights:
            self.check_strategy()
        for weight in weights:
            is_beside = not is_traced and not distribute.has_strategy()
            with beside(values_of(weight)[0]) if is_beside else nullcontext():
                slots.append([self._slot(weight, name) for name in self.SLOTS])
        self._weights, self._slots = weights, slots
        self._number_weights()
        self.built = True

    def _number_weights(self) -> None:
        self._indices = {id(bare(weight)): index for index, weight in enumerate(self._weights)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores a copy or a pickle, whose weights differ from those of the original."""
        self.__dict__.update(state)
        if self.built:
            self._number_weights()

    def _slot(self, weight: Any, name: str) -> Variable:
        """Creates a slot with the shape of a weight."""
        value = bare(weight)
        path = getattr(weight, "path", None) or value.name
        with inside(self.name):
            return Variable(
                self.first(name, value),
                trainable=False,
                name=f"{path.replace('/', '_').replace(':', '_')}_{name}",
            )

    def first(self, slot: str, variable: Any) -> Any:
        """Returns the initial value of a slot."""
        return zeros(variable.shape, variable.dtype)

    def check_strategy(self) -> None:
        """Checks that slots would be created under the optimizer's own strategy.

        Raises:
          RuntimeError: if the optimizer was not created in the scope of the current strategy.
        """
        if self.SLOTS:
            self._strategy.check_open()

    def _check_strategy(self, strategy: Any, weights: Sequence[Any]) -> None:
        """Checks that weights and optimizer were created for the strategy whose replicas train.

        Raises:
          RuntimeError: if the slots would belong to another strategy.
          ValueError: if a slot would belong to a weight outside of any strategy.
          AssertionError: if a weight has no copy for each replica, and would be updated once per replica.
        """
        self.check_strategy()
        for weight in map(bare, weights):
            if self.SLOTS and not self.built and not strategy.extended.variable_created_in_scope(weight):
                raise ValueError(
                    "`colocate_vars_with` must only be passed a variable created in this "
                    f"tf.distribute.Strategy.scope(), not: {weight!r}"
                )
            strategy._copies_of(weight)

    def _slot_of(self, weight: Any) -> int:
        slot = self._indices.get(id(bare(weight)))
        if slot is None:
            raise ValueError(
                f"Unknown variable: {weight}. This optimizer can only be called for the variables it was originally "
                "built with. When working with a new set of variables, you should recreate a new optimizer instance."
            )
        return slot

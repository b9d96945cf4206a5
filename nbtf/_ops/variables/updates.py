"""How the value of a variable is replaced: on the CPU in one statement, otherwise by an op under a lock."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, Self

from nbtf._devices.base import Device, Label
from nbtf._devices.cpu import CPU
from nbtf._locks import Lock
from nbtf._ops.express import HANDED_OVER, constant_like
from nbtf._ops.variables.creation import alone
from nbtf._ops.variables.parts import VariableParts
from nbtf._ops.variables.resource import AssignAddVariableOp, AssignSubVariableOp, AssignVariableOp
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.lanes import lane_at
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import NUMBERS, DType, TensorLike

NOTHING: Any = None
"""The result of an assignment with `read_value=False`; omitted from the type because that is rarely used."""

_ADD, _SUBTRACT, _ASARRAY, _NDARRAY = CPU.xp.add, CPU.xp.subtract, CPU.xp.asarray, CPU.xp.ndarray


class VariableUpdates(VariableParts):
    """The methods of a variable that change its whole value."""

    __slots__ = ("_device", "_dtype", "_lock", "_updating")

    _device: Device
    _dtype: DType
    _lock: Lock
    """The lock for updates on the road."""
    _updating: list[bool]
    """Whether an update is running on the road, which closes the lane."""
    _seq: int = 0
    _name: str

    @property
    def shape(self) -> TensorShape:
        """The lengths of the axes."""
        raise NotImplementedError

    def assign(
        self, value: TensorLike, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Self:
        """Replaces the value and returns the variable.

        Args:
          value: the new value, with the variable's dtype and shape, on any device.
          use_locking: accepted and ignored.
          read_value: whether to return the variable (default) rather than None.

        Raises:
          ValueError: if `value` is a tensor of another dtype, or has another shape.
          TypeError: if a Python value does not fit the dtype.

        >>> tf.Variable([1.0, 2.0]).assign([3, 4]).numpy()
        array([3., 4.], dtype=float32)
        """
        tensor = as_tensor(value, self._dtype)
        array = tensor._array
        if array.shape != self._array.shape and not self.shape.is_compatible_with(array.shape):
            raise ValueError(
                f"Cannot assign value to variable ' {self._name}': Shape mismatch.The variable shape {self.shape}, "
                f"and the assigned value shape {array.shape} are incompatible."
            )
        if tensor._device is self._device and lane_at(SCOPE()) is self._device and self._moved(array):
            return self if read_value else NOTHING
        alone(partial(self._replace, tensor, name), self)
        return self if read_value else NOTHING

    def assign_add(
        self, delta: TensorLike, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Self:
        """Adds to the value and returns the variable.

        Args:
          delta: the number to add or subtract, with the variable's dtype and shape; it is not broadcast.
          use_locking: accepted and ignored.
          read_value: whether to return the variable (default) rather than None.

        Raises:
          ValueError: if `delta` is a tensor of another dtype.
          TypeError: if a Python value does not fit the dtype.

        >>> tf.Variable(3).assign_add(4).numpy()
        np.int32(7)
        """
        change: Any = delta
        if change.__class__ is float or change.__class__ is int:
            change = constant_like(self, change)
        if not self._updated(_ADD, change):
            self._update(AssignAddVariableOp, as_tensor(change, self._dtype), name=name)
        return self if read_value else NOTHING

    def assign_sub(
        self, delta: TensorLike, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Self:
        """Subtracts from the value and returns the variable.

        Args:
          delta: the number to add or subtract, with the variable's dtype and shape; it is not broadcast.
          use_locking: accepted and ignored.
          read_value: whether to return the variable (default) rather than None.

        Raises:
          ValueError: if `delta` is a tensor of another dtype.
          TypeError: if a Python value does not fit the dtype.

        >>> tf.Variable(3.0).assign_sub(1.0).numpy()
        np.float32(2.0)
        """
        change: Any = delta
        if change.__class__ is float or change.__class__ is int:
            change = constant_like(self, change)
        if not self._updated(_SUBTRACT, change):
            self._update(AssignSubVariableOp, as_tensor(change, self._dtype), name=name)
        return self if read_value else NOTHING

    def _updated(self, ufunc: Any, delta: Any) -> bool:
        """Updates a variable on the CPU while its express lane is open; returns whether it did."""
        try:
            device, dtype = self._device, self._dtype
            if device is delta._device and dtype is delta._dtype and dtype in NUMBERS and lane_at(SCOPE()) is device:
                return self._moved(delta._array, ufunc)
        except HANDED_OVER:
            pass
        return False

    def _moved(self, array: Any, ufunc: Any = None) -> bool:
        """Updates a variable on the CPU with an array while no observer is registered; returns whether it did.

        It takes no lock: the value is replaced if it is still the one that was read, in one statement without a call.
        Between its instructions, CPython switches to no other thread and handles no signal. Otherwise, the road does
        the update.
        """
        before = self._array
        if before.shape != array.shape:
            return False
        new = array if ufunc is None else ufunc(before, array)
        if new.__class__ is not _NDARRAY:
            new = _ASARRAY(new)
        self._array = new if (done := self._array is before and not self._updating) else self._array
        return done

    def _update(self, op: Any, *inputs: Any, name: str | None = None, **attrs: Any) -> Self:
        """Runs an in-place update on the road."""
        return alone(partial(self._change, op, inputs, name, attrs), self)

    def _replace(self, value: Tensor, name: str | None) -> None:
        self._take(AssignVariableOp(self, value, name=name))

    def _change(self, op: Any, inputs: tuple[Any, ...], name: str | None, attrs: dict[str, Any]) -> Self:
        # If a tensor shares the memory, TensorFlow copies before the update, and both copies are counted.
        shared = (
            self._allocation is not None and sys.getrefcount(self._allocation) > 2 and self._device.updates_in_place
        )
        if shared and ((scope := SCOPE()) is None or scope.graph is None):
            label = Label(op.type, self._dtype.name, self._array.shape)
            self._take(self._device.copy_from(self._device, self, label))
        self._take(op(self, *inputs, name=name, **attrs))
        return self

    def _take(self, value: Any) -> None:
        """Takes over the array and memory of another buffer."""
        if value._allocation is self._allocation:
            self._array = value._array
        else:
            before = self._array, self._allocation  # freed afterwards: nothing may run between the two assignments
            self._array, self._allocation = value._array, value._allocation
            del before
        if value.__class__ is Tensor and value._seq:
            self._seq = value._seq

"""A plan as one Python function on arrays: each line calls the kernel of one step.

It is used while the CPU's express lane is open and no tape records. Dtypes and attributes were decided when it was
written, so a line only computes. A kernel that fails changes nothing: the steps from there on run one by one, and the
road raises the proper error.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nbtf._devices.base import Device, buffer_of
from nbtf._devices.cpu import bound
from nbtf._graph.operation import flat
from nbtf._graph.seeds import GraphStream
from nbtf._graph.steps import ConstantStep, OpStep, Step, UpdateStep
from nbtf._ops.variables.resource import AssignAddVariableOp, AssignSubVariableOp, AssignVariableOp, ReadVariableOp
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.conversion import constant_of, host_array
from nbtf._runtime.lanes import lane_at
from nbtf._runtime.scopes import set_scope
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf._types import DType

_UPDATES = {AssignVariableOp: None, AssignAddVariableOp: np.add, AssignSubVariableOp: np.subtract}
"""Updates of a variable, and the ufunc that computes the new array; None assigns the other array."""


Values = list[Any]
"""The values of a run so far, by slot; None if a value does not exist yet or is no longer needed."""

Fills = list[tuple[int, Callable[[Values], Any]]]
"""Slots, and functions that return their values."""


class SlotValue(NamedTuple):
    """The content of a slot: an array on the CPU, a tensor, or, without a dtype, another value."""

    text: str
    """The expression for the array or the other value."""
    dtype: DType | None = None
    is_array: bool = False


class PlannedStep(NamedTuple):
    """A step with the slots of its inputs, its outputs and those attributes that only a run knows."""

    step: Step
    fills: Fills
    """Slots that are filled just before the step: lists of values, and random numbers."""
    inputs: Sequence[int]
    attrs: Mapping[str, int]
    outputs: Sequence[int]
    ends: list[int]
    """The slots of values that are not needed afterwards."""
    scope_number: int


class Program(NamedTuple):
    """The function, and the data needed to continue without it."""

    run: Callable[[Sequence[Any], Sequence[Any]], list[Any]]
    device: Device
    lines: Mapping[int, int]
    """The numbers of the steps to continue with, by the line that stopped."""
    slot_values: Mapping[int, SlotValue]

    def stopped_at(self, error: BaseException) -> tuple[int, dict[int, Any]] | None:
        """Returns the step to continue with, and the values so far by slot; None if a general step failed."""
        traceback = error.__traceback__ and error.__traceback__.tb_next
        if traceback is None or traceback.tb_lineno not in self.lines:
            return None
        constants = {value.text: None for value in self.slot_values.values() if value.text[0] == "k"}
        names = {name: self.run.__globals__[name] for name in constants} | traceback.tb_frame.f_locals
        values: dict[int, Any] = {}
        for slot, (text, dtype, is_array) in self.slot_values.items():
            value = names.get(text if text[0] == "k" else f"v{slot}")
            if value is not None:
                values[slot] = _tensor(value, dtype, self.device) if is_array else value
        return self.lines[traceback.tb_lineno], values


class StoppedError(Exception):
    """The values passed have other types or devices than expected, or an observer was registered while a step ran."""


def depends(value: Any, slots: Collection[int]) -> bool:
    """Returns whether an input or attribute of a step contains a value that only a run knows, given the slots by id."""
    return any([item.__class__ is GraphStream or id(item) in slots for item in flat([value])])


def _tensor(array: Any, dtype: Any, device: Any) -> Tensor:
    return tensor_of(buffer_of(array), dtype, device)


class ProgramWriter:
    """Writes the function: values are `v0`, `v1`, by slot; other objects that a step needs get their own names."""

    def __init__(self, slots: Mapping[int, int], stream: Callable[[GraphStream], Any], device: Device) -> None:
        """Starts without lines.

        Args:
          slots: slots of tensors and arguments, by identity.
          stream: returns the random numbers of a random op.
          device: the CPU.
        """
        self._slots = slots
        self._lines: list[str] = []
        self._space: dict[str, Any] = {
            # Overflow and division by zero are silent in this module; see `express.py`.
            "__name__": "nbtf._ops.plans",
            "T": _tensor,
            "asarray": np.asarray,
            "array_of": _array_of,
            "device": device,
            "lane_at": lane_at,
            "Stopped": StoppedError,
            "set_scope": set_scope,
            "stream": stream,
            "Tensor": Tensor,
        }
        self._device = device
        self._slot_values: dict[int, SlotValue] = {}
        self._scope = 0
        self._steps: dict[int, int] = {}

    def written(
        self, steps: Sequence[PlannedStep], values: Sequence[Any], results: Sequence[int], name: str
    ) -> Program:
        """Returns the steps of a plan as a function.

        Args:
          steps: the steps, in order.
          values: values of one call, which determine dtypes; tensors among them are on the CPU.
          results: the slots of the returned values.
          name: name of the traced function.
        """
        if values:
            self._lines += [f"{_targets(range(len(values)))} = values", "del values"]
        for slot, value in enumerate(values):
            self._add_argument(slot, value)
        for number, planned in enumerate(steps):
            self._add_step(number, planned)
            ends = [
                slot for slot in planned.ends if slot in self._slot_values and self._slot_values[slot].text[0] != "k"
            ]
            if ends:
                self._lines.append("".join([f"v{slot} = " for slot in ends]) + "None")
        lines = [*self._lines, f"return [{', '.join([self._tensor_text(slot) for slot in results])}]"]
        text = "def compute(values, scopes):\n    " + "\n    ".join(lines) + "\n"
        filename = f"<program of {name}>"
        exec(compile(text, filename, "exec"), self._space)
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        return Program(self._space["compute"], self._device, self._steps, self._slot_values)

    def _add_argument(self, slot: int, value: Any) -> None:
        """Adds an input of the function; later calls must pass an input of the same class and device."""
        if value.__class__ is Tensor:
            self._slot_values[slot] = SlotValue(f"v{slot}._array", value._dtype)
            self._stop_if(f"v{slot}.__class__ is not Tensor or v{slot}._device is not device", 0)
        else:
            self._slot_values[slot] = SlotValue(f"v{slot}")

    def _stop_if(self, test: str, number: int) -> None:
        """Adds a test whether to continue with a step outside the function."""
        self._lines.append(f"if {test}: raise Stopped")
        self._steps[len(self._lines) + 1] = number

    def _add_step(self, number: int, planned: PlannedStep) -> None:
        line = self._computed(planned.step, planned.outputs)
        if line is None:
            self._add_general(number, planned)
        elif line:
            self._lines.append(line)
            self._steps[len(self._lines) + 1] = number

    # Steps that only compute

    def _computed(self, step: Step, outputs: Sequence[int]) -> str | None:
        """Returns the line of a step that only computes: empty if nothing is to be done, None for other steps."""
        if isinstance(step, ConstantStep):
            self._slot_values[outputs[0]] = SlotValue(self._name(step.inputs[0]), step.inputs[1], True)
            return ""
        if isinstance(step, UpdateStep):
            return self._update(step)
        if not isinstance(step, OpStep) or step.is_stateful:
            return None
        if step.record is ReadVariableOp:
            return self._read(step.inputs[0], outputs[0])
        return self._kernel(step, outputs)

    def _update(self, step: UpdateStep) -> str | None:
        variable = step.inputs[0]
        if step.record not in _UPDATES or not self._is_here(variable):
            return None
        slot_value = self._slot_value_of(step.inputs[1])
        if slot_value is None or slot_value.dtype is not variable._dtype:
            return None
        ufunc = _UPDATES[step.record]
        arguments = slot_value.text if ufunc is None else f"{slot_value.text}, {self._name(ufunc)}"
        return f"{self._name(variable)}._moved({arguments}) or {self._general(step)}"

    def _read(self, variable: Any, output: int) -> str | None:
        if not self._is_here(variable):
            return None
        self._slot_values[output] = SlotValue(f"v{output}", variable._dtype, True)
        return f"v{output} = {self._name(variable)}._array"

    def _is_here(self, variable: Any) -> bool:
        """Returns whether a variable is always the same, and on the CPU."""
        return variable.__class__ is Variable and variable._device is self._device and id(variable) not in self._slots

    def _kernel(self, step: OpStep, outputs: Sequence[int]) -> str | None:
        """Returns the line that calls a kernel with arrays; None if the step does more than that."""
        record = step.record
        if record.resource or record.host_outputs or depends([*step.attrs.values()], self._slots):
            return None
        inputs = [self._array_text(value) or self._number(step, number) for number, value in enumerate(step.inputs)]
        if None in inputs or set(step.attrs) != set(record.attrs):
            return None
        attrs = record.normalised(step.attrs)
        arguments = [*inputs, *[self._literal(attrs[name]) for name in record.attrs]]
        call = f"{self._name(bound(record))}({', '.join(map(str, arguments))})"
        ranked = [bool(tensor._shape._dims) for tensor in step.outputs]  # otherwise NumPy may return a scalar
        for slot, tensor in zip(outputs, step.outputs, strict=True):
            self._slot_values[slot] = SlotValue(f"v{slot}", tensor._dtype, True)
        if not record.many:
            return f"v{outputs[0]} = {call}" if ranked[0] else f"v{outputs[0]} = asarray({call})"
        loose = [
            f"; v{slot} = asarray(v{slot})" for slot, is_ranked in zip(outputs, ranked, strict=True) if not is_ranked
        ]
        return f"{_targets(outputs)} = {call}{''.join(loose)}"

    def _slot_value_of(self, value: Any) -> SlotValue | None:
        slot = self._slots.get(id(value))
        return None if slot is None else self._slot_values.get(slot)

    def _array_text(self, value: Any) -> str | None:
        """Returns the expression for the array of an input; None if the input is not a tensor."""
        if value.__class__ is list:
            texts = [self._array_text(item) for item in value]
            return None if None in texts else f"[{', '.join(map(str, texts))}]"
        slot_value = self._slot_value_of(value)
        return None if slot_value is None or slot_value.dtype is None else slot_value.text

    def _number(self, step: OpStep, position: int) -> str | None:
        """Returns the array of a Python number among the inputs, with the dtype of the inputs that share its type."""
        value, tokens = step.inputs[position], step.record.tokens
        if value.__class__ is not float and value.__class__ is not int:
            return None
        for token, operand in zip(tokens, step.inputs, strict=True):
            slot_value = self._slot_value_of(operand) if token == tokens[position] else None
            if slot_value is not None and slot_value.dtype is not None:
                try:
                    return self._name(host_array(value, slot_value.dtype)[0])
                except (TypeError, ValueError, ArithmeticError):
                    return None  # the step itself raises the error
        return None

    # All other steps

    def _add_general(self, number: int, planned: PlannedStep) -> None:
        step, outputs = planned.step, planned.outputs
        self._enter_scope(planned.scope_number)
        call = self._general(step)
        self._lines.append(f"{_targets(outputs)} = {call}" if outputs else call)
        is_op = isinstance(step, OpStep)
        for slot, tensor in zip(outputs, step.outputs, strict=True):
            self._slot_values[slot] = SlotValue(f"array_of(v{slot})", tensor._dtype) if is_op else SlotValue(f"v{slot}")
        self._stop_if("lane_at(None) is not device", number + 1)

    def _enter_scope(self, scope_number: int) -> None:
        if scope_number != self._scope:
            self._lines.append(f"set_scope(scopes[{scope_number}])")
            self._scope = scope_number

    def _general(self, step: Step) -> str:
        """Returns the expression that calls a step with tensors."""
        inputs = ", ".join([self._expression(value) for value in step.inputs])
        attrs = ", ".join([f"{name!r}: {self._expression(value)}" for name, value in step.attrs.items()])
        return f"{self._name(step.run)}([{inputs}], {{{attrs}}})"

    # Values

    def _expression(self, value: Any) -> str:
        """Returns the expression for an input of a step."""
        slot = self._slots.get(id(value))
        if slot is not None:
            return self._tensor_text(slot)
        if value.__class__ is GraphStream:
            return f"stream({self._name(value)})"
        if value.__class__ is list:
            return f"[{', '.join(map(self._expression, value))}]"
        if value.__class__ is tuple:
            return f"({''.join([f'{self._expression(item)}, ' for item in value])})"
        return self._literal(value)

    def _tensor_text(self, slot: int) -> str:
        text, dtype, is_array = self._slot_values[slot]
        return f"T({text}, {self._name(dtype)}, device)" if is_array else f"v{slot}"

    def _literal(self, value: Any) -> str:
        return repr(value) if value is None or value is True or value is False else self._name(value)

    def _name(self, value: Any) -> str:
        name = f"k{len(self._space)}"
        self._space[name] = value
        return name


def _array_of(tensor: Any) -> Any:
    """Returns the array of a tensor on any device."""
    device = tensor._device
    return tensor._array if device.on_host or tensor._host else device.get(tensor)


def _targets(slots: Sequence[int]) -> str:
    return "".join([f"v{slot}, " for slot in slots]).rstrip()


class TapedWriter(ProgramWriter):
    """Writes the function for calls that a tape records: each line calls the express lane of an op with tensors."""

    def _add_argument(self, slot: int, value: Any) -> None:
        self._slot_values[slot] = SlotValue(f"v{slot}")

    def _add_step(self, number: int, planned: PlannedStep) -> None:
        step, outputs = planned.step, planned.outputs
        if isinstance(step, ConstantStep):
            function, attrs = constant_of, []
        elif isinstance(step, OpStep) and step.record.lane is not None and [*step.attrs] == [*step.record.attrs]:
            function, attrs = step.record.lane, [*step.attrs.values()]
        else:
            return self._add_general(number, planned)
        self._enter_scope(planned.scope_number)
        self._slot_values[outputs[0]] = SlotValue(f"v{outputs[0]}")
        arguments = ", ".join([self._expression(value) for value in [*step.inputs, *attrs]])
        self._lines.append(f"v{outputs[0]} = {self._name(function)}({arguments})")

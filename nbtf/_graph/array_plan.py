"""A plan as one Python function on arrays: each line calls the kernel of one step.

It is used when all steps run on CPUs, no observer is registered and no tape records. Devices, dtypes and attributes
were decided when it was written, so a line only computes. A kernel that fails changes nothing: the steps from there
on run one by one, and the road raises the proper error.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from nbtf._devices.base import Device, buffer_of
from nbtf._devices.cpu import bound
from nbtf._graph.program_text import ProgramText
from nbtf._graph.seeds import GraphStream
from nbtf._graph.steps import ConstantStep, OpStep, Step, UpdateStep
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.variables.resource import AssignAddVariableOp, AssignSubVariableOp, AssignVariableOp, ReadVariableOp
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.context import CURRENT
from nbtf._runtime.conversion import host_array
from nbtf._runtime.scopes import HERE, set_scope
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf._types import DType

_UPDATES = {AssignVariableOp: None, AssignAddVariableOp: np.add, AssignSubVariableOp: np.subtract}
"""Updates of a variable, and the ufunc that computes the new array; None assigns the other array."""


class SlotValue(NamedTuple):
    """The content of a slot: a CPU array; a tensor if `device` is None; without a dtype, another value."""

    dtype: DType | None
    device: Device | None
    text: str
    """The expression for the array or the other value."""


class PlacedStep(NamedTuple):
    """A step, the slots of its outputs, the slots that end with it, and the number of its scope."""

    step: Step
    outputs: Sequence[int]
    ends: Sequence[int]
    scope_number: int


class ArrayPlan(NamedTuple):
    """The function, and the data needed to continue without it."""

    run: Callable[[Sequence[Any], Sequence[Any]], list[Any]]
    lines: Mapping[int, int]
    """The numbers of the steps that only compute, by their line."""
    slot_values: Mapping[int, SlotValue]

    def stopped_at(self, error: BaseException) -> tuple[int, dict[int, Any]] | None:
        """Returns the step whose kernel failed, and the values so far by slot; None if no kernel failed."""
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_frame.f_code is not self.run.__code__:
            traceback = traceback.tb_next
        if traceback is None or traceback.tb_lineno not in self.lines:
            return None
        return self.lines[traceback.tb_lineno], self._values(traceback.tb_frame)

    def _values(self, frame: FrameType) -> dict[int, Any]:
        values: dict[int, Any] = {}
        for name, value in frame.f_locals.items():
            if name[0] == "v" and name[1:].isdigit() and value is not None:
                dtype, device, _ = self.slot_values[int(name[1:])]
                values[int(name[1:])] = value if device is None else _tensor(value, dtype, device)
        for slot, (dtype, device, text) in self.slot_values.items():
            if text[0] == "k":  # a constant, which is not a local variable
                values.setdefault(slot, _tensor(self.run.__globals__[text], dtype, device))
        return values


class UnfitError(Exception):
    """The values passed to the function have other types or devices than when it was written."""


class ChangedError(Exception):
    """An observer was registered while a step ran, so it must be notified of the later steps."""


def _tensor(array: Any, dtype: Any, device: Any) -> Tensor:
    return tensor_of(buffer_of(array), dtype, device)


class _Writer(ProgramText):
    """Writes the function: values are `v0`, `v1`, by slot; other objects that a step needs get their own names."""

    def __init__(
        self, slots: Mapping[int, int], stream: Callable[[GraphStream], Any], devices: Sequence[Device]
    ) -> None:
        space: dict[str, Any] = {
            # Overflow and division by zero are silent in this module; see `express.py`.
            "__name__": "nbtf._ops.plans",
            "T": _tensor,
            "asarray": np.asarray,
            "array_of": _array_of,
            "HERE": HERE,
            "Changed": ChangedError,
            "set_scope": set_scope,
            "stream": stream,
            "Tensor": Tensor,
            "Unfit": UnfitError,
        }
        super().__init__(space)
        self._slots, self._devices = slots, devices
        self.slot_values: dict[int, SlotValue] = {}
        self._scope = 0
        self._steps: dict[int, int] = {}

    def begin(self, values: Sequence[Any]) -> None:
        """Adds the function's inputs, by slot; later calls must pass inputs of the same kind."""
        tests: list[str] = []
        for slot, value in enumerate(values):
            if value.__class__ is Tensor and value._device.on_host:
                self.slot_values[slot] = SlotValue(value._dtype, None, f"v{slot}._array")
                tests.append(f"v{slot}.__class__ is not Tensor or v{slot}._device is not {self._name(value._device)}")
            else:
                self.slot_values[slot] = SlotValue(None, None, f"v{slot}")
        if values:
            self._lines += [f"{_targets(range(len(values)))} = values", "del values"]
        self._lines += [f"if {test}: raise Unfit" for test in tests]

    def add(self, number: int, placed: PlacedStep) -> None:
        """Adds a step."""
        step, outputs, ends, scope_number = placed
        written = self._computed(step, outputs, self._devices[scope_number])
        if written is None:
            self._add_general(number, placed)
        elif written:
            self._lines.append(written)
            self._steps[len(self._lines) + 1] = number
        ends = [slot for slot in ends if self.slot_values[slot].text[0] != "k"]
        if ends:
            self._lines.append("".join([f"v{slot} = " for slot in ends]) + "None")

    # Steps that only compute

    def _computed(self, step: Step, outputs: Sequence[int], device: Device) -> str | None:
        """Returns the line of a step that only computes: empty if nothing is to be done, None for other steps."""
        if isinstance(step, ConstantStep):
            self.slot_values[outputs[0]] = SlotValue(step.inputs[1], device, self._name(step.inputs[0]))
            return ""
        if isinstance(step, UpdateStep):
            return self._update(step)
        if not isinstance(step, OpStep) or step.is_stateful:
            return None
        if step.record is ReadVariableOp:
            return self._read(step.inputs[0], outputs[0])
        return self._kernel(step, outputs, device)

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
        self.slot_values[output] = SlotValue(variable._dtype, variable._device, f"v{output}")
        return f"v{output} = {self._name(variable)}._array"

    def _is_here(self, variable: Any) -> bool:
        """Returns whether a variable is always the same, and on a current CPU."""
        return (
            variable.__class__ is Variable
            and variable._device.on_host
            and CURRENT.context.logical_devices.has(variable._device)
            and id(variable) not in self._slots
        )

    def _kernel(self, step: OpStep, outputs: Sequence[int], device: Device) -> str | None:
        """Returns the line that calls a kernel with arrays of its device; None if the step does more than that."""
        record = step.record
        if record.resource or record.host_outputs or any([self._depends(value) for value in step.attrs.values()]):
            return None
        inputs = [self._array_text(value) or self._number(step, number) for number, value in enumerate(step.inputs)]
        if None in inputs or set(step.attrs) != set(record.attrs):
            return None
        attrs = record.normalised(step.attrs)
        arguments = [*inputs, *[self._literal(attrs[name]) for name in record.attrs]]
        call = f"{self._name(bound(record))}({', '.join(map(str, arguments))})"
        ranked = [_is_ranked(tensor) for tensor in step.outputs]
        for slot, tensor in zip(outputs, step.outputs, strict=True):
            self.slot_values[slot] = SlotValue(tensor._dtype, device, f"v{slot}")
        if not record.many:
            return f"v{outputs[0]} = {call}" if ranked[0] else f"v{outputs[0]} = asarray({call})"
        loose = [
            f"; v{slot} = asarray(v{slot})" for slot, is_ranked in zip(outputs, ranked, strict=True) if not is_ranked
        ]
        return f"{_targets(outputs)} = {call}{''.join(loose)}"

    def _slot_value_of(self, value: Any) -> SlotValue | None:
        slot = self._slots.get(id(value))
        return None if slot is None else self.slot_values.get(slot)

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

    def _depends(self, value: Any) -> bool:
        if value.__class__ is list or value.__class__ is tuple:
            return any([self._depends(item) for item in value])
        return value.__class__ is GraphStream or value.__class__ is GraphTensor or id(value) in self._slots

    def _literal(self, value: Any) -> str:
        return repr(value) if value is None or value is True or value is False else self._name(value)

    # All other steps

    def _add_general(self, number: int, placed: PlacedStep) -> None:
        step, outputs, _, scope_number = placed
        if scope_number != self._scope:
            self._lines.append(f"set_scope(scopes[{scope_number}])")
            self._scope = scope_number
        call = self._general(step)
        self._lines.append(f"{_targets(outputs)} = {call}" if outputs else call)
        for slot, tensor in zip(outputs, step.outputs, strict=True):
            is_tensor = isinstance(step, OpStep)
            self.slot_values[slot] = SlotValue(
                tensor._dtype if is_tensor else None, None, f"array_of(v{slot})" if is_tensor else f"v{slot}"
            )
        self._lines.append("if HERE.device is None: raise Changed")
        self._steps[len(self._lines) + 1] = number + 1

    def _general(self, step: Step) -> str:
        """Returns the expression that calls a step with tensors."""
        inputs = ", ".join([self._expression(value) for value in step.inputs])
        attrs = ", ".join([f"{name!r}: {self._expression(value)}" for name, value in step.attrs.items()])
        return f"{self._name(step.run)}([{inputs}], {{{attrs}}})"

    def _tensor_expression(self, value: Any) -> str | None:
        slot = self._slots.get(id(value))
        return None if slot is None else self._tensor_text(slot)

    def _tensor_text(self, slot: int) -> str:
        slot_value = self.slot_values[slot]
        if slot_value.device is None:
            return f"v{slot}"
        return f"T({slot_value.text}, {self._name(slot_value.dtype)}, {self._name(slot_value.device)})"

    def compiled(self, name: str, results: Sequence[int]) -> ArrayPlan:
        """Returns the compiled function."""
        lines = [*self._lines, f"return [{', '.join([self._tensor_text(slot) for slot in results])}]"]
        text = "def compute(values, scopes):\n    " + "\n    ".join(lines) + "\n"
        filename = f"<arrays of {name}>"
        exec(compile(text, filename, "exec"), self._space)
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        return ArrayPlan(self._space["compute"], self._steps, self.slot_values)


def _array_of(tensor: Any) -> Any:
    """Returns the array of a tensor on any device."""
    device = tensor._device
    return tensor._array if device.on_host or tensor._host else device.get(tensor)


def _is_ranked(tensor: Any) -> bool:
    """Returns whether a tensor is known to have an axis; otherwise NumPy may return a scalar for it."""
    return bool(tensor._shape._dims)


def _targets(slots: Sequence[int]) -> str:
    return "".join([f"v{slot}, " for slot in slots]).rstrip()


def array_plan(
    steps: Sequence[PlacedStep],
    slots: Mapping[int, int],
    stream: Callable[[GraphStream], Any],
    devices: Sequence[Device],
    values: Sequence[Any],
    results: Sequence[int],
    name: str,
) -> ArrayPlan:
    """Returns the steps of a plan as a function on arrays.

    Args:
      steps: the steps, in order.
      slots: slots of tensors and arguments, by identity.
      stream: returns the random numbers of a random op.
      devices: the device of each scope.
      values: values of one call, which determine dtypes and devices.
      results: the slots of the returned values.
      name: name of the traced function.
    """
    writer = _Writer(slots, stream, devices)
    writer.begin(values)
    for number, placed in enumerate(steps):
        writer.add(number, placed)
    return writer.compiled(name, results)

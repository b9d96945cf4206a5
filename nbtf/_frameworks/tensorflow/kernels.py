"""On which types of devices can TensorFlow run an op, and which of its arguments stay in host memory there?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

Attributes: TypeAlias = "Mapping[str, Any]"
"""Attributes of an op by name, as TensorFlow passes them to an op callback or stores them in a node."""

DEFAULT = "DEFAULT"
"""Device type of kernels for each device type without a kernel of its own."""
_STANDS_FOR = frozenset({"CPU", "GPU"})
"""Types of devices that kernels of the type `DEFAULT` serve."""
_LABEL = "_kernel"
"""The attribute with the label of a node's kernel; kernels with another label are not considered."""
INT32, STRING, RESOURCE = 3, 7, 20
"""Numbers of dtypes in `types.proto`."""
_ALWAYS_ON_HOST = frozenset({STRING, RESOURCE, 100 + STRING, 100 + RESOURCE})
"""Numbers of the dtypes whose values are never on a GPU, and of references to them."""
_WITHOUT_STATE = frozenset(
    {"Assert", "Case", "EagerPyFunc", "If", "PartitionedCall", "PrintV2", "PyFunc", "StatefulPartitionedCall", "While"}
)
"""Stateful ops whose kernels keep nothing: they have effects, or they call functions."""
_REMEMBERED = 4096


class _Kernel(NamedTuple):
    device_type: str
    label: str
    priority: int
    constraints: tuple[tuple[str, frozenset[Any]], ...]
    host_arguments: frozenset[str]

    def matches(self, attributes: Mapping[str, Any]) -> bool:
        """Returns whether the kernel accepts these attributes; TensorFlow compares each constrained attribute."""
        return self.label == attributes.get(_LABEL, "") and all(
            name in attributes and allowed.issuperset(_each(attributes[name])) for name, allowed in self.constraints
        )


class _Argument(NamedTuple):
    """An input or output of an op, which may be a list of tensors."""

    name: str
    dtype: int
    dtype_attribute: str
    number_attribute: str
    list_attribute: str

    def dtypes(self, attributes: Mapping[str, Any]) -> list[int]:
        """Returns the numbers of the dtypes of its tensors; 0 for an unknown dtype."""
        if self.list_attribute:
            return list(_each(attributes.get(self.list_attribute, ())))
        dtype = self.dtype or attributes.get(self.dtype_attribute, 0)
        return [dtype] * (attributes.get(self.number_attribute, 1) if self.number_attribute else 1)


class _Op(NamedTuple):
    kernels: tuple[_Kernel, ...]
    inputs: tuple[_Argument, ...]
    outputs: tuple[_Argument, ...]
    defaults: dict[str, Any]
    relevant: frozenset[str]
    """The attributes that decide about kernels, or about the number and dtypes of arguments."""
    is_stateful: bool
    """Whether TensorFlow may not leave out, merge or repeat the op."""


class _Answer(NamedTuple):
    device_types: frozenset[str]
    host_inputs: Mapping[str, frozenset[int]]
    host_outputs: Mapping[str, frozenset[int]]


class KernelRegistry:
    """TensorFlow's registry of kernels. Each answer is computed once per op type and attributes."""

    def __init__(self, kernels_of: Callable[[str], Any], definition_of: Callable[[str], Any]) -> None:
        """Stores TensorFlow's functions.

        Args:
          kernels_of: returns the `KernelList` of an op type.
          definition_of: returns the `OpDef` of an op type; None for an unknown op, such as a function.
        """
        self._kernels_of, self._definition_of = kernels_of, definition_of
        self._ops: dict[str, _Op] = {}
        self._answers: dict[tuple[str, frozenset[tuple[str, Any]]], _Answer] = {}

    def device_types(self, op_type: str, attributes: Attributes) -> frozenset[str]:
        """Returns the types of devices that have a kernel for an op with these attributes, such as `CPU` and `GPU`."""
        return self._answer(op_type, attributes).device_types

    def host_inputs(self, op_type: str, device_type: str, attributes: Attributes) -> frozenset[int]:
        """Returns the numbers of the inputs that a kernel reads from host memory, counted over all tensors of lists."""
        return self._answer(op_type, attributes).host_inputs.get(device_type, frozenset())

    def host_outputs(self, op_type: str, device_type: str, attributes: Attributes) -> frozenset[int]:
        """Returns the numbers of the results that a kernel writes to host memory."""
        return self._answer(op_type, attributes).host_outputs.get(device_type, frozenset())

    def has_kernels(self, op_type: str) -> bool:
        """Returns whether any kernel is registered for an op type: none is for a function or a typing error."""
        return bool(self._op(op_type).kernels)

    def runs_on(self, op_type: str, device_type: str) -> bool:
        """Returns whether a type of devices has a kernel for an op with any attributes."""
        served = {device_type, DEFAULT} if device_type in _STANDS_FOR else {device_type}
        return any(kernel.device_type in served for kernel in self._op(op_type).kernels)

    def output_dtypes(self, op_type: str, attributes: Attributes) -> list[int]:
        """Returns the numbers of the dtypes of an op's results; 0 for an unknown dtype."""
        op, values = self._values(op_type, attributes)
        return [dtype for argument in op.outputs for dtype in argument.dtypes(values)]

    def uses_resource(self, op_type: str, attributes: Attributes) -> bool:
        """Returns whether an op has an input that refers to a resource, such as a variable or an iterator."""
        op, values = self._values(op_type, attributes)
        return any(RESOURCE in argument.dtypes(values) for argument in op.inputs)

    def keeps_state(self, op_type: str) -> bool:
        """Returns whether a kernel may keep something from one call to the next, as those of random ops do.

        State in a resource, such as a variable, belongs to no kernel.
        """
        op = self._op(op_type)
        has_resource = any(argument.dtype == RESOURCE for argument in op.inputs)
        return op.is_stateful and not has_resource and op_type not in _WITHOUT_STATE

    def chosen_dtypes(self, op_type: str, attributes: Attributes) -> list[int]:
        """Returns the numbers of the dtypes that decide which kernel runs, each once."""
        op, values = self._values(op_type, attributes)
        names = {name for kernel in op.kernels for name, _ in kernel.constraints}
        types = dict.fromkeys(each.dtype_attribute or each.list_attribute for each in (*op.inputs, *op.outputs))
        return list(dict.fromkeys(dtype for name in types if name in names for dtype in _each(values.get(name, ()))))

    def _op(self, op_type: str) -> _Op:
        op = self._ops.get(op_type)
        if op is None:
            if len(self._ops) >= _REMEMBERED:
                self._ops.clear()
            op = self._ops[op_type] = _read(self._kernels_of(op_type), self._definition_of(op_type))
        return op

    def _values(self, op_type: str, attributes: Attributes) -> tuple[_Op, dict[str, Any]]:
        """Returns an op and the values of its relevant attributes."""
        op = self._op(op_type)
        return op, op.defaults | {name: _plain(attributes[name]) for name in op.relevant if name in attributes}

    def _answer(self, op_type: str, attributes: Attributes) -> _Answer:
        op, values = self._values(op_type, attributes)
        key = op_type, frozenset(values.items())
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) >= _REMEMBERED:
                self._answers.clear()
            answer = self._answers[key] = _compute(op, values)
        return answer


def _read(kernels: Any, definition: Any) -> _Op:
    """Reads the protocol buffers of an op."""
    rows = tuple(
        _Kernel(
            kernel.device_type,
            kernel.label,
            kernel.priority,
            tuple((each.name, frozenset(_each(_plain(each.allowed_values)))) for each in kernel.constraint),
            frozenset(kernel.host_memory_arg),
        )
        for kernel in kernels.kernel
    )
    if definition is None:
        names = {_LABEL, *(name for row in rows for name, _ in row.constraints)}
        return _Op(rows, (), (), {}, frozenset(names), True)
    inputs, outputs = _arguments(definition.input_arg), _arguments(definition.output_arg)
    defaults = {each.name: _plain(each.default_value) for each in definition.attr if each.HasField("default_value")}
    relevant = {_LABEL, *(name for row in rows for name, _ in row.constraints)}
    relevant.update(name for argument in (*inputs, *outputs) for name in argument[2:] if name)
    used = {name: defaults[name] for name in relevant & set(defaults)}
    return _Op(rows, inputs, outputs, used, frozenset(relevant), definition.is_stateful)


def _arguments(definitions: Iterable[Any]) -> tuple[_Argument, ...]:
    return tuple(
        _Argument(each.name, each.type, each.type_attr, each.number_attr, each.type_list_attr) for each in definitions
    )


def _compute(op: _Op, attributes: dict[str, Any]) -> _Answer:
    matching = [kernel for kernel in op.kernels if kernel.matches(attributes)]
    registered = {kernel.device_type for kernel in matching}
    types = frozenset(registered - {DEFAULT} | (_STANDS_FOR if DEFAULT in registered else set()))
    chosen = {device_type: _most_urgent(matching, device_type) for device_type in types}
    return _Answer(
        types,
        {each: _on_host(op.inputs, each, chosen.get(each), attributes) for each in types | {"GPU"}},
        {each: _on_host(op.outputs, each, chosen.get(each), attributes) for each in types | {"GPU"}},
    )


def _most_urgent(kernels: Collection[_Kernel], device_type: str) -> _Kernel:
    """Returns the kernel that a device uses: one of its type with the highest priority, otherwise a default kernel."""
    candidates = [kernel for kernel in kernels if kernel.device_type == device_type]
    candidates = candidates or [kernel for kernel in kernels if kernel.device_type == DEFAULT]
    return max(candidates, key=lambda kernel: kernel.priority)


def _on_host(
    arguments: Iterable[_Argument], device_type: str, kernel: _Kernel | None, attributes: dict[str, Any]
) -> frozenset[int]:
    """Returns the numbers of the tensors in host memory. Without a kernel, TensorFlow decides by dtype alone.

    The memory of a CPU is host memory already, so a CPU has only those that its kernel declares.
    """
    numbers: set[int] = set()
    number = 0
    for argument in arguments:
        for dtype in argument.dtypes(attributes):
            declared = dtype == INT32 if kernel is None else argument.name in kernel.host_arguments
            if declared or (dtype in _ALWAYS_ON_HOST and device_type != "CPU"):
                numbers.add(number)
            number += 1
    return frozenset(numbers)


def _each(value: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)


def _plain(value: Any) -> Any:
    """Returns a hashable value for an attribute's value, whichever form it has: a dtype becomes its number."""
    if isinstance(value, int | str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if hasattr(value, "as_datatype_enum"):
        return value.as_datatype_enum
    if isinstance(value, list | tuple):
        return tuple(_plain(each) for each in cast("Iterable[Any]", value))
    if not hasattr(value, "DESCRIPTOR"):
        return str(value)
    if value.DESCRIPTOR.name != "AttrValue":
        return value.SerializeToString(deterministic=True)
    field = value.WhichOneof("value")
    if field == "list":
        return tuple(_plain(each) for each in (*value.list.type, *value.list.s, *value.list.i, *value.list.b))
    return None if field is None else _plain(getattr(value, field))

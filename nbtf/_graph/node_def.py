"""Graphs as text: `print(op)` and `graph.as_graph_def()` show nodes in TensorFlow's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nbtf._devices.names import parse
from nbtf._graph.seeds import GraphStream
from nbtf._ops.attributes import NodeForm
from nbtf._shapes import TensorShape
from nbtf._types import DType, as_dtype, string

_FIELDS = {"keepdims": "keep_dims", "masks": "", "stream": "", "value_index": ""}
"""TensorFlow's attribute names where they differ; empty if an attribute corresponds to several or none."""


def attrs_of(node: Any) -> dict[str, Any]:
    """Returns the attributes of a node under TensorFlow's names, in alphabetical order."""
    record, host = node.record, getattr(node.record, "host_inputs", ())
    form: NodeForm = getattr(record, "form", NodeForm())
    fields = form.fields
    attrs = {name: value for name, value in fields.items() if not isinstance(value, str)}
    for token, value in zip(getattr(record, "tokens", ()), node.arguments, strict=False):
        is_list, letter = value.__class__ is list, token.rstrip("*")
        tensors = value if is_list else [value]
        if letter in getattr(record, "sets", {}) and tensors:
            attrs[fields.get(letter, letter)] = tensors[0]._dtype
        if is_list:
            attrs["N"] = len(tensors)
    for name, value in node.attrs.items():
        if name not in host and value is not None:
            attrs.update(_attr_field(fields.get(name, _FIELDS.get(name, name)), name, value))
    if node.late_attrs and form.index_type is not None:
        attrs[form.index_type] = next(iter(node.late_attrs.values()))._dtype
    if node.colocated_with:
        attrs["_class"] = node.colocation_groups()
    return dict(sorted(attrs.items()))


def _attr_field(field: str, name: str, value: Any) -> dict[str, Any]:
    """Returns TensorFlow's representation of one attribute, which is called `field` there."""
    if isinstance(value, GraphStream):
        return {"seed": value.seed or 0, "seed2": value.seed2 or 0}
    if name == "masks":
        return {f"{mask}_mask": bits for mask, bits in value._asdict().items()}
    plain_types = (DType, TensorShape, bool, int, float, str, bytes, tuple, list, np.ndarray, np.generic)
    return {field: value} if field and isinstance(value, plain_types) else {}


class AttrValue:
    """The value of an attribute, in the field for its kind."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        """Stores a Python value."""
        self._value = value

    @property
    def type(self) -> int:
        """The number of a dtype; 0 for other values."""
        return self._value.as_datatype_enum if isinstance(self._value, DType) else 0

    @property
    def b(self) -> bool:
        """The truth value; False for other values."""
        return self._value if isinstance(self._value, bool) else False

    @property
    def i(self) -> int:
        """The integer; 0 for other values."""
        return self._value if isinstance(self._value, int) else 0

    @property
    def f(self) -> float:
        """The float; 0 for other values."""
        return self._value if isinstance(self._value, float) else 0.0

    @property
    def s(self) -> bytes:
        """The string; empty for other values."""
        value = self._value
        return value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else b""

    def __repr__(self) -> str:
        """Returns the field and its value, such as `type: DT_FLOAT`."""
        return "".join(f"{line}\n" for line in _value_lines(self._value))


class NodeDef:
    """A node as text: its name, op, inputs, device and attributes."""

    __slots__ = ("attr", "device", "input", "name", "op")

    def __init__(self, node: Any) -> None:
        """Reads the description of a node."""
        self.name: str = node.name
        self.op: str = node.type
        waits = [f"^{node.name}" for node in node.control_inputs]
        self.input: list[str] = [_input_text(tensor) for tensor in node.inputs] + waits
        self.device: str = parse(node.device).to_string() if node.device else ""
        self.attr: Mapping[str, AttrValue] = {name: AttrValue(value) for name, value in attrs_of(node).items()}

    def lines(self) -> list[str]:
        """Returns the lines of its text."""
        text = [
            f'name: "{self.name}"',
            f'op: "{self.op}"',
            *[f'input: "{input_name}"' for input_name in self.input],
        ]
        if self.device:
            text.append(f'device: "{self.device}"')
        for name, value in sorted(self.attr.items(), key=_place_in_text):
            inner = [f'key: "{name}"', *message_lines("value", repr(value).splitlines())]
            text += message_lines("attr", inner)
        return text

    def __repr__(self) -> str:
        """Returns the text."""
        return "".join(f"{line}\n" for line in self.lines())


def _place_in_text(item: tuple[str, Any]) -> list[int]:
    """Returns a sort key for the order of protocol buffers: reversed, but a name precedes names that start with it."""
    return [-ord(character) for character in item[0]]


def _input_text(tensor: Any) -> str:
    return tensor.op.name if not tensor.value_index else f"{tensor.op.name}:{tensor.value_index}"


def message_lines(name: str, lines: Sequence[str]) -> list[str]:
    return [f"{name} {{", *[f"  {line}" for line in lines], "}"]


def _value_lines(value: Any) -> list[str]:
    if isinstance(value, (tuple, list)):
        items: list[Any] = [*value]
        return message_lines("list", [line for item in items for line in _value_lines(item)])
    for value_type, lines in _LINES:
        if isinstance(value, value_type):
            return lines(value)
    return []


def _type_name(dtype: DType) -> str:
    return f"DT_{dtype.c_name.upper()}"


def _shape_lines(shape: TensorShape) -> list[str]:
    if shape.rank is None:
        return ["unknown_rank: true"]
    sizes = [-1 if n is None else n for n in shape]
    return [line for n in sizes for line in message_lines("dim", [f"size: {n}"] if n else [])]


_VALUES = {"f": "float_val", "i": "int_val", "u": "int_val", "b": "bool_val", "O": "string_val", "S": "string_val"}


def _tensor_lines(array: Any) -> list[str]:
    dtype = string if array.dtype.kind in "OSU" else as_dtype(array.dtype)
    lines = [f"dtype: {_type_name(dtype)}", *message_lines("tensor_shape", _shape_lines(TensorShape(array.shape)))]
    flat = array.reshape(-1)
    if flat.size > 1 and array.dtype.kind in "fiuc" and array.dtype.itemsize > 1:
        return [*lines, f'tensor_content: "{_escaped(flat.tobytes())}"']
    field = _VALUES.get(array.dtype.kind, "")
    if array.dtype.itemsize == 8 and array.dtype.kind in "fi":
        field = "double_val" if array.dtype.kind == "f" else "int64_val"
    return [*lines, *[f"{field}: {_element(element)}" for element in flat.tolist()]]


def _element(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (bytes, str)):
        return f'"{_escaped(value if isinstance(value, bytes) else value.encode())}"'
    return f"{value:.9g}" if isinstance(value, float) and value % 1 else str(value)


_ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}


def _escaped(data: bytes) -> str:
    return "".join(_ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in data)


_LINES: list[tuple[Any, Callable[[Any], list[str]]]] = [
    (DType, lambda value: [f"type: {_type_name(value)}"]),
    (TensorShape, lambda value: message_lines("shape", _shape_lines(value))),
    (bool, lambda value: [f"b: {str(value).lower()}"]),
    (int, lambda value: [f"i: {value}"]),
    (float, lambda value: [f"f: {value}"]),
    ((str, bytes), lambda value: [f"s: {_element(value)}"]),
    ((np.ndarray, np.generic), lambda value: message_lines("tensor", _tensor_lines(np.asarray(value)))),
]

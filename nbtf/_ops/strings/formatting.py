"""Formats values like TensorFlow's kernels: `[1 2 3]`, without commas and without `.0` after integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

from nbtf._devices.base import Buffer, Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.op import no_gradient, op
from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor
from nbtf._ops.strings.numbers import short_float
from nbtf._ops.strings.texts import as_string
from nbtf._runtime.arguments import check_text
from nbtf._runtime.context import open_graph
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import string

_MARK = "\0\0"
"""Placeholder for a tensor while Python formats a structure; as long as the `{}` that TensorFlow uses."""

_ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"} | {
    code: f"\\{code:03o}" for code in (*range(9), 11, 12, *range(14, 32), 127)
}


@op("-> string", cpu_only=True)
def StringFormat(xp: Any, text: bytes) -> Any:
    return xp.array(text, object)


@StringFormat.infer
def _(text: bytes) -> Spec:
    return Spec((), string)


no_gradient(StringFormat)


def _format_values(template: str, placeholder: str, summarize: int, values: Sequence[Any]) -> list[Tensor]:
    return [format(template, values, placeholder, summarize)]


def format(template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None) -> Tensor:
    """Returns a string with the values of tensors.

    Args:
      template: the text with placeholders.
      inputs: a tensor, or a list with one tensor per placeholder.
      placeholder: the placeholder in the template; `{}` by default.
      summarize: number of elements shown at both ends of each axis, 3 by default; -1 shows all.

    Returns:
      A scalar string.

    Raises:
      ValueError: if the numbers of placeholders and tensors differ.

    >>> tf.strings.format("{} of {}", (1, tf.constant([1.0, 2.5]))).numpy()
    b'1 of [1 2.5]'
    """
    listed: Sequence[Any] = [inputs] if isinstance(inputs, Buffer | CPU.xp.ndarray) else inputs
    pieces = check_text(template, "template").split(check_text(placeholder, "placeholder"))
    if len(pieces) - 1 != len(listed):
        raise ValueError(
            f"The template expects {len(pieces) - 1} tensors, but the inputs only has {len(listed)}. "
            "Please ensure the number of placeholders in template matches inputs length."
        )
    graph = open_graph()
    if hasattr(graph, "call"):
        run = partial(_format_values, template, placeholder, summarize)
        return graph.call("StringFormat", run, [as_tensor(value) for value in listed], [((), string)])[0]
    texts = [values_text(as_tensor(one), summarize) for one in listed]
    text = pieces[0] + "".join(a + b for a, b in zip(texts, pieces[1:], strict=True))
    return StringFormat(text=text.encode("utf-8", "surrogateescape"), name=name)


def values_text(tensor: Tensor, summarize: int) -> str:
    """Returns a tensor's values in the kernels' format, `summarize` at both ends of each axis; all if negative."""
    array = tensor._host_copy()
    return _axis_text(array, _writer(array.dtype), summarize, 1) if array.size or not array.ndim else "[]"


def _axis_text(array: Any, write: Callable[[Any], str], summarize: int, depth: int) -> str:
    if not array.ndim:
        return write(array[()])
    rows = [_axis_text(CPU.xp.asarray(row), write, summarize, depth + 1) for row in _ends(array, summarize)]
    if 0 <= summarize and 2 * summarize < len(array):
        rows.insert(summarize, "...")
    between = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * depth
    return f"[{between.join(rows)}]"


def _ends(array: Any, summarize: int) -> Sequence[Any]:
    if summarize < 0 or 2 * summarize >= len(array):
        return array
    return [*array[:summarize], *array[len(array) - summarize :]]


def _writer(dtype: Any) -> Callable[[Any], str]:
    """Returns the function that formats one element of an array."""
    letter = dtype.kind
    if letter == "f":
        return lambda value: short_float(float(value), dtype.itemsize < 8)
    if letter == "b":
        return lambda value: str(int(value))
    if letter == "O":
        return lambda value: f'"{value.decode("utf-8", "surrogateescape").translate(_ESCAPES)}"'
    if letter == "c":
        return lambda value: (
            f"({short_float(value.real, dtype.itemsize < 16)},{short_float(value.imag, dtype.itemsize < 16)})"
        )
    return str


# Structures


class _Placeholder:
    """Stands for a tensor in `pprint`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return _MARK


def inputs_text(inputs: Sequence[Any], sep: str, summarize: int) -> str:
    """Returns the text that `tf.print` writes: strings unchanged, tensors in place within structures."""
    if len(inputs) == 1 and getattr(inputs[0], "dtype", None) is string and not len(inputs[0].shape):
        return inputs[0].numpy().decode("utf-8", "surrogateescape")
    return sep.join(_one_text(value, summarize) for value in inputs)


def _one_text(value: Any, summarize: int) -> str:
    if isinstance(value, str):
        return value
    from pprint import pformat

    tensors: list[Any] = []
    pieces = pformat(_marked(value, tensors)).split(_MARK)
    texts: Iterator[str] = (_tensor_text(tensor, summarize) for tensor in tensors)
    return pieces[0] + "".join(text + piece for text, piece in zip(texts, pieces[1:], strict=True))


def _marked(value: Any, tensors: list[Any]) -> Any:
    """Returns a structure with placeholders for its tensors, and appends these to `tensors` in display order."""
    if isinstance(value, dict):
        known = cast("dict[Any, Any]", value)
        return {key: _marked(known[key], tensors) for key in _sorted(known)}
    if isinstance(value, list | tuple):
        items = [_marked(item, tensors) for item in cast("Sequence[Any]", value)]
        container = cast("Any", value).__class__
        return (
            container(*items) if hasattr(container, "_fields") else container(items)
        )  # a named tuple takes its fields as separate arguments
    if isinstance(value, Buffer | RaggedTensor | SparseTensor):
        tensors.append(value)
        return _Placeholder()
    return value


def _sorted(keys: Any) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return sorted(keys, key=str)


def _tensor_text(tensor: Any, summarize: int) -> str:
    if isinstance(tensor, RaggedTensor):
        return _rows_text(cast("Any", as_string(tensor)).to_list(), tensor.dtype is string, summarize)
    if isinstance(tensor, SparseTensor):
        texts = (values_text(component, summarize) for component in (tensor.indices, tensor.values, tensor.dense_shape))
        return "SparseTensor(indices={}, values={}, shape={})".format(*texts)
    return values_text(as_tensor(tensor), summarize)


def _rows_text(value: Any, quoted: bool, summarize: int) -> str:
    if not isinstance(value, list):
        return f"'{value.decode('utf-8', 'replace')}'" if quoted else value.decode()
    rows = cast("list[Any]", value)
    texts = [_rows_text(row, quoted, summarize) for row in _ends(rows, summarize)]
    if 0 <= summarize and 2 * summarize < len(rows):
        texts.insert(summarize, "...")
    return f"[{', '.join(texts)}]"

"""Nodes that run Python code in a session: `tf.py_func`, and nodes that print values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import nbtf
from nbtf._runtime.conversion import as_tensor, constant_of
from nbtf._runtime.host_values import host_array
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import DType, as_dtype
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.deferred import Deferred, WayBack
from nbtf.compat._v1._surface.control import Values, add_node
from nbtf.compat._v1._surface.scoping import inside
from nbtf.errors import InvalidArgumentError, OpError


class OnHost(Deferred):
    """A function that can run only on the CPU."""

    __slots__ = ()

    def has_kernel(self, device_type: str, dtypes: Sequence[DType]) -> bool:
        """Returns whether the device type is a CPU."""
        return device_type == "CPU"


def py_func(func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True, name: str | None = None) -> Any:  # noqa: N803  # TensorFlow's name
    """Returns a node that calls a Python function with arrays when a session runs it.

    Args:
      func: function that takes NumPy arrays and returns an array or a list of arrays.
      inp: list of its arguments.
      Tout: dtype of its result, or a list of dtypes.
      stateful: accepted and ignored.

    Raises:
      ValueError: if `func` is not callable.
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable. Received func={func} of type {type(func)}.")
    if building() is None:
        return nbtf.numpy_function(func, inp, Tout)

    def run(values: Values) -> list[Any]:
        returned = func(*[value.numpy() for value in values])
        is_one = not isinstance(Tout, (list, tuple)) and len(_listed(returned)) != 1
        results = [np.asarray(returned)] if is_one else _listed(returned)
        return [_checked(*item) for item in zip(range(len(results)), results, _dtypes(Tout), strict=True)]

    return _python_node("PyFunc", run, inp, Tout, name, lambda grads: [])  # gradients do not flow through arrays


numpy_function = py_func


def py_function(func: Callable[..., Any], inp: Any, Tout: Any, name: str | None = None) -> Any:  # noqa: N803  # TensorFlow's name
    """Returns a node that calls a Python function with eager tensors; gradients flow through it.

    Args:
      func: function that takes eager tensors and returns a tensor or a list of tensors.
      inp: list of its arguments.
      Tout: dtype of its result, or a list of dtypes.
    """
    if building() is None:
        return nbtf.py_function(func, inp, Tout)

    def run(values: Values) -> list[Any]:
        results = _listed(func(*values))
        return [as_tensor(value, dtype) for value, dtype in zip(results, _dtypes(Tout), strict=True)]

    return _python_node("EagerPyFunc", run, inp, Tout, name)


def _python_node(
    type: str,
    run: Callable[[Values], list[Any]],
    inp: Any,
    dtypes: Any,
    name: str | None,
    way_back: WayBack | None = None,
) -> Any:
    def run_checked(values: Values) -> list[Any]:
        try:
            return run(values)
        except OpError:
            raise
        except Exception as error:
            wrong_value = isinstance(error, TypeError | ValueError)
            raised: type[OpError] = InvalidArgumentError if wrong_value else nbtf.errors.UnknownError
            raise raised(f"{error.__class__.__name__}: {error}") from error

    with inside():
        outputs = [(TensorShape(None), dtype) for dtype in _dtypes(dtypes)]
        node = add_node(OnHost(type, run_checked, own_gradient=way_back), [*(inp or ())], outputs, name or type)
        return node.outputs if isinstance(dtypes, (list, tuple)) else node.outputs[0] if node.outputs else node


def _listed(value: Any) -> list[Any]:
    """Returns the values that a function returns, or that describe them, in a list."""
    return [] if value is None else [*value] if isinstance(value, (list, tuple)) else [value]


def _dtypes(dtypes: Any) -> list[DType]:
    return [as_dtype(dtype) for dtype in _listed(dtypes)]


def _checked(number: int, value: Any, dtype: DType) -> Tensor:
    """Returns an array as a tensor after checking its dtype."""
    array, array_dtype = host_array(value if isinstance(value, np.ndarray) else np.asarray(value))
    if array_dtype is not dtype:
        raise InvalidArgumentError(
            f"{number}-th value returned by pyfunc_0 is {array_dtype.c_name}, but expects {dtype.c_name}"
        )
    return constant_of(array, dtype)


def Print(  # noqa: N802  # TensorFlow's name
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Returns a tensor unchanged; whenever a session computes it, other tensors are printed on standard error.

    Args:
      input_: the tensor.
      data: list of tensors to print.
      message: prefix of the output.
      first_n: maximum number of times to print; None for no limit.
      summarize: number of elements to show for each tensor; None for 3.
    """
    prints_left = [-1 if first_n is None else first_n]
    count = 3 if summarize is None else summarize

    def run(values: Values) -> list[Any]:
        if prints_left[0]:
            prints_left[0] -= 1
            texts = [summarize_elements(value, count) for value in values[1:]]
            sys.stderr.write((message or "") + "".join(texts) + "\n")
        return [nbtf.identity(values[0])]

    if building() is None:
        return run([as_tensor(value) for value in (input_, *data)])[0]
    with inside():
        tensor: Any = as_tensor(input_)
        record, outputs = Deferred("Print", run, own_gradient=list), [(tensor._shape, tensor._dtype)]
        return add_node(record, [tensor, *data], outputs, name or "Print").outputs[0]


def summarize_elements(tensor: Tensor, count: int) -> str:
    """Returns the first elements of a tensor in TensorFlow's summary format: `[[1 2][3...]...]`."""
    array = np.asarray(tensor.numpy())
    texts = [_text(element) for element in array.reshape(-1).tolist()]
    limit = len(texts) if count < 0 else count
    ellipsis = "..." if len(texts) > limit else ""
    return f"[{_rows(texts[:limit], array.shape, ellipsis) if texts else ''}{ellipsis}]"


def _rows(texts: Sequence[str], shape: Sequence[int], ellipsis: str) -> str:
    """Returns the first elements of an array, with brackets around all axes except the first."""
    if len(shape) < 2:
        return " ".join(texts)
    size = int(np.prod(shape[1:]))
    rows = [texts[start : start + size] for start in range(0, len(texts), size)]
    ends = [ellipsis if len(row) < size and len(shape) == 2 else "" for row in rows]
    return "".join([f"[{_rows(row, shape[1:], ellipsis)}{end}]" for row, end in zip(rows, ends, strict=True)])


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def print(*inputs: Any, **kwargs: Any) -> Any:  # TensorFlow's name
    """Returns a node that prints values, as `tf.print` does, whenever a session runs it.

    Args:
      *inputs: tensors, strings and other Python values.
      **kwargs: arguments of `nbtf.print`.
    """
    if building() is None:
        return nbtf.print(*inputs, **kwargs)
    name = kwargs.pop("name", None)
    positions = [number for number, value in enumerate(inputs) if nbtf.is_tensor(value)]

    def run(values: Values) -> list[Any]:
        texts = list(inputs)
        for position, value in zip(positions, values, strict=True):
            texts[position] = value
        nbtf.print(*texts, **kwargs)
        return []

    with inside():
        return add_node(OnHost("PrintV2", run), [inputs[position] for position in positions], [], name or "PrintV2")

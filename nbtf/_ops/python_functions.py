"""`tf.py_function` and `tf.numpy_function`: call Python code with tensors or NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nbtf._ops.structure import is_nested
from nbtf._runtime.context import open_graph
from nbtf._runtime.conversion import as_tensor
from nbtf._types import as_dtype
from nbtf.errors import InvalidArgumentError, OpError, UnknownError


def py_function(
    func: Callable[..., Any] | None = None,
    inp: Any = None,
    Tout: Any = None,  # noqa: N803  # TensorFlow's name
    name: str | None = None,
) -> Any:
    """Returns the result of a Python function that is called with tensors.

    Args:
      func: the function to call.
      inp: list of its arguments.
      Tout: the dtype of its result, or a list of dtypes.

    Returns:
      The result as a tensor, or a list of tensors if `Tout` is one.

    Raises:
      InvalidArgumentError: if a result has the wrong dtype, or `func` raised a TypeError or ValueError.
      ValueError: if `func` is not callable.

    >>> tf.py_function(lambda x: x * 2, [tf.constant(2)], tf.int32).numpy()
    np.int32(4)
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable. Received func={func} of type {type(func)}.")
    graph = open_graph()
    if hasattr(graph, "call"):
        return _in_graph(graph, "EagerPyFunc", partial(py_function, func), inp, Tout)
    try:
        result = func(*[as_tensor(argument) for argument in inp or ()])
        if not is_nested(Tout):
            return as_tensor(result, as_dtype(Tout))
        results: list[Any] = [] if result is None else [*result] if is_nested(result) else [result]
        return [as_tensor(argument, as_dtype(dtype)) for argument, dtype in zip(results, Tout, strict=True)]
    except OpError:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{type(error).__name__}: {error}") from error
    except Exception as error:
        raise UnknownError(f"{type(error).__name__}: {error}") from error


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: Any = None,
    Tout: Any = None,  # noqa: N803  # TensorFlow's name
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Returns the result of a Python function that is called with NumPy arrays; it has no gradient.

    Args:
      func: the function to call.
      inp: list of its arguments; tensors become arrays.
      Tout: the dtype of its result, or a list of dtypes; not checked, as in TensorFlow.
      stateful: accepted and ignored.

    Returns:
      The result as a tensor, or a list of tensors if `Tout` is one.

    Raises:
      TypeError: if `func` is not callable.

    >>> tf.numpy_function(np.sort, [tf.constant([3, 1, 2])], tf.int32).numpy()
    array([1, 2, 3], dtype=int32)
    """
    if not callable(func):
        raise TypeError(f"'{type(func).__name__}' object is not callable")
    graph = open_graph()
    if hasattr(graph, "call"):
        return _in_graph(graph, "PyFunc", partial(numpy_function, func), inp, Tout)
    result = func(*[as_tensor(argument).numpy() for argument in inp or ()])
    if is_nested(Tout):
        return [as_tensor(argument) for argument in result]
    return as_tensor(result)


def _in_graph(graph: Any, type: str, call: Callable[..., Any], inputs: Any, result_types: Any) -> Any:
    """Records a call in the function that is being traced."""
    several = is_nested(result_types)
    dtypes = [as_dtype(dtype) for dtype in (result_types if several else [result_types])]

    def run(values: Any) -> Any:
        result = call(list(values), result_types)
        return result if several else [result]

    tensors = [as_tensor(value) for value in inputs or ()]
    results = graph.call(type, run, tensors, [(None, dtype) for dtype in dtypes], type == "PyFunc")
    return results if several else results[0]

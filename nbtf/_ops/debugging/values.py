"""Checks of values: the functions of `tf.debugging` that read elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, NoReturn, TypeVar, cast

from nbtf._devices.base import Buffer
from nbtf._devices.cpu import CPU
from nbtf._ops.math.arithmetic import add, multiply, subtract
from nbtf._ops.math.comparison import equal, greater, greater_equal, less, less_equal, not_equal
from nbtf._ops.math.magnitude import abs as absolute
from nbtf._ops.op import Gradients, op
from nbtf._ops.reductions.truth import reduce_all
from nbtf._ops.specs import spec_of_first
from nbtf._runtime.arguments import check_whole
from nbtf._runtime.context import open_graph
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, DType, TensorLike
from nbtf.errors import InvalidArgumentError

F = TypeVar("F", bound=Callable[..., Any])

_HOST: Any = CPU.xp


def check_when_run(check: F) -> F:
    """Returns a check that, inside a traced function, runs with the values at each call."""

    def run(args: Any, kwargs: Any) -> Any:
        check(*args, **kwargs)

    @wraps(check)
    def checked(*args: Any, **kwargs: Any) -> Any:
        graph = open_graph()
        if hasattr(graph, "call_with"):
            return graph.call_with("Assert", run, args, kwargs)
        return check(*args, **kwargs)

    return cast("F", checked)


@op("T -> T", T=FLOATS, shares_memory=True, infer=spec_of_first)
def CheckNumerics(xp: Any, tensor: Any, message: str) -> Any:
    if not xp.isfinite(tensor).all():
        names = " and ".join(
            name
            for name, is_present in (("Inf", xp.isinf(tensor).any()), ("NaN", xp.isnan(tensor).any()))
            if is_present
        )
        raise InvalidArgumentError(f"{message} : Tensor had {names} values")
    return tensor


@CheckNumerics.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [
        check_numerics(
            grad, f"Not a number (NaN) or infinity (Inf) values detected in gradient. {call.attrs['message']}"
        )
    ]


def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """Returns a tensor after checking that all its elements are finite.

    Args:
      tensor: a floating-point tensor.
      message: the text that the error starts with.

    Raises:
      InvalidArgumentError: if an element is infinite or not a number.

    >>> tf.debugging.check_numerics([1.0], "loss").numpy()
    array([1.], dtype=float32)
    """
    return CheckNumerics(tensor, message=message, name=name)


def assert_all_finite(x: TensorLike, message: str, name: str | None = None) -> Tensor:
    """Returns a tensor after checking that all its elements are finite; the same as `check_numerics`.

    Args:
      x: a floating-point tensor.
      message: the text that the error starts with.

    Raises:
      InvalidArgumentError: if an element is infinite or not a number.

    >>> tf.debugging.assert_all_finite([1.0], "loss").numpy()
    array([1.], dtype=float32)
    """
    return CheckNumerics(x, message=message, name=name)


@check_when_run
def Assert(condition: Any, data: Any, summarize: int | None = None, name: str | None = None) -> None:
    """Raises an error unless a condition is true.

    Args:
      condition: a bool.
      data: a list of values to show in the error.
      summarize: number of elements of each value to show, 3 by default; -1 shows all.

    Raises:
      InvalidArgumentError: if the condition is false.
      TypeError: if `data` is not a list.

    >>> tf.debugging.Assert(True, ["never shown"])
    """
    if isinstance(data, str | bytes | Buffer) or not isinstance(data, Iterable):
        raise TypeError("values must be a sequence.")
    if not condition:
        lines = "\n".join(_as_text(as_tensor(value), summarize) for value in cast("Iterable[Any]", data))
        raise InvalidArgumentError(f"Expected '{condition!s}' to be true. Summarized data: {lines}")


def _as_text(tensor: Tensor, summarize: int | None) -> str:
    flat = tensor._host_copy().reshape(-1)
    count = _count(flat, summarize)
    return ", ".join([*map(str, flat[:count]), *(["..."] if count < len(flat) else [])])


def _count(flat: Any, summarize: int | None) -> int:
    elements = 3 if summarize is None else check_whole(summarize, "summarize")
    return len(flat) if elements < 0 else min(elements, len(flat))


# Two tensors


def assert_equal(
    x: TensorLike, y: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raises an error unless `x` and `y` are equal, elementwise with broadcasting.

    Args:
      x: a tensor.
      y: another tensor of the same dtype.
      message: the text that the error starts with.
      summarize: number of elements of each tensor to show in the error, 3 by default; -1 shows all.

    Raises:
      InvalidArgumentError: if any elements differ.

    >>> tf.debugging.assert_equal([1, 2], [1, 2])
    """
    if x is not y:
        _compare("==", equal, x, y, message, summarize)


def assert_none_equal(
    x: TensorLike, y: TensorLike, summarize: int | None = None, message: str | None = None, name: str | None = None
) -> None:
    """Raises an error unless `x` and `y` differ in every element; see `assert_equal` for the arguments.

    >>> tf.debugging.assert_none_equal([1, 2], [2, 1])
    """
    _compare("!=", not_equal, x, y, message, summarize)


def assert_less(
    x: TensorLike, y: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raises an error unless `x < y`, elementwise; see `assert_equal` for the arguments.

    >>> tf.debugging.assert_less([1, 2], 3)
    """
    _compare("<", less, x, y, message, summarize)


def assert_less_equal(
    x: TensorLike, y: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raises an error unless `x <= y`, elementwise; see `assert_equal` for the arguments.

    >>> tf.debugging.assert_less_equal([1, 2], 2)
    """
    _compare("<=", less_equal, x, y, message, summarize)


def assert_greater(
    x: TensorLike, y: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raises an error unless `x > y`, elementwise; see `assert_equal` for the arguments.

    >>> tf.debugging.assert_greater([1, 2], 0)
    """
    _compare(">", greater, x, y, message, summarize)


def assert_greater_equal(
    x: TensorLike, y: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raises an error unless `x >= y`, elementwise; see `assert_equal` for the arguments.

    >>> tf.debugging.assert_greater_equal([1, 2], 1)
    """
    _compare(">=", greater_equal, x, y, message, summarize)


@check_when_run
def _compare(
    sign: str, holds: Callable[..., Tensor], x: Any, y: Any, message: str | None, summarize: int | None
) -> None:
    x, y = as_tensor(x), as_tensor(y)
    condition = holds(x, y)
    if not reduce_all(condition):
        _refuse_pair(sign, condition.numpy(), x.numpy(), y.numpy(), message, summarize)


def _refuse_pair(sign: str, condition: Any, x: Any, y: Any, message: str | None, summarize: int | None) -> NoReturn:
    x, y = (
        _HOST.asarray(operand, None if isinstance(operand, _HOST.ndarray | _HOST.generic) else object)
        for operand in (x, y)
    )
    lines = [] if message is None else [message]
    lines.append(f"Condition x {sign} y did not hold.")
    if x.shape == y.shape and x.ndim:
        wrong = _HOST.argwhere(~condition)
        wrong = wrong[: _count(wrong, summarize)]
        wrong_positions = tuple(wrong.T)
        lines += [f"Indices of first {len(wrong)} different values:", str(wrong)]
        lines += [
            "Corresponding x values:",
            str(x[wrong_positions]),
            "Corresponding y values:",
            str(y[wrong_positions]),
        ]
    for letter, array in (("x", x), ("y", y)):
        first = array.reshape(-1)
        first = first[: _count(first, summarize)]
        lines += [f"First {len(first)} elements of {letter}:", str(first)]
    raise InvalidArgumentError("\n".join(lines))


@check_when_run
def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: Any = None,
    atol: Any = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raises an error unless `|x - y| <= atol + rtol * |y|`, elementwise.

    Args:
      x: a floating-point tensor.
      y: another tensor of the same dtype.
      rtol: the relative tolerance; by default 10 times the dtype's precision.
      atol: the absolute tolerance, with the same default.
      message: the text that the error starts with.
      summarize: number of elements of each tensor to show in the error, 3 by default; -1 shows all.

    Raises:
      InvalidArgumentError: if any elements differ by more than the tolerance.
      ValueError: if a tolerance is missing and the dtype is not floating-point.

    >>> tf.debugging.assert_near([1.0, 2.0], [1.0, 2.1], atol=0.2)
    """
    x = as_tensor(x)
    y = as_tensor(y, None if isinstance(y, Buffer) else x.dtype)
    default = _precision(x.dtype)
    relative, absolute_ = (
        as_tensor(default if tolerance is None else tolerance, x.dtype) for tolerance in (rtol, atol)
    )
    bound = add(absolute_, multiply(relative, absolute(y)))
    condition = reduce_all(less(absolute(subtract(x, y)), bound))
    if condition:
        return
    text = f"x and y not equal to tolerance rtol = {relative!s}, atol = {absolute_!s}"
    heads = [
        f"{letter} (shape={operand.shape} dtype={operand.dtype.name}) = " for letter, operand in (("x", x), ("y", y))
    ]
    Assert(condition, [f"{message}.  " if message else "", text, heads[0], x, heads[1], y], summarize)


def _precision(dtype: DType) -> float:
    if not dtype.is_floating:
        raise ValueError(f"data type {dtype.as_numpy_dtype} not inexact")
    return 10 * float(_HOST.finfo(dtype.np_dtype).eps)


# One tensor


def assert_positive(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raises an error unless `x > 0`, elementwise.

    Args:
      x: a numeric tensor.
      message: the text that the error starts with.
      summarize: number of elements to show in the error, 3 by default; -1 shows all.

    Raises:
      InvalidArgumentError: if any element fails the condition.

    >>> tf.debugging.assert_positive([1, 2])
    """
    _compare_zero(">", greater, x, message, summarize)


def assert_negative(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raises an error unless `x < 0`, elementwise; see `assert_positive` for the arguments.

    >>> tf.debugging.assert_negative([-1, -2])
    """
    _compare_zero("<", less, x, message, summarize)


def assert_non_negative(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raises an error unless `x >= 0`, elementwise; see `assert_positive` for the arguments.

    >>> tf.debugging.assert_non_negative([0, 1])
    """
    _compare_zero(">=", greater_equal, x, message, summarize)


def assert_non_positive(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raises an error unless `x <= 0`, elementwise; see `assert_positive` for the arguments.

    >>> tf.debugging.assert_non_positive([0, -1])
    """
    _compare_zero("<=", less_equal, x, message, summarize)


@check_when_run
def _compare_zero(sign: str, holds: Callable[..., Tensor], x: Any, message: str | None, summarize: int | None) -> None:
    x = as_tensor(x)
    if reduce_all(holds(x, as_tensor(0, x.dtype))):
        return
    flat = x._host_copy().reshape(-1)
    count = _count(flat, summarize)
    texts = [*map(str, flat[:count]), *(["..."] if count < len(flat) else [])] if x.ndim else str(flat[0])
    raise InvalidArgumentError(
        f"{f'{message}.  ' if message else ''}\nCondition x {sign} 0 did not hold element-wise:\n"
        f"x (shape={x.shape} dtype={x.dtype.name}) = \n{texts}"
    )

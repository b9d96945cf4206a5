"""NumPy's elementwise functions, for tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from nbtf._ops.math import arithmetic, comparison, division, exponentials, logic, magnitude, rounding, trigonometry
from nbtf._runtime.tensor import Tensor
from nbtf._types import bool_
from nbtf.experimental.numpy.promotion import alike, asarray, ascontiguousarray, floats

Unary: TypeAlias = "Callable[[Any], Tensor]"
Binary: TypeAlias = "Callable[[Any, Any], Tensor]"
Logical: TypeAlias = "Callable[..., Tensor]"


def _of_floats(name: str, function: Callable[[Any], Tensor]) -> Unary:
    """Returns a function whose results are floats."""

    def applied(x: Any) -> Tensor:
        return function(floats(x))

    return _name_function(applied, name, f"Returns NumPy's `{name}` of each value; floats for integers.")


def _of_any(name: str, function: Callable[[Any], Tensor]) -> Unary:
    """Returns a function that keeps the dtype."""

    def applied(x: Any) -> Tensor:
        return function(asarray(x))

    return _name_function(applied, name, f"Returns NumPy's `{name}` of each value.")


def _of_two(name: str, function: Callable[[Any, Any], Tensor]) -> Binary:
    """Returns a function of two operands, which are converted to a common dtype."""

    def applied(x1: Any, x2: Any) -> Tensor:
        return function(*alike(x1, x2))

    return _name_function(applied, name, f"Returns NumPy's `{name}` of two operands, converted to a common dtype.")


def _of_bools(name: str, function: Callable[..., Tensor]) -> Logical:
    def apply(*values: Any) -> Tensor:
        return function(*[arithmetic.cast(asarray(value), bool_) for value in values])

    return _name_function(apply, name, f"Returns NumPy's `{name}`; values other than 0 are true.")


def _name_function(function: Any, name: str, text: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


exp: Unary = _of_floats("exp", exponentials.exp)
expm1: Unary = _of_floats("expm1", exponentials.expm1)
log: Unary = _of_floats("log", exponentials.log)
log1p: Unary = _of_floats("log1p", exponentials.log1p)
sqrt: Unary = _of_floats("sqrt", exponentials.sqrt)
sin: Unary = _of_floats("sin", trigonometry.sin)
cos: Unary = _of_floats("cos", trigonometry.cos)
tan: Unary = _of_floats("tan", trigonometry.tan)
arcsin: Unary = _of_floats("arcsin", trigonometry.asin)
arccos: Unary = _of_floats("arccos", trigonometry.acos)
arctan: Unary = _of_floats("arctan", trigonometry.atan)
sinh: Unary = _of_floats("sinh", trigonometry.sinh)
cosh: Unary = _of_floats("cosh", trigonometry.cosh)
tanh: Unary = _of_floats("tanh", exponentials.tanh)
arcsinh: Unary = _of_floats("arcsinh", trigonometry.asinh)
arccosh: Unary = _of_floats("arccosh", trigonometry.acosh)
arctanh: Unary = _of_floats("arctanh", trigonometry.atanh)
floor: Unary = _of_floats("floor", rounding.floor)
ceil: Unary = _of_floats("ceil", rounding.ceil)
isnan: Unary = _of_floats("isnan", rounding.is_nan)
isinf: Unary = _of_floats("isinf", rounding.is_inf)
isfinite: Unary = _of_floats("isfinite", rounding.is_finite)

absolute: Unary = _of_any("absolute", magnitude.abs)
abs: Unary = absolute
fabs: Unary = _of_any("fabs", magnitude.abs)
negative: Unary = _of_any("negative", arithmetic.negative)
positive: Unary = _of_any("positive", lambda x: x)
sign: Unary = _of_any("sign", magnitude.sign)
square: Unary = _of_any("square", magnitude.square)
reciprocal: Unary = _of_any("reciprocal", division.reciprocal)

add: Binary = _of_two("add", arithmetic.add)
subtract: Binary = _of_two("subtract", arithmetic.subtract)
multiply: Binary = _of_two("multiply", arithmetic.multiply)
power: Binary = _of_two("power", exponentials.pow)
maximum: Binary = _of_two("maximum", lambda x, y: (logic.logical_or if x.dtype is bool_ else magnitude.maximum)(x, y))
minimum: Binary = _of_two("minimum", lambda x, y: (logic.logical_and if x.dtype is bool_ else magnitude.minimum)(x, y))
floor_divide: Binary = _of_two("floor_divide", division.floordiv)
remainder: Binary = _of_two("mod", division.floormod)
mod: Binary = remainder
equal: Binary = _of_two("equal", comparison.equal)
not_equal: Binary = _of_two("not_equal", comparison.not_equal)
greater: Binary = _of_two("greater", comparison.greater)
greater_equal: Binary = _of_two("greater_equal", comparison.greater_equal)
less: Binary = _of_two("less", comparison.less)
less_equal: Binary = _of_two("less_equal", comparison.less_equal)

logical_and: Logical = _of_bools("logical_and", logic.logical_and)
logical_or: Logical = _of_bools("logical_or", logic.logical_or)
logical_xor: Logical = _of_bools("logical_xor", logic.logical_xor)
logical_not: Logical = _of_bools("logical_not", logic.logical_not)


def divide(x1: Any, x2: Any) -> Tensor:
    """Returns quotients; floats for integers.

    >>> tf.experimental.numpy.divide(1, 2).numpy()
    np.float64(0.5)
    """
    numerator, denominator = alike(x1, x2)
    return division.truediv(floats(numerator), floats(denominator))


true_divide = divide


def arctan2(x1: Any, x2: Any) -> Tensor:
    """Returns the angles of points with the coordinates `x2` and `x1`."""
    return trigonometry.atan2(*alike(floats(x1), floats(x2)))


def log2(x: Any) -> Tensor:
    """Returns base-2 logarithms."""
    return _log_of_base(x, 2)


def log10(x: Any) -> Tensor:
    """Returns base-10 logarithms."""
    return _log_of_base(x, 10)


def _log_of_base(x: Any, base: int) -> Tensor:
    values = floats(x)
    return division.truediv(exponentials.log(values), exponentials.log(arithmetic.cast(base, values.dtype)))


def clip(a: Any, a_min: Any, a_max: Any) -> Tensor:
    """Returns the values limited to a range; None stands for no limit."""
    clipped = asarray(a)
    if a_max is not None:
        clipped = minimum(clipped, a_max)
    # The lower limit is applied last: it wins if the limits cross, as in TensorFlow.
    return clipped if a_min is None else maximum(clipped, a_min)


def around(a: Any, decimals: int = 0) -> Tensor:
    """Returns the values rounded to a number of decimals; halves round to the even digit."""
    values = asarray(a)
    if values.dtype.is_integer:
        return values
    factor = arithmetic.cast(math.pow(10.0, decimals), values.dtype)
    return division.truediv(rounding.round(arithmetic.multiply(values, factor)), factor)


round = around


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Returns values of `x` where a condition holds and of `y` elsewhere; without both, the indices where it holds.

    Raises:
      ValueError: if only one of `x` and `y` is given.
    """
    marked = arithmetic.cast(asarray(condition), bool_)
    if x is None and y is None:
        return nonzero(marked)
    if x is None or y is None:
        raise ValueError("Both x and y must be ndarrays, or both must be None.")
    return comparison.where(marked, *alike(x, y))


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Tensor:
    """Returns, for each element, the value of the first choice whose condition holds there.

    Args:
      condlist: the conditions, in order.
      choicelist: the values, one for each condition.
      default: the value where no condition holds; 0 by default.

    Raises:
      ValueError: if `condlist` is empty, or the lists differ in length.

    >>> tf.experimental.numpy.select([[True, False]], [tf.constant([1.0, 2.0])], 7).numpy()
    array([1., 7.], dtype=float32)
    """
    if len(condlist) != len(choicelist):
        counts = f"({len(condlist)} vs {len(choicelist)})"
        raise ValueError(f"condlist must have length equal to choicelist {counts}")
    if not condlist:
        raise ValueError("condlist must be non-empty")
    chosen, *choices = alike(default, *choicelist)
    for condition, choice in zip(condlist[::-1], choices[::-1], strict=True):
        chosen = where(condition, choice, chosen)
    return chosen


def nonzero(a: Any) -> list[Tensor]:
    """Returns the indices of values other than 0: one tensor for each axis."""
    indices = comparison.where(arithmetic.cast(ascontiguousarray(a), bool_))
    return [indices[:, axis] for axis in range(indices.shape[1])]


def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08) -> Tensor:
    """Returns which values are equal within a tolerance."""
    left, right = alike(floats(a), floats(b))
    bound = arithmetic.add(arithmetic.multiply(magnitude.abs(right), rtol), atol)
    return comparison.less_equal(magnitude.abs(arithmetic.subtract(left, right)), bound)

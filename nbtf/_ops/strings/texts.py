"""Elementwise string ops: change, measure and convert. Everything runs on the CPU."""

from __future__ import annotations

from math import isfinite
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.op import no_gradient, op
from nbtf._ops.ragged_and_sparse.ragged_functions import takes_ragged
from nbtf._ops.strings import kernels
from nbtf._ops.strings.numbers import number
from nbtf._runtime.arguments import check_text
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, DType, DTypeLike, as_dtype, bool_, float32, int32, int64, string, uint32, uint64
from nbtf.errors import InvalidArgumentError

INDICES = frozenset({int32, int64})
UNITS = ("BYTE", "UTF8_CHAR")


def as_unit(value: Any) -> str:
    """Returns the unit of lengths."""
    if value not in UNITS:
        allowed = ", ".join(f'"{unit}"' for unit in UNITS)
        text = f"Value for attr 'unit' of \"{value}\" is not in the list of allowed values: {allowed}"
        raise InvalidArgumentError(text)
    return value


@op("string -> string", cpu_only=True)
def StringLower(xp: Any, input: Any, encoding: str) -> Any:
    _check_encoding(encoding)
    if encoding:
        return kernels.each(xp, lambda text: text.decode("utf-8", "replace").lower().encode(), object, input)
    return kernels.each(xp, bytes.lower, object, input)


@takes_ragged
def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Returns strings in lower case.

    Args:
      input: a string tensor of any shape, or a ragged tensor.
      encoding: `"utf-8"` for all letters; by default only ASCII letters.

    Raises:
      InvalidArgumentError: if `encoding` is unknown.

    >>> tf.strings.lower("Gray WOLF").numpy()
    b'gray wolf'
    """
    return StringLower(input, encoding=encoding, name=name)


@op("string -> string", cpu_only=True)
def StringUpper(xp: Any, input: Any, encoding: str) -> Any:
    _check_encoding(encoding)
    if encoding:
        return kernels.each(xp, lambda text: text.decode("utf-8", "replace").upper().encode(), object, input)
    return kernels.each(xp, bytes.upper, object, input)


@takes_ragged
def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Returns strings in upper case.

    Args:
      input: a string tensor of any shape, or a ragged tensor.
      encoding: `"utf-8"` for all letters; by default only ASCII letters.

    Raises:
      InvalidArgumentError: if `encoding` is unknown.

    >>> tf.strings.upper(["a", "b"]).numpy()
    array([b'A', b'B'], dtype=object)
    """
    return StringUpper(input, encoding=encoding, name=name)


def _check_encoding(encoding: str) -> None:
    if encoding not in ("", "utf-8"):
        raise InvalidArgumentError(f"only utf-8 or '' (no encoding) is supported, received {encoding}")


@op("string -> string", cpu_only=True)
def StringStrip(xp: Any, input: Any) -> Any:
    return kernels.each(xp, bytes.strip, object, input)


@takes_ragged
def strip(input: Any, name: str | None = None) -> Tensor:
    """Returns strings without leading and trailing whitespace.

    >>> tf.strings.strip("  wolf ").numpy()
    b'wolf'
    """
    return StringStrip(input, name=name)


@op("string -> int32", plain={"unit": as_unit}, cpu_only=True)
def StringLength(xp: Any, input: Any, unit: str) -> Any:
    return kernels.each(xp, len if unit == "BYTE" else kernels.characters, int32.np_dtype, input)


@takes_ragged
def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """Returns the lengths of strings.

    Args:
      input: a string tensor of any shape, or a ragged tensor.
      unit: `"BYTE"` (default), or `"UTF8_CHAR"` for characters.

    Returns:
      The lengths, int32, with the same shape.

    Raises:
      InvalidArgumentError: if `unit` is unknown.

    >>> tf.strings.length(["wolf", "Bär"], unit="UTF8_CHAR").numpy()
    array([4, 3], dtype=int32)
    """
    return StringLength(input, unit=unit, name=name)


@op("string I I -> string", I=INDICES, plain={"unit": as_unit}, cpu_only=True, broadcasts=True)
def Substr(xp: Any, input: Any, pos: Any, len: Any, unit: str) -> Any:
    arrays = xp.broadcast_arrays(input, pos, len)
    pieces: list[bytes] = []
    for index, (text, begin, length) in enumerate(zip(*(array.ravel().tolist() for array in arrays), strict=True)):
        try:
            pieces.append(kernels.part(text, begin, length, unit))
        except IndexError:
            message = f"pos {begin} out of range for string b'{text.decode('utf-8', 'replace')}' at index {index}"
            raise InvalidArgumentError(message) from None
    return kernels.filled(xp, pieces, arrays[0].shape, object)


@takes_ragged
def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """Returns a substring of each string.

    Args:
      input: a string tensor of any shape, or a ragged tensor.
      pos: the start, counted from the end if negative; one number, or one per string.
      len: the length; shorter at the end of a string.
      unit: the unit of `pos` and `len`: `"BYTE"` (default), or `"UTF8_CHAR"` for characters.

    Returns:
      The substrings, with the same shape.

    Raises:
      InvalidArgumentError: if a substring starts outside its string.

    >>> tf.strings.substr("Gray wolf", 5, 4).numpy()
    b'wolf'
    """
    return Substr(input, pos, len, unit=unit, name=name)


@op("string -> out_type", plain={"out_type": as_dtype}, cpu_only=True)
def StringToNumber(xp: Any, string_tensor: Any, out_type: DType) -> Any:
    return kernels.each(xp, lambda text: number(text, out_type), out_type.np_dtype, string_tensor)


@takes_ragged
def to_number(input: Any, out_type: DTypeLike = float32, name: str | None = None) -> Tensor:
    """Returns the numbers in strings.

    Args:
      input: a string tensor of any shape, or a ragged tensor.
      out_type: the dtype: float32 (default), float64, int32, int64, uint32 or uint64.

    Returns:
      The numbers, with the same shape.

    Raises:
      InvalidArgumentError: if a string is not a number, or the number does not fit the dtype.

    >>> tf.strings.to_number(["1", "2.5"]).numpy()
    array([1. , 2.5], dtype=float32)
    """
    dtype = as_dtype(out_type)
    if dtype not in NUMBERS_READ:
        names = ", ".join(one.c_name for one in NUMBERS_READ)
        text = f"Value for attr 'out_type' of {dtype.c_name} is not in the list of allowed values: {names}"
        raise InvalidArgumentError(text)
    return StringToNumber(input, out_type=dtype, name=name)


NUMBERS_READ = (float32, as_dtype("float64"), int32, int64, uint32, uint64)


@StringToNumber.infer
def _(string_tensor: Spec, out_type: DType) -> Spec:
    return Spec(string_tensor.shape, out_type)


@op("T -> string", T=ALL, cpu_only=True)
def AsString(xp: Any, input: Any, precision: int, scientific: bool, shortest: bool, width: int, fill: str) -> Any:
    kind = input.dtype.kind
    _check_format(input.dtype, kind in "fcO", precision, scientific, shortest, fill)
    if kind == "b":
        return kernels.each(xp, lambda value: str(value).lower().encode(), object, input)
    padding, digits = str(width) if width > -1 else "", f".{precision}" if precision > -1 else ""
    if kind == "O":  # number flags have no effect, and without a width a string is not truncated
        form = f"%{fill if fill == '-' else ''}{padding}{digits}s".encode()
        return kernels.each(xp, lambda text: form % text, object, input) if width > 0 else input.copy()
    if kind in "iu":  # unsigned numbers reserve no place for a sign
        form = f"%{'' if kind == 'u' and fill in ' +' else fill}{padding}d"
        return kernels.each(xp, lambda value: (form % value).encode(), object, input)
    letter = "e" if scientific else "g" if shortest else "f"
    # C pads infinities and nan with spaces, never with 0.
    form, endless = (f"%{flag}{padding}{digits}{letter}" for flag in (fill, fill.strip("0")))

    def written(value: float) -> str:
        return (form if isfinite(value) else endless) % value

    def write(value: Any) -> bytes:
        return (written(value) if kind == "f" else f"({written(value.real)},{written(value.imag)})").encode()

    return kernels.each(xp, write, object, input)


def _check_format(dtype: Any, floating: bool, precision: int, scientific: bool, shortest: bool, fill: str) -> None:
    text = ""
    if precision > -1 and not floating:
        text = f"precision not supported for datatype {dtype.name}"
    elif (scientific or shortest) and not floating:
        text = f"scientific and shortest format not supported for datatype {dtype.name}"
    elif scientific and shortest:
        text = "Cannot select both scientific and shortest notation"
    elif len(fill) > 1 or fill not in ("", " ", "+", "-", "0", "#"):
        text = f"Fill argument not supported: {fill}"
    if text:
        raise InvalidArgumentError(text)


@takes_ragged
def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Returns numbers and bools as strings.

    Args:
      input: a tensor of any dtype and shape, or a ragged tensor.
      precision: digits after the decimal point, for floats only; 6 by default (-1).
      scientific: whether to use the notation `1.5e+10`; False by default.
      shortest: whether to use the shorter of both notations; False by default.
      width: minimum length of a string; none by default.
      fill: the padding: spaces (default) or `"0"`; `"-"` pads at the right.

    Raises:
      InvalidArgumentError: if the format is not supported for the dtype.

    >>> tf.strings.as_string(3.14159, precision=2).numpy()
    b'3.14'
    """
    return AsString(
        input, precision=precision, scientific=scientific, shortest=shortest, width=width, fill=fill, name=name
    )


@op("string -> string", cpu_only=True)
def StaticRegexReplace(xp: Any, input: Any, pattern: str, rewrite: str, replace_global: bool) -> Any:
    regex = kernels.pattern(check_text(pattern, "pattern").encode())
    return kernels.each(xp, lambda text: kernels.replaced(text, regex, rewrite, replace_global), object, input)


@takes_ragged
def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    r"""Returns strings with matches of a pattern replaced.

    Args:
      input: a string tensor of any shape, or a ragged tensor.
      pattern: a regular expression in the Python `re` syntax, which covers most of RE2's.
      rewrite: the replacement; `\1` is the first group of the match.
      replace_global: whether to replace all matches (default) or only the first.

    Raises:
      InvalidArgumentError: if the pattern is invalid.

    >>> tf.strings.regex_replace("Gray wolf", "[aeiou]", "-").numpy()
    b'Gr-y w-lf'
    """
    return StaticRegexReplace(
        input, pattern=_plain(pattern), rewrite=_plain(rewrite), replace_global=replace_global, name=name
    )


@op("string -> bool", cpu_only=True)
def StaticRegexFullMatch(xp: Any, input: Any, pattern: str) -> Any:
    return kernels.each(xp, kernels.full_match(check_text(pattern, "pattern").encode()), bool, input)


@takes_ragged
def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Returns whether each string matches a pattern completely.

    Args:
      input: a string tensor of any shape, or a ragged tensor.
      pattern: a regular expression in the Python `re` syntax, which covers most of RE2's.

    Returns:
      A bool tensor of the same shape.

    Raises:
      InvalidArgumentError: if the pattern is invalid.

    >>> tf.strings.regex_full_match(["wolf", "fox"], "w.*").numpy()
    array([ True, False])
    """
    return StaticRegexFullMatch(input, pattern=_plain(pattern), name=name)


def _plain(text: Any) -> str:
    """Returns a string or a scalar string tensor as a Python string."""
    plain = text.numpy() if hasattr(text, "numpy") else text
    return plain.decode() if isinstance(plain, bytes) else plain


@StringLower.infer
@StringUpper.infer
@StringStrip.infer
@AsString.infer
@StaticRegexReplace.infer
def _(input: Spec, **attrs: Any) -> Spec:
    return Spec(input.shape, string)


@StringLength.infer
def _(input: Spec, unit: str) -> Spec:
    return Spec(input.shape, int32)


@StaticRegexFullMatch.infer
def _(input: Spec, pattern: str) -> Spec:
    return Spec(input.shape, bool_)


no_gradient(StringLower, StringUpper, StringStrip, StringLength, Substr, StringToNumber, AsString)
no_gradient(StaticRegexReplace, StaticRegexFullMatch)

"""Converts strings to numbers and back."""

from __future__ import annotations

import math
from typing import Any

from nbtf._types import DType
from nbtf.errors import InvalidArgumentError


def number(text: bytes, dtype: DType) -> Any:
    """Returns the number in a string.

    Raises:
      InvalidArgumentError: if the string is not a number, or the number does not fit the dtype.
    """
    plain = text.strip().decode("latin-1")
    try:
        if "_" in plain:
            raise ValueError(plain)
        value = _float(plain) if dtype.is_floating else int(plain)
        if dtype.is_integer and not dtype.min <= value <= dtype.max:
            raise ValueError(plain)
    except ValueError:
        shown_text = text.decode("utf-8", "backslashreplace")
        raise InvalidArgumentError(f"StringToNumberOp could not correctly convert string: {shown_text}") from None
    return value


def _float(text: str) -> float:
    return float.fromhex(text) if "0x" in text.lower() else float(text)


def short_float(value: float, single: bool) -> str:
    """Returns the shorter of two notations that reads back as the same number.

    Source: `FloatToBuffer` and `DoubleToBuffer`, tensorflow/core/lib/strings/numbers.cc: 6 or 9 digits for single
    precision, 15 or 17 for double.
    """
    if not math.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    fewest, most_digits = (6, 9) if single else (15, 17)
    text = f"{value:.{fewest}g}"
    is_equal = _as_single(float(text)) == value if single else float(text) == value
    return text if is_equal else f"{value:.{most_digits}g}"


def _as_single(value: float) -> float:
    import struct

    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.inf

"""Parses CSV lines into columns. Everything runs on the CPU.

Source of rules and errors: TensorFlow, `tensorflow/core/kernels/decode_csv_op.cc`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.io.defaults import read_default
from nbtf._ops.op import no_gradient, op
from nbtf._ops.specs import Dims
from nbtf._ops.strings import kernels
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, TensorLike, as_dtype, float32, float64, int32, int64, string
from nbtf.errors import InvalidArgumentError

_TAKES = (float32, float64, int32, int64, string)
_WHOLE = re.compile(rb"\s*[+-]?\d+\s*")
_BITS = {int32: 31, int64: 63}


def _as_dtypes(values: Any) -> tuple[DType, ...]:
    return tuple([as_dtype(value) for value in values])


def _like_records(records: Spec, out_types: Sequence[DType], **attrs: Any) -> list[Dims]:
    return [records.shape] * len(out_types)


@op("string -> out_types*", plain={"out_types": _as_dtypes}, partly=_like_records, cpu_only=True)
def DecodeCSV(
    xp: Any,
    records: Any,
    record_defaults: Any,
    field_delim: str,
    use_quote_delim: bool,
    na_value: str,
    select_cols: Any,
    out_types: tuple[DType, ...],
) -> list[Any]:
    if len(field_delim) != 1:
        raise InvalidArgumentError("field_delim should be only 1 char")
    columns: list[list[Any]] = [[] for _ in out_types]
    for row, line in enumerate(records.ravel().tolist()):
        fields: list[Any] = _fields(line, field_delim.encode(), use_quote_delim)
        count = len(fields)
        if select_cols:
            fields = [fields[number] for number in select_cols if number < count]
        if len(fields) != len(out_types):
            raise InvalidArgumentError(f"Expect {len(out_types)} fields but have {len(fields)} in record {row}")
        for number, (field, dtype) in enumerate(zip(fields, out_types, strict=True)):
            is_missing = not field or field == na_value.encode()
            if is_missing and not record_defaults[number]:
                raise InvalidArgumentError(f"Field {number} is required but missing in record {row}!")
            columns[number].append(
                record_defaults[number][0] if is_missing else _value(field, dtype, f"Field {number} in record {row}")
            )
    return [
        kernels.filled(xp, column, records.shape, dtype.np_dtype)
        for column, dtype in zip(columns, out_types, strict=True)
    ]


def _value(field: bytes, dtype: DType, subject: str) -> Any:
    """Returns a field converted to a dtype."""
    if dtype is string:
        return field
    bits = _BITS.get(dtype)
    if bits is not None:
        number = int(field) if _WHOLE.fullmatch(field) else 1 << bits
        if not -(1 << bits) <= number < 1 << bits:
            raise InvalidArgumentError(f"{subject} is not a valid {dtype.name}: {field.decode(errors='replace')}")
        return number
    try:
        return float(field)
    except ValueError:
        text = f"{subject} is not a valid {dtype.c_name}: {field.decode(errors='replace')}"
        raise InvalidArgumentError(text) from None


def _fields(line: bytes, delimiter: bytes, quotes: bool) -> list[bytes]:
    """Returns the fields of a line; quoted ones may hold delimiters, line ends, and quotes written twice."""
    if not quotes:
        return line.split(delimiter)
    fields: list[bytes] = []
    at, end = 0, len(line)
    while at <= end:
        if line[at : at + 1] == b'"':
            field, at = _quoted(line, at + 1, delimiter)
        else:
            stop = line.find(delimiter, at)
            stop = end if stop < 0 else stop
            field, at = line[at:stop], stop
            if any([character in field for character in (b'"', b"\n", b"\r")]):
                raise InvalidArgumentError("Unquoted fields cannot have quotes/CRLFs inside")
        fields.append(field)
        at += 1
    return fields


def _quoted(line: bytes, at: int, delimiter: bytes) -> tuple[bytes, int]:
    """Returns a quoted field, and the position of its delimiter."""
    pieces: list[bytes] = []
    while True:
        quote = line.find(b'"', at)
        if quote < 0:
            raise InvalidArgumentError("Quoted field has to end with quote followed by delim or end")
        pieces.append(line[at:quote])
        following = line[quote + 1 : quote + 2]
        if following != b'"':
            break
        pieces.append(b'"')
        at = quote + 2
    if following not in (b"", delimiter):
        raise InvalidArgumentError("Quote inside a string has to be escaped by another quote")
    return b"".join(pieces), quote + 1


@DecodeCSV.infer
def _(records: Spec, out_types: Sequence[DType], **attrs: Any) -> list[Spec]:
    return [Spec(records.shape, dtype) for dtype in out_types]


no_gradient(DecodeCSV)


def decode_csv(
    records: TensorLike,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """Returns the columns of CSV lines.

    Args:
      records: the lines, a string tensor of any shape.
      record_defaults: for each column, a list with one value, which gives the dtype and replaces empty fields; an
        empty tensor gives the dtype of a column whose fields must not be empty.
      field_delim: the character between fields; a comma by default.
      use_quote_delim: whether `"` encloses a field; True by default.
      na_value: a string that counts as an empty field; none by default.
      select_cols: the indices of the columns to return, in ascending order; all by default.
      name: accepted and ignored.

    Returns:
      One tensor per column, each with the shape of `records`.

    Raises:
      ValueError: if `select_cols` is not strictly increasing, or its length differs from that of `record_defaults`.
      InvalidArgumentError: if the fields of a line do not match `record_defaults`.

    >>> [column.numpy().tolist() for column in tf.io.decode_csv(["1,a", "2,"], [[0], ["none"]])]
    [[1, 2], [b'a', b'none']]
    """
    chosen = list(select_cols or ())
    if any([right <= left for left, right in pairwise(chosen)]):
        raise ValueError("select_cols is not strictly increasing.")
    if chosen and chosen[0] < 0:
        raise ValueError("select_cols contains negative values.")
    if chosen and len(chosen) != len(record_defaults):
        raise ValueError("Length of select_cols and record_defaults do not match.")
    defaults = [read_default(value) for value in record_defaults]
    for number, (array, dtype) in enumerate(defaults):
        _check_default(number, CPU.xp.size(array), dtype)
    return DecodeCSV(
        records,
        record_defaults=[CPU.xp.ravel(array).tolist() for array, _ in defaults],
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=chosen,
        out_types=[dtype for _, dtype in defaults],
        name=name,
    )


def _check_default(number: int, count: int, dtype: DType) -> None:
    if dtype not in _TAKES:
        raise InvalidArgumentError(
            f"Value for attr 'OUT_TYPE' of {dtype.c_name} is not in the list of allowed values: float, double, int32, "
            "int64, string"
        )
    if count > 1:
        raise InvalidArgumentError(f"There should only be 1 default per field but field {number} has {count}")

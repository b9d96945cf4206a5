"""Decodes strings to code points, splits them into characters, and encodes them. Everything runs on the CPU."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.op import no_gradient, op
from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.ragged_and_sparse.row_splits import splits_of
from nbtf._ops.specs import spec_of_first
from nbtf._ops.strings import kernels
from nbtf._ops.strings.splitting import cut_texts
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import int32, int64, string
from nbtf.errors import InvalidArgumentError

REPLACEMENT = 0xFFFD
"""Unicode's replacement character."""


@op("string -> int64 int32", data_dependent=True, cpu_only=True)
def UnicodeDecode(
    xp: Any,
    input: Any,
    input_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
) -> list[Any]:
    options = (input_encoding, errors, replacement_char, replace_control_characters)
    rows = [kernels.decoded(text, *options) for text in input]
    splits = xp.array(splits_of([len(row) for row in rows]), int64.np_dtype)
    return [splits, xp.array([point for row in rows for point in row], int32.np_dtype)]


@UnicodeDecode.infer
def _(input: Spec, **attrs: Any) -> list[Spec]:
    rows = input.shape[0]
    return [Spec((None if rows is None else rows + 1,), int64), Spec((None,), int32)]


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the code points of strings.

    Args:
      input: a string tensor of any shape, or a ragged tensor.
      input_encoding: `"UTF-8"`, `"UTF-16-BE"`, `"UTF-32-BE"` or any other encoding that Python supports.
      errors: how to handle invalid bytes: `"replace"` (default), `"ignore"`, or `"strict"` to raise an error.
      replacement_char: the code point that replaces invalid input; U+FFFD by default.
      replace_control_characters: whether to replace control characters as well; False by default.

    Returns:
      The code points, int32: a vector for a scalar, otherwise a ragged tensor with one more axis.

    Raises:
      InvalidArgumentError: if bytes are invalid and `errors` is `"strict"`, or the encoding is unknown.

    >>> tf.strings.unicode_decode("Bär", "UTF-8").numpy()
    array([ 66, 228, 114], dtype=int32)
    """
    options = {
        "input_encoding": input_encoding,
        "errors": errors,
        "replacement_char": replacement_char,
        "replace_control_characters": replace_control_characters,
    }

    def points(texts: Tensor) -> RaggedTensor:
        splits, values = UnicodeDecode(texts, **options, name=name)
        return RaggedTensor(values, splits)

    return cut_texts(input, points)


@op("int32 int64 -> string", data_dependent=True, cpu_only=True)
def UnicodeEncode(
    xp: Any, input_values: Any, input_splits: Any, output_encoding: str, errors: str, replacement_char: int
) -> Any:
    if output_encoding not in kernels.ENCODED_AS:
        allowed = ", ".join(f'"{name}"' for name in kernels.ENCODED_AS)
        text = f"Value for attr 'output_encoding' of \"{output_encoding}\" is not in the list of allowed values: "
        raise InvalidArgumentError(text + allowed)
    result = xp.empty(len(input_splits) - 1, object)
    for row, (begin, end) in enumerate(pairwise(input_splits.tolist())):
        points = input_values[begin:end].tolist()
        result[row] = kernels.encoded(points, output_encoding, errors, replacement_char)
    return result


@UnicodeEncode.infer
def _(input_values: Spec, input_splits: Spec, **attrs: Any) -> Spec:
    splits = input_splits.shape[0]
    return Spec((None if splits is None else splits - 1,), string)


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    name: str | None = None,
) -> Any:
    """Returns code points encoded as strings.

    Args:
      input: code points, int32, shape `[..., n]` or ragged; each row becomes one string.
      output_encoding: `"UTF-8"`, `"UTF-16-BE"` or `"UTF-32-BE"`.
      errors: how to handle invalid code points: `"replace"` (default), `"ignore"`, or `"strict"` to raise an error.
      replacement_char: the code point that replaces invalid input; U+FFFD by default.

    Returns:
      The strings, with one axis less.

    Raises:
      ValueError: if `input` is a scalar.
      InvalidArgumentError: if a number is not a code point and `errors` is `"strict"`.

    >>> tf.strings.unicode_encode([66, 228, 114], "UTF-8").numpy().decode()
    'Bär'
    """
    options: dict[str, Any] = {
        "output_encoding": output_encoding,
        "errors": errors,
        "replacement_char": replacement_char,
    }
    if isinstance(input, RaggedTensor):
        if isinstance(input.values, RaggedTensor):
            return input.with_values(unicode_encode(input.values, **options))
        return UnicodeEncode(input.values, input.row_splits, **options, name=name)
    points = as_tensor(input, None if hasattr(input, "_dtype") else int32)
    shape: tuple[int, ...] = points._array.shape
    if not shape:
        raise ValueError("input_tensor's rank must be at least 1.")
    rows = math.prod(shape[:-1])
    splits = as_tensor([row * shape[-1] for row in range(rows + 1)], int64)
    texts = UnicodeEncode(reshape(points, [-1]), splits, **options, name=name)
    return reshape(texts, shape[:-1])


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    name: str | None = None,
) -> Any:
    r"""Splits strings into characters.

    Args:
      input: a string tensor of any shape, or a ragged tensor.
      input_encoding: `"UTF-8"`, `"UTF-16-BE"` or `"UTF-32-BE"`.
      errors: how to handle invalid bytes: `"replace"` (default), `"ignore"`, or `"strict"` to raise an error.
      replacement_char: the code point that replaces invalid input; U+FFFD by default.

    Returns:
      Strings of one character: a vector for a scalar, otherwise a ragged tensor with one more axis.

    Raises:
      InvalidArgumentError: if bytes are invalid and `errors` is `"strict"`.

    >>> tf.strings.unicode_split("Bär", "UTF-8").numpy()
    array([b'B', b'\xc3\xa4', b'r'], dtype=object)
    """
    points = unicode_decode(input, input_encoding, errors, replacement_char, name=name)
    flat = points.flat_values if isinstance(points, RaggedTensor) else points
    single = unicode_encode(reshape(flat, [-1, 1]), input_encoding, "ignore", replacement_char)
    return points.with_flat_values(single) if isinstance(points, RaggedTensor) else single


@op("string -> string", cpu_only=True, infer=spec_of_first)
def UnicodeTranscode(
    xp: Any,
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
) -> Any:
    options = (input_encoding, errors, replacement_char, replace_control_characters)
    return kernels.each(
        xp,
        lambda text: kernels.encoded(kernels.decoded(text, *options), output_encoding, errors, replacement_char),
        object,
        input,
    )


def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    r"""Returns strings in another encoding.

    Args:
      input: a string tensor of any shape.
      input_encoding: the encoding of the input.
      output_encoding: `"UTF-8"`, `"UTF-16-BE"` or `"UTF-32-BE"`.
      errors: how to handle invalid bytes: `"replace"` (default), `"ignore"`, or `"strict"` to raise an error.
      replacement_char: the code point that replaces invalid input; U+FFFD by default.
      replace_control_characters: whether to replace control characters as well; False by default.

    Raises:
      InvalidArgumentError: if bytes are invalid and `errors` is `"strict"`, or the encoding is unknown.

    >>> tf.strings.unicode_transcode("Bär", "UTF-8", "UTF-16-BE").numpy()
    b'\x00B\x00\xe4\x00r'
    """
    return UnicodeTranscode(
        input,
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
        name=name,
    )


no_gradient(UnicodeDecode, UnicodeEncode, UnicodeTranscode)

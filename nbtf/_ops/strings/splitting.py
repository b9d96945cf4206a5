"""Splits strings into words or bytes, and reads their bytes as numbers. Everything runs on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.op import no_gradient, op
from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.strings import kernels
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, DTypeLike, as_dtype, int64, string
from nbtf.errors import InvalidArgumentError


def _pieces(xp: Any, texts: Any, cut: Callable[[bytes], Sequence[bytes]]) -> list[Any]:
    """Returns the pieces of a vector of strings like TensorFlow's ops: positions in a matrix, pieces, and its shape."""
    rows = list(map(cut, texts.tolist()))
    lengths = xp.fromiter(map(len, rows), int64.np_dtype, len(rows))
    values = kernels.filled(xp, chain.from_iterable(rows), (int(lengths.sum()),), object)
    indices = xp.empty((len(values), 2), int64.np_dtype)
    indices[:, 0] = xp.repeat(xp.arange(len(rows)), lengths)
    indices[:, 1] = xp.arange(len(values)) - xp.repeat(xp.cumsum(lengths) - lengths, lengths)
    return [indices, values, xp.array([len(rows), lengths.max(initial=0)], int64.np_dtype)]


@op("string string -> int64 string int64", data_dependent=True, cpu_only=True)
def StringSplitV2(xp: Any, input: Any, sep: Any, maxsplit: int) -> list[Any]:
    between = bytes(sep[()])
    if maxsplit == 0:
        return _pieces(xp, input, lambda text: [text])
    if between:
        return _pieces(xp, input, lambda text: text.split(between, maxsplit))
    return _pieces(xp, input, lambda text: _words(text, maxsplit))


def _words(text: bytes, maxsplit: int) -> list[bytes]:
    """Returns the words; as in TensorFlow, the rest after the last allowed split is a piece even if it is empty."""
    words = text.split(None, maxsplit)
    return [*words, b""] if len(words) == maxsplit else words


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """Splits strings into words.

    Args:
      input: a string tensor of any shape, or a ragged tensor.
      sep: the separator; by default, or if empty, any run of whitespace.
      maxsplit: maximum number of splits per string; unlimited by default (-1).

    Returns:
      The words: a vector for a scalar, otherwise a ragged tensor with one more axis.

    >>> tf.strings.split("Gray wolf").numpy()
    array([b'Gray', b'wolf'], dtype=object)
    >>> tf.strings.split(["Gray wolf", "fox"])
    <tf.RaggedTensor [[b'Gray', b'wolf'], [b'fox']]>
    """
    between = as_tensor("" if sep is None else sep, string)
    return cut_texts(input, lambda texts: _ragged(StringSplitV2(texts, between, maxsplit=maxsplit, name=name)))


@op("string string -> int64 string int64", data_dependent=True, cpu_only=True)
def StringSplit(xp: Any, input: Any, delimiter: Any, skip_empty: bool) -> list[Any]:
    # TensorFlow's first op for splitting; today it is used only to split into bytes, with an empty delimiter.
    return _pieces(xp, input, lambda text: [text[i : i + 1] for i in range(len(text))])


@StringSplit.infer
@StringSplitV2.infer
def _(*texts: Spec, **attrs: Any) -> list[Spec]:
    return [Spec((None, 2), int64), Spec((None,), string), Spec((2,), int64)]


def bytes_split(input: Any, name: str | None = None) -> Any:
    """Splits strings into bytes.

    Returns:
      Strings of one byte: a vector for a scalar, otherwise a ragged tensor with one more axis.

    >>> tf.strings.bytes_split("Duck").numpy()
    array([b'D', b'u', b'c', b'k'], dtype=object)
    """
    nothing = as_tensor("", string)
    return cut_texts(input, lambda texts: _ragged(StringSplit(texts, nothing, skip_empty=False, name=name)))


def _ragged(components: Sequence[Tensor]) -> RaggedTensor:
    indices, values, shape = components
    rows, count = indices.numpy()[:, 0], int(shape.numpy()[0])
    return RaggedTensor(values, as_tensor(CPU.xp.searchsorted(rows, CPU.xp.arange(count + 1)), int64))


def cut_texts(input: Any, cut: Callable[[Tensor], RaggedTensor]) -> Any:
    """Applies a function that splits a vector of strings to strings of any shape."""
    if isinstance(input, RaggedTensor):
        return input.with_values(cut_texts(input.values, cut))
    texts = as_tensor(input, string)
    shape = texts.shape.as_list()
    if len(shape) == 1:
        return cut(texts)
    pieces = cut(reshape(texts, [-1]))
    if not shape:
        return pieces.values
    for length in reversed(shape[1:]):
        pieces = RaggedTensor.from_uniform_row_length(pieces, length)
    return pieces


@op("string -> out_type", plain={"out_type": as_dtype}, data_dependent=True, cpu_only=True)
def DecodeRaw(xp: Any, bytes: Any, out_type: DType, little_endian: bool) -> Any:
    texts = bytes.ravel().tolist()
    count = len(texts[0]) if texts else 0
    for position, text in enumerate(texts):
        if len(text) != count:
            sizes = f"element {position} has size {count} != {len(text)}"
            raise InvalidArgumentError(f"DecodeRaw requires input strings to all be the same size, but {sizes}")
    if count % out_type.size:
        size = f"{out_type.size}, the size of {out_type.c_name}"
        raise InvalidArgumentError(f"Input to DecodeRaw has length {count} that is not a multiple of {size}")
    return _numbers(xp, texts, out_type, little_endian).reshape(*bytes.shape, count // out_type.size)


@DecodeRaw.infer
def _(bytes: Spec, out_type: DType, little_endian: bool) -> Spec:
    return Spec((*bytes.shape, None), out_type)


@op("string -> out_type", plain={"out_type": as_dtype}, cpu_only=True)
def DecodePaddedRaw(xp: Any, input_bytes: Any, out_type: DType, little_endian: bool, fixed_length: int) -> Any:
    if fixed_length % out_type.size:
        raise ValueError(fixed_length)
    texts = [text[:fixed_length].ljust(fixed_length, b"\0") for text in input_bytes.ravel().tolist()]
    numbers = _numbers(xp, texts, out_type, little_endian)
    return numbers.reshape(*input_bytes.shape, fixed_length // out_type.size)


def _numbers(xp: Any, texts: Sequence[bytes], dtype: DType, little_endian: bool) -> Any:
    order = dtype.np_dtype.newbyteorder("<" if little_endian else ">")
    return xp.frombuffer(b"".join(texts), order).astype(dtype.np_dtype)


@DecodePaddedRaw.infer
def _(input_bytes: Spec, out_type: DType, little_endian: bool, fixed_length: int) -> Spec:
    if fixed_length % out_type.size:
        text = f"fixed_length ({fixed_length}) must be a multiple of the size of out_type ({out_type.size})"
        raise InvalidArgumentError(text)
    return Spec((*input_bytes.shape, fixed_length // out_type.size), out_type)


def decode_raw(
    input_bytes: Any,
    out_type: DTypeLike,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the bytes of strings as numbers.

    Args:
      input_bytes: a tensor of strings of the same length.
      out_type: the dtype of the numbers.
      little_endian: whether a number's lowest byte comes first; True by default.
      fixed_length: number of bytes to which each string is first truncated or zero-padded; none by default.

    Returns:
      A tensor with one more axis.

    Raises:
      InvalidArgumentError: if the strings differ in length, or the length is not a multiple of the dtype's size.

    >>> tf.io.decode_raw("Duck", tf.uint8).numpy()
    array([ 68, 117,  99, 107], dtype=uint8)
    """
    if fixed_length is None:
        return DecodeRaw(input_bytes, out_type=out_type, little_endian=little_endian, name=name)
    return DecodePaddedRaw(
        input_bytes, out_type=out_type, little_endian=little_endian, fixed_length=fixed_length, name=name
    )


no_gradient(StringSplitV2, StringSplit, DecodeRaw, DecodePaddedRaw)

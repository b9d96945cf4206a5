"""Converts tensors to bytes and back: base64 and TensorFlow's protocol buffers. Everything runs on the CPU."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.op import no_gradient, op
from nbtf._ops.specs import bracketed, spec_of_first
from nbtf._ops.strings import kernels
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._storage import tensor_messages
from nbtf._storage.messages.encoding import DecodeError
from nbtf._types import ALL, DType, DTypeLike, TensorLike, as_dtype, string
from nbtf.errors import InvalidArgumentError

_WEB_SAFE = re.compile(rb"[A-Za-z0-9_-]*={0,2}")


@op("string -> string", cpu_only=True, infer=spec_of_first)
def EncodeBase64(xp: Any, input: Any, pad: bool) -> Any:
    def encode(data: bytes) -> bytes:
        encoded = base64.urlsafe_b64encode(data)
        return encoded if pad else encoded.rstrip(b"=")

    return kernels.each(xp, encode, object, input)


def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:
    """Returns strings encoded as web-safe base64, in which `-` and `_` replace `+` and `/`.

    Args:
      input: a string tensor of any shape.
      pad: whether to pad the last group with `=`; False by default.
      name: accepted and ignored.

    >>> tf.io.encode_base64("duck").numpy()
    b'ZHVjaw'
    """
    return EncodeBase64(input, pad=pad, name=name)


@op("string -> string", cpu_only=True, infer=spec_of_first)
def DecodeBase64(xp: Any, input: Any) -> Any:
    return kernels.each(xp, _decoded_base64, object, input)


def _decoded_base64(data: bytes) -> bytes:
    length = len(data.rstrip(b"="))
    if length % 4 == 1:
        raise InvalidArgumentError("Base64 string length cannot be 1 modulo 4.")
    if not _WEB_SAFE.fullmatch(data) or (b"=" in data and len(data) % 4):
        raise InvalidArgumentError("Invalid character found in base64.")
    try:
        return base64.urlsafe_b64decode(data.rstrip(b"=") + b"=" * (-length % 4))
    except binascii.Error:
        raise InvalidArgumentError("Invalid character found in base64.") from None


def decode_base64(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns strings decoded from web-safe base64, with or without `=` at the end.

    Args:
      input: a string tensor of any shape.
      name: accepted and ignored.

    Raises:
      InvalidArgumentError: if a string is not web-safe base64.

    >>> tf.io.decode_base64("ZHVjaw").numpy()
    b'duck'
    """
    return DecodeBase64(input, name=name)


@op("T -> string", T=ALL, cpu_only=True)
def SerializeTensor(xp: Any, tensor: Any) -> Any:
    return kernels.filled(xp, [tensor_messages.encoded(tensor)], (), object)


@SerializeTensor.infer
def _(tensor: Spec) -> Spec:
    return Spec((), string)


def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Returns a tensor serialized as a `TensorProto`, a scalar string.

    Args:
      tensor: a tensor of any dtype and shape.
      name: accepted and ignored.

    >>> tf.io.parse_tensor(tf.io.serialize_tensor([1, 2]), tf.int32).numpy()
    array([1, 2], dtype=int32)
    """
    return SerializeTensor(as_tensor(tensor), name=name)


@op("string -> out_type", plain={"out_type": as_dtype}, data_dependent=True, cpu_only=True)
def ParseTensor(xp: Any, serialized: Any, out_type: DType) -> Any:
    if serialized.ndim:
        raise InvalidArgumentError(f"Expected `serialized` to be a scalar, got shape: {bracketed(serialized.shape)}")
    data = serialized[()]
    try:
        number, array = tensor_messages.decoded(data)
    except DecodeError:
        encoded = base64.b64encode(data).decode()
        text = f"Could not parse `serialized` as TensorProto, base64: {encoded}"
        raise InvalidArgumentError(text) from None
    except ValueError as error:
        raise InvalidArgumentError(f"Cannot parse tensor from proto: {error}") from None
    if number != out_type.as_datatype_enum:
        parsed = as_dtype(number).c_name
        raise InvalidArgumentError(f"Type mismatch between parsed tensor ({parsed}) and dtype ({out_type.c_name})")
    return xp.asarray(array)


@ParseTensor.infer
def _(serialized: Spec, out_type: DType) -> None:
    return None


def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """Returns a tensor that `serialize_tensor` has serialized.

    Args:
      serialized: the bytes, a scalar string.
      out_type: the dtype of the tensor.
      name: accepted and ignored.

    Raises:
      InvalidArgumentError: if `serialized` is not a serialized tensor, or the tensor has another dtype.

    >>> tf.io.parse_tensor(tf.io.serialize_tensor(["a"]), tf.string).numpy()
    array([b'a'], dtype=object)
    """
    return ParseTensor(serialized, out_type=out_type, name=name)


no_gradient(EncodeBase64, DecodeBase64, SerializeTensor, ParseTensor)

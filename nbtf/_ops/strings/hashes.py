"""Hashes of strings: buckets that depend only on the string, the same in every process.

Sources: the 64-bit fingerprint of FarmHash (G. Pike, Google), and J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast
short-input PRF" (2012).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import as_ints
from nbtf._ops.op import no_gradient, op
from nbtf._ops.ragged_and_sparse.ragged_functions import takes_ragged
from nbtf._ops.specs import like_first
from nbtf._ops.strings import kernels
from nbtf._types import TensorLike, int64
from nbtf.errors import InvalidArgumentError

_ALL = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
"""The odd factors of the fingerprint."""


def _turned(value: int, bits: int) -> int:
    """Returns a 64-bit number rotated to the right."""
    value &= _ALL
    return (value >> bits | value << (64 - bits)) & _ALL


def _mixed(value: int) -> int:
    value &= _ALL
    return value ^ value >> 47


def _number(text: bytes, start: int, length: int = 8) -> int:
    return int.from_bytes(text[start : start + length], "little")


def _joined(u: int, v: int, factor: int) -> int:
    """Returns the hash of two numbers."""
    first = _mixed(((u ^ v) & _ALL) * factor)
    return _mixed(((v ^ first) & _ALL) * factor) * factor & _ALL


def fingerprint(text: bytes) -> int:
    """Returns the 64-bit fingerprint of a string.

    >>> fingerprint(b"a") % 1000
    939
    """
    length = len(text)
    if length > 64:
        return _of_long(text)
    factor = _K2 + length * 2
    if length > 16:
        return _of_middle(text, factor)
    if length >= 8:
        a, b = _number(text, 0) + _K2, _number(text, length - 8)
        return _joined(_turned(b, 37) * factor + a, (_turned(a, 25) + b) * factor, factor)
    if length >= 4:
        return _joined(length + (_number(text, 0, 4) << 3), _number(text, length - 4, 4), factor)
    if length:
        y, z = text[0] + (text[length >> 1] << 8), length + (text[-1] << 2)
        return _mixed(y * _K2 & _ALL ^ z * _K0 & _ALL) * _K2 & _ALL
    return _K2


def _of_middle(text: bytes, factor: int) -> int:
    """Returns the fingerprint of 17 to 64 bytes."""
    length, is_short = len(text), len(text) <= 32
    a, b = _number(text, 0) * (_K1 if is_short else _K2) & _ALL, _number(text, 8)
    c, d = _number(text, length - 8) * factor, _number(text, length - 16) * _K2
    y = _turned(a + b, 43) + _turned(c, 30) + d
    z = _joined(y, a + _turned(b + _K2, 18) + c, factor)
    if is_short:
        return z
    e, f = _number(text, 16) * factor, _number(text, 24)
    g, h = (y + _number(text, length - 32)) * factor, (z + _number(text, length - 24)) * factor
    return _joined(_turned(e + f, 43) + _turned(g, 30) + h, e + _turned(f + a, 18) + g, factor)


class _State:
    """The running state of the fingerprint of a long string."""

    def __init__(self, x: int) -> None:
        self.x: int = x
        self.y: int = (81 * _K1 + 113) & _ALL
        self.z: int = _mixed(self.y * _K2 + 113) * _K2 & _ALL
        self.v: tuple[int, int] = (0, 0)
        self.w: tuple[int, int] = (0, 0)

    def add(self, text: bytes, start: int, factor: int, weight: int) -> None:
        """Adds 64 bytes from a position; `weight` is 1, and 9 for the last ones."""
        read: Callable[[int], int] = lambda at: _number(text, start + at)  # noqa: E731
        x = _turned(self.x + self.y + self.v[0] + read(8), 37) * factor & _ALL ^ self.w[1] * weight & _ALL
        y = _turned(self.y + self.v[1] + read(48), 42) * factor + self.v[0] * weight + read(40)
        z = _turned(self.z + self.w[0], 33) * factor
        self.v = _four(read(0), read(8), read(16), read(24), self.v[1] * factor, x + self.w[0])
        self.w = _four(read(32), read(40), read(48), read(56), z + self.w[1], y + read(16))
        self.x, self.y, self.z = z & _ALL, y & _ALL, x & _ALL


def _four(w: int, x: int, y: int, z: int, a: int, b: int) -> tuple[int, int]:
    """Returns a weak hash of four numbers and two seeds."""
    a += w
    b = _turned(b + a + z, 21)
    total = a + x + y
    return (total + z) & _ALL, (b + _turned(total, 44) + a) & _ALL


def _of_long(text: bytes) -> int:
    """Returns the fingerprint of more than 64 bytes."""
    state = _State((81 * _K2 + _number(text, 0)) & _ALL)
    remainder = (len(text) - 1) & 63
    for start in range(0, len(text) - 1 - remainder, 64):
        state.add(text, start, _K1, 1)
    factor = _K1 + ((state.z & 0xFF) << 1)
    (first, second), (third, fourth) = state.v, state.w
    third += remainder
    first += third
    state.v, state.w = (first & _ALL, second), ((third + first) & _ALL, fourth)
    state.add(text, len(text) - 64, factor, 9)
    (first, second), (third, fourth) = state.v, state.w
    u = _joined(first, third, factor) + _mixed(state.y) * _K0 + state.z
    return _joined(u, _joined(second, fourth, factor) + state.x, factor)


def keyed_hash(text: bytes, key: Sequence[int]) -> int:
    """Returns SipHash-2-4 of a string: 64 bits that cannot be predicted without the two numbers of the key."""
    seeds = 0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573
    state = [seed ^ (key[index % 2] & _ALL) for index, seed in enumerate(seeds)]
    padded = text.ljust(len(text) // 8 * 8 + 7, b"\0") + bytes([len(text) & 0xFF])
    for start in range(0, len(padded), 8):
        number = _number(padded, start)
        state[3] ^= number
        _sip_rounds(state, 2)
        state[0] ^= number
    state[2] ^= 0xFF
    _sip_rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _sip_rounds(state: list[int], count: int) -> None:
    a, b, c, d = state
    for _ in range(count):
        a, c = (a + b) & _ALL, (c + d) & _ALL
        b, d = _turned(b, 51) ^ a, _turned(d, 48) ^ c
        a, c = _turned(a, 32), (c + b) & _ALL
        a = (a + d) & _ALL
        b, d = _turned(b, 47) ^ c, _turned(d, 43) ^ a
        c = _turned(c, 32)
    state[:] = [a, b, c, d]


# Ops


def _in_buckets(xp: Any, texts: Any, count: int, hashed: Callable[[bytes], int]) -> Any:
    return kernels.each(xp, lambda text: hashed(text) % count, xp.int64, texts)


def _as_count(value: Any) -> int:
    count = value.__index__()
    if count < 1:
        raise InvalidArgumentError(f"Value for attr 'num_buckets' of {count} must be at least minimum 1")
    return count


@op("string -> int64", cpu_only=True, plain={"num_buckets": _as_count}, partly=like_first)
def StringToHashBucketFast(xp: Any, input: Any, num_buckets: int) -> Any:
    return _in_buckets(xp, input, num_buckets, fingerprint)


@StringToHashBucketFast.infer
def _(input: Spec, num_buckets: int) -> Spec:
    return Spec(input.shape, int64)


@op("string -> int64", cpu_only=True, plain={"num_buckets": _as_count, "key": as_ints}, partly=like_first)
def StringToHashBucketStrong(xp: Any, input: Any, num_buckets: int, key: Any) -> Any:
    if len(key) != 2:
        raise InvalidArgumentError(f"Key must have 2 elements, got {len(key)}")
    return _in_buckets(xp, input, num_buckets, partial(keyed_hash, key=key))


@StringToHashBucketStrong.infer
def _(input: Spec, num_buckets: int, key: Any) -> Spec:
    return Spec(input.shape, int64)


@takes_ragged
def to_hash_bucket_fast(input: TensorLike, num_buckets: int, name: str | None = None) -> Any:
    """Returns a number for each string, the same for equal strings in every process; different ones may share one.

    Args:
      input: strings of any shape, or a ragged tensor of strings.
      num_buckets: number of buckets, at least 1.
      name: accepted and ignored.

    Returns:
      int64 numbers from 0 up to, but excluding, `num_buckets`, with the shape of `input`.

    Raises:
      InvalidArgumentError: if `num_buckets` is below 1.

    >>> tf.strings.to_hash_bucket_fast(["a", "b", "a"], 1000).numpy()
    array([939, 822, 939])
    """
    return StringToHashBucketFast(input, num_buckets=num_buckets, name=name)


@takes_ragged
def to_hash_bucket_strong(input: TensorLike, num_buckets: int, key: Any, name: str | None = None) -> Any:
    """Returns a number for each string, as `to_hash_bucket_fast` does, that depends on a secret key.

    Args:
      input: strings of any shape, or a ragged tensor of strings.
      num_buckets: number of buckets, at least 1.
      key: two integers, the secret.
      name: accepted and ignored.

    Returns:
      int64 numbers from 0 up to, but excluding, `num_buckets`, with the shape of `input`.

    Raises:
      InvalidArgumentError: if `num_buckets` is below 1, or `key` is not two integers.

    >>> tf.strings.to_hash_bucket_strong(["a", "bcd"], 1000, [1, 2]).numpy()
    array([646, 189])
    """
    return StringToHashBucketStrong(input, num_buckets=num_buckets, key=key, name=name)


no_gradient(StringToHashBucketFast, StringToHashBucketStrong)

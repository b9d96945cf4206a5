"""Philox: random bits, and numbers made from them, identical on all types of devices.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011: Philox4x32 with ten
rounds. How counter and key are filled and how bits become numbers follows TensorFlow's `philox_random.h` and
`random_distributions.h`, so that a seed gives TensorFlow's numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._types import DType, bfloat16, float16, float32, float64, int64, uint64

# Salmon et al., section 4.3: the multipliers and the two Weyl constants of Philox4x32.
MULTIPLIERS = [[0xD2511F53], [0xCD9E8D57]]
WEYL = [[0x9E3779B9], [0xBB67AE85]]
ROUNDS = 10
LOW = 0xFFFFFFFF

BLOCKS_AT_ONCE = 1 << 14
"""Counters per block: a few arrays of 256 KiB fit into a processor's second-level cache."""

BLOCKS_AT_ONCE_ON_GPU = 1 << 22
"""The same on a GPU, where the cost is the number of kernels: a few arrays of 64 MiB."""

RESERVED = 256
"""Counters that TensorFlow's kernels reserve per number (`kReservedSamplesPerOutput`)."""

SMALLEST = 1e-7
"""Replacement for a uniform 0 before its logarithm is taken (`BoxMullerFloat`)."""

TURN = 6.283185307179586  # 2 pi

CUT = 2.0
"""Limit of the truncated normal distribution, in standard deviations."""

TRIED_BLOCKS = {4: 6, 2: 8}
"""Counters read for a group of 4 or 2 truncated normal numbers.

One normal number in 22 is beyond the limit. The probability that a group stays incomplete is below 1e-19.
"""

Counter = Any
"""Two 64-bit words, the low one first: Python integers, or an array on the device."""


def philox(xp: Any, key: Any, counter: Counter, blocks: int) -> Any:
    """Returns random bits: an array of 32-bit words, shape `[blocks, 4]`."""
    return of_counters(xp, key, *counters(xp, counter, blocks, 1), (blocks,))


def counters(xp: Any, counter: Counter, count: int, step: int) -> tuple[Any, Any]:
    """Returns low and high words of the counters `counter + step * i`."""
    start = xp.asarray(counter[0], dtype=xp.uint64)
    low = start + xp.arange(0, count * step, step, dtype=xp.uint64)
    high = (low < start).astype(xp.uint64)
    high += xp.asarray(counter[1], dtype=xp.uint64)
    return low, high


def of_counters(xp: Any, key: Any, low: Any, high: Any, shape: tuple[int, ...]) -> Any:
    """Returns the four words of each counter, shape `[*shape, 4]`."""
    words = xp.empty((low.size, 4), dtype=xp.uint32)
    for piece, even, odd in _words(xp, key, low.reshape(-1), high.reshape(-1)):
        _fill(words[piece], (even[0], odd[0], even[1], odd[1]))
    return words.reshape(*shape, 4)


def _words(xp: Any, key: Any, low: Any, high: Any) -> Iterator[tuple[slice, Any, Any]]:
    """Yields slices of counters with words 0 and 2, and words 1 and 3, each 32 of 64 bits."""
    at_once = BLOCKS_AT_ONCE if xp is CPU.xp else BLOCKS_AT_ONCE_ON_GPU
    multipliers, keys = xp.asarray(MULTIPLIERS, dtype=xp.uint64), _round_keys(xp, key)
    for start in range(0, low.size, at_once):
        piece = slice(start, start + at_once)
        yield piece, *_rounds(xp, xp.stack((low[piece], high[piece])), multipliers, keys)


def _fill(table: Any, columns: Iterable[Any]) -> None:
    """Writes columns side by side, which is 5 times as fast as transposing them all at once."""
    for number, column in enumerate(columns):
        table[:, number] = column


def _round_keys(xp: Any, key: Any) -> Any:
    """Returns the two words of the key for each round, shape `[rounds, 2, 1]`."""
    first = xp.asarray(key, dtype=xp.uint64).reshape(1)
    steps = xp.arange(ROUNDS, dtype=xp.uint64)[:, None, None] * xp.asarray(WEYL, dtype=xp.uint64)
    return (steps + xp.stack((first & LOW, first >> 32))) & LOW


def _rounds(xp: Any, counters: Any, multipliers: Any, keys: Any) -> tuple[Any, Any]:
    """Returns words of counters, in 64 bits each so that a product has both halves."""
    even, odd = counters & LOW, counters >> 32  # the words 0 and 2, and 1 and 3
    products = xp.empty_like(even)
    for key in keys:
        xp.multiply(even, multipliers, out=products)
        xp.right_shift(products, 32, out=even)
        even = even[::-1]
        even ^= odd
        even ^= key
        xp.bitwise_and(products, LOW, out=odd)
        odd = odd[::-1]
    return even, odd


def uniform(xp: Any, key: Any, counter: Counter, count: int, dtype: DType) -> Any:
    """Returns `count` numbers in [0, 1)."""
    blocks = -(-count // _group(dtype))
    return uniforms(xp, key, *counters(xp, counter, blocks, 1), dtype).reshape(-1)[:count]


def uniforms(xp: Any, key: Any, low: Any, high: Any, dtype: DType) -> Any:
    """Returns the numbers in [0, 1) of each counter: shape `[counters, 4]`, or 2 for float64."""
    group = _group(dtype)
    drawn = xp.empty((low.size, group), dtype.np_dtype)
    for piece, even, odd in _words(xp, key, low, high):
        first, second = _fractions(xp, even, odd, dtype)
        _fill(drawn[piece], (first, second) if group == 2 else (first[0], second[0], first[1], second[1]))
    return drawn


def _fractions(xp: Any, even: Any, odd: Any, dtype: DType) -> tuple[Any, Any]:
    """Returns numbers in [0, 1) made from the low bits of words: the first of each pair, and the second.

    A float64 needs two words.
    """
    if dtype is float64:
        bits = even & 0xFFFFF
        bits <<= 32
        bits |= odd
        bits |= 1023 << 52
        first, second = bits.view(xp.float64) - 1
        return first, second
    return _short_fractions(xp, even, dtype), _short_fractions(xp, odd, dtype)


def _short_fractions(xp: Any, words: Any, dtype: DType) -> Any:
    if dtype is float16:
        bits = (words & 0x3FF | 15 << 10).astype(xp.uint16)
        return bits.view(xp.float16) - 1
    if dtype is bfloat16:
        bits = (words & 0x7F | 127 << 7).astype(xp.uint16)
        return bits.view(dtype.np_dtype) - dtype.as_numpy_dtype(1)
    bits = words.astype(xp.uint32)
    bits &= 0x7FFFFF
    bits |= 127 << 23
    fractions = bits.view(xp.float32)
    fractions -= 1
    return fractions


def integers(xp: Any, key: Any, counter: Counter, count: int, dtype: DType) -> Any:
    """Returns `count` integers from all values of a 32-bit or 64-bit dtype."""
    if dtype is int64 or dtype is uint64:
        words = philox(xp, key, counter, -(-count // 2))
        wide = words[..., 1::2].astype(xp.uint64)
        wide <<= 32
        wide |= words[..., ::2]
        return wide.reshape(-1)[:count].view(dtype.np_dtype)
    return philox(xp, key, counter, -(-count // 4)).reshape(-1)[:count].view(dtype.np_dtype)


def integers_between(xp: Any, key: Any, counter: Counter, count: int, bounds: tuple[int, int], dtype: DType) -> Any:
    """Returns `count` integers from the first bound up to, but excluding, the second."""
    wide = xp.uint64 if dtype is int64 or dtype is uint64 else xp.uint32
    unsigned = integers(xp, key, counter, count, dtype).view(wide)
    bits = 8 * dtype.size
    drawn = unsigned % (bounds[1] - bounds[0])
    drawn += bounds[0] % (1 << bits)
    return drawn.view(dtype.np_dtype)


def normal(xp: Any, key: Any, counter: Counter, count: int, dtype: DType) -> Any:
    """Returns `count` normally distributed numbers with mean 0 and standard deviation 1."""
    blocks = -(-count // _group(dtype))
    return normals(xp, key, *counters(xp, counter, blocks, 1), dtype).reshape(-1)[:count]


def _group(dtype: DType) -> int:
    """Returns the number of random numbers per counter."""
    return 2 if dtype is float64 else 4


def normals(xp: Any, key: Any, low: Any, high: Any, dtype: DType) -> Any:
    """Returns the normal numbers of each counter, two per pair of uniform ones: shape `[counters, 4]`, or 2.

    Computes in double precision for all dtypes: single-precision logarithms and sines differ in the last bit
    between array libraries, and a seed must give the same numbers on a CPU and on a GPU.

    Source: Box, Muller, "A note on the generation of random normal deviates", 1958.
    """
    exact = dtype is float64
    rounded = xp.float64 if exact else xp.float32  # TensorFlow rounds here
    smallest = xp.asarray(SMALLEST, rounded)
    drawn = xp.empty((low.size, _group(dtype)), dtype.np_dtype)
    for piece, even, odd in _words(xp, key, low, high):
        first, second = _fractions(xp, even, odd, float64 if exact else float32)
        logarithm = xp.log(xp.maximum(first, smallest).astype(xp.float64)).astype(rounded)
        angle = (TURN * second.astype(xp.float64)).astype(rounded).astype(xp.float64)
        sine, cosine = xp.sin(angle).astype(rounded), xp.cos(angle).astype(rounded)
        logarithm *= -2
        radius = xp.sqrt(logarithm, out=logarithm)
        sine *= radius
        cosine *= radius
        _fill(drawn[piece], (sine, cosine) if exact else (sine[0], cosine[0], sine[1], cosine[1]))
    return drawn


def truncated_normal(xp: Any, key: Any, counter: Counter, count: int, dtype: DType) -> Any:
    """Returns `count` normal numbers within two standard deviations, redrawing those beyond.

    Each group of 4 (float64: 2) numbers has its own counters, `RESERVED` per number, so groups do not wait for
    each other.
    """
    group = _group(dtype)
    exact = float64 if dtype is float64 else float32
    groups = -(-count // group)
    low, high = counters(xp, counter, groups, group * RESERVED // 4)
    drawn = normals(xp, key, low, high, exact)
    incomplete = xp.flatnonzero((abs(drawn) >= CUT).any(1))
    if incomplete.size:
        drawn[incomplete] = _drawn_again(xp, key, low[incomplete], high[incomplete], exact)
    return drawn.reshape(-1)[:count].astype(dtype.np_dtype, copy=False)


def _drawn_again(xp: Any, key: Any, low: Any, high: Any, dtype: DType) -> Any:
    """Returns groups of normal numbers from several counters each, without those beyond the limit."""
    group = _group(dtype)
    own = low[:, None] + xp.arange(TRIED_BLOCKS[group], dtype=xp.uint64)
    carried = high[:, None] + (own < low[:, None])
    drawn = normals(xp, key, own.reshape(-1), carried.reshape(-1), dtype).reshape(low.size, -1)
    beyond = (abs(drawn) >= CUT).astype(xp.uint8)
    order = xp.argsort(beyond, axis=1, kind="stable")[:, :group]
    return xp.take_along_axis(drawn, order, axis=1)

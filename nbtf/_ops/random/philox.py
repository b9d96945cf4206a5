"""How random bits are made, and what numbers come of them: Philox, the same on every kind of device.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011: Philox4x32 with ten
rounds. How counter and key are filled and how bits become numbers follows TensorFlow's `philox_random.h` and
`random_distributions.h`, so that a seed gives TensorFlow's numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._types import DType, float16, float32, float64, int64, uint64

# Salmon et al., section 4.3: the multipliers and the two Weyl constants of Philox4x32.
MULTIPLIERS = [[0xD2511F53], [0xCD9E8D57]]
WEYL = [[0x9E3779B9], [0xBB67AE85]]
ROUNDS = 10
LOW = 0xFFFFFFFF

BLOCKS_AT_ONCE = 1 << 14
"""Counters worked on together: their few arrays of 256 KiB stay in a processor's second-level cache."""

BLOCKS_AT_ONCE_ON_GPU = 1 << 22
"""The same on a GPU, where it is each kernel that costs: a few arrays of 64 MiB."""

RESERVED = 256
"""Counters that TensorFlow's kernels set aside per number (`kReservedSamplesPerOutput`)."""

SMALLEST = 1e-7
"""What replaces a uniform 0 before its logarithm is taken (`BoxMullerFloat`)."""

TURN = 6.283185307179586  # 2 pi

CUT = 2.0
"""Standard deviations at which the truncated normal distribution ends."""

TRIED_BLOCKS = {4: 6, 2: 8}
"""Counters looked at for a group of 4 or 2 truncated normals.

One normal in 22 is beyond the cut. The chance that 24 or 16 of them leave a group incomplete is below 1e-19.
"""

Counter = Any
"""Two 64-bit words, low one first: Python ints, or an array of them on the device."""


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
    multipliers, keys = xp.asarray(MULTIPLIERS, dtype=xp.uint64), _round_keys(xp, key)
    halves = xp.stack((low.reshape(-1), high.reshape(-1)))
    for piece in _pieces(xp, low.size):
        _rounds(xp, halves[:, piece], multipliers, keys, words[piece])
    return words.reshape(*shape, 4)


def _pieces(xp: Any, blocks: int) -> Iterator[slice]:
    """Yields which blocks are worked on together."""
    at_once = BLOCKS_AT_ONCE if xp is CPU.xp else BLOCKS_AT_ONCE_ON_GPU
    for start in range(0, blocks, at_once):
        yield slice(start, start + at_once)


def _round_keys(xp: Any, key: Any) -> Any:
    """Returns the two words of the key as they are in each round, shape `[rounds, 2, 1]`."""
    first = xp.asarray(key, dtype=xp.uint64).reshape(1)
    steps = xp.arange(ROUNDS, dtype=xp.uint64)[:, None, None] * xp.asarray(WEYL, dtype=xp.uint64)
    return (steps + xp.stack((first & LOW, first >> 32))) & LOW


def _rounds(xp: Any, counters: Any, multipliers: Any, keys: Any, words: Any) -> None:
    """Fills `words`. 32-bit words are kept in 64 bits, so that a product shows both halves."""
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
    words[:, ::2], words[:, 1::2] = even.T, odd.T


def uniform(xp: Any, key: Any, counter: Counter, count: int, dtype: DType) -> Any:
    """Returns `count` numbers in [0, 1)."""
    group = 2 if dtype is float64 else 4
    words = philox(xp, key, counter, -(-count // group))
    return _fractions(xp, words, dtype).reshape(-1)[:count]


def _fractions(xp: Any, words: Any, dtype: DType) -> Any:
    """Returns numbers in [0, 1) whose digits are the low bits of words; two words make a float64."""
    if dtype is float64:
        bits = words[..., ::2].astype(xp.uint64)
        bits &= 0xFFFFF
        bits <<= 32
        bits |= words[..., 1::2]
        bits |= 1023 << 52
        return bits.view(xp.float64) - 1
    if dtype is float16:
        bits = (words & 0x3FF | 15 << 10).astype(xp.uint16)
        return bits.view(xp.float16) - 1
    bits = words & 0x7FFFFF
    bits |= 127 << 23
    fractions = bits.view(xp.float32)
    fractions -= 1
    return fractions


def integers(xp: Any, key: Any, counter: Counter, count: int, dtype: DType) -> Any:
    """Returns `count` integers of all values that the dtype has, of 32 or 64 bits."""
    if dtype is int64 or dtype is uint64:
        words = philox(xp, key, counter, -(-count // 2))
        wide = words[..., 1::2].astype(xp.uint64)
        wide <<= 32
        wide |= words[..., ::2]
        return wide.reshape(-1)[:count].view(dtype.np_dtype)
    return philox(xp, key, counter, -(-count // 4)).reshape(-1)[:count].view(dtype.np_dtype)


def integers_between(xp: Any, key: Any, counter: Counter, count: int, bounds: tuple[int, int], dtype: DType) -> Any:
    """Returns `count` integers from the first bound up to below the second."""
    wide = xp.uint64 if dtype is int64 or dtype is uint64 else xp.uint32
    unsigned = integers(xp, key, counter, count, dtype).view(wide)
    bits = 8 * dtype.size
    drawn = unsigned % (bounds[1] - bounds[0])
    drawn += bounds[0] % (1 << bits)
    return drawn.view(dtype.np_dtype)


def normal(xp: Any, key: Any, counter: Counter, count: int, dtype: DType) -> Any:
    """Returns `count` numbers of mean 0 and standard deviation 1."""
    group = 2 if dtype is float64 else 4
    words = philox(xp, key, counter, -(-count // group))
    drawn = xp.empty((len(words), group), dtype.np_dtype)
    for piece in _pieces(xp, len(words)):
        drawn[piece] = _box_muller(xp, words[piece], dtype)
    return drawn.reshape(-1)[:count]


def _box_muller(xp: Any, words: Any, dtype: DType) -> Any:
    """Returns the normal numbers of words, two of each pair of uniform ones.

    Computed in double precision whatever the dtype: single-precision logarithms and sines differ in the last bit
    between array libraries, and a seed must give the same numbers on a CPU and on a GPU.

    Source: Box, Muller, "A note on the generation of random normal deviates", 1958.
    """
    exact = dtype is float64
    fractions = _fractions(xp, words, dtype if exact else float32)
    smallest = SMALLEST if exact else xp.float32(SMALLEST)
    rounded = xp.float64 if exact else xp.float32  # where TensorFlow rounds
    logarithm = xp.log(xp.maximum(fractions[..., ::2], smallest).astype(xp.float64)).astype(rounded)
    angle = (TURN * fractions[..., 1::2].astype(xp.float64)).astype(rounded).astype(xp.float64)
    sine, cosine = (xp.sin(angle), xp.cos(angle)) if exact else _sine_and_cosine(xp, angle)
    logarithm *= -2
    radius = xp.sqrt(logarithm, out=logarithm)
    pairs = xp.empty((*angle.shape, 2), rounded)
    pairs[..., 0], pairs[..., 1] = sine, cosine
    pairs *= radius[..., None]
    return pairs.reshape(*words.shape[:-1], 2 * angle.shape[-1]).astype(dtype.np_dtype, copy=False)


# (sin(r) / r - 1) / r^2 for |r| <= pi / 2 as a polynomial in r^2, interpolated at the points of Chebyshev: it is off by
# 1e-18 of the sine at most. Rounded to single precision both are those of the C library, for all 2^23 angles.
SINE = (
    -0.16666666666666666,
    0.008333333333333316,
    -0.00019841269841254966,
    2.7557319219160833e-06,
    -2.505210761669045e-08,
    1.6058977292642743e-10,
    -7.643969663988074e-13,
    2.7314368769379893e-15,
)
HALF_TURN = 3.1415926534682512, 1.2154201013012384e-10
"""Pi: 33 bits, by which small numbers can be multiplied exactly, and the rest."""


def _sine_and_cosine(xp: Any, angle: Any) -> Any:
    """Returns sine and cosine of angles from 0 to a turn; a third of the time that the C library takes for them."""
    turned = xp.empty((2, *angle.shape), angle.dtype)
    for remainder, ahead in ((turned[0], 0.0), (turned[1], 0.5)):  # a cosine is a sine half of a half turn ahead
        number = xp.multiply(angle, 1 / HALF_TURN[0], out=remainder)
        number += ahead
        number = xp.rint(number)
        sign = 2 * xp.square(number - 1) - 1  # of 0, 1 and 2 half turns
        number -= ahead
        xp.subtract(angle, number * HALF_TURN[0], out=remainder)
        number *= HALF_TURN[1]
        remainder -= number
        remainder *= sign
    square = turned * turned
    total = square * SINE[-1]
    for coefficient in SINE[-2::-1]:
        total += coefficient
        total *= square
    total *= turned
    total += turned
    return total


def truncated_normal(xp: Any, key: Any, counter: Counter, count: int, dtype: DType) -> Any:
    """Returns `count` normal numbers within two standard deviations; what is beyond is drawn again.

    Each group of 4 (float64: 2) numbers has counters of its own, `RESERVED` per number, so groups do not wait for
    each other.
    """
    group = 2 if dtype is float64 else 4
    exact = float32 if dtype is float16 else dtype
    groups = -(-count // group)
    low, high = counters(xp, counter, groups, group * RESERVED // 4)
    drawn = _box_muller(xp, of_counters(xp, key, low, high, (groups,)), exact)
    incomplete = xp.flatnonzero((abs(drawn) >= CUT).any(1))
    if incomplete.size:
        drawn[incomplete] = _drawn_again(xp, key, low[incomplete], high[incomplete], exact)
    return drawn.reshape(-1)[:count].astype(dtype.np_dtype, copy=False)


def _drawn_again(xp: Any, key: Any, low: Any, high: Any, dtype: DType) -> Any:
    """Returns groups of normal numbers from several counters each, without those beyond the cut."""
    group = 2 if dtype is float64 else 4
    own = low[:, None] + xp.arange(TRIED_BLOCKS[group], dtype=xp.uint64)
    words = of_counters(xp, key, own, high[:, None] + (own < low[:, None]), own.shape)
    drawn = _box_muller(xp, words, dtype).reshape(low.size, -1)
    beyond = (abs(drawn) >= CUT).astype(xp.uint8)
    order = xp.argsort(beyond, axis=1, kind="stable")[:, :group]
    return xp.take_along_axis(drawn, order, axis=1)

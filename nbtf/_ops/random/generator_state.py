"""The state of a random number generator: its algorithm, its length, and the op that advances it."""

from __future__ import annotations

from enum import Enum
from typing import Any

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.creation import zeros
from nbtf._ops.arrays.joining import concat
from nbtf._ops.attributes import as_int
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.op import no_gradient, op
from nbtf._ops.random.philox import RESERVED
from nbtf._ops.random.stateless import ALGORITHMS
from nbtf._ops.specs import like_first, spec_of_first
from nbtf._runtime.arguments import check_whole
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import int64
from nbtf.errors import UnimplementedError

WORD = (1 << 64) - 1


class Algorithm(Enum):
    """Algorithms for random bits; nbtf implements Philox."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


STATE_SIZES = {1: 3, 2: 2, 3: 3}
"""Length of an algorithm's state: the counter, and one number for the key."""


def as_algorithm_number(alg: Any) -> int:
    """Returns TensorFlow's number of an algorithm.

    Raises:
      ValueError: if the algorithm is unknown.
    """
    plain = alg.value if isinstance(alg, Algorithm) else alg
    number = ALGORITHMS.get(plain, 0) if isinstance(plain, str) else check_whole(plain, "alg")
    if number not in STATE_SIZES:
        raise ValueError(
            f"Argument `alg` got unsupported value {alg}. Supported values are philox for the Philox algorithm, "
            "threefry for the ThreeFry algorithm, and auto_select for auto-selection."
        )
    return number


def create_rng_state(seed: Any, alg: Any) -> Tensor:
    """Returns the initial state of a generator for a seed.

    Args:
      seed: an integer of any size, or a list of integers.
      alg: the algorithm: "philox", "threefry" or "auto_select".

    Returns:
      The counter and one number for the key, int64; numbers that the seed does not set are 0.

    Raises:
      ValueError: if the algorithm is unknown.

    >>> tf.random.create_rng_state(1234, "philox")
    <tf.Tensor: shape=(3,), dtype=int64, numpy=array([1234,    0,    0])>
    """
    size = STATE_SIZES[as_algorithm_number(alg)]
    if isinstance(seed, int):
        return as_tensor([_signed(seed >> 64 * word & WORD) for word in range(size)], int64)
    numbers = reshape(as_state(seed), [-1])[:size]
    return concat([zeros([size - numbers.shape[0]], int64), numbers], 0)


def _signed(number: Any) -> Any:
    """Returns the signed integer with the same 64 bits."""
    return number - (1 << 64) if isinstance(number, int) and number >> 63 == 1 else number


def as_state(value: Any) -> Tensor:
    """Returns the numbers of a state as a tensor."""
    if isinstance(value, list | tuple):
        value = [_signed(number) for number in value]  # pyright: ignore[reportUnknownVariableType]
    return cast(value, int64)


def state_of(key: Any, counter: Any, alg: int) -> Tensor:
    """Returns the state with a key and a counter; raises ValueError if one has another shape."""
    numbers, chosen = as_state(counter), as_state(_signed(key))
    numbers.shape.assert_is_compatible_with([STATE_SIZES[alg] - 1])
    chosen.shape.assert_is_compatible_with([])
    return concat([numbers, reshape(chosen, [1])], 0)


@op(
    "int64 uint64 -> int64",
    host={"alg": as_int},
    resource=True,
    shares_memory=True,
    partly=like_first,
    infer=spec_of_first,
)
def RngReadAndSkip(xp: Any, resource: Any, delta: Any, alg: int) -> Any:
    if alg == Algorithm.THREEFRY.value:
        raise UnimplementedError("Non-XLA devices don't support the ThreeFry algorithm.")
    low, high, key = resource.view(xp.uint64)
    advanced = low + delta.reshape(()) * xp.asarray(RESERVED, dtype=xp.uint64)
    return xp.stack((advanced, high + (advanced < low).astype(xp.uint64), key)).view(xp.int64)


no_gradient(RngReadAndSkip)

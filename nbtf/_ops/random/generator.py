"""Random number generators whose state is a variable: `tf.random.Generator`."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from nbtf._ops.arrays.bitcast import bitcast
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.joining import stack, unstack
from nbtf._ops.attributes import as_int
from nbtf._ops.math.arithmetic import add, cast, multiply, subtract
from nbtf._ops.op import Op
from nbtf._ops.random.arguments import as_bound
from nbtf._ops.random.binomial import StatefulRandomBinomial, binomial_reserve
from nbtf._ops.random.generator_state import (
    STATE_SIZES,
    Algorithm,
    RngReadAndSkip,
    as_algorithm_number,
    as_state,
    create_rng_state,
    state_of,
)
from nbtf._ops.random.stateless import (
    StatelessRandomNormalV2,
    StatelessRandomUniformFullIntV2,
    StatelessRandomUniformIntV2,
    StatelessRandomUniformV2,
    StatelessTruncatedNormalV2,
)
from nbtf._ops.random.streams import seeds
from nbtf._ops.reductions.means_and_extremes import reduce_prod
from nbtf._ops.variables.creation import alone
from nbtf._ops.variables.resource import read_variable
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.arguments import check_has
from nbtf._runtime.attributes import reads
from nbtf._runtime.context import open_graph
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf._shapes import TensorShape
from nbtf._types import DType, DTypeLike, TensorLike, as_dtype, float32, int32, int64, uint64

Lengths = Any
"""The shape of the result: a list of integers or an integer tensor."""


class Generator:
    """A random number generator that keeps its state in a variable.

    A seed gives the same numbers as in TensorFlow, in each run and on every type of device. If created in the scope of
    a strategy, the generator gives each replica different numbers.

    >>> generator = tf.random.Generator.from_seed(1234)
    >>> generator.uniform([3], 0, 10, tf.int32).shape
    TensorShape([3])
    >>> generator.state.numpy()
    array([2002,    0,    0])
    """

    def __init__(self, copy_from: Generator | None = None, state: Any = None, alg: Any = None) -> None:
        """Creates a generator from another generator's state, or from a state and an algorithm.

        Args:
          copy_from: a generator whose state is copied.
          state: counter and key; a variable is used without copying.
          alg: the algorithm: "philox"; or "threefry", which cannot draw numbers on CPUs and GPUs, as in TensorFlow.

        Raises:
          AssertionError: if neither or both of `copy_from` and `state` with `alg` are given, as in TensorFlow.
          ValueError: if the state's length does not fit the algorithm.
        """
        scope = SCOPE()
        self._of_strategy = scope is not None and scope.strategy is not None
        if copy_from is not None:
            assert (alg, state) == (None, None)
            self._algorithm = check_has(copy_from, "algorithm", "copy_from", "a generator").algorithm
            self._state = self._made(copy_from.state)
            return
        assert alg is not None
        assert state is not None
        self._algorithm = as_algorithm_number(alg)
        if hasattr(state, "assign"):
            self._check(state)
            self._state = state
        else:
            numbers = as_state(state)
            self._check(numbers)
            self._state = self._made(numbers)

    @staticmethod
    def _made(value: Any) -> Any:
        return Variable(value, trainable=False, name="StateVar", dtype=int64)

    def _check(self, state: Any) -> None:
        TensorShape(state.shape).assert_is_compatible_with([STATE_SIZES[self._algorithm]])

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        """Returns a generator that starts from a seed.

        Args:
          seed: an integer of any size, or a list of integers.
          alg: the algorithm; "philox" by default.

        >>> tf.random.Generator.from_seed(7).state.numpy()
        array([7, 0, 0])
        """
        number = as_algorithm_number(Algorithm.PHILOX if alg is None else alg)
        return cls(state=create_rng_state(seed, number), alg=number)

    @classmethod
    def from_state(cls, state: Any, alg: Any) -> Generator:
        """Returns a generator that continues from a state.

        Args:
          state: counter and key, such as another generator's `state`.
          alg: the algorithm, "philox".

        Raises:
          ValueError: if the state's length does not fit the algorithm.
        """
        return cls(state=state, alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """Returns a generator with an unpredictable state.

        Args:
          alg: the algorithm; "philox" by default.
        """
        number = as_algorithm_number(Algorithm.PHILOX if alg is None else alg)
        drawn = [int.from_bytes(os.urandom(8), signed=True) for _ in range(STATE_SIZES[number])]
        return cls(state=as_tensor(drawn, int64), alg=number)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any) -> Generator:
        """Returns a generator that continues from a key and a counter.

        Args:
          key: an int64 scalar that selects the stream of numbers.
          counter: two int64 numbers, the position in the stream.
          alg: the algorithm, "philox".

        Raises:
          ValueError: if `key` or `counter` has another shape.
        """
        number = as_algorithm_number(alg)
        return cls(state=state_of(key, counter, number), alg=number)

    # State

    state: Any = reads("_state", "The variable that holds counter and key.")

    algorithm: int = reads("_algorithm", "TensorFlow's number of the algorithm: 1 for Philox.")

    @property
    def key(self) -> Tensor:
        """The number that selects the stream, an int64 scalar."""
        return self._state[STATE_SIZES[self._algorithm] - 1]

    def reset(self, state: Any) -> None:
        """Continues from another state.

        Raises:
          ValueError: if the state's length does not fit the algorithm.
        """
        numbers = as_state(state)
        self._check(numbers)
        self._state.assign(numbers)

    def reset_from_seed(self, seed: Any) -> None:
        """Restarts from a seed; see `from_seed`."""
        self._state.assign(create_rng_state(seed, self._algorithm))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Continues from another key and counter; see `from_key_counter`."""
        self._state.assign(state_of(key, counter, self._algorithm))

    def skip(self, delta: Any) -> Tensor:
        """Skips numbers and returns the previous state.

        Args:
          delta: number of numbers to skip; the new state is the same as after `normal([delta])`.

        Returns:
          The state before skipping.
        """
        copies = getattr(self._state, "_values", (self._state,))  # a strategy has one state per device
        return alone(partial(self._read_and_skip, cast(delta, uint64)), *copies)

    def _read_and_skip(self, delta: Tensor) -> Tensor:
        variable = getattr(self._state, "__tf_variable__", self._state)
        graph = open_graph()
        state = tensor_of(variable, int64, variable._device) if graph is None else read_variable(variable)
        self._state._update(RngReadAndSkip, delta, alg=self._algorithm)
        return state

    def _key_and_counter(self, shape: Any, count: int | None = None) -> tuple[Tensor, Tensor]:
        """Reserves the numbers for a shape and returns their key and first counter."""
        state = self.skip(reduce_prod(shape) if count is None else count)
        counter, key = bitcast(state[:2], uint64), bitcast(state[2:3], uint64)
        scope = SCOPE()
        if not self._of_strategy or scope is None or scope.replica is None:
            return key, counter
        replica = as_tensor([scope.replica, 0], uint64)
        return self._full_int(key, replica, [1], uint64), counter

    def _full_int(self, key: Tensor, counter: Tensor, shape: Any, dtype: DType) -> Tensor:
        return StatelessRandomUniformFullIntV2(key, counter, shape=shape, alg=self._algorithm, dtype=dtype)

    # Random numbers

    def normal(
        self,
        shape: Lengths,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = float32,
        name: str | None = None,
    ) -> Tensor:
        """Returns random numbers from a normal distribution.

        Args:
          shape: the shape of the result.
          mean: the mean, a number or a tensor that broadcasts with `shape`; 0.0 by default.
          stddev: the standard deviation, in the same form; 1.0 by default.
          dtype: the dtype: float16, float32 (default) or float64.

        >>> tf.random.Generator.from_seed(1234).normal([2]).numpy()
        array([0.9356609, 1.0854305], dtype=float32)
        """
        return self._scaled(StatelessRandomNormalV2, shape, mean, stddev, dtype, name)

    def truncated_normal(
        self,
        shape: Lengths,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = float32,
        name: str | None = None,
    ) -> Tensor:
        """Returns random numbers from a normal distribution, redrawing those beyond two standard deviations.

        Args:
          shape: the shape of the result.
          mean: the mean, a number or a tensor that broadcasts with `shape`; 0.0 by default.
          stddev: the standard deviation before truncation, in the same form; 1.0 by default.
          dtype: the dtype: float16, float32 (default) or float64.
        """
        return self._scaled(StatelessTruncatedNormalV2, shape, mean, stddev, dtype, name)

    def _scaled(self, op: Op, shape: Lengths, mean: Any, stddev: Any, dtype: DTypeLike, name: str | None) -> Tensor:
        result_dtype, lengths = as_dtype(dtype), _lengths(shape)
        centre, width = as_tensor(mean, result_dtype), as_tensor(stddev, result_dtype)
        key, counter = self._key_and_counter(lengths)
        drawn = op(key, counter, shape=lengths, alg=self._algorithm, dtype=result_dtype, name=name)
        return add(multiply(drawn, width), centre)

    def uniform(
        self,
        shape: Lengths,
        minval: Any = 0,
        maxval: Any = None,
        dtype: DTypeLike = float32,
        name: str | None = None,
    ) -> Tensor:
        """Returns uniformly distributed random numbers from `minval` up to, but excluding, `maxval`.

        Args:
          shape: the shape of the result.
          minval: the lower bound, 0 by default; for integers, None for both bounds means all values of the dtype.
          maxval: the upper bound (excluded); 1 by default for floats.
          dtype: the dtype: float16, float32 (default), float64, or integers of 32 or 64 bits.

        Raises:
          ValueError: if only one bound is given for integers.
          InvalidArgumentError: if `minval` is not below `maxval` for integers.
        """
        result_dtype, lengths = as_dtype(dtype), _lengths(shape)
        if result_dtype.is_integer:
            return self._integers(lengths, minval, maxval, result_dtype)
        low, high = as_tensor(minval, result_dtype), as_tensor(1 if maxval is None else maxval, result_dtype)
        key, counter = self._key_and_counter(lengths)
        drawn = StatelessRandomUniformV2(
            key, counter, shape=lengths, alg=self._algorithm, dtype=result_dtype, name=name
        )
        return add(multiply(drawn, subtract(high, low)), low)

    def _integers(self, shape: Any, minval: Any, maxval: Any, dtype: DType) -> Tensor:
        if (minval is None) is not (maxval is None):
            raise ValueError(
                f"For integer dtype {dtype!s}, minval and maxval must be both `None` or both non-`None`; got "
                f"minval={minval} and maxval={maxval}"
            )
        if minval is None:
            return self.uniform_full_int(shape, dtype)
        low, high = as_bound(minval, dtype), as_bound(maxval, dtype)
        key, counter = self._key_and_counter(shape)
        return StatelessRandomUniformIntV2(
            key, counter, shape=shape, alg=self._algorithm, minval=low, maxval=high, dtype=dtype
        )

    def uniform_full_int(self, shape: Lengths, dtype: DTypeLike = uint64, name: str | None = None) -> Tensor:
        """Returns uniformly distributed random integers from all values of a dtype.

        Args:
          shape: the shape of the result.
          dtype: an integer dtype of 32 or 64 bits; uint64 by default.
        """
        lengths = _lengths(shape)
        key, counter = self._key_and_counter(lengths)
        return self._full_int(key, counter, lengths, as_dtype(dtype))

    def binomial(
        self, shape: Lengths, counts: TensorLike, probs: TensorLike, dtype: DTypeLike = int32, name: str | None = None
    ) -> Tensor:
        """Returns binomial random numbers: the number of successes in a number of trials.

        Args:
          shape: the shape of the result; it ends with the broadcast shape of `counts` and `probs`.
          counts: number of trials.
          probs: probability of success in each trial.
          dtype: the dtype of the result; int32 by default.

        Returns:
          TensorFlow's numbers for this state.

        >>> tf.random.Generator.from_seed(1).binomial([3], 10.0, 1.0).numpy()
        array([10, 10, 10], dtype=int32)
        """
        trials, lengths = as_tensor(counts), _lengths(shape)
        chances = as_tensor(probs, trials.dtype)
        key, counter = self._key_and_counter(
            lengths, binomial_reserve(tuple(trials.shape), tuple(chances.shape), lengths)
        )
        return StatefulRandomBinomial(key, counter, trials, chances, shape=lengths, dtype=as_dtype(dtype), name=name)

    # Seeds and further generators

    def make_seeds(self, count: Any = 1) -> Tensor:
        """Returns random seeds for stateless random ops.

        Args:
          count: number of seeds or generators; 1 by default.

        Returns:
          int64 numbers of shape `[2, count]`; each column is a seed.
        """
        keys = self.uniform_full_int([count], int64)
        return stack([keys, zeros_like(keys)])

    def split(self, count: int = 1) -> list[Generator]:
        """Returns independent generators.

        Args:
          count: number of seeds or generators; 1 by default.

        Returns:
          Generators on the current device; this generator's state advances, so the next call returns different ones.

        >>> [generator.algorithm for generator in tf.random.Generator.from_seed(1).split(2)]
        [1, 1]
        """
        keys = unstack(self.uniform_full_int([count], int64), num=count)
        fresh = [0] * (STATE_SIZES[self._algorithm] - 1)
        return [Generator(state=as_tensor([*fresh, key], int64), alg=self._algorithm) for key in keys]


def _lengths(shape: Lengths) -> Any:
    """Returns a shape as a tensor; for a single number, the kernel raises the error, as in TensorFlow."""
    empty = isinstance(shape, list | tuple) and not shape
    lengths = as_tensor(shape, int64) if empty else as_tensor(shape)
    return lengths if lengths.shape.rank else as_int(lengths)


def get_global_generator() -> Generator:
    """Returns the global generator; the first call creates one with an unpredictable state.

    >>> tf.random.get_global_generator().normal([2]).shape
    TensorShape([2])
    """
    context_seeds = seeds()
    if context_seeds.generator is None:
        fresh = Generator.from_non_deterministic_state()
        with context_seeds.lock:
            context_seeds.generator = context_seeds.generator or fresh
    return context_seeds.generator


def set_global_generator(generator: Generator) -> None:
    """Replaces the global generator.

    Args:
      generator: the new global generator.

    >>> tf.random.set_global_generator(tf.random.Generator.from_seed(1))
    >>> tf.random.get_global_generator().normal([2]).numpy()
    array([ 0.43842274, -0.53439844], dtype=float32)
    """
    seeds().generator = generator

"""`tf.keras.initializers`: initial values of weights."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbtf import linalg
from nbtf._ops.arrays.broadcasting import broadcast_to, reshape
from nbtf._ops.arrays.creation import constant as _constant
from nbtf._ops.arrays.creation import fill
from nbtf._ops.arrays.creation import ones as _ones
from nbtf._ops.arrays.creation import zeros as _zeros
from nbtf._ops.math.arithmetic import cast, multiply
from nbtf._ops.random.stateless import stateless_normal, stateless_truncated_normal, stateless_uniform
from nbtf._runtime.arguments import check_number, check_text
from nbtf._runtime.tensor import Tensor
from nbtf.keras import border as _border
from nbtf.keras.configured import Configured
from nbtf.keras.dtypes import standardized
from nbtf.keras.registry import deserialized, look_up, serialized


class Initializer(Configured):
    """A function of a shape and a dtype that returns initial values.

    >>> tf.keras.initializers.Ones()((2,)).numpy()
    array([1., 1.], dtype=float32)
    """

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        """Returns initial values of the given shape."""
        raise NotImplementedError("Initializer subclasses must implement the `__call__()` method.")

    def clone(self) -> Initializer:
        """Returns an initializer with the same configuration."""
        return self.from_config(self.get_config())


# ---- Constant values


class Zeros(Initializer):
    """Initializes weights to 0."""

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        return _zeros(shape, standardized(dtype))


class Ones(Initializer):
    """Initializes weights to 1."""

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        return _ones(shape, standardized(dtype))


@dataclass(eq=False, repr=False)
class Constant(Initializer):
    """Initializes weights to one value, or to an array broadcast to their shape.

    >>> tf.keras.initializers.Constant([1.0, 2.0])((2, 2)).numpy()
    array([[1., 2.],
           [1., 2.]], dtype=float32)
    """

    value: Any = 0.0

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        """Returns a tensor filled with the value."""
        value = cast(_constant(self.value), standardized(dtype))
        return broadcast_to(value, shape) if value.shape.rank else fill(shape, value)

    def get_config(self) -> dict[str, Any]:
        value = self.value.tolist() if hasattr(self.value, "tolist") else self.value
        return {"value": value}


# ---- Random values


class RandomInitializer(Initializer):
    """Draws random values. An initializer returns the same values at each call with the same shape.

    Args:
      seed: random seed; by default drawn from Python's generator, which `tf.keras.utils.set_random_seed` seeds.
    """

    seed: int | None

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed
        self.__post_init__()

    def __post_init__(self) -> None:
        self._given = self.seed
        self.seed = random.randint(1, int(1e9)) if self.seed is None else self.seed

    @property
    def _pair(self) -> list[int]:
        return [int(self.seed or 0) & 0x7FFFFFFF, 0]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "seed": self._given}


@dataclass(eq=False, repr=False)
class RandomNormal(RandomInitializer):
    """Draws normally distributed values.

    Args:
      mean: mean of the distribution; 0 by default.
      stddev: standard deviation of the distribution; 0.05 by default.
      seed: random seed; drawn by default.
    """

    mean: float = 0.0
    stddev: float = 0.05
    seed: int | None = None

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        return stateless_normal(shape, self._pair, self.mean, self.stddev, standardized(dtype))


class TruncatedNormal(RandomNormal):
    """Draws normally distributed values within two standard deviations of the mean."""

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        return stateless_truncated_normal(shape, self._pair, self.mean, self.stddev, standardized(dtype))


@dataclass(eq=False, repr=False)
class RandomUniform(RandomInitializer):
    """Draws uniformly distributed values between two limits.

    Args:
      minval: lower limit, inclusive; -0.05 by default.
      maxval: upper limit, exclusive; 0.05 by default.
      seed: random seed; drawn by default.
    """

    minval: float = -0.05
    maxval: float = 0.05
    seed: int | None = None

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        return stateless_uniform(shape, self._pair, self.minval, self.maxval, standardized(dtype))


@dataclass(eq=False, repr=False)
class VarianceScaling(RandomInitializer):
    """Draws random values whose variance depends on the number of inputs or outputs of a layer.

    Args:
      scale: factor of the variance; 1 by default.
      mode: number by which `scale` is divided: `"fan_in"`, `"fan_out"` or `"fan_avg"`.
      distribution: `"truncated_normal"`, `"untruncated_normal"` or `"uniform"`.
      seed: random seed; drawn by default.

    Raises:
      ValueError: if `mode` or `distribution` is unknown, or if `scale` is not positive.
    """

    scale: float = 1.0
    mode: str = "fan_in"
    distribution: str = "truncated_normal"
    seed: int | None = None

    def __post_init__(self) -> None:
        if check_number(self.scale, "scale") <= 0.0:
            raise ValueError(f"Argument `scale` must be positive float. Received: scale={self.scale}")
        modes = ("fan_in", "fan_out", "fan_avg")
        if self.mode not in modes:
            raise ValueError(f"Invalid `mode` argument: {self.mode}. Please use one of {set(modes)}")
        distribution = check_text(self.distribution, "distribution").lower()
        self.distribution = "truncated_normal" if distribution == "normal" else distribution
        distributions = ("uniform", "truncated_normal", "untruncated_normal")
        if self.distribution not in distributions:
            raise ValueError(f"Invalid `distribution` argument: {distribution}. Please use one of {set(distributions)}")
        super().__post_init__()

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        weight_dtype, width = standardized(dtype), self.width(shape)
        if self.distribution == "uniform":
            return stateless_uniform(shape, self._pair, -width, width, weight_dtype)
        draw = stateless_normal if self.distribution == "untruncated_normal" else stateless_truncated_normal
        return draw(shape, self._pair, 0.0, width, weight_dtype)

    def width(self, shape: Any) -> float:
        """Returns the limit of uniform values for a shape, or the standard deviation of normal values."""
        inputs, outputs = fans(shape)
        divisor = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[self.mode]
        variance = self.scale / max(1.0, divisor)
        if self.distribution == "uniform":
            return math.sqrt(3.0 * variance)
        # Truncation reduces the standard deviation by this factor.
        return math.sqrt(variance) / (0.87962566103423978 if self.distribution == "truncated_normal" else 1.0)


class _Fixed(VarianceScaling):
    """A `VarianceScaling` that only has `seed` as an argument."""

    _like: tuple[float, str, str]

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(*self._like, seed)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self._given}


class GlorotUniform(_Fixed):
    """`VarianceScaling(1.0, "fan_avg", "uniform")`: the default of dense and convolutional layers."""

    _like = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Fixed):
    """`VarianceScaling(1.0, "fan_avg", "truncated_normal")`."""

    _like = (1.0, "fan_avg", "truncated_normal")


class HeUniform(_Fixed):
    """`VarianceScaling(2.0, "fan_in", "uniform")`."""

    _like = (2.0, "fan_in", "uniform")


class HeNormal(_Fixed):
    """`VarianceScaling(2.0, "fan_in", "truncated_normal")`."""

    _like = (2.0, "fan_in", "truncated_normal")


class LecunUniform(_Fixed):
    """`VarianceScaling(1.0, "fan_in", "uniform")`."""

    _like = (1.0, "fan_in", "uniform")


class LecunNormal(_Fixed):
    """`VarianceScaling(1.0, "fan_in", "truncated_normal")`."""

    _like = (1.0, "fan_in", "truncated_normal")


@dataclass(eq=False, repr=False)
class Orthogonal(RandomInitializer):
    """Initializes a matrix with orthogonal rows or columns, whichever are fewer; used by recurrent layers.

    Args:
      gain: factor of the matrix; 1 by default.
      seed: random seed; drawn by default.
    """

    gain: float = 1.0
    seed: int | None = None

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        """Returns the orthogonal matrix.

        Raises:
          ValueError: if `shape` has fewer than two axes.
        """
        if len(shape) < 2:
            raise ValueError(
                "The tensor to initialize must be at least two-dimensional. Received: "
                f"shape={tuple(shape)} of rank {len(shape)}."
            )
        rows, columns = math.prod(shape[:-1]), shape[-1]
        square = stateless_normal((max(rows, columns), min(rows, columns)), self._pair, dtype="float32")
        q, r = linalg.qr(square)
        q = multiply(q, linalg.diag_part(r) / abs(linalg.diag_part(r)))  # makes the result unique
        if rows < columns:
            q = linalg.matrix_transpose(q)
        return cast(multiply(reshape(q, shape), _constant(self.gain)), standardized(dtype))


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """Returns the numbers of inputs and outputs that a weight connects.

    >>> fans((3, 3, 16, 32))
    (144, 288)
    """
    if not len(shape):  # a `TensorShape` without axes is truthy
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    area = math.prod(shape[:-2])
    return area * shape[-2], area * shape[-1]


# ---- Lookup by name

zeros = zeros_initializer = Zeros
ones = ones_initializer = Ones
constant = Constant
orthogonal = Orthogonal
random_normal = RandomNormal
random_uniform = RandomUniform
truncated_normal = TruncatedNormal
variance_scaling = VarianceScaling
glorot_uniform = GlorotUniform
glorot_normal = GlorotNormal
he_uniform = HeUniform
he_normal = HeNormal
lecun_uniform = LecunUniform
lecun_normal = LecunNormal
OrthogonalInitializer = Orthogonal

_KNOWN: dict[str, Any] = {
    **{name: value for name, value in globals().items() if isinstance(value, type) and issubclass(value, Initializer)},
    "zeros": Zeros,
    "ones": Ones,
    "normal": RandomNormal,
    "uniform": RandomUniform,
}


def get(identifier: Any) -> Any:
    """Returns the initializer for a name, a config, a class or a function; None for None."""
    return look_up(identifier, _KNOWN, "initializer")


def serialize(initializer: Any) -> Any:
    """Returns an initializer as plain data."""
    return serialized(initializer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Creates an initializer from the result of `serialize`."""
    return deserialized(config, custom_objects, _KNOWN)


_border.guard(__name__)

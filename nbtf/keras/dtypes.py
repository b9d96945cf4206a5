"""The dtypes in which layers compute and store their weights."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from nbtf._ops.math.arithmetic import cast
from nbtf._runtime.blocks import call_variable
from nbtf._runtime.conversion import as_tensor
from nbtf.dtypes import as_dtype
from nbtf.keras import catalogue
from nbtf.keras.type_guards import is_dict

_AUTOCAST: ContextVar[str | None] = call_variable("nbtf keras autocast", None)


class _Settings:
    """Settings of the whole process."""

    floatx = "float32"
    epsilon = 1e-7
    policy: DTypePolicy | None = None


def floatx() -> str:
    """Returns the default float type of layers.

    >>> tf.keras.config.floatx()
    'float32'
    """
    return _Settings.floatx


def as_floats(value: Any) -> Any:
    """Returns integers as floats, as Keras computes with them; other values unchanged."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        value = as_tensor(value)
        dtype = value.dtype
    return cast(value, floatx()) if as_dtype(dtype).is_integer else value


def set_floatx(value: str) -> None:
    """Sets the default float type of layers.

    Raises:
      ValueError: if `value` is not a float type that layers support.
    """
    if value not in ("bfloat16", "float16", "float32", "float64"):
        names = "('bfloat16', 'float16', 'float32', 'float64')"
        raise ValueError(f"Unknown `floatx` value: {value}. Expected one of {names}")
    _Settings.floatx = value


def epsilon() -> float:
    """Returns the small number that keeps divisions and logarithms finite."""
    return _Settings.epsilon


def set_epsilon(value: float) -> None:
    """Sets the small number that keeps divisions and logarithms finite."""
    _Settings.epsilon = value


def standardized(dtype: Any) -> str:
    """Returns the name of a dtype given in any form; `floatx()` for None."""
    return floatx() if dtype is None else as_dtype(dtype).name


class DTypePolicy:
    """The dtype in which a layer computes, and the dtype of its weights.

    >>> policy = tf.keras.mixed_precision.Policy("mixed_float16")
    >>> policy.compute_dtype, policy.variable_dtype
    ('float16', 'float32')
    """

    def __init__(self, name: Any = None) -> None:
        """Creates a policy from the name of a dtype or `mixed_float16`.

        Raises:
          ValueError: if `name` is neither of these.
        """
        name = floatx() if name is None else name
        if not isinstance(name, str):
            raise TypeError(
                f"'name' must be a string, such as 'mixed_float16'. Received: name={name} (of type {type(name)})"
            )
        self._name = name
        if name.startswith("mixed_"):
            self._compute, self._variable = standardized(name.removeprefix("mixed_")), "float32"
        else:
            try:
                self._compute = self._variable = standardized(name)
            except TypeError:
                raise ValueError(
                    f"Cannot convert '{name}' to a DTypePolicy. Valid policies include 'mixed_float16', 'float32' and "
                    "the names of other dtypes."
                ) from None

    @property
    def name(self) -> str:
        """The name of the policy."""
        return self._name

    @property
    def compute_dtype(self) -> str:
        """The dtype to which inputs are cast, and of the results."""
        return self._compute

    @property
    def variable_dtype(self) -> str:
        """The dtype in which weights are stored."""
        return self._variable

    def get_config(self) -> dict[str, Any]:
        return {"name": self._name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> DTypePolicy:
        return cls(**config)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DTypePolicy) and other._name == self._name

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return f'<DTypePolicy "{self._name}">'


def dtype_policy() -> DTypePolicy:
    """Returns the default policy of layers."""
    return _Settings.policy or DTypePolicy()


def set_dtype_policy(policy: str | DTypePolicy | None) -> None:
    """Sets the default policy of layers; None resets it to `floatx()`."""
    _Settings.policy = None if policy is None else as_policy(policy)


def as_policy(value: Any) -> DTypePolicy:
    """Returns the policy for a policy, a name, a dtype or a config; the current one for None."""
    if value is None:
        return dtype_policy()
    if isinstance(value, DTypePolicy):
        return value
    if is_dict(value):
        return DTypePolicy(**value.get("config", value))
    return DTypePolicy(value if isinstance(value, str) else standardized(value))


def autocast() -> str | None:
    """Returns the dtype in which weights are currently read; None for their own."""
    return _AUTOCAST.get()


@contextmanager
def reading_weights_as(dtype: str | None) -> Generator[None]:
    """Casts float weights that are read in the block to another float type, as layers with mixed precision do."""
    outer = _AUTOCAST.get()
    try:
        _AUTOCAST.set(dtype)
        yield
    finally:
        _AUTOCAST.set(outer)


for _module in ("keras", "keras.dtypes"):
    catalogue.add_class(_module, DTypePolicy)

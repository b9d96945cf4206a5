"""`tf.ragged`: tensors with rows of different lengths."""

from typing import NoReturn

from nbtf import _missing
from nbtf._ops.ragged_and_sparse.ragged_functions import constant as constant
from nbtf._ops.ragged_and_sparse.ragged_functions import map_flat_values as map_flat_values

__all__ = ["constant", "map_flat_values"]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> NoReturn:
    raise _missing.of_namespace(__name__, name, __all__)

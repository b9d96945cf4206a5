"""`tf.sparse`: tensors that store only their nonzero values."""

from typing import NoReturn

from nbtf import _missing
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor as SparseTensor
from nbtf._ops.ragged_and_sparse.sparse import from_dense as from_dense
from nbtf._ops.ragged_and_sparse.sparse import map_values as map_values
from nbtf._ops.ragged_and_sparse.sparse import reorder as reorder
from nbtf._ops.ragged_and_sparse.sparse import sparse_dense_matmul as sparse_dense_matmul
from nbtf._ops.ragged_and_sparse.sparse import to_dense as to_dense
from nbtf._ops.ragged_and_sparse.sparse_arithmetic import add as add
from nbtf._ops.ragged_and_sparse.sparse_arithmetic import maximum as maximum
from nbtf._ops.ragged_and_sparse.sparse_arithmetic import minimum as minimum

__all__ = [
    "SparseTensor",
    "add",
    "from_dense",
    "map_values",
    "maximum",
    "minimum",
    "reorder",
    "sparse_dense_matmul",
    "to_dense",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> NoReturn:
    raise _missing.of_namespace(__name__, name, __all__)

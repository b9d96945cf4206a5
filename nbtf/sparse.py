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
from nbtf._ops.ragged_and_sparse.sparse_counts import bincount as bincount
from nbtf._ops.ragged_and_sparse.sparse_crosses import cross_hashed as cross_hashed
from nbtf._ops.ragged_and_sparse.sparse_reductions import reduce_max as reduce_max
from nbtf._ops.ragged_and_sparse.sparse_reductions import reduce_sum as reduce_sum
from nbtf._ops.ragged_and_sparse.sparse_rows import fill_empty_rows as fill_empty_rows
from nbtf._ops.ragged_and_sparse.sparse_rows import retain as retain
from nbtf._ops.ragged_and_sparse.sparse_shapes import concat as concat
from nbtf._ops.ragged_and_sparse.sparse_shapes import expand_dims as expand_dims
from nbtf._ops.ragged_and_sparse.sparse_shapes import reshape as reshape
from nbtf._ops.ragged_and_sparse.sparse_shapes import transpose as transpose

__all__ = [
    "SparseTensor",
    "add",
    "bincount",
    "concat",
    "cross_hashed",
    "expand_dims",
    "fill_empty_rows",
    "from_dense",
    "map_values",
    "maximum",
    "minimum",
    "reduce_max",
    "reduce_sum",
    "reorder",
    "reshape",
    "retain",
    "sparse_dense_matmul",
    "to_dense",
    "transpose",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> NoReturn:
    raise _missing.of_namespace(__name__, name, __all__)

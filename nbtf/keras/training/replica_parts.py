"""The part of a batch for each replica, and the weight of its loss."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from nbtf import distribute
from nbtf._ops.arrays.identity import identity
from nbtf._ops.variables.variable import Variable as TensorVariable
from nbtf._runtime.blocks import call_variable
from nbtf._runtime.conversion import as_tensor, constant_of
from nbtf._runtime.lanes import lane_at
from nbtf._runtime.phases import INPUT, during
from nbtf._runtime.tensor import Tensor
from nbtf.distribute.datasets import part_of
from nbtf.distribute.values import mapped
from nbtf.dtypes import as_dtype
from nbtf.keras.type_guards import is_dict, is_list


class Share(NamedTuple):
    """The number of rows of the global batch that a replica has."""

    rows: int
    of: int


SHARE: ContextVar[Share | None] = call_variable("nbtf keras share", None)
"""The share of the running replica; None with a single replica, which has all rows."""


def rows_of(batch: Any) -> int:
    """Returns the number of rows of a batch: those of its first array, over all replicas."""
    batch_class = batch.__class__
    if batch_class is np.ndarray:
        return batch.shape[0] if batch.ndim else 1
    if batch_class is Tensor:
        return batch._array.shape[0] if batch._array.ndim else 1
    if isinstance(batch, distribute.DistributedValues):
        return sum(rows_of(replica_batch) for replica_batch in batch.values)
    if is_list(batch):
        return next((rows_of(item) for item in batch if item is not None), 0)
    if is_dict(batch):
        return next((rows_of(entry) for entry in batch.values() if entry is not None), 0)
    shape = getattr(batch, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) else 1


def copy_here(weight: Any) -> Any:
    """Returns the `tf.Variable` of a weight; in a replica, its own copy."""
    handle = getattr(weight, "handle", weight)
    return handle if handle.__class__ is TensorVariable else getattr(handle, "__tf_variable__", handle)


def part_for(number: int, replicas: int, batch: Any) -> Any:
    """Returns a replica's rows of a batch; the first replicas get larger parts, the last ones may get none."""

    def cut_rows(value: Any) -> Any:
        if isinstance(value, distribute.DistributedValues):
            return value.values[number]
        if value.__class__ is np.ndarray and value.ndim:
            size = -(-value.shape[0] // replicas)
            return value[number * size : (number + 1) * size]
        return value if value is None else part_of(number, replicas, value)

    return mapped(cut_rows, batch)


@during(INPUT)
def place_batch(batch: Any) -> Any:
    """Returns a batch as tensors on the device where constants are placed. Its arrays must not be shared."""
    batch_class = batch.__class__
    if batch_class is np.ndarray:
        return constant_of(batch, as_dtype(batch.dtype)) if batch.dtype.kind in "fiub" else as_tensor(batch)
    if batch_class is tuple:
        return tuple([place_batch(item) for item in batch])
    if batch_class is Tensor:
        # Unless ops simply run on the CPU, one copy to the device is cheaper than one for each use.
        return batch if lane_at(None) is not None else identity(batch)
    if is_list(batch) or is_dict(batch):
        return mapped(place_batch, batch)
    return batch if batch is None or not isinstance(batch, float | int | bool | str | np.generic) else as_tensor(batch)

"""`tensorflow.compiler.tf2xla.python.xla`: XLA's ops that Keras calls."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays.joining import stack
from nbtf._ops.arrays.ranges import meshgrid
from nbtf._ops.arrays.ranges import range as tensor_range
from nbtf._ops.arrays.scattering import tensor_scatter_nd_update
from nbtf._ops.arrays.shapes import shape
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.magnitude import maximum, minimum
from nbtf._runtime.conversion import as_tensor
from nbtf._types import int32


def dynamic_update_slice(inputs: Any, updates: Any, start_indices: Any) -> Any:
    """Returns `inputs` with a block replaced by `updates`.

    Args:
      inputs: a tensor.
      updates: a tensor of the same rank and dtype, not longer along any axis.
      start_indices: where the block begins, one index per axis; moved so that the block lies inside, as XLA does.
    """
    inputs, updates = as_tensor(inputs), as_tensor(updates)
    lengths = shape(updates)
    starts = minimum(maximum(cast(as_tensor(start_indices), int32), 0), shape(inputs) - lengths)
    rank = len(updates.shape)
    if rank == 0:
        return updates
    axes = [tensor_range(lengths[axis]) + starts[axis] for axis in range(rank)]
    return tensor_scatter_nd_update(inputs, stack(meshgrid(*axes, indexing="ij"), -1), updates)

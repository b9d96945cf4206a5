"""Which shapes a function gives: found out with small stand-ins, in a trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbtf import nest
from nbtf._devices.base import nbytes_of
from nbtf._ops.op import Op
from nbtf._ops.trial import Trial, host_tensor, trying
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, as_dtype, string
from nbtf.keras.operation import replace_symbols, symbolic_in

_BATCHES = (2, 3)
_LENGTHS = (16, 32)
"""What stands for lengths that are not known, once and once more: a length that differs then is not known either."""


_MOST_BYTES = 2**24
"""Of the inputs and results of an op that is really run."""


class _Sketches(Trial):
    """A trial in which an op that would take much memory, or makes text, gives only shape and dtype."""

    def run(self, op: Op, buffers: Any, attrs: Any, dtypes: Any) -> list[Tensor]:
        """Returns the results of an op."""
        if not op.data_dependent and not op.resource:
            specs: Any = op.specs(buffers, attrs)
            nbytes = sum(tensor._array.nbytes for tensor in nest.flatten(buffers))
            nbytes += sum(nbytes_of(shape, dtype) for shape, dtype in specs or ())
            if specs and (nbytes > _MOST_BYTES or specs[0].dtype is string):
                return [host_tensor(_repeated(dtype, shape), dtype) for shape, dtype in specs]
        return super().run(op, buffers, attrs, dtypes)


def _repeated(dtype: DType, shape: Any) -> Any:
    """Returns an array of one element that stands at every place: it takes no memory."""
    element: Any = b"" if dtype is string else int(dtype.is_floating)
    return np.broadcast_to(np.array(element, dtype.np_dtype), shape)


def outputs_of(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], kind: Callable[..., Any]
) -> Any:
    """Returns what a function gives for symbolic arguments, as symbolic tensors.

    Args:
      function: takes tensors.
      args: arguments, with symbolic tensors in them.
      kwargs: arguments by name.
      kind: makes a symbolic tensor of a shape and a dtype.
    """
    first, structure = _shapes(function, args, kwargs, 0)
    if any(None in tensor.shape for tensor in symbolic_in((args, kwargs))):
        second, _ = _shapes(function, args, kwargs, 1)
        first = [
            (tuple(one if one == other else None for one, other in zip(shape, again, strict=True)), dtype)
            for (shape, dtype), (again, _) in zip(first, second, strict=True)
        ]
    return nest.pack_sequence_as(structure, [kind(shape, dtype) for shape, dtype in first])


def _shapes(function: Callable[..., Any], args: Any, kwargs: Any, which: int) -> tuple[list[Any], Any]:
    with trying(_Sketches()):
        outputs = function(*replace_symbols(args, _stand_in(which)), **replace_symbols(kwargs, _stand_in(which)))
        flat: list[Any] = nest.flatten(outputs)
        return [(tuple(one.shape), as_dtype(one.dtype).name) for one in flat], outputs


def _stand_in(which: int) -> Callable[[Any], Tensor]:
    def make(tensor: Any) -> Tensor:
        shape = [
            (_LENGTHS if axis else _BATCHES)[which] if length is None else length
            for axis, length in enumerate(tensor.shape)
        ]
        dtype = as_dtype(str(tensor.dtype))
        return host_tensor(_repeated(dtype, shape), dtype)

    return make

"""Checks the results of every op for infinities and NaN, once the program enables it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nbtf._runtime.scopes import SCOPE
from nbtf.errors import InvalidArgumentError

# Source: SAFE_OPS and IGNORE_OP_OUTPUTS in check_numerics_callback.py, OP_CALLBACK_SKIP_OPS in op_callbacks_common.py
# of TensorFlow 2.21: ops that pass values on, and ops whose results serve gradients only.
_PASSES_ON = frozenset(
    "Assign AssignVariableOp CheckNumerics CheckNumericsV2 Concat ConcatV2 ExpandDims Fill Gather Identity Maximum "
    "Minimum Reshape Slice Squeeze Stack StridedSlice StridedSliceGrad Transpose Unpack".split()
)
_ONE_RESULT_ALONE = frozenset({"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})


def check_results(op: str, inputs: Sequence[Any], outputs: Sequence[Any], device: str) -> None:
    """Checks the results of an op for infinities and NaN.

    Args:
      op: the op's type.
      inputs: its inputs; lists of tensors stay lists.
      outputs: its results.
      device: full name of the device that the op belongs to.

    Raises:
      InvalidArgumentError: if any result contains one.
    """
    if op in _PASSES_ON:
        return
    for number, output in enumerate(outputs[:1] if op in _ONE_RESULT_ALONE else outputs):
        if not output._dtype.is_floating:
            continue
        array = np.asarray(output.numpy())
        if not np.isfinite(array).all():
            text = _finding(op, number, len(outputs), output, array, inputs)
            wrapper = f"{{{{function_node __wrapped__CheckNumericsV2_device_{device}}}}}"
            raise InvalidArgumentError(f"{wrapper} {text} [Op:CheckNumericsV2] name: ")


def _finding(op: str, number: int, count: int, output: Any, array: np.ndarray[Any, Any], inputs: Sequence[Any]) -> str:
    """Returns a description of the bad values in one result, in TensorFlow's words."""
    infinite = np.isinf(array)
    counts = {"-Inf": infinite & (array < 0), "+Inf": infinite & (array > 0), "NaN": np.isnan(array)}
    non_finite = [name for name, mask in counts.items() if mask.any()]
    scope = SCOPE()
    manner = "eagerly-executing" if scope is None or scope.node is None else "graph"
    lines = [
        f'\n\n!!! Detected Infinity or NaN in output {number} of {manner} op "{op}" (# of outputs: {count}) !!!',
        f"  dtype: {output._dtype}",
        f"  shape: {output.shape}",
        *(f"  # of {'+NaN' if name == 'NaN' else name} elements: {counts[name].sum()}" for name in non_finite),
        *_input_lines([tensor for value in inputs for tensor in (value if value.__class__ is list else [value])]),
        "",
    ]
    listed = ", ".join(non_finite[:-1]) + ("," if len(non_finite) > 2 else "") + " and " + non_finite[-1]
    return "\n".join(lines) + f"\n : Tensor had {listed if len(non_finite) > 1 else non_finite[0]} values"


def _input_lines(tensors: list[Any]) -> list[str]:
    """Returns the lines that show an op's inputs."""
    if len(tensors) == 1:
        return ["", f"  Input tensor: {tensors[0]!s}"]
    if not tensors:
        return []
    return [
        "",
        f"  Input tensors ({len(tensors)}):",
        *(f"         {n}: {tensor!s}" for n, tensor in enumerate(tensors)),
    ]

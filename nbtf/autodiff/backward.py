"""How gradients flow back through the ops that a tape has recorded.

Gradient functions call public functions, so every step is an op: it is placed where `gradient` is called, logged and
accounted like any other, and other tapes may record it. On the CPU, if nothing could observe these ops, plain arrays
flow from one op's backward kernel to the next instead, with bit-identical results.
"""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import buffer_of
from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.element_lists import sum_of_lists
from nbtf._ops.arrays.gathering import gather
from nbtf._ops.arrays.joining import concat
from nbtf._ops.express import HANDED_OVER
from nbtf._ops.math.arithmetic import add, add_n
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices, join_indices
from nbtf._runtime.context import CURRENT
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.lanes import lane_at
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tape import PLAIN, Call, Entry, Tape
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf._types import FLOATS, as_dtype, variant

xp = CPU.xp
ndarray = xp.ndarray
_NOWHERE = object()
"""Marks the absence of a device."""

# Sums of at least this many terms and bytes are computed as terms arrive, instead of once all are there.
# Source: TensorFlow, core/lib/gtl/tape.h, kMinAggregateCount and kMinAggregateBytes.
_TERMS, _NBYTES = 4, 128 * 1024 * 1024


def put(arrived: dict[int, Any], key: int, grad: Any) -> None:
    """Adds a gradient to those that have arrived for a tensor or variable."""
    earlier = arrived.get(key)
    if earlier is None:
        arrived[key] = grad
    elif earlier.__class__ is not list:
        arrived[key] = [earlier, grad]
    else:
        earlier.append(grad)
        if len(earlier) >= _TERMS and _nbytes(grad) * len(earlier) > _NBYTES:
            arrived[key] = sum_gradients(earlier)


def _nbytes(grad: Any) -> int:
    return getattr(getattr(grad, "_array", grad), "nbytes", 0)  # rows and symbolic tensors have no such attribute


def as_gradient(grad: Any) -> Any:
    """Returns an intermediate gradient as a tensor or as rows."""
    if isinstance(grad, (ndarray, xp.generic)):
        return tensor_of(buffer_of(xp.asarray(grad)), as_dtype(grad.dtype), CURRENT.context.host)
    return grad


def as_dense(grad: Any) -> Any:
    """Returns an intermediate gradient as a tensor."""
    return as_tensor(grad) if grad.__class__ is IndexedSlices else as_gradient(grad)


def sum_gradients(grads: Any) -> Any:
    """Returns the sum of the gradients at one place, as in TensorFlow: rows stay rows if all of them are."""
    if grads.__class__ is not list:
        return grads
    if all([grad.__class__ is IndexedSlices for grad in grads]):
        rows = [_read_plain_rows(grad) for grad in grads]
        return IndexedSlices(concat([row.values for row in rows], 0), join_indices(rows), rows[0].dense_shape)
    dense = [as_tensor(as_gradient(grad)) for grad in grads]
    if dense[0]._dtype is variant:
        return sum_of_lists(dense)
    if lane_at(None) is None or dense[0].__class__ is not Tensor:
        return add_n(dense)  # these ops are or will be observed, and must be those of TensorFlow
    result = dense[0]
    for grad in dense[1:]:
        result = add(result, grad)
    return result


def _read_plain_rows(rows: IndexedSlices) -> IndexedSlices:
    """Returns rows of rows as rows."""
    if not isinstance(rows.values, IndexedSlices):
        return rows
    inner = _read_plain_rows(rows.values)
    return IndexedSlices(inner.values, gather(rows.indices, inner.indices), inner.dense_shape)


Arrived = tuple[dict[int, Any], dict[int, Any], dict[int, Any]]
"""The intermediate gradients, by id: for tensors, for values of variables, and for variables as a whole.

A gradient is a tensor, a NumPy array or scalar, rows, or a list of terms to add.
"""


def flow_back(tape: Tape, arrived: Arrived, sources: set[int], once: bool, device: Any) -> dict[int, Any]:  # noqa: C901, PLR0915
    """Walks a tape from end to beginning.

    One function handles all entries despite its length, because calls would dominate the cost of a small step.

    Args:
      tape: the recorded ops.
      arrived: the gradients of the targets; those of variables are added.
      sources: ids of the watched tensors whose gradients are wanted; those found are removed.
      once: whether to free the tape's memory as soon as it is no longer needed.
      device: where arrays may flow, see `unheard_device`; None for nowhere.

    Returns:
      The gradients of the sources that are tensors, by id.

    Raises:
      LookupError: if an op between targets and sources has no gradient.
    """
    entries = tape.entries if once else tape.entries.copy()
    token, of_variable, watches = tape.token, tape.of_variable, tape.watches
    tensors, values, variables = arrived
    gradients: dict[int, Any] = {}
    device = device or _NOWHERE
    call: Call | None = None
    x_key = y_key = 0
    while entries:
        op, inputs, attrs, result = entries.pop()
        # Collect what has arrived
        if result.__class__ is int:
            key, stored, is_near = result, None, True
        elif result.__class__ is Tensor:
            key, stored, is_near = id(result), result._array, result._device is device
        else:
            key, stored, is_near = id(result), None, False
        grad = tensors.pop(key, None)
        if sources and key in sources:
            sources.remove(key)  # before this entry, the id belonged to another tensor
            gradients[key] = grad = sum_gradients(grad)
        if grad.__class__ is not ndarray:
            if grad is None:
                if result.__class__ is tuple:
                    _flow_through_results(tape, arrived, gradients, sources, (op, inputs, attrs, result))
                continue
            grad = sum_gradients(grad)
        # Find where it flows
        y_stream = None
        if inputs.__class__ is int:
            x = y = None
            x_stream, x_key = tensors, inputs
        elif op is None:
            if inputs is not None:
                put(variables, id(inputs), grad)
            continue
        elif op.taped is not PLAIN or len(inputs) > 2:
            _flow_to_inputs(tape, arrived, (op, inputs, attrs, (result,)), (as_dense(grad),))
            continue
        elif len(inputs) == 2:
            x, y = inputs
            x_stream, is_near = None, is_near and x._device is device and y._device is device
            if (watch := x._watch) is not None:
                if watch is of_variable:
                    x_stream, x_key = values, id(x)
                elif watch is token or watches(x):
                    x_stream, x_key = tensors, id(x)
            if (watch := y._watch) is not None:
                if watch is of_variable:
                    y_stream, y_key = values, id(y)
                elif watch is token or watches(y):
                    y_stream, y_key = tensors, id(y)
        else:
            (x,), y = inputs, None
            is_near = is_near and x._device is device
            x_stream, x_key = values if x._watch is of_variable else tensors, id(x)
        # Compute what flows
        x_flow = y_flow = array = None
        if is_near and (towards_x := op.towards_x) is not None and lane_at(None) is device:
            array = grad if grad.__class__ is ndarray else _array_of(as_dense(grad), device, inputs, result)
            try:
                if array is None:
                    pass
                elif y is None or x is None:
                    x_flow = towards_x(xp, array, x._array if stored is None and x is not None else stored, attrs)
                else:
                    if y_stream is not None:
                        y_flow = op.towards_y(xp, array, x._array, y._array, attrs)
                    if x_stream is not None:
                        x_flow = towards_x(xp, array, x._array, y._array, attrs)
            except HANDED_OVER:
                array = None
        if array is None:  # fall back to ops, which also report errors properly
            call = call or Call(op, (), attrs, ())
            call.op, call.attrs, call.outputs = op, attrs, (result,)
            if y is None:
                call.inputs, call.wanted = () if x is None else inputs, None
                (x_flow,) = op.gradients(call, as_dense(grad))
            else:
                call.inputs, call.wanted = inputs, (x_stream is not None, y_stream is not None)
                x_flow, y_flow = op.gradients(call, as_dense(grad))
        if y_stream is not None and y_flow is not None:
            if y_key in y_stream:
                put(y_stream, y_key, y_flow)
            else:
                y_stream[y_key] = y_flow
        if x_stream is not None and x_flow is not None:
            if x_key in x_stream:
                put(x_stream, x_key, x_flow)
            else:
                x_stream[x_key] = x_flow
    for value, variable in tape.values:
        if (grad := values.get(id(value))) is not None:
            key = id(variable)
            if grad.__class__ is list:
                grad = sum_gradients(grad)
            if key in variables:
                put(variables, key, grad)
            else:
                variables[key] = grad
    return gradients


def unheard_device() -> Any:
    """Returns the CPU that would run ops without a listener or a tape; None if there is one, or for another device."""
    scope = SCOPE()
    return lane_at(scope) if scope is None or not scope.tapes else None


def _array_of(grad: Any, device: Any, inputs: Any, result: Any) -> Any:
    """Returns a gradient's array for a backward kernel; None if it comes from elsewhere."""
    if grad.__class__ is not Tensor or grad._device is not device or grad._dtype not in FLOATS:
        return None
    operands = () if inputs.__class__ is int or inputs is None else inputs
    results = () if result.__class__ is int else (result,)
    fits = all([getattr(tensor, "_dtype", None) is grad._dtype for tensor in (*operands, *results)])
    return grad._array if fits else None


def _flow_to_inputs(tape: Tape, arrived: Arrived, entry: Entry, grads: tuple[Any, ...]) -> None:
    """Passes the gradients of an op's results on to its inputs."""
    op, inputs, attrs, results = entry
    if inputs.__class__ is int:
        (flow,) = op.gradients(Call(op, (), attrs, results), *grads)
        if flow is not None:
            put(arrived[0], inputs, flow)
        return
    needed = tuple([tape.watches(operand) for operand in inputs])
    flows = op.gradients(Call(op, inputs, attrs, results, needed), *grads)
    for operand, flow, is_needed in zip(inputs, flows, needed, strict=True):
        if flow is not None and is_needed:
            several = operand.__class__ is tuple
            for tensor, grad in zip(operand if several else (operand,), flow if several else (flow,), strict=True):
                if grad is not None and tape.watches(tensor):
                    if isinstance(grad, (ndarray, xp.generic)):  # returned by a custom gradient function
                        grad = as_tensor(grad, tensor._dtype)
                    put(arrived[1] if tensor._watch is tape.of_variable else arrived[0], id(tensor), grad)


def _flow_through_results(
    tape: Tape, arrived: Arrived, gradients: dict[int, Any], sources: set[int], entry: Entry
) -> None:
    """Handles an op with several results, only some of which may have gradients."""
    results = entry[3]
    keys = [result if result.__class__ is int else id(result) for result in results]
    grads = [sum_gradients(arrived[0].pop(key, None)) for key in keys]
    for key, grad in zip(keys, grads, strict=True):
        if key in sources:
            sources.remove(key)
            gradients[key] = grad
    if all([grad is None for grad in grads]):
        return
    _flow_to_inputs(tape, arrived, entry, tuple([None if grad is None else as_dense(grad) for grad in grads]))

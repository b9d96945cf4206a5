"""How gradients flow back through what a tape has kept.

Each op's gradient is written in public functions, so all of this is ops: they are placed where `gradient` is called,
logged and accounted like any others, and other tapes may hear them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nbtf._ops.arrays.gathering import gather
from nbtf._ops.arrays.joining import concat
from nbtf._ops.math.arithmetic import add, add_n
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices, join_indices
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.scopes import HERE
from nbtf._runtime.tape import PLAIN, Call, Tape
from nbtf._runtime.tensor import Tensor

# From this many terms of this many bytes on, sums are not left until all terms are there.
# Source: TensorFlow, core/lib/gtl/tape.h, kMinAggregateCount and kMinAggregateBytes.
_TERMS, _NBYTES = 4, 128 * 1024 * 1024


def put(arrived: dict[int, Any], key: int, grad: Any) -> None:
    """Adds a gradient to what has arrived for a tensor or a variable."""
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
    return 0 if grad.__class__ is IndexedSlices else getattr(grad._array, "nbytes", 0)  # none while it is traced


def sum_gradients(grads: Any) -> Any:
    """Returns the sum of what has arrived in one place, as TensorFlow's: rows stay rows if all are."""
    if grads.__class__ is not list:
        return grads
    if all([grad.__class__ is IndexedSlices for grad in grads]):
        rows = [_read_plain_rows(grad) for grad in grads]
        return IndexedSlices(concat([row.values for row in rows], 0), join_indices(rows), rows[0].dense_shape)
    dense = [as_tensor(grad) for grad in grads]
    if HERE.device is None or dense[0].__class__ is not Tensor:
        return add_n(dense)  # somebody listens, or will when it is run, and shall hear what TensorFlow does
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


class Arrived(NamedTuple):
    """The gradients under way, by id: for tensors, for values of variables, and for variables as a whole."""

    tensors: dict[int, Any]
    values: dict[int, Any]
    variables: dict[int, Any]


def flow_back(tape: Tape, arrived: Arrived, sources: set[int], once: bool) -> dict[int, Any]:  # noqa: C901, PLR0915
    """Walks a tape from its end to its beginning.

    One frame for all entries, however long: a walk over a few dozen of them is what a small step costs.

    Args:
      tape: what was heard.
      arrived: the gradients of the targets; gets those of the variables.
      sources: the ids of the watched tensors whose gradients are wanted; those found are taken out.
      once: gives free what the tape keeps, as soon as it is not needed any more.

    Returns:
      The gradients of the sources that are tensors, by id.

    Raises:
      LookupError: an op on the way has no gradient.
    """
    entries, token, of_variable = tape.entries, tape.token, tape.of_variable
    op: Any
    tensors, values, variables = arrived
    gradients: dict[int, Any] = {}
    call = Call(None, (), {}, ())
    for op, inputs, attrs, result in reversed(entries):
        if once:
            entries.pop()
        key = result if result.__class__ is int else id(result)
        grad = tensors.pop(key, None)
        if grad.__class__ is list:
            grad = sum_gradients(grad)
        if sources and key in sources:
            sources.remove(key)  # what comes before this entry is another tensor, which had the id
            gradients[key] = grad
        if grad is None:
            if result.__class__ is tuple:
                _flow_through_results(tape, arrived, gradients, sources, (op, inputs, attrs, result))
            continue
        if op is None:
            if inputs is not None:
                put(variables, id(inputs), grad)
            continue
        if grad.__class__ is IndexedSlices:
            grad = as_tensor(grad)
        flows = tensors
        call.op, call.attrs, call.outputs = op, attrs, (result,)
        if inputs.__class__ is int:
            call.inputs, call.wanted = (), None
            (x_flow,) = op.gradients(call, grad)
            key = inputs
        elif op.taped is not PLAIN or len(inputs) > 2:
            _flow_to_inputs(tape, arrived, (op, inputs, attrs, (result,)), (grad,))
            continue
        elif len(inputs) == 1:
            call.inputs, call.wanted = inputs, None
            (x_flow,) = op.gradients(call, grad)
            key = id(inputs[0])
            if inputs[0]._watch is of_variable:
                flows = values
        else:
            x, y = inputs
            x_watch, y_watch = x._watch, y._watch
            to_x = x_watch is not None and (x_watch is token or x_watch is of_variable or tape.watches(x))
            to_y = y_watch is not None and (y_watch is token or y_watch is of_variable or tape.watches(y))
            call.inputs, call.wanted = inputs, (to_x, to_y)
            x_flow, y_flow = op.gradients(call, grad)
            if to_y and y_flow is not None:
                key = id(y)
                if y_watch is of_variable:
                    flows = values
                if key in flows:
                    put(flows, key, y_flow)
                else:
                    flows[key] = y_flow
            if not to_x:
                continue
            key = id(x)
            flows = values if x_watch is of_variable else tensors
        if x_flow is not None:
            if key in flows:
                put(flows, key, x_flow)
            else:
                flows[key] = x_flow
    for value, variable in tape.values:
        grad = values.get(id(value))
        if grad is not None:
            key = id(variable)
            if grad.__class__ is list:
                grad = sum_gradients(grad)
            if key in variables:
                put(variables, key, grad)
            else:
                variables[key] = grad
    return gradients


def _flow_to_inputs(tape: Tape, arrived: Arrived, entry: tuple[Any, Any, Any, Any], grads: tuple[Any, ...]) -> None:
    """Hands the gradients of an op's results on to its inputs."""
    op, inputs, attrs, results = entry
    if inputs.__class__ is int:
        (flow,) = op.gradients(Call(op, (), attrs, results), *grads)
        if flow is not None:
            put(arrived.tensors, inputs, flow)
        return
    needed = tuple([tape.watches(operand) for operand in inputs])
    flows = op.gradients(Call(op, inputs, attrs, results, needed), *grads)
    for operand, flow, is_needed in zip(inputs, flows, needed, strict=True):
        if flow is not None and is_needed:
            several = operand.__class__ is tuple
            for tensor, grad in zip(operand if several else (operand,), flow if several else (flow,), strict=True):
                if grad is not None and tape.watches(tensor):
                    put(arrived.values if tensor._watch is tape.of_variable else arrived.tensors, id(tensor), grad)


def _flow_through_results(
    tape: Tape,
    arrived: Arrived,
    gradients: dict[int, Any],
    sources: set[int],
    entry: tuple[Any, Any, Any, Any],
) -> None:
    """Takes an op with several results, of which some have gradients."""
    results = entry[3]
    keys = [result if result.__class__ is int else id(result) for result in results]
    grads = [sum_gradients(arrived.tensors.pop(key, None)) for key in keys]
    for key, grad in zip(keys, grads, strict=True):
        if key in sources:
            sources.remove(key)
            gradients[key] = grad
    if all([grad is None for grad in grads]):
        return
    _flow_to_inputs(tape, arrived, entry, tuple([None if grad is None else as_tensor(grad) for grad in grads]))

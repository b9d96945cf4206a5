"""How gradients flow back through what a tape has kept.

Each op's gradient is written in public functions, so all of this is ops: they are placed where `gradient` is called,
logged and accounted like any others, and other tapes may hear them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nbtf._ops.elementwise import add, add_n
from nbtf._ops.gathering import gather
from nbtf._ops.indexed_slices import IndexedSlices
from nbtf._ops.joining import concat
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.scopes import HERE
from nbtf._runtime.tape import PLAIN, Call, Tape

# From this many terms of this many bytes on, sums are not left until all terms are there.
# Source: TensorFlow, core/lib/gtl/tape.h, kMinAggregateCount and kMinAggregateBytes.
_TERMS, _NBYTES = 4, 128 * 1024 * 1024


def put(arrived: dict[int, Any], place: int, grad: Any) -> None:
    """Adds a gradient to what has arrived for a tensor or a variable."""
    known = arrived.get(place)
    if known is None:
        arrived[place] = grad
    elif known.__class__ is not list:
        arrived[place] = [known, grad]
    else:
        known.append(grad)
        if len(known) >= _TERMS and _nbytes(grad) * len(known) > _NBYTES:
            arrived[place] = total(known)


def _nbytes(grad: Any) -> int:
    return 0 if grad.__class__ is IndexedSlices else grad._array.nbytes


def total(grads: Any) -> Any:
    """Returns the sum of what has arrived in one place, as TensorFlow's: rows stay rows if all are."""
    if grads.__class__ is not list:
        return grads
    if all([grad.__class__ is IndexedSlices for grad in grads]):
        rows = [_plain(grad) for grad in grads]
        return IndexedSlices(
            concat([one.values for one in rows], 0), concat([one.indices for one in rows], 0), rows[0].dense_shape
        )
    dense = [as_tensor(grad) for grad in grads]
    if HERE.device is None:
        return add_n(dense)  # somebody listens, and shall hear what TensorFlow does
    result = dense[0]
    for grad in dense[1:]:
        result = add(result, grad)
    return result


def _plain(rows: IndexedSlices) -> IndexedSlices:
    """Returns rows of rows as rows."""
    if not isinstance(rows.values, IndexedSlices):
        return rows
    inner = _plain(rows.values)
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
    found: dict[int, Any] = {}
    call = Call(None, (), {}, ())
    for op, inputs, attrs, result in reversed(entries):
        if once:
            entries.pop()
        place = result if result.__class__ is int else id(result)
        grad = tensors.pop(place, None)
        if grad.__class__ is list:
            grad = total(grad)
        if sources and place in sources:
            sources.remove(place)  # what comes before this entry is another tensor, which had the id
            found[place] = grad
        if grad is None:
            if result.__class__ is tuple:
                _through_several(tape, arrived, found, sources, (op, inputs, attrs, result))
            continue
        if op is None:
            if inputs is not None:
                put(variables, id(inputs), grad)
            continue
        if grad.__class__ is IndexedSlices:
            grad = as_tensor(grad)
        kind = tensors
        call.op, call.attrs, call.outputs = op, attrs, (result,)
        if inputs.__class__ is int:
            call.inputs, call.wanted = (), None
            (flow,) = op.gradients(call, grad)
            place = inputs
        elif op.taped is not PLAIN or len(inputs) > 2:
            _to_inputs(tape, arrived, (op, inputs, attrs, (result,)), (grad,))
            continue
        elif len(inputs) == 1:
            call.inputs, call.wanted = inputs, None
            (flow,) = op.gradients(call, grad)
            place = id(inputs[0])
            if inputs[0]._watch is of_variable:
                kind = values
        else:
            x, y = inputs
            watch, other = x._watch, y._watch
            to_x = watch is not None and (watch is token or watch is of_variable or tape.watches(x))
            to_y = other is not None and (other is token or other is of_variable or tape.watches(y))
            call.inputs, call.wanted = inputs, (to_x, to_y)
            flow, last = op.gradients(call, grad)
            if to_y and last is not None:
                place = id(y)
                if other is of_variable:
                    kind = values
                if place in kind:
                    put(kind, place, last)
                else:
                    kind[place] = last
            if not to_x:
                continue
            place = id(x)
            kind = values if watch is of_variable else tensors
        if flow is not None:
            if place in kind:
                put(kind, place, flow)
            else:
                kind[place] = flow
    for value, variable in tape.values:
        grad = values.get(id(value))
        if grad is not None:
            place = id(variable)
            if grad.__class__ is list:
                grad = total(grad)
            if place in variables:
                put(variables, place, grad)
            else:
                variables[place] = grad
    return found


def _to_inputs(tape: Tape, arrived: Arrived, entry: tuple[Any, Any, Any, Any], grads: tuple[Any, ...]) -> None:
    """Hands the gradients of an op's results on to its inputs."""
    op, inputs, attrs, results = entry
    if inputs.__class__ is int:
        (flow,) = op.gradients(Call(op, (), attrs, results), *grads)
        if flow is not None:
            put(arrived.tensors, inputs, flow)
        return
    needed = tuple([tape.watches(one) for one in inputs])
    flows = op.gradients(Call(op, inputs, attrs, results, needed), *grads)
    for taken, flow, wanted in zip(inputs, flows, needed, strict=True):
        if flow is not None and wanted:
            several = taken.__class__ is tuple
            for one, part in zip(taken if several else (taken,), flow if several else (flow,), strict=True):
                if part is not None and tape.watches(one):
                    put(arrived.values if one._watch is tape.of_variable else arrived.tensors, id(one), part)


def _through_several(
    tape: Tape,
    arrived: Arrived,
    found: dict[int, Any],
    sources: set[int],
    entry: tuple[Any, Any, Any, Any],
) -> None:
    """Takes an op with several results, of which some have gradients."""
    results = entry[3]
    places = [one if one.__class__ is int else id(one) for one in results]
    grads = [total(arrived.tensors.pop(place, None)) for place in places]
    for place, grad in zip(places, grads, strict=True):
        if place in sources:
            sources.remove(place)
            found[place] = grad
    if all([grad is None for grad in grads]):
        return
    _to_inputs(tape, arrived, entry, tuple([None if grad is None else as_tensor(grad) for grad in grads]))

"""The gradient of an op in a traced function, if lengths are known only when the function runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._graph.composite import Composite
from nbtf._graph.host_inputs import holds_tensors
from nbtf._graph.node_gradients import symbolic_flows
from nbtf._graph.operation import flat
from nbtf._graph.signature import tensors_taken
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.op import Op
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.scopes import EMPTY, SCOPE
from nbtf._runtime.tape import AT_LENGTH, CONTINUOUS, Call
from nbtf._shapes import TensorShape


def has_open_lengths(tensors: Sequence[Any]) -> bool:
    """Returns whether a length of some tensors is known only when the function runs."""
    shapes = [tensor._shape._dims for tensor in flat(tensors) if tensor.__class__ is GraphTensor]
    return any([dims is None or None in dims for dims in shapes])


class OpenGradient:
    """The call that tapes record for an op on tensors with unknown lengths.

    Gradient functions of the op table are written for known lengths. If a trial shows that a function only passes
    lengths on, its ops are added to the graph. Otherwise it is called with values whenever the graph runs.
    """

    taped = AT_LENGTH
    resource = freezes = no_gradient = False
    keeps_inputs = keeps_outputs = has_gradient = True

    def __init__(self, op: Op) -> None:
        """Stores the op."""
        self.type, self.inputs = op.type, op.inputs
        self._op = op

    def gradients(self, call: Call, *grads: Any) -> Sequence[Any]:
        """Returns the gradients of the inputs."""
        node = call.outputs[0].op
        needed = [call.needs(n) for n, value in enumerate(call.inputs) for _ in flat([value])]
        flows = symbolic_flows(node, grads, needed)
        if flows is None:
            flows = self._computed_later(call, grads, needed)
        remaining = iter(flows)
        return [
            tuple([next(remaining) for _ in value]) if value.__class__ is tuple else next(remaining)
            for value in call.inputs
        ]

    def _computed_later(self, call: Call, grads: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
        op, gradients_wanted = self._op, call.wanted
        operands = flat(call.inputs)
        sources = [n for n, value in enumerate(operands) if needed[n] and value._dtype in CONTINUOUS]
        tensors: list[Any] = []
        rebuild = tensors_taken((list(call.inputs), list(call.outputs), list(grads)), tensors)
        open_attrs = {name: tensors_taken(value, tensors) for name, value in call.attrs.items() if holds_tensors(value)}

        def run(values: Sequence[Any]) -> Sequence[Any]:
            remaining = iter(values)
            inputs, outputs, arrived = rebuild(remaining)
            attrs = {
                **call.attrs,
                **{name: _normalised(op, name, take(remaining)) for name, take in open_attrs.items()},
            }
            flows = flat(op.gradients(Call(op, inputs, attrs, outputs, gradients_wanted), *arrived))
            starts = flat(inputs)
            return [zeros_like(starts[n]) if flows[n] is None else as_tensor(flows[n]) for n in sources]

        specs = [(TensorShape(operands[n]._shape._dims), operands[n]._dtype) for n in sources]
        graph: Any = (SCOPE() or EMPTY).graph
        results = graph.add_composite(Composite(f"{op.type}Grad", run), tensors, specs)
        by_number = dict(zip(sources, results, strict=True))
        return [by_number.get(number) for number in range(len(operands))]


def _normalised(op: Op, name: str, value: Any) -> Any:
    """Returns an attribute in the form that gradient functions take."""
    return op.normalisers[name](value) if name in op.normalisers else value

"""Something that a traced function does and that is no single op: Python code, branches, loops, the ways back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf._ops.arrays.identity import identity
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.scopes import EMPTY, SCOPE
from nbtf._runtime.tape import AT_LENGTH, CONTINUOUS, Call, Tape
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape

Run = Callable[[Sequence[Any]], Sequence[Any]]
"""Takes and returns the values of tensors; its ops run one by one, where the scope says."""


class Composite:
    """What a step runs that is made of several ops; tapes hear of it as of an op.

    Where gradients are asked for, it runs under a tape, whose recording is its last output: the way back takes it, so
    that nothing is done, drawn or changed a second time.
    """

    taped = AT_LENGTH
    resource = freezes = False
    keeps_inputs = keeps_outputs = has_gradient = True
    inputs: tuple[str, ...] = ()

    def __init__(self, type: str, function: Run, no_gradient: bool = False) -> None:
        """Takes what it is called, and what it does."""
        self.type = type
        self._function = function
        self.no_gradient = no_gradient
        self._is_taped = False

    def run(self, values: Sequence[Any]) -> Sequence[Any]:
        """Returns its outputs' values, and the recording; None where nobody asks for gradients."""
        if not self._is_taped:
            return [*self._function(values), None]
        inputs = _separate(values)
        with Tape.block(persistent=True, watch_accessed_variables=False) as tape:
            tape.watch([value for value in inputs if value is not None and value.dtype in CONTINUOUS])
            outputs = self._function(inputs)
        return [*outputs, (tape, inputs, outputs)]

    def gradients(self, call: Call, *grads: Any) -> Sequence[Any]:
        """Returns the gradients of its inputs, which flow back through what has run."""
        self._is_taped = True
        outputs = call.outputs[0].op.outputs
        targets = [number for number, grad in enumerate(grads) if grad is not None]
        sources = [n for n, value in enumerate(call.inputs) if call.needs(n) and value._dtype in CONTINUOUS]

        def flow_back(values: Sequence[Any]) -> Sequence[Any]:
            (tape, inputs, results), *others = values
            arrived = others[: len(targets)]
            flows = tape.gradient([results[n] for n in targets], [inputs[n] for n in sources], arrived, "zero")
            return [as_tensor(flow) for flow in flows]

        specs = [(TensorShape(call.inputs[n].shape), call.inputs[n]._dtype) for n in sources]
        arrived = [grad for grad in grads if grad is not None]
        graph: Any = (SCOPE() or EMPTY).graph
        inputs = [outputs[-1], *arrived, *call.inputs]  # the last tell other tapes what the gradients depend on
        flows = graph.add_composite(_WayBack(f"{self.type}Grad", flow_back), inputs, specs)
        by_number = dict(zip(sources, flows, strict=True))
        return [by_number.get(number) for number in range(len(call.inputs))]


class _WayBack(Composite):
    """How gradients flow back through a composite."""

    def gradients(self, call: Call, *grads: Any) -> Sequence[Any]:
        """Refuses.

        Raises:
          LookupError: always.
        """
        raise LookupError(
            f"{self.type} has no gradient: a second derivative through a branch, a loop or Python code of a "
            "tf.function cannot be taken inside of it. Take the outer gradient where the function is called."
        )


def _separate(values: Sequence[Any]) -> list[Any]:
    """Returns values of which none comes twice: each gets a gradient of its own."""
    ids: set[int] = set()
    inputs: list[Any] = []
    for value in values:
        inputs.append(identity(value) if id(value) in ids and value.__class__ is Tensor else value)
        ids.add(id(value))
    return inputs

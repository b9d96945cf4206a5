"""Steps of a traced function that are not a single op: Python code, branches, loops, and their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf._ops.arrays.list_gradients import continuous_in, packed_gradient, seeded, separate
from nbtf._runtime.scopes import EMPTY, SCOPE
from nbtf._runtime.tape import AT_LENGTH, CONTINUOUS, Call, Tape
from nbtf._shapes import TensorShape

Run = Callable[[Sequence[Any]], Sequence[Any]]
"""Takes and returns tensor values; its ops run one by one, on the devices that the scope chooses."""


class Composite:
    """A step that is made of several ops; tapes record it as one op.

    If gradients are needed, it runs under a tape, and that recording is its last output. The backward pass takes the
    recording, so nothing is computed, drawn or changed twice.
    """

    taped = AT_LENGTH
    resource = freezes = False
    keeps_inputs = keeps_outputs = has_gradient = True
    inputs: tuple[str, ...] = ()

    def __init__(self, type: str, function: Run, no_gradient: bool = False, does_more: bool = True) -> None:
        """Stores its op type, its function, and whether the function does more than compute its outputs."""
        self.type = type
        self.does_more = does_more
        self._function = function
        self.no_gradient = no_gradient
        self._is_taped = False

    def run(self, values: Sequence[Any]) -> Sequence[Any]:
        """Returns the output values and the recording, which is None if no gradients are needed."""
        if not self._is_taped:
            return [*self._function(values), None]
        inputs = separate(values)
        with Tape.block(persistent=True, watch_accessed_variables=False) as tape:
            tape.watch([tensor for value in inputs if value is not None for tensor in continuous_in(value)])
            outputs = self._function(inputs)
        return [*outputs, (tape, inputs, outputs)]

    def gradients(self, call: Call, *grads: Any) -> Sequence[Any]:
        """Returns the gradients of its inputs, which flow back through the recorded ops."""
        self._is_taped = True
        outputs = call.outputs[0].op.outputs
        targets = [number for number, grad in enumerate(grads) if grad is not None]
        sources = [n for n, value in enumerate(call.inputs) if call.needs(n) and value._dtype in CONTINUOUS]

        def flow_back(values: Sequence[Any]) -> Sequence[Any]:
            (tape, inputs, results), *others = values
            pairs = [pair for n, grad in zip(targets, others, strict=False) for pair in seeded(results[n], grad)]
            tensors = [tensor for n in sources for tensor in continuous_in(inputs[n])]
            flows = iter(tape.gradient([pair[0] for pair in pairs], tensors, [pair[1] for pair in pairs], "zero"))
            return [packed_gradient(inputs[n], flows) for n in sources]

        specs = [(TensorShape(call.inputs[n].shape), call.inputs[n]._dtype) for n in sources]
        arrived = [grad for grad in grads if grad is not None]
        graph: Any = (SCOPE() or EMPTY).graph
        inputs = [outputs[-1], *arrived, *call.inputs]  # the last ones show other tapes what the gradients depend on
        flows = graph.add_composite(_WayBack(f"{self.type}Grad", flow_back), inputs, specs)
        by_number = dict(zip(sources, flows, strict=True))
        return [by_number.get(number) for number in range(len(call.inputs))]


class _WayBack(Composite):
    """The backward pass of a composite."""

    def gradients(self, call: Call, *grads: Any) -> Sequence[Any]:
        """Raises an error: a composite has no second derivative.

        Raises:
          LookupError: always.
        """
        raise LookupError(
            f"{self.type} has no second derivative through a branch, a loop or Python code inside a tf.function. "
            "Take the outer gradient outside the tf.function, where it is called."
        )

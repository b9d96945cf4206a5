"""Something that a traced function does and that is no single op: Python code, branches, loops, the ways back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nbtf._ops.arrays.element_lists import elements_of, is_list, with_tensors
from nbtf._ops.arrays.identity import identity
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.scopes import EMPTY, SCOPE
from nbtf._runtime.tape import AT_LENGTH, CONTINUOUS, Call, Tape
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import variant

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

    def __init__(self, type: str, function: Run, no_gradient: bool = False, does_more: bool = True) -> None:
        """Takes what it is called, what it does, and whether that is more than to compute its outputs."""
        self.type = type
        self.does_more = does_more
        self._function = function
        self.no_gradient = no_gradient
        self._is_taped = False

    def run(self, values: Sequence[Any]) -> Sequence[Any]:
        """Returns its outputs' values, and the recording; None where nobody asks for gradients."""
        if not self._is_taped:
            return [*self._function(values), None]
        inputs = _separate(values)
        with Tape.block(persistent=True, watch_accessed_variables=False) as tape:
            tape.watch([tensor for value in inputs if value is not None for tensor in _continuous(value)])
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
            seeded = [pair for n, grad in zip(targets, others, strict=False) for pair in _seeded(results[n], grad)]
            tensors = [tensor for n in sources for tensor in _continuous(inputs[n])]
            flows = iter(tape.gradient([pair[0] for pair in seeded], tensors, [pair[1] for pair in seeded], "zero"))
            return [_arrived(inputs[n], flows) for n in sources]

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


def _continuous(value: Any) -> list[Any]:
    """Returns the tensors in a value that gradients flow through: itself, or the elements of a list."""
    if is_list(value):
        return [tensor for tensor in elements_of(value).tensors if tensor is not None and tensor._dtype in CONTINUOUS]
    return [value] if value.dtype in CONTINUOUS and value.dtype is not variant else []


def _seeded(result: Any, grad: Any) -> list[tuple[Any, Any]]:
    """Returns the tensors in a result that a gradient has arrived for, each with that gradient."""
    if not is_list(result):
        return [(result, grad)]
    pairs = zip(elements_of(result).tensors, elements_of(grad).tensors, strict=False)
    return [(tensor, flow) for tensor, flow in pairs if tensor is not None and flow is not None]


def _arrived(value: Any, flows: Iterator[Any]) -> Any:
    """Returns the gradient of a value, of the next gradients of the tensors in it."""
    if not is_list(value):
        return as_tensor(next(flows))
    elements = elements_of(value)
    flow_through = [tensor is not None and tensor._dtype in CONTINUOUS for tensor in elements.tensors]
    return with_tensors(elements, [as_tensor(next(flows)) if flows_here else None for flows_here in flow_through])


def _separate(values: Sequence[Any]) -> list[Any]:
    """Returns values of which none comes twice: each gets a gradient of its own."""
    ids: set[int] = set()

    def separate(value: Any) -> Any:
        if is_list(value):
            elements = elements_of(value)
            return with_tensors(elements, [separate(tensor) for tensor in elements.tensors])
        is_repeated = id(value) in ids and value.__class__ is Tensor
        ids.add(id(value))
        return identity(value) if is_repeated else value

    return [separate(value) for value in values]

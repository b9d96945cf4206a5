"""Something that a traced function does and that is no single op: Python code, the turns of a loop, their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nbtf._runtime.scopes import EMPTY, SCOPE
from nbtf._runtime.tape import AT_LENGTH, CONTINUOUS, Call, Rerun

Run = Callable[[Sequence[Any]], Sequence[Any]]
"""Takes and returns the values of tensors; its ops run one by one, where the scope says."""


class Composite:
    """What a step runs that is made of several ops; tapes hear of it as of an op.

    Its gradient runs it again, under a tape.
    """

    taped = AT_LENGTH
    resource = freezes = keeps_outputs = False
    keeps_inputs = has_gradient = True
    inputs: tuple[str, ...] = ()

    def __init__(self, type: str, run: Run, no_gradient: bool = False) -> None:
        """Takes what it is called, and what it does."""
        self.type = type
        self.run = run
        self.no_gradient = no_gradient

    def gradients(self, call: Call, *grads: Any) -> Sequence[Any]:
        """Returns the gradients of its inputs: something of the same kind."""
        source_numbers = [
            number for number, tensor in enumerate(call.inputs) if call.needs(number) and tensor._dtype in CONTINUOUS
        ]
        target_numbers = [number for number, grad in enumerate(grads) if grad is not None]
        run_back = partial(Rerun.run_back, self.run, len(call.inputs), source_numbers, target_numbers)
        record = Composite(f"{self.type}Grad", run_back)
        known = [(call.inputs[number]._shape, call.inputs[number]._dtype) for number in source_numbers]
        graph: Any = (SCOPE() or EMPTY).graph
        flows = graph.add_composite(record, [*call.inputs, *[grads[number] for number in target_numbers]], known)
        by_number = dict(zip(source_numbers, flows, strict=True))
        return [by_number.get(number) for number in range(len(call.inputs))]

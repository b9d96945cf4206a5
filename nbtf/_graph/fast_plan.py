"""A plan as one Python function, used while no observer is registered: each line calls the express lane of one op."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbtf._graph.program_text import ProgramText
from nbtf._graph.seeds import GraphStream
from nbtf._graph.steps import ConstantStep, OpStep, Step, UpdateStep
from nbtf._ops.variables.resource import AssignAddVariableOp, AssignSubVariableOp, AssignVariableOp
from nbtf._runtime.conversion import constant_of
from nbtf._runtime.scopes import set_scope

_METHODS = {AssignVariableOp: "assign", AssignAddVariableOp: "assign_add", AssignSubVariableOp: "assign_sub"}


class PlanText(ProgramText):
    """Writes the function: values are `v0`, `v1`, by slot; other objects that a step needs get their own names."""

    def __init__(self, slot_of: Callable[[Any], int | None], stream: Callable[[GraphStream], Any]) -> None:
        """Takes functions that return the slot of a tensor (None for other values) and a random op's numbers."""
        super().__init__({"stream": stream, "constant_of": constant_of, "set_scope": set_scope})
        self._slot_of = slot_of
        self._place = 0

    def add(self, step: Step, outputs: Sequence[int], ends: Sequence[int], place: int) -> None:
        """Adds a step.

        Args:
          step: the step.
          outputs: the slots of its outputs.
          ends: the slots of values that are not needed afterwards.
          place: the number of its scope.
        """
        if place != self._place:
            self._lines.append(f"set_scope(scopes[{place}])")
            self._place = place
        targets = _targets(outputs)
        call = self._call(step)
        single = isinstance(step, OpStep | ConstantStep) and len(outputs) == 1 and call.startswith(("k", "constant_of"))
        self._lines.append(f"{targets[:-1] if single else targets} = {call}" if targets else call)
        if ends:
            self._lines.append("".join([f"v{slot} = " for slot in ends]) + "None")

    def _call(self, step: Step) -> str:
        """Returns the expression that runs a step."""
        inputs = [self._expression(value) for value in step.inputs]
        if isinstance(step, ConstantStep):
            return f"constant_of({', '.join(inputs)})"
        if isinstance(step, UpdateStep) and step.record in _METHODS:
            return f"{inputs[0]}.{_METHODS[step.record]}({inputs[1]}, None, None, False)"
        attrs = step.attrs
        lane = step.record.lane if isinstance(step, OpStep) else None
        if lane is not None and [*attrs] == [*step.record.attrs]:
            arguments = [*inputs, *[self._expression(value) for value in attrs.values()]]
            return f"{self._name(lane)}({', '.join(arguments)})"
        items = ", ".join([f"{name!r}: {self._expression(value)}" for name, value in attrs.items()])
        return f"({self._name(step.run)})([{', '.join(inputs)}], {{{items}}})"

    def _tensor_expression(self, value: Any) -> str | None:
        slot = self._slot_of(value)
        return None if slot is None else f"v{slot}"

    def compiled(self, name: str, count: int, results: Sequence[int]) -> Callable[..., list[Any]]:
        """Returns the compiled function.

        Args:
          name: name of the traced function.
          count: number of its input values, in slots from 0 on.
          results: the slots of the returned values.
        """
        first = [f"{_targets(range(count))} = values", "del values"] if count else []
        lines = [*first, *self._lines, f"return [{', '.join([f'v{slot}' for slot in results])}]"]
        text = "def replay(values, scopes):\n    " + "\n    ".join(lines) + "\n"
        filename = f"<plan of {name}>"
        space: dict[str, Any] = {"__name__": __name__, **self._space}
        exec(compile(text, filename, "exec"), space)
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        return space["replay"]


def _targets(slots: Sequence[int]) -> str:
    return "".join([f"v{slot}, " for slot in slots]).rstrip()


def written_plan(
    steps: Sequence[tuple[Step, Sequence[int], Sequence[int], int]],
    slots: Mapping[int, int],
    stream: Callable[[GraphStream], Any],
) -> PlanText:
    """Returns the text of steps, each with the slots of its outputs, the slots that end with it, and its scope."""
    text = PlanText(lambda value: slots.get(id(value)), stream)
    for step, outputs, ends, place in steps:
        text.add(step, outputs, ends, place)
    return text

"""Runs a traced function: its steps in order, each with its values, which are dropped after their last use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Device
from nbtf._graph.function_graph import FunctionGraph
from nbtf._graph.operation import flat, mapped
from nbtf._graph.program import Fills, PlannedStep, Program, ProgramWriter, TapedWriter, Values, depends
from nbtf._graph.seeds import GraphStream
from nbtf._graph.steps import EndStep, GivenValue, Step
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.random.streams import seeds
from nbtf._runtime.lanes import is_watched, lane_at, with_open_lane
from nbtf._runtime.phases import current_words, restore_words
from nbtf._runtime.scopes import EMPTY, SCOPE, Request, Scope, set_scope
from nbtf._runtime.seeds import Stream
from nbtf._runtime.tensor import Tensor

Placing = tuple[Request | None, int | None]
"""The device that a step requests, and the replica that it runs in."""

_AS_CALLED: Placing = None, None


class Plan:
    """The steps that compute some results. Steps whose results are not needed are left out.

    While the CPU's express lane is open, they run as one program, otherwise one by one.
    """

    def __init__(self, graph: FunctionGraph, results: Sequence[GraphTensor], arguments: Sequence[Any] = ()) -> None:
        """Orders the steps.

        Args:
          graph: graph of the function.
          results: the function's results.
          arguments: tensors of the graph that each call sets, and variables that a call may replace.
        """
        self.graph = graph
        self.arguments = list(arguments)
        self.result_tensors = list(results)
        self.captured = [outer for outer, _ in graph.captures.values()]
        self.programs: dict[bool, Program] = {}
        """The steps as one function, by whether a tape records, once it has been needed."""
        self._blank: Values = [None] * (len(self.arguments) + len(self.captured))
        """The values at the start of a run: constants have their own slots."""
        self._slots: dict[int, int] = {id(value): number for number, value in enumerate(arguments)}
        for number, (outer, inner) in enumerate(graph.captures.values(), len(self.arguments)):
            self._slots[id(outer)] = self._slots[id(inner)] = number
        self.steps = _needed(graph.steps, results)
        self._placings: dict[Placing, int] = {_AS_CALLED: 0}
        """The devices and replicas that its steps request, numbered; the first entry requests nothing."""
        self._planned_steps: list[PlannedStep] = []
        for step in self.steps:
            if step.__class__ is not EndStep:
                self._planned_steps.append(self._planned(step))
            elif self._planned_steps:
                self._planned_steps[-1].ends.append(self._slots[id(step.inputs[0])])
        self.results = [self._slots[id(result)] for result in results]
        self._streams: dict[int, Stream] = {}
        self._seeded_by: Any = None

    def _new_slot(self, constant: Any = None) -> int:
        self._blank.append(constant)
        return len(self._blank) - 1

    def _planned(self, step: Step) -> PlannedStep:
        fills: Fills = []
        inputs = [self._source(value, fills) for value in step.inputs]
        open_attrs = {name: value for name, value in step.attrs.items() if depends(value, self._slots)}
        attrs = {name: self._source(value, fills) for name, value in open_attrs.items()}
        outputs = tuple([self._new_slot() for _ in step.outputs])
        self._slots.update(zip(map(id, step.outputs), outputs, strict=True))
        ends = [slot for slot, _ in fills]
        scope_number = self._placings.setdefault((step.request, step.replica), len(self._placings))
        return PlannedStep(step, fills, inputs, attrs, outputs, ends, scope_number)

    def _source(self, value: Any, fills: Fills) -> int:
        """Returns the slot of an input or attribute; one that each run computes is added to `fills`."""
        slot = self._slots.get(id(value))
        if slot is not None:
            return slot
        if not depends(value, self._slots):
            return self._new_slot(value)
        slot = self._new_slot()
        if value.__class__ is GraphStream:
            fills.append((slot, lambda values: self._stream(value)))
        else:
            slots = [self._source(item, fills) for item in value]
            fills.append((slot, lambda values: value.__class__([values[number] for number in slots])))
        return slot

    def _stream(self, of_op: GraphStream) -> Stream:
        """Returns the numbers of a random op, which continue from call to call until the global seed is set again."""
        seeded_by = seeds()._op_seeds
        if self._seeded_by is not seeded_by:
            self._streams, self._seeded_by = {}, seeded_by
        stream = self._streams.get(id(of_op))
        if stream is None:
            stream = self._streams[id(of_op)] = of_op.started()
        return stream

    def run(self, arguments: Sequence[Any], captured: Sequence[Any] | None = None) -> list[Any]:
        """Runs the steps in the open scope, and returns the values of the results.

        Args:
          arguments: values that the call passes.
          captured: values of the captures, if these are not values themselves.
        """
        values: Values = [*arguments, *(self.captured if captured is None else captured)]
        del arguments, captured
        outer = SCOPE()
        device, scopes = lane_at(outer), [outer]
        if device is not None and len(self._placings) > 1:
            scopes += [scope_at(placing, outer) for placing in [*self._placings][1:]]
            device = device if all([lane_at(scope) is device for scope in scopes]) else None
        has_tape = outer is not None and bool(outer.tapes)
        program = None if device is None else self._program_on(device, values, has_tape)
        number = 0
        if program is None:
            values += self._blank[len(values) :]
        else:
            try:
                return program.run(values, scopes)
            except Exception as error:
                stopped = program.stopped_at(error)
                if stopped is None:
                    scope = SCOPE()
                    _note_replica(error, outer, None if scope is None else scope.replica)
                    raise
            finally:
                set_scope(outer)
            number, by_slot = stopped
            values = [by_slot.get(slot, blank) for slot, blank in enumerate(self._blank)]
            del by_slot, stopped
        self._run_steps(values, number)
        return [values[slot] for slot in self.results]

    def _program_on(self, device: Device, values: Values, has_tape: bool) -> Program | None:
        """Returns the steps as one function on a device; None if tensors passed are on another device."""
        program = self.programs.get(has_tape)
        if program is None or program.device is not device:
            if any([value.__class__ is Tensor and value._device is not device for value in values]):
                return None
            writer = (TapedWriter if has_tape else ProgramWriter)(self._slots, self._stream, device)
            program = writer.written(self._planned_steps, values, self.results, self.graph.name)
            self.programs[has_tape] = program
        return program

    def _run_steps(self, values: Values, first: int) -> None:
        """Runs the steps one by one, starting at a number, and notifies observers of each."""
        outer, caller = SCOPE(), current_words()
        speaks = is_watched()
        scopes = [outer, *[scope_at(placing, outer) for placing in [*self._placings][1:]]]
        current = 0
        try:
            for step, fills, inputs, late_attrs, outputs, ends, scope_number in self._planned_steps[first:]:
                if scope_number != current:
                    set_scope(scopes[scope_number])
                    current = scope_number
                if speaks:
                    step.words.say(caller)
                for slot, fill in fills:
                    values[slot] = fill(values)
                attrs = step.attrs
                if late_attrs:
                    attrs = {**attrs, **{name: values[slot] for name, slot in late_attrs.items()}}
                results = step.run([values[slot] for slot in inputs], attrs)
                for slot, value in zip(outputs, results, strict=True):
                    values[slot] = value
                results = value = None  # no value may outlive its last use
                for slot in ends:
                    values[slot] = None
        except Exception as error:
            _note_replica(error, outer, [*self._placings][current][1])
            raise
        finally:
            set_scope(outer)
            restore_words(caller)


def _note_replica(error: Exception, outer: Scope | None, replica: int | None) -> None:
    """Adds the number of the replica to the error of a step that ran in one."""
    if outer is not None and outer.replica is None and outer.strategy is not None and replica is not None:
        outer.strategy.note_replica(error, replica)


def scope_at(placing: Placing, outer: Scope | None) -> Scope:
    """Returns the scope in which the steps of a place run: their requests within the open scope."""
    request, replica = placing
    around = outer or EMPTY
    return with_open_lane(
        around.with_(request=request or around.request, replica=around.replica if replica is None else replica)
    )


def _needed(steps: Sequence[Step], results: Sequence[GraphTensor]) -> list[Step]:
    """Returns the steps that the results depend on, and those that do more than compute."""
    needed: set[int] = {id(result) for result in results}
    used: list[Step] = []
    for step in reversed(steps):
        if step.__class__ is EndStep:
            used.append(step)
        elif step.is_stateful or not needed.isdisjoint([id(tensor) for tensor in step.outputs]):
            used.append(step)
            needed.update([id(value) for value in flat([*step.inputs, *step.attrs.values()])])
        else:
            values = [value for value in flat(step.inputs) if value.__class__ is GivenValue]
            used += [value.step for value in values if id(value.tensor) in needed]
    computed: set[int] = set()
    in_order: list[Step] = []
    for step in reversed(used):
        if step.__class__ is not EndStep:
            in_order += _used_steps(step, needed)
            computed.update([id(tensor) for tensor in step.outputs])
        elif id(step.inputs[0]) in computed and id(step.inputs[0]) not in {id(result) for result in results}:
            in_order.append(step)
    return in_order


def _used_steps(step: Step, needed: set[int]) -> list[Step]:
    """Returns a step and the steps before it. Python values stay values unless another step needs their tensor."""
    steps_before: list[Step] = []

    def used(value: Any) -> Any:
        if value.__class__ is not GivenValue:
            return value
        if id(value.tensor) not in needed:
            return value.value
        steps_before.append(value.step)
        return value.tensor

    inputs = [mapped(used, value) for value in step.inputs]
    return [*steps_before, step.with_inputs(inputs)]

"""Runs a traced function: its steps in order, each with its values, which are dropped after their last use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from nbtf._graph.array_plan import ArrayPlan, PlacedStep, UnfitError, array_plan
from nbtf._graph.fast_plan import written_plan
from nbtf._graph.function_graph import FunctionGraph
from nbtf._graph.operation import flat
from nbtf._graph.seeds import GraphStream
from nbtf._graph.steps import EndStep, GivenValue, Step
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.random.streams import seeds
from nbtf._runtime.lanes import lane_of
from nbtf._runtime.phases import current_words, restore_words
from nbtf._runtime.scopes import EMPTY, HERE, SCOPE, Request, Scope, set_scope
from nbtf._runtime.seeds import Stream

Values = list[Any]
"""The values of a run so far, by slot; None if a value does not exist yet or is no longer needed."""

Filler = Callable[[Values], Any]
"""Returns an input of a step."""


Placing = tuple[Request | None, int | None]
"""The device that a step requests, and the replica that it runs in."""

_REWRITTEN = 8
"""How often a plan on arrays is rewritten for arguments on other devices before plans on arrays are abandoned."""

_AS_CALLED: Placing = None, None


class PlannedStep(NamedTuple):
    """A step with its slots: the sources of its inputs and attributes, its outputs, and the slots that end with it."""

    step: Step
    inputs: tuple[Filler, ...]
    attrs: Mapping[str, Filler]
    outputs: tuple[int, ...]
    ends: list[int]
    placing: Placing


class Plan:
    """The steps that compute some results. Steps whose results are not needed are left out."""

    def __init__(self, graph: FunctionGraph, results: Sequence[GraphTensor], arguments: Sequence[Any] = ()) -> None:
        """Orders the steps.

        Args:
          graph: graph of the function.
          results: the function's results.
          arguments: tensors of the graph that each call sets, and variables that a call may replace.
        """
        self.graph = graph
        self._slots: dict[int, int] = {id(value): number for number, value in enumerate(arguments)}
        self.arguments = list(arguments)
        self.result_tensors = list(results)
        captures = list(graph.captures.values())
        self.captured = [outer for outer, _ in captures]
        for _, inner in captures:
            self._slot(inner)
        self.steps = _needed(graph.steps, results)
        outside = {id(outer): inner for outer, inner in captures}
        self._inside = outside
        planned: list[PlannedStep] = []
        for step in self.steps:
            if step.__class__ is not EndStep:
                planned.append(self._planned(step))
            elif planned:
                planned[-1].ends.append(self._slots[id(step.inputs[0])])
        self.results = [self._slots[id(result)] for result in results]
        self._planned_steps = planned
        self._size = len(self._slots)
        self._streams: dict[int, Stream] = {}
        self._seeded_by: Any = None
        self._placings = list(dict.fromkeys([_AS_CALLED, *[step.placing for step in planned]]))
        """The devices and replicas that its steps request; the first entry requests nothing."""
        self._fast: Callable[..., list[Any]] | None = None
        self._arrays: tuple[Sequence[Any], ArrayPlan] | None = None
        self._rewritten = 0

    def _written(self) -> Callable[..., list[Any]]:
        """Returns the plan as one function."""
        slots = self._slots | {number: self._slots[id(inner)] for number, inner in self._inside.items()}
        numbers = {placing: number for number, placing in enumerate(self._placings)}
        steps = [
            (planned.step, planned.outputs, planned.ends, numbers[planned.placing]) for planned in self._planned_steps
        ]
        count = len(self.arguments) + len(self.captured)
        return written_plan(steps, slots, self._stream).compiled(self.graph.name, count, self.results)

    def _slot(self, tensor: Any) -> int:
        return self._slots.setdefault(id(tensor), len(self._slots))

    def _planned(self, step: Step) -> PlannedStep:
        inputs = tuple([self._filler(value) for value in step.inputs])
        attrs = {name: self._filler(value) for name, value in step.attrs.items() if self._depends(value)}
        outputs = tuple([self._slot(tensor) for tensor in step.outputs])
        return PlannedStep(step, inputs, attrs, outputs, [], (step.request, step.replica))

    def _depends(self, value: Any) -> bool:
        if value.__class__ is list or value.__class__ is tuple:
            return any([self._depends(item) for item in value])
        return value.__class__ is GraphStream or id(value) in self._slots or id(value) in self._inside

    def _filler(self, value: Any) -> Filler:
        if value.__class__ is GraphStream:
            return lambda values: self._stream(value)
        inner = self._inside.get(id(value), value)
        slot = self._slots.get(id(inner))
        if slot is not None:
            return lambda values: values[slot]
        if (value.__class__ is list or value.__class__ is tuple) and self._depends(value):
            fillers = [self._filler(item) for item in value]
            return lambda values: value.__class__([filler(values) for filler in fillers])
        return lambda values: value

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
        if HERE.device is not None:
            outer = SCOPE()
            if self._rewritten < _REWRITTEN and (outer is None or not outer.tapes):
                scopes = [outer, *[scope_at(placing, outer) for placing in self._placings[1:]]]
                devices = [HERE.device if scope is None else scope.lane for scope in scopes]
                if all([device is not None and getattr(device, "on_host", False) for device in devices]):
                    try:
                        return self._compute(devices, values, scopes)
                    except UnfitError:
                        self._arrays, self._rewritten = None, self._rewritten + 1
            if self._fast is None:
                self._fast = self._written()
            return self._fast(values, ()) if len(self._placings) == 1 else self._run_placed(self._fast, values)
        values += [None] * (self._size - len(values))
        del arguments, captured
        self._replay(values)
        return [values[slot] for slot in self.results]

    def _compute(self, devices: list[Any], values: Values, scopes: list[Scope | None]) -> list[Any]:
        """Runs the plan on arrays; if a kernel fails, continues step by step."""
        if self._arrays is None or self._arrays[0] != devices:
            self._arrays = devices, self._on_arrays(devices, values)
        plan = self._arrays[1]
        try:
            return plan.run(values, scopes)
        except Exception as error:
            stopped = plan.stopped_at(error)
            if stopped is None:
                scope = SCOPE()
                _note_replica(error, scopes[0], None if scope is None else scope.replica)
                raise
        finally:
            set_scope(scopes[0])
        number, by_slot = stopped
        values = [by_slot.get(slot) for slot in range(self._size)]
        del by_slot, stopped
        self._replay(values, number)
        return [values[slot] for slot in self.results]

    def _on_arrays(self, devices: list[Any], values: Values) -> ArrayPlan:
        slots = self._slots | {number: self._slots[id(inner)] for number, inner in self._inside.items()}
        numbers = {placing: number for number, placing in enumerate(self._placings)}
        steps = [
            PlacedStep(planned.step, planned.outputs, planned.ends, numbers[planned.placing])
            for planned in self._planned_steps
        ]
        return array_plan(steps, slots, self._stream, devices, values, self.results, self.graph.name)

    def _run_placed(self, fast: Callable[..., list[Any]], values: Values) -> list[Any]:
        """Runs the plan as one function, across devices."""
        outer = SCOPE()
        scopes = [outer, *[scope_at(placing, outer) for placing in self._placings[1:]]]
        try:
            return fast(values, scopes)
        except Exception as error:
            scope = SCOPE()
            _note_replica(error, outer, None if scope is None else scope.replica)
            raise
        finally:
            set_scope(outer)

    def _replay(self, values: Values, first: int = 0) -> None:
        """Runs the steps one by one, starting at a number, and notifies observers of each."""
        outer, caller = SCOPE(), current_words()
        is_watched = HERE.watched
        scopes: dict[Placing, Scope | None] = {_AS_CALLED: outer}
        current_placing = _AS_CALLED
        try:
            for step, inputs, late_attrs, outputs, ends, placing in self._planned_steps[first:]:
                if placing is not current_placing and placing != current_placing:
                    if placing not in scopes:
                        scopes[placing] = scope_at(placing, outer)
                    set_scope(scopes[placing])
                    current_placing = placing
                if is_watched:
                    step.words.say(caller)
                attrs = step.attrs
                if late_attrs:
                    attrs = {**attrs, **{name: filler(values) for name, filler in late_attrs.items()}}
                results = step.run([filler(values) for filler in inputs], attrs)
                for slot, value in zip(outputs, results, strict=True):
                    values[slot] = value
                results = value = None  # no value may outlive its last use
                for slot in ends:
                    values[slot] = None
        except Exception as error:
            _note_replica(error, outer, current_placing[1])
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
    scope = around.with_(request=request or around.request, replica=around.replica if replica is None else replica)
    if HERE.device is not None and scope.plain:
        scope.lane = lane_of(scope.request)
    return scope


def _needed(steps: Sequence[Step], results: Sequence[GraphTensor]) -> list[Step]:
    """Returns the steps that the results depend on, and those that do more than compute."""
    needed: set[int] = {id(result) for result in results}
    used: list[Step] = []
    for step in reversed(steps):
        if step.__class__ is EndStep:
            used.append(step)
        elif step.is_stateful or not needed.isdisjoint([id(tensor) for tensor in step.outputs]):
            used.append(step)
            needed.update([id(tensor) for tensor in _tensors_in([*step.inputs, *step.attrs.values()])])
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
    inputs = [_input_of(value, needed, steps_before) for value in step.inputs]
    return [*steps_before, step.with_inputs(inputs)]


def _input_of(value: Any, needed: set[int], steps_before: list[Step]) -> Any:
    if value.__class__ is list:
        return [_input_of(item, needed, steps_before) for item in value]
    if value.__class__ is not GivenValue:
        return value
    if id(value.tensor) not in needed:
        return value.value
    steps_before.append(value.step)
    return value.tensor


def _tensors_in(values: Sequence[Any]) -> list[GraphTensor]:
    tensors: list[GraphTensor] = []
    for value in values:
        if value.__class__ is GraphTensor:
            tensors.append(value)
        elif value.__class__ is list or value.__class__ is tuple:
            tensors += _tensors_in(value)
    return tensors

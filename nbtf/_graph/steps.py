"""The steps of a traced function: an op, a constant, an update of a variable, or something made of several ops."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

from nbtf._graph.tensor import GraphTensor
from nbtf._ops.list_lane import run_with_lists
from nbtf._ops.op import Op
from nbtf._ops.variables.resource import AssignAddVariableOp, AssignSubVariableOp, AssignVariableOp
from nbtf._runtime.conversion import constant_of
from nbtf._runtime.execute import execute
from nbtf._runtime.phases import Remembered
from nbtf._runtime.scopes import EMPTY, HERE, Request, Scope
from nbtf._types import DType


class Step:
    """One thing that a function does; `run` does it with values in the place of the tensors of the graph."""

    __slots__ = ("attrs", "inputs", "name", "outputs", "record", "replica", "request", "words")

    is_stateful = False
    """Whether it is done even where nobody needs its results."""

    def __init__(
        self,
        record: Any,
        inputs: Sequence[Any],
        attrs: dict[str, Any],
        name: str | None,
        outputs: list[GraphTensor],
        scope: Scope,
    ) -> None:
        """Takes what to do, with what, and the scope, which says where."""
        self.record = record
        self.inputs = inputs
        self.attrs = attrs
        self.name = name
        self.outputs = outputs
        self.request: Request | None = scope.request
        self.replica: int | None = scope.replica
        self.words = Remembered()

    def with_inputs(self, inputs: Sequence[Any]) -> Step:
        """Returns the step with other inputs."""
        step = copy(self)
        step.inputs = inputs
        return step

    def run(self, inputs: list[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Does it; returns the outputs' values."""
        raise NotImplementedError

    def add_to(self, graph: Any, inputs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Adds it to the graph of another function, with tensors from there; returns what it makes there."""
        raise NotImplementedError


class EndStep(Step):
    """Lets the value of a tensor go, where the program let the tensor go while it was traced."""

    __slots__ = ()

    def __init__(self, tensor: GraphTensor) -> None:
        """Takes the tensor."""
        super().__init__("End", (tensor,), {}, None, [], EMPTY)


class ConstantStep(Step):
    """Makes a tensor of a Python value, as it is made where no function is traced."""

    __slots__ = ()

    def __init__(
        self, array: Any, dtype: DType, value: Any, requested: DType | None, output: GraphTensor, scope: Scope
    ) -> None:
        """Takes the array, and what it was read of."""
        super().__init__("Const", (array, dtype, value, requested), {}, None, [output], scope)

    def run(self, inputs: list[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Makes the tensor."""
        array, dtype, value, requested = self.inputs
        return (constant_of(array, dtype, value, requested),)

    def add_to(self, graph: Any, inputs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Adds the same constant."""
        return (graph.constant(*self.inputs),)


class GivenValue(NamedTuple):
    """A Python value that an op was given: the op makes a tensor of it, unless others take that tensor, too."""

    value: Any
    tensor: GraphTensor
    step: ConstantStep
    """Makes the tensor, before the op runs."""


class OpStep(Step):
    """Sends an op down the road."""

    __slots__ = ("is_stateful",)

    record: Op

    def __init__(self, *arguments: Any) -> None:
        """Looks whether the op does more than compute."""
        super().__init__(*arguments)
        self.is_stateful = not self.outputs or self.record.type in _STATEFUL

    def run(self, inputs: list[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Runs the op; on its express lane where nobody listens."""
        lane = self.record.lane
        if lane is not None and HERE.first is not None:
            return (lane(*inputs, **attrs),)
        result = run_with_lists(self.record, inputs, attrs) if self.record.has_list_lane else None
        if result is None:
            result = execute(self.record, inputs, attrs, self.name)
        return result if self.record.many else (result,)

    def add_to(self, graph: Any, inputs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Adds the op."""
        result = graph.add(self.record, inputs, attrs, None)
        if not self.outputs:
            return ()
        return result if self.record.many else (result,)


_STATEFUL = frozenset({"Assert", "CheckNumerics", "PrintV2", "PyFunc", "EagerPyFunc"})
"""Ops with results that do more than compute."""


class UpdateStep(Step):
    """Gives a variable another value."""

    __slots__ = ()

    is_stateful = True

    def run(self, inputs: list[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Updates it."""
        variable, *others = inputs
        if self.record is AssignVariableOp:
            variable.assign(*others, name=self.name, read_value=False)
        elif self.record is AssignAddVariableOp:
            variable.assign_add(*others, name=self.name, read_value=False)
        elif self.record is AssignSubVariableOp:
            variable.assign_sub(*others, name=self.name, read_value=False)
        else:
            variable._update(self.record, *others, name=self.name, **attrs)
        return ()

    def add_to(self, graph: Any, inputs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Adds the update."""
        graph.add(self.record, inputs, attrs, None)
        return ()


class CompositeStep(Step):
    """Does something that is made of several ops."""

    __slots__ = ("is_stateful",)

    def __init__(self, *arguments: Any) -> None:
        """Looks whether it does more than compute."""
        super().__init__(*arguments)
        self.is_stateful = self.record.does_more

    def run(self, inputs: list[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Does it."""
        return self.record.run(inputs)

    def add_to(self, graph: Any, inputs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Adds the same."""
        known = [(tensor._shape, tensor._dtype) for tensor in self.outputs[:-1]]
        return graph.add_recorded(self.record, inputs, known)

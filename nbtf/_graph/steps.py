"""The steps of a traced function: an op, a constant, an update of a variable, or a composite of several ops."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

from nbtf._graph.tensor import GraphTensor
from nbtf._ops.op import Op
from nbtf._ops.variables.resource import AssignAddVariableOp, AssignSubVariableOp, AssignVariableOp
from nbtf._runtime.conversion import constant_of
from nbtf._runtime.execute import execute
from nbtf._runtime.lanes import lane_at
from nbtf._runtime.phases import Remembered
from nbtf._runtime.scopes import EMPTY, SCOPE, Request, Scope
from nbtf._types import DType


class Step:
    """One step of a function; `run` runs it with values in place of the graph's tensors."""

    __slots__ = ("attrs", "inputs", "name", "outputs", "record", "replica", "request", "words")

    is_stateful = False
    """Whether it runs even if its results are not needed."""

    def __init__(
        self,
        record: Any,
        inputs: Sequence[Any],
        attrs: dict[str, Any],
        name: str | None,
        outputs: list[GraphTensor],
        scope: Scope,
    ) -> None:
        """Stores the op, its inputs and outputs, and the scope, which determines the device."""
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

    def run(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Runs the step, and returns the output values."""
        raise NotImplementedError

    def add_to(self, graph: Any, inputs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Adds the step to the graph of another function, with that graph's tensors; returns its outputs there."""
        raise NotImplementedError


class EndStep(Step):
    """Drops the value of a tensor at the point where the program dropped the tensor during tracing."""

    __slots__ = ()

    def __init__(self, tensor: GraphTensor) -> None:
        """Stores the tensor."""
        super().__init__("End", (tensor,), {}, None, [], EMPTY)


class ConstantStep(Step):
    """Makes a tensor from a Python value, as eager code does."""

    __slots__ = ()

    def __init__(
        self, array: Any, dtype: DType, value: Any, requested: DType | None, output: GraphTensor, scope: Scope
    ) -> None:
        """Stores the array, and the value that it was made from."""
        super().__init__("Const", (array, dtype, value, requested), {}, None, [output], scope)

    def run(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Makes the tensor."""
        array, dtype, value, requested = self.inputs
        return (constant_of(array, dtype, value, requested),)

    def add_to(self, graph: Any, inputs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Adds the same constant."""
        return (graph.constant(*self.inputs),)


class GivenValue(NamedTuple):
    """A Python value given to an op, which makes a tensor from it unless other ops use that tensor as well."""

    value: Any
    tensor: GraphTensor
    step: ConstantStep
    """The step that makes the tensor before the op runs."""


class OpStep(Step):
    """Runs an op on the road."""

    __slots__ = ("is_stateful",)

    record: Op

    def __init__(self, *arguments: Any) -> None:
        """Determines whether the op does more than compute."""
        super().__init__(*arguments)
        self.is_stateful = not self.outputs or self.record.type in _STATEFUL

    def run(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Runs the op, on its express lane if that is open."""
        lane = self.record.lane
        if lane is not None and lane_at(SCOPE()) is not None:
            return (lane(*inputs, **attrs),)
        result = execute(self.record, inputs, attrs, self.name)
        return result if self.record.many else (result,)

    def add_to(self, graph: Any, inputs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Adds the op."""
        result = graph.add(self.record, inputs, attrs, None)
        if not self.outputs:
            return ()
        return result if self.record.many else (result,)


_STATEFUL = frozenset({"Assert", "CheckNumerics", "PrintV2", "PyFunc", "EagerPyFunc"})
"""Ops that have results but do more than compute."""


class UpdateStep(Step):
    """Assigns a new value to a variable."""

    __slots__ = ()

    is_stateful = True

    def run(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Updates the variable."""
        variable, *operands = inputs
        if self.record is AssignVariableOp:
            variable.assign(*operands, name=self.name, read_value=False)
        elif self.record is AssignAddVariableOp:
            variable.assign_add(*operands, name=self.name, read_value=False)
        elif self.record is AssignSubVariableOp:
            variable.assign_sub(*operands, name=self.name, read_value=False)
        else:
            variable._update(self.record, *operands, name=self.name, **attrs)
        return ()

    def add_to(self, graph: Any, inputs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Adds the update."""
        graph.add(self.record, inputs, attrs, None)
        return ()


class CompositeStep(Step):
    """Runs a composite of several ops."""

    __slots__ = ("is_stateful",)

    def __init__(self, *arguments: Any) -> None:
        """Determines whether the composite does more than compute."""
        super().__init__(*arguments)
        self.is_stateful = self.record.does_more

    def run(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Runs the composite."""
        return self.record.run(inputs)

    def add_to(self, graph: Any, inputs: Sequence[Any], attrs: dict[str, Any]) -> Sequence[Any]:
        """Adds the same composite."""
        specs = [(tensor._shape, tensor._dtype) for tensor in self.outputs[:-1]]
        return graph.add_recorded(self.record, inputs, specs)

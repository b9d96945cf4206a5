"""The trace of a function for one signature: its graph, the plan that runs it, its arguments and its results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._graph.calling import leaves_of_call
from nbtf._graph.function_graph import FunctionGraph
from nbtf._graph.operation import mapped
from nbtf._graph.plan import Plan, scope_at
from nbtf._graph.signature import (
    ArgumentType,
    StructureType,
    TensorType,
    ValueType,
    VariableType,
    are_alike,
    leaf_types,
    packed,
    parts_of,
    rebuilt,
    type_text,
)
from nbtf._graph.steps import EndStep
from nbtf._graph.tensor import GraphTensor
from nbtf._graph.trial import inside, outside
from nbtf._ops.arrays.tensor_array import flow_of
from nbtf._ops.structure import map_structure
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.context import CURRENT
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.lanes import set_watched
from nbtf._runtime.phases import current_words, restore_words
from nbtf._runtime.scopes import EMPTY, SCOPE
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape, TensorSpec
from nbtf._types import int32


class ConcreteFunction:
    """A traced function; calling it runs its plan.

    Attributes:
      graph: the graph of the trace.
    """

    def __init__(
        self,
        graph: FunctionGraph,
        names: Sequence[str],
        types: Sequence[ArgumentType],
        signature: inspect.Signature,
    ) -> None:
        """Stores the signature and the argument types to trace."""
        self.graph = graph
        self.is_traced = True
        """Whether a plan exists; if tracing failed, the Python code runs instead."""
        self.names, self.types, self.signature = list(names), list(types), signature
        self._stand_ins: list[Any] = []
        self._plan: Plan | None = None

    # Tracing

    def trace(self, function: Callable[..., Any], leaves: Sequence[Any]) -> None:
        """Runs the Python code with symbolic tensors.

        Args:
          function: the Python function.
          leaves: the tensors and variables of the call.
        """
        graph = self.graph
        outer = SCOPE() or EMPTY
        graph.compute = lambda inner, tensor: self._compute(inner, tensor, leaves)
        try:
            set_watched(True)  # so that the steps keep their phase and layer
            with inside(outer.with_(graph=graph, tapes=(), request=None)):
                groups = [leaf_types(argument, name) for argument, name in zip(self.types, self.names, strict=True)]
                leaf_names = [leaf for argument in groups for leaf in argument]
                for (name, argument), value in zip(leaf_names, leaves, strict=True):
                    self._stand_ins.append(_stand_in(graph, name, argument, value))
                bound = self._arguments(iter(self._stand_ins))
                result = function(*bound.args, **bound.kwargs)
                self._check_unchanged(bound, function)
                self._results: list[GraphTensor] = []
                self._structure = self._split(result, function)
                graph.settle()
        finally:
            set_watched(CURRENT.context.watched or outer.graph.__class__ is FunctionGraph)
            graph.compute = None
            graph.is_finished = True
        self._plan = Plan(graph, self._results, self._stand_ins)

    def _arguments(self, leaves: Iterator[Any]) -> inspect.BoundArguments:
        bound = inspect.BoundArguments(self.signature, {})  # pyright: ignore[reportArgumentType]
        for name, argument in zip(self.names, self.types, strict=True):
            bound.arguments[name] = rebuilt(argument, leaves)
        return bound

    def _check_unchanged(self, bound: inspect.BoundArguments, function: Callable[..., Any]) -> None:
        """Raises `ValueError` if the function changed a list or dictionary among its arguments.

        Each trace gets its own lists, so the change would never reach the caller's lists.
        """
        unchanged = self._arguments(iter(self._stand_ins)).arguments
        changed = [name for name, value in bound.arguments.items() if not are_alike(unchanged[name], value)]
        if changed:
            function_text = f"{getattr(function, '__qualname__', function)}{self.signature}"
            raise ValueError(
                f"{function_text} should not modify its Python input arguments. Modifying a copy is allowed. "
                f"The following parameter(s) were modified: {', '.join(changed)}"
            )

    def _compute(self, graph: FunctionGraph, tensor: GraphTensor, leaves: Sequence[Any]) -> Tensor:
        """Returns the value of a tensor in this call."""
        if graph is not self.graph or any([leaf.__class__ is GraphTensor for leaf in leaves]):
            raise ValueError(f"The initial value of a variable, {tensor!r}, is only known when the function runs.")
        scope = SCOPE() or EMPTY
        with inside(outside(scope, tapes=())):
            (value,) = Plan(graph, [tensor], self._stand_ins).run(leaves)
        return value

    def _split(self, value: Any, function: Callable[..., Any]) -> ArgumentType | int | None:
        """Returns the structure of a result, with numbers in place of its tensors."""
        if value is None:
            return None
        value = flow_of(value)  # as in TensorFlow, the caller of a TensorArray function gets the array's flow
        components = parts_of(value)
        if components is not None and value.__class__ is not TensorShape:
            build, keys, items = components
            return StructureType(build, keys, tuple([self._split(item, function) for item in items]))
        tensor: Any = as_result(value)
        if tensor.__class__ is not Tensor and tensor.__class__ is not GraphTensor:
            raise TypeError(
                "To be compatible with tf.function, Python functions must return zero or more Tensors or "
                f"ExtensionTypes or None values; in compilation of {function}, found return value of type "
                f"{type(value).__name__}, which is not a Tensor or ExtensionType."
            )
        self._results.append(self.graph._own(tensor))
        return len(self._results) - 1

    # Calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function.

        Args:
          *args: the tensors among the arguments.
          **kwargs: tensor arguments by name.

        Raises:
          TypeError: if the arguments do not fit the function.
        """
        return self.run(leaves_of_call(self, args, kwargs))

    def run(self, leaves: Sequence[Any]) -> Any:
        """Runs the plan, or adds its steps to the function that is being traced.

        Args:
          leaves: the tensors and variables among the arguments.
        """
        assert self._plan is not None
        scope = SCOPE()
        if scope is not None and scope.graph.__class__ is FunctionGraph:
            values = repeated(self._plan, leaves, scope.graph)
        else:
            values = self._plan.run(leaves)
        return _joined(self._structure, values)

    def run_python(self, function: Callable[..., Any], leaves: Sequence[Any]) -> Any:
        """Runs the Python code itself, because it could not be traced."""
        bound = self._arguments(iter(leaves))
        return map_structure(as_result, function(*bound.args, **bound.kwargs))

    # Properties

    @property
    def name(self) -> bytes:
        """The function's name, as TensorFlow forms it."""
        return f"__inference_{self.graph.name}".encode()

    @property
    def inputs(self) -> list[GraphTensor]:
        """The symbolic tensors for the arguments and for captured values."""
        tensors = [value for value in self._stand_ins if value.__class__ is GraphTensor]
        return [*tensors, *[inner for _, inner in self.graph.captures.values()]]

    @property
    def outputs(self) -> list[GraphTensor]:
        """The symbolic tensors that the function returns."""
        return list(self._results)

    @property
    def captured_inputs(self) -> list[Any]:
        """The values that it captures from outside."""
        return [outer for outer, _ in self.graph.captures.values()]

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables that it uses."""
        return self.graph.used_variables()

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The variables that tapes watch automatically."""
        return tuple([variable for variable in self.variables if variable.trainable])

    @property
    def structured_outputs(self) -> Any:
        """The function's result, with symbolic tensors."""
        return _joined(self._structure, self._results)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the results."""
        return _joined(self._structure, [tensor.shape for tensor in self._results])

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of the results."""
        return _joined(self._structure, [tensor.dtype for tensor in self._results])

    @property
    def structured_input_signature(self) -> Any:
        """The arguments, with specs in place of tensors."""
        leaves = [leaf_types(argument, name) for argument, name in zip(self.types, self.names, strict=True)]
        specs = [TensorSpec(leaf.lengths, leaf.dtype, name) for argument in leaves for name, leaf in argument]
        bound = self._arguments(iter(specs))
        return bound.args, bound.kwargs

    @property
    def function_type(self) -> str:
        """The types of arguments and results, in one line."""
        types = zip(self.names, self.types, strict=True)
        return (
            f"({', '.join([f'{name}: {type_text(argument)}' for name, argument in types])}) -> {self._shown_result()}"
        )

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """Returns the types of arguments and results, one per line."""
        parameters = self.signature.parameters
        lines = ["Input Parameters:"] if self.names else ["Input Parameters:", "  None"]
        for name, argument in zip(self.names, self.types, strict=True):
            lines.append(f"  {name} ({parameters[name].kind.name}): {type_text(argument)}")
        lines += ["Output Type:", f"  {self._shown_result()}", "Captures:"]
        captured = self.captured_inputs
        lines += [f"  {id(value)}: {TensorSpec(value.shape, value.dtype)}" for value in captured] or ["  None"]
        return "\n".join(lines)

    def _shown_result(self) -> str:
        return "None" if self._structure is None else type_text(_typed(self._structure, self._results))

    def __str__(self) -> str:
        """Returns the signature."""
        return f"ConcreteFunction {self.pretty_printed_signature()}"

    def __repr__(self) -> str:
        """Returns the signature in one line."""
        return f"<ConcreteFunction {self.function_type} at 0x{id(self):X}>"


def _stand_in(graph: FunctionGraph, name: str, argument: TensorType | VariableType, value: Any) -> Any:
    """Returns the symbolic tensor for an argument; a variable stands for itself, and other calls may pass others."""
    if isinstance(argument, VariableType):
        return value
    return graph.argument(name, TensorShape(argument.lengths), argument.dtype)


def as_result(value: Any) -> Any:
    """Returns a result as a tensor, from numbers, strings, arrays, shapes or variables."""
    if isinstance(value, TensorShape) and value.is_fully_defined():
        return as_tensor(value.as_list(), int32)
    if isinstance(value, Variable):
        return value.read_value()
    plain = isinstance(value, bool | int | float | complex | str | bytes | CPU.xp.ndarray | CPU.xp.generic)
    if plain or (hasattr(value, "__tf_tensor__") and not isinstance(value, Tensor) and parts_of(value) is None):
        return as_tensor(value)
    return value


def _joined(structure: Any, values: Sequence[Any]) -> Any:
    if isinstance(structure, StructureType):
        items = [_joined(component, values) for component in structure.items]
        return packed(structure.build, structure.keys, items)
    return None if structure is None else values[structure]


def _typed(structure: Any, tensors: Sequence[Any]) -> Any:
    if isinstance(structure, StructureType):
        return structure._replace(items=tuple([_typed(component, tensors) for component in structure.items]))
    return (
        ValueType(None) if structure is None else TensorType(tensors[structure]._dtype, tensors[structure]._shape._dims)
    )


def held(value: Any, graph: FunctionGraph) -> Any:
    """Returns a captured tensor as the program in its graph holds it, because tapes watch that object."""
    return graph.handle_of(value) if value.__class__ is GraphTensor and value._graph is graph else value


def repeated(plan: Plan, leaves: Sequence[Any], graph: FunctionGraph) -> list[Any]:
    """Adds the steps of a plan to another graph, and returns its results there."""
    counterparts: dict[int, Any] = {id(inner): leaf for inner, leaf in zip(plan.arguments, leaves, strict=True)}
    for outer, inner in plan.graph.captures.values():  # steps refer to either
        counterparts[id(inner)] = counterparts[id(outer)] = held(outer, graph)
    caller = current_words()

    def counterpart(value: Any) -> Any:
        return counterparts.get(id(value), value)

    try:
        for step in plan.steps:
            if step.__class__ is EndStep:
                counterparts.pop(id(step.inputs[0]), None)
                continue
            step.words.say(caller)  # a step keeps its line and its phase
            inputs = [mapped(counterpart, value) for value in step.inputs]
            attrs = {name: mapped(counterpart, value) for name, value in step.attrs.items()}
            with inside(scope_at((step.request, step.replica), SCOPE())):
                outputs = step.add_to(graph, inputs, attrs)
            counterparts.update({id(inner): outer for inner, outer in zip(step.outputs, outputs, strict=True)})
            del inputs, attrs, outputs
    finally:
        restore_words(caller)
    return [counterparts[id(result)] for result in plan.result_tensors]

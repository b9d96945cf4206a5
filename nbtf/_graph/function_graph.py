"""The graph of a traced function: the ops that its Python code calls, in order, with their inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn
from weakref import ref

from nbtf._devices.cpu import CPU
from nbtf._graph.composite import Composite
from nbtf._graph.host_inputs import holds_tensors
from nbtf._graph.open_gradient import OpenGradient, has_open_lengths
from nbtf._graph.operation import PLACEHOLDER, Operation, flat, mapped
from nbtf._graph.seeds import FunctionSeeds
from nbtf._graph.shapes import Known
from nbtf._graph.signature import tensors_taken
from nbtf._graph.steps import CompositeStep, ConstantStep, EndStep, GivenValue, OpStep, Step, UpdateStep
from nbtf._graph.tensor import GraphTensor
from nbtf._graph.trace import SINGLETON, CapturingTrace, value_read
from nbtf._graph.trial import inside, outside
from nbtf._ops.op import Op
from nbtf._ops.random.streams import seeds
from nbtf._ops.variables.creation import made
from nbtf._ops.variables.resource import VarHandleOp
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.scopes import EMPTY, SCOPE
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import DType, variant

_ADVICE = (
    "You can attempt the following resolutions to the problem: If you are running in Graph mode, use Eager execution "
    "mode or decorate this function with @tf.function. If you are using AutoGraph, you can try decorating this "
    "function with @tf.function. If that does not work, then you may be using an unsupported feature or your source "
    "code may not be visible to AutoGraph. See "
    "https://github.com/tensorflow/tensorflow/blob/master/tensorflow/python/autograph/g3doc/reference/limitations.md"
    "#access-to-source-code for more information."
)


_RECORDING = TensorShape(()), variant
"""Name of the last output of a composite, which its backward pass takes."""


class FunctionGraph(CapturingTrace):
    """A graph that keeps the steps of a function, so that a plan can run them again.

    Ops on variables are recorded like others and leave the variable unchanged. Tensors from outside, eager ones or
    those of an enclosing function, are its captures.
    """

    building_function = True
    device: Any = None
    """`tf.device` opens a scope; the steps keep the device that it requests."""
    control_flow: Any
    """The module with branches and loops over its tensors, which sets it."""

    def __init__(self, name: str, outer: FunctionGraph | None = None) -> None:
        """Starts without steps.

        Args:
          name: name of the function.
          outer: the graph of the enclosing function that is being traced.
        """
        super().__init__()
        self.name = name
        self.outer = outer
        self.steps: list[Step] = []
        self.handles: dict[int, Any] = {}
        """The captured tensors as the program has them."""
        self.variables: list[Any] = []
        """The variables that the function has created; see `variable`."""
        self.makes_variables = False
        """Whether the function may create variables."""
        self.compute: Callable[[FunctionGraph, GraphTensor], Tensor] | None = None
        """Returns the value of a tensor in the call that is being traced."""
        self.seeds = FunctionSeeds(seeds())
        self.is_finished = False
        self.only_describes: bool = outer is not None and outer.only_describes
        """Whether its ops never run, because only the shapes and dtypes of results matter."""
        self.replica = (SCOPE() or EMPTY).replica
        """The replica that traces the function for itself, or None."""
        self._fresh: dict[GraphTensor, ConstantStep] | None = None
        self._lives: dict[int, ref[GraphTensor]] = {}

    def __repr__(self) -> str:
        """Returns `FuncGraph(name=f, id=1)`."""
        return f"FuncGraph(name={self.name}, id={id(self)})"

    def __reduce__(self) -> NoReturn:
        """Raises TensorFlow's error: graphs cannot be pickled."""
        raise TypeError("cannot pickle 'FuncGraph' object")

    # Recording

    def add(self, op: Op, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Records an op: its node, and the step that runs it.

        Args:
          op: the op.
          inputs: tensors, variables, and values that become tensors; lists where the op takes lists.
          attrs: its attributes.
          name: name of the node.
        """
        if self.is_finished:
            raise self.refuse(next(value for value in flat(inputs) if value.__class__ is GraphTensor))
        if op is VarHandleOp:
            raise ValueError(SINGLETON)
        tensors, arguments = self._convert(op, inputs)
        attrs_heard = {key: mapped(_copied, self._as_tensors(value_read(value))) for key, value in attrs.items()}
        attrs = {key: mapped(_original, value) for key, value in attrs_heard.items()}
        scope = SCOPE() or EMPTY
        if op.updates:
            self.steps.append(UpdateStep(op, arguments, attrs, name, [], scope))
            return tensors[0]
        outputs: list[GraphTensor]
        if op.resource:
            full_name = self.scoped_name(name or op.form.node_name or op.type)
            operands, spec = [self._own(value) for value in tensors[1:]], self.output_on_variable(op, tensors, attrs)
            outputs = self._made(op, operands, attrs, full_name, [spec]).outputs
        else:
            own_attrs = {key: mapped(self._own_or_value, value) for key, value in attrs.items()}
            result = super().add(op, [self._own(value) for value in tensors], own_attrs, name)
            if result.__class__ is Operation:
                self.steps.append(OpStep(op, arguments, attrs, name, [], scope))
                return result
            outputs = flat([result])
        self.steps.append(OpStep(op, arguments, attrs, name, [*outputs], scope))
        handles = [self._hand_out(output) for output in outputs]
        result = handles if op.many else handles[0]
        self._tell_tapes(op, tensors, attrs_heard, result)
        return result

    def add_composite(self, record: Any, inputs: Sequence[Any], specs: Known) -> list[GraphTensor]:
        """Records a step that is more than one op, such as a loop whose number of iterations only a run determines.

        Args:
          record: has a `type`, and `run(values)` that returns the output values; for tapes it has the attributes of an
            op, from `taped` to `gradients`.
          inputs: tensors.
          specs: shape and dtype of each output.

        Returns:
          The outputs.
        """
        return self.add_recorded(record, inputs, specs)[:-1]

    def add_recorded(self, record: Any, inputs: Sequence[Any], specs: Known) -> list[GraphTensor]:
        """Like `add_composite`, but also returns the recording as the last output."""
        owned = [self._own(value) for value in inputs if not hasattr(value, "assign_add")]
        node = self._made(record, owned, {}, self.scoped_name(record.type), [*specs, _RECORDING])
        arguments = [_original(value) for value in inputs]
        self.steps.append(CompositeStep(record, arguments, {}, None, list(node.outputs), SCOPE() or EMPTY))
        handles = [self._hand_out(output) for output in node.outputs[:-1]]
        self._tell_tapes(record, inputs, {}, handles)
        return [*handles, node.outputs[-1]]

    def _hand_out(self, tensor: GraphTensor) -> GraphTensor:
        """Returns a handle of a tensor for the program: after the handle dies, each run frees the value there."""
        handle = GraphTensor(self, tensor._dtype, tensor._shape, tensor.value_index)
        handle._node, handle._consumers, handle._original = tensor._node, tensor._consumers, tensor
        number = id(tensor)

        def note_end(reference: object) -> None:
            del self._lives[number]
            if not self.is_finished:
                self.steps.append(EndStep(tensor))

        self._lives[number] = ref(handle, note_end)
        return handle

    def handle_of(self, tensor: GraphTensor) -> GraphTensor:
        """Returns the program's handle of a tensor; creates a new one if the program dropped the last."""
        life = self._lives.get(id(tensor))
        handle = None if life is None else life()
        if handle is not None:
            return handle
        ends = [step for step in self.steps if step.__class__ is EndStep and step.inputs[0] is tensor]
        if not ends:
            return tensor  # an argument, or a constant of a step
        self.steps = [step for step in self.steps if step not in ends]
        return self._hand_out(tensor)

    def call(
        self,
        type: str,
        run: Callable[[Sequence[Any]], Sequence[Any]],
        inputs: Sequence[Any],
        lengths_and_dtypes: Sequence[tuple[Any, DType]],
        no_gradient: bool = False,
        does_more: bool = True,
    ) -> list[GraphTensor]:
        """Records a function that runs with values in each call.

        Args:
          type: op type of the step.
          run: takes and returns tensors.
          inputs: tensors of the graph.
          lengths_and_dtypes: lengths (None for unknown ones) and dtype of each output.
          no_gradient: whether no gradient flows through it.
          does_more: whether it does more than compute, so that it runs even if its outputs are not needed.
        """
        specs = [(TensorShape(dims), dtype) for dims, dtype in lengths_and_dtypes]
        return self.add_composite(Composite(type, run, no_gradient, does_more), inputs, specs)

    def call_with(self, type: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Records a function without results that runs with values in each call.

        Args:
          type: op type of the step.
          function: takes the arguments.
          *arguments: tensors and other values, in structures.
        """
        tensors: list[Any] = []
        rebuild = tensors_taken(arguments, tensors)

        def run(values: Sequence[Any]) -> Sequence[Any]:
            function(*rebuild(iter(values)))
            return ()

        self.call(type, run, tensors, [], no_gradient=True)

    def _tell_tapes(self, op: Any, tensors: Sequence[Any], attrs: Mapping[str, Any], result: Any) -> None:
        scope = SCOPE()
        for tape in () if scope is None else scope.tapes:
            self.tell(tape, op, tensors, attrs, result)

    def tell(self, tape: Any, op: Any, tensors: Sequence[Any], attrs: Mapping[str, Any], result: Any) -> None:
        """Records an op on a tape, with its known attributes in the op's normal form.

        Args:
          tape: the tape.
          op: the op, or a composite.
          tensors: its inputs.
          attrs: its attributes.
          result: its output as the program has it, or a list of outputs.
        """
        normalisers: Mapping[str, Callable[[Any], Any]] = getattr(op, "normalisers", {})
        record = OpenGradient(op) if _depends_on_run(op, tensors, attrs, result) else op
        readers = {name: read for name, read in normalisers.items() if not holds_tensors(attrs[name])}
        tape.record(record, tensors, {**attrs, **{name: read(attrs[name]) for name, read in readers.items()}}, result)

    def constant(self, array: Any, dtype: DType, value: Any = None, requested: DType | None = None) -> GraphTensor:
        """Returns a constant; one that an op makes of a Python value belongs to the op's step."""
        tensor = super().constant(array, dtype)
        step = ConstantStep(array, dtype, value, requested, tensor, SCOPE() or EMPTY)
        if self._fresh is not None:
            self._fresh[tensor] = step
            return tensor
        self.steps.append(step)
        return self._hand_out(tensor.called(None))

    def _convert(self, op: Op, inputs: Sequence[Any]) -> tuple[Sequence[Any], list[Any]]:
        """Returns the inputs as tensors, and in the form that the step takes."""
        outer, self._fresh = self._fresh, {}
        try:
            tensors = op.convert(inputs)
            arguments = [self._as_taken(tensor, value) for tensor, value in zip(tensors, inputs, strict=True)]
        finally:
            self._fresh = outer
        return tensors, arguments

    def _as_taken(self, tensor: Any, value: Any) -> Any:
        if tensor.__class__ is list:
            return [self._as_taken(item, raw) for item, raw in zip(tensor, value, strict=True)]
        if tensor.__class__ is not GraphTensor or self._fresh is None or tensor not in self._fresh:
            return _original(tensor)
        return GivenValue(mapped(_original, mapped(_copied, value)), tensor, self._fresh[tensor])

    def _made(self, record: Any, *arguments: Any, **options: Any) -> Operation:
        node = super()._made(record, *arguments, **options)
        scope = SCOPE()
        if scope is not None and scope.request is not None and scope.request.name is not None:
            node.ask_for_device(f"/device:{scope.request.fields.device_type}:{scope.request.fields.device_index}")
        return node

    # Captures and other properties

    def reaches(self, graph: Any) -> bool:
        """Returns whether the function may use tensors of a graph: its own graph, or an enclosing one."""
        return graph is self or (self.outer is not None and self.outer.reaches(graph))

    def _own(self, value: Any) -> Any:
        """Returns an input as a tensor of this graph; tensors from outside are captured."""
        if value.__class__ is list:
            return [self._own(item) for item in value]
        if value.__class__ is GraphTensor and value._graph is self:
            return _original(value)
        if value.__class__ is not GraphTensor and value.__class__ is not Tensor:
            return super()._own(value)
        return self.capture(value)

    def capture(self, value: Any) -> GraphTensor:
        """Returns the counterpart of a captured tensor."""
        handle, value = value, _original(value)
        if value.__class__ is GraphTensor and not self.reaches(value._graph):
            raise self.refuse(value)
        self.handles.setdefault(id(value), handle)
        return super().capture(value)

    def _own_or_value(self, value: Any) -> Any:
        return self._own(value) if value.__class__ is GraphTensor else value

    def argument(self, name: str, shape: TensorShape, dtype: DType) -> GraphTensor:
        """Returns a symbolic tensor for an argument."""
        return self.add_source(PLACEHOLDER, name, {}, [(shape, dtype)]).outputs[0]

    def advice(self, instead: str) -> str:
        """Returns TensorFlow's advice for code that needs a tensor's value during tracing."""
        return _ADVICE

    @property
    def advice_on_arrays(self) -> str:
        """TensorFlow's advice for passing a symbolic tensor to NumPy."""
        return "This error may indicate that you're trying to pass a Tensor to a NumPy call, which is not supported."

    def refuse(self, tensor: GraphTensor) -> TypeError:
        """Returns TensorFlow's error for a tensor that is used outside its function."""
        return TypeError(
            f"{tensor!r} is out of scope and cannot be used here. Use return values, explicit Python locals or "
            "TensorFlow collections to access it.\nPlease see https://www.tensorflow.org/guide/"
            "function#all_outputs_of_a_tffunction_must_be_return_values for more information."
        )

    # Variables

    def used_variables(self) -> tuple[Any, ...]:
        """Returns the variables that the steps use, in the order of first use."""
        inputs = [value for step in self.steps for value in flat(step.inputs) if hasattr(value, "assign_add")]
        return tuple({id(variable): variable for variable in inputs}.values())

    def variable(self, initial_value: Any = None, **traits: Any) -> Any:
        """Creates a variable permanently: ops of the trace treat it as if it had existed before.

        Raises:
          ValueError: if this is not the function's first call.
        """
        graph = self
        while graph.outer is not None:
            graph = graph.outer
        if not graph.makes_variables:
            raise ValueError(SINGLETON)
        initial_value = self._initial(initial_value)
        scope = SCOPE() or EMPTY
        names = self.get_name_scope()
        with inside(outside(scope, tapes=(), names=f"{names}/" if names else "")):
            variable = made(Variable, initial_value, **traits)
        graph.variables.append(variable)
        return variable

    def _initial(self, value: Any) -> Any:
        """Returns an initial value that does not depend on the trace."""
        if callable(value):
            scope = SCOPE() or EMPTY
            try:
                with inside(outside(scope, tapes=())):
                    return value()
            except TypeError:  # it takes tensors of the trace
                value = value()
        if value.__class__ is GraphTensor:
            static_value = value.static_value()
            if static_value is not None:
                return static_value
            if self.compute is None:
                raise ValueError(f"The initial value of a variable, {value!r}, is only known when the function runs.")
            return self.compute(self, self._own(value))
        return value


def _original(value: Any) -> Any:
    """Returns the graph tensor behind a program's handle; other values are unchanged."""
    if value.__class__ is not GraphTensor or value._original is None:
        return value
    value._original._shape = value._shape  # the program may have refined it with `set_shape`
    return value._original


def _copied(value: Any) -> Any:
    """Returns an array that the program cannot change; other values are unchanged."""
    return value.copy() if isinstance(value, CPU.xp.ndarray) else value


def _depends_on_run(op: Any, tensors: Sequence[Any], attrs: Mapping[str, Any], result: Any) -> bool:
    """Returns whether the gradient of an op may depend on lengths or attributes that only a run knows."""
    if op.__class__ is not Op or op.resource or op.no_gradient:
        return False
    return has_open_lengths([*tensors, *flat([result])]) or holds_tensors([*attrs.values()])

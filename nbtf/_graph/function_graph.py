"""The graph of a traced function: the ops that its Python code calls, in their order, with what they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn
from weakref import ref

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf._graph.composite import Composite
from nbtf._graph.open_gradient import OpenGradient, has_open_lengths, has_tensors
from nbtf._graph.operation import PLACEHOLDER, Operation, flat
from nbtf._graph.seeds import GraphStream, seeds_of
from nbtf._graph.shapes import Known, spec_of
from nbtf._graph.signature import tensors_taken
from nbtf._graph.steps import CompositeStep, ConstantStep, EndStep, GivenValue, OpStep, Step, UpdateStep
from nbtf._graph.tensor import GraphTensor
from nbtf._graph.trace import Trace
from nbtf._graph.trial import inside, outside
from nbtf._ops.op import Op
from nbtf._ops.random.streams import seeds
from nbtf._ops.variables.creation import made
from nbtf._ops.variables.resource import VarHandleOp
from nbtf._runtime.scopes import EMPTY, SCOPE
from nbtf._runtime.seeds import Seeds
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import DType, variant

_SINGLETON = (
    "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only "
    "created once or created outside tf.function. See "
    "https://www.tensorflow.org/guide/function#creating_tfvariables for more information."
)


_ADVICE = (
    "You can attempt the following resolutions to the problem: If you are running in Graph mode, use Eager execution "
    "mode or decorate this function with @tf.function. If you are using AutoGraph, you can try decorating this "
    "function with @tf.function. If that does not work, then you may be using an unsupported feature or your source "
    "code may not be visible to AutoGraph. See "
    "https://github.com/tensorflow/tensorflow/blob/master/tensorflow/python/autograph/g3doc/reference/limitations.md"
    "#access-to-source-code for more information."
)


_RECORDING = TensorShape(()), variant
"""The last output of a composite, which its way back takes."""


class FunctionSeeds:
    """What random ops ask for their numbers while a function is traced: each op of the trace has a row of its own."""

    def __init__(self, outer: Seeds) -> None:
        """Takes the random state of the program, whose global seed counts."""
        self._outer = outer
        self._unseeded = 0

    def stream(self, purpose: Any, op_seed: int | None) -> GraphStream:
        """Returns the seeds of an op; those without a seed of their own are counted."""
        counts = self._outer._seed is not None and op_seed is None
        self._unseeded += counts
        return GraphStream(*seeds_of(self._outer._seed, op_seed, self._unseeded - counts))

    def __getattr__(self, name: str) -> Any:
        """Returns what the state of the program has, such as its generator."""
        return getattr(self._outer, name)


class FunctionGraph(Trace):
    """A graph that keeps the steps of a function, so that a plan can take them again.

    Ops on variables are noted like others and leave the variable as it is. Tensors that the function takes from
    outside, with values or of a function around it, are its captures.
    """

    silent = True
    """Whether observers are told of nothing that happens in the scope."""
    building_function = True
    compares_elements = True
    device: Any = None
    """`tf.device` opens a scope: the steps keep what it asks for."""

    def __init__(self, name: str, outer: FunctionGraph | None = None) -> None:
        """Begins without steps.

        Args:
          name: of the function.
          outer: the function that is being traced around it.
        """
        super().__init__()
        self.name = name
        self.outer = outer
        self.steps: list[Step] = []
        self.captures: dict[int, tuple[Any, GraphTensor]] = {}
        """Tensors from outside by id, and what stands for them here."""
        self.handles: dict[int, Any] = {}
        """Those tensors as the program has them."""
        self.variables: list[Any] = []
        """What it has made; see `variable`."""
        self.makes_variables = False
        """Whether it may."""
        self.compute: Callable[[FunctionGraph, GraphTensor], Tensor] | None = None
        """Returns the value that a tensor has in the call for which the function is traced."""
        self.seeds = FunctionSeeds(seeds())
        self.is_finished = False
        self.replica = (SCOPE() or EMPTY).replica
        """The replica that traces it for itself, if one does."""
        self._fresh: dict[GraphTensor, ConstantStep] | None = None
        self._lives: dict[int, ref[GraphTensor]] = {}

    def __repr__(self) -> str:
        """Returns `FuncGraph(name=f, id=1)`."""
        return f"FuncGraph(name={self.name}, id={id(self)})"

    def __reduce__(self) -> NoReturn:
        """Refuses, in TensorFlow's words."""
        raise TypeError("cannot pickle 'FuncGraph' object")

    # Noting

    def add(self, op: Op, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Notes an op down: its node, and the step that runs it.

        Args:
          op: the op.
          inputs: tensors, variables, and values that become tensors; a list where the op takes one.
          attrs: its attributes.
          name: what the node is to be called.
        """
        if self.is_finished:
            raise self.refuse(next(value for value in flat(inputs) if value.__class__ is GraphTensor))
        if op is VarHandleOp:
            raise ValueError(_SINGLETON)
        tensors, taken = self._convert(op, inputs)
        attrs_heard = {key: self._frozen(self._as_tensors(_read(value))) for key, value in attrs.items()}
        attrs = {key: _originals(value) for key, value in attrs_heard.items()}
        if op.resource:
            return self._add_on_variable(op, tensors, taken, attrs, name)
        result = super().add(op, [self._own(value) for value in tensors], self._own_attrs(attrs), name)
        outputs: list[GraphTensor] = [] if result.__class__ is Operation else flat([result])
        self.steps.append(OpStep(op, taken, attrs, name, outputs, SCOPE() or EMPTY))
        if not outputs:
            return result
        handles = [self._hand_out(output) for output in outputs]
        self._tell_tapes(op, tensors, attrs_heard, handles if op.many else handles[0])
        return handles if op.many else handles[0]

    def _add_on_variable(
        self, op: Op, tensors: Sequence[Any], taken: Sequence[Any], attrs: dict[str, Any], name: str | None
    ) -> Any:
        variable = tensors[0]
        if op.updates:
            self.steps.append(UpdateStep(op, taken, attrs, name, [], SCOPE() or EMPTY))
            return variable
        specs = [Spec(_dims_of(variable), variable._dtype), *[spec_of(self._own(x)) for x in tensors[1:]]]
        dtypes = op.output_dtypes([spec.dtype for spec in specs], attrs, 1)
        (dims,) = op.shapes(specs, op.normalised(attrs))
        whole = self.scoped_name(name or op.form.node_name or op.type)
        others = [self._own(x) for x in tensors[1:]]
        node = self._made(op, others, attrs, whole, [(TensorShape(dims), dtypes[0])])
        self.steps.append(OpStep(op, taken, attrs, name, list(node.outputs), SCOPE() or EMPTY))
        result = self._hand_out(node.outputs[0])
        self._tell_tapes(op, tensors, attrs, result)
        return result

    def add_composite(self, record: Any, inputs: Sequence[Any], known: Known) -> list[GraphTensor]:
        """Notes something down that is more than one op, such as a loop whose turns only a run can count.

        Args:
          record: has a `type`, and `run(values)` that returns the outputs' values; for tapes what an op has, `taped`
            to `gradients`.
          inputs: tensors.
          known: shape and dtype of each output.

        Returns:
          The outputs.
        """
        return self.add_recorded(record, inputs, known)[:-1]

    def add_recorded(self, record: Any, inputs: Sequence[Any], known: Known) -> list[GraphTensor]:
        """Returns what `add_composite` returns, and last the recording."""
        owned = [self._own(value) for value in inputs if not hasattr(value, "assign_add")]
        node = self._made(record, owned, {}, self.scoped_name(record.type), [*known, _RECORDING])
        taken = [_original(value) for value in inputs]
        self.steps.append(CompositeStep(record, taken, {}, None, list(node.outputs), SCOPE() or EMPTY))
        handles = [self._hand_out(output) for output in node.outputs[:-1]]
        self._tell_tapes(record, inputs, {}, handles)
        return [*handles, node.outputs[-1]]

    @property
    def control_flow(self) -> Any:
        """The module of branches and loops over its tensors."""
        from nbtf._graph import control_flow

        return control_flow

    def _hand_out(self, tensor: GraphTensor) -> GraphTensor:
        """Returns what the program gets of a tensor: when that dies, each call lets the value go, too."""
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
        """Returns what the program has of a tensor; one that the program let go is handed out again."""
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
        known: Sequence[tuple[Any, DType]],
        no_gradient: bool = False,
        does_more: bool = True,
    ) -> list[GraphTensor]:
        """Notes down a function that runs with values, each time.

        Args:
          type: what it is called.
          run: takes and returns tensors.
          inputs: tensors of the graph.
          known: lengths (None where they are not known) and dtype of each output.
          no_gradient: whether none flows through it.
          does_more: whether it does more than compute, so that it runs even where its outputs are not needed.
        """
        specs = [(TensorShape(dims), dtype) for dims, dtype in known]
        return self.add_composite(Composite(type, run, no_gradient, does_more), inputs, specs)

    def call_with(self, type: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Notes down a function that runs with values, each time, and returns none.

        Args:
          type: what it is called.
          function: takes the arguments.
          *arguments: tensors and other values, in structures.
        """
        tensors: list[Any] = []
        taken = tensors_taken(arguments, tensors)

        def run(values: Sequence[Any]) -> Sequence[Any]:
            function(*taken(iter(values)))
            return ()

        self.call(type, run, tensors, [], no_gradient=True)

    def _tell_tapes(self, op: Any, tensors: Sequence[Any], attrs: Mapping[str, Any], result: Any) -> None:
        scope = SCOPE()
        for tape in () if scope is None else scope.tapes:
            self.tell(tape, op, tensors, attrs, result)

    def tell(self, tape: Any, op: Any, tensors: Sequence[Any], attrs: Mapping[str, Any], result: Any) -> None:
        """Records an op on a tape, with the attributes that are known read as the op reads them.

        Args:
          tape: what records it.
          op: the op, or a composite.
          tensors: its inputs.
          attrs: its attributes.
          result: its output as the program has it, or a list of them.
        """
        normalisers: Mapping[str, Callable[[Any], Any]] = getattr(op, "normalisers", {})
        record = OpenGradient(op) if _depends_on_run(op, tensors, attrs, result) else op
        readers = {name: read for name, read in normalisers.items() if not has_tensors(attrs[name])}
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
        """Returns the inputs as tensors, and as the step takes them."""
        outer, self._fresh = self._fresh, {}
        try:
            tensors = op.convert(inputs)
            taken = [self._as_taken(tensor, value) for tensor, value in zip(tensors, inputs, strict=True)]
        finally:
            self._fresh = outer
        return tensors, taken

    def _as_taken(self, tensor: Any, value: Any) -> Any:
        if tensor.__class__ is list:
            return [self._as_taken(item, raw) for item, raw in zip(tensor, value, strict=True)]
        if tensor.__class__ is not GraphTensor or self._fresh is None or tensor not in self._fresh:
            return _original(tensor)
        return GivenValue(_originals(self._frozen(value)), tensor, self._fresh[tensor])

    def _frozen(self, value: Any) -> Any:
        """Returns a value that the program cannot change any more."""
        if value.__class__ is list or value.__class__ is tuple:
            items: Any = value
            return items.__class__([self._frozen(item) for item in items])
        return value.copy() if isinstance(value, CPU.xp.ndarray) else value

    def _made(self, record: Any, *arguments: Any, **more: Any) -> Operation:
        node = super()._made(record, *arguments, **more)
        scope = SCOPE()
        if scope is not None and scope.request is not None and scope.request.name is not None:
            node.ask_for_device(f"/device:{scope.request.fields.device_type}:{scope.request.fields.device_index}")
        return node

    # What belongs to it

    def reaches(self, graph: Any) -> bool:
        """Tells whether the function may take tensors of a graph: of its own, and of those around it."""
        return graph is self or (self.outer is not None and self.outer.reaches(graph))

    def _own(self, value: Any) -> Any:
        """Returns an input as a tensor of this graph; what comes from outside is captured."""
        if value.__class__ is list:
            return [self._own(item) for item in value]
        if value.__class__ is GraphTensor and value._graph is self:
            return _original(value)
        if value.__class__ is not GraphTensor and value.__class__ is not Tensor:
            return super()._own(value)
        return self.capture(value)

    def capture(self, value: Any) -> GraphTensor:
        """Returns what stands for a tensor from outside."""
        handle, value = value, _original(value)
        if value.__class__ is GraphTensor and not self.reaches(value._graph):
            raise self.refuse(value)
        if id(value) not in self.captures:
            shape = TensorShape(value._shape._dims) if value.__class__ is GraphTensor else value.shape
            node = self.add_source(PLACEHOLDER, "captured", {}, [(shape, value._dtype)])
            self.captures[id(value)] = value, node.outputs[0]
            self.handles[id(value)] = handle
        return self.captures[id(value)][1]

    def _own_attrs(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {key: self._own_in(value) for key, value in attrs.items()}

    def _own_in(self, value: Any) -> Any:
        if value.__class__ is GraphTensor:
            return self._own(value)
        if value.__class__ is list or value.__class__ is tuple:
            items: Any = value
            return items.__class__([self._own_in(item) for item in items])
        return value

    def argument(self, name: str, shape: TensorShape, dtype: DType) -> GraphTensor:
        """Returns what stands for an argument."""
        return self.add_source(PLACEHOLDER, name, {}, [(shape, dtype)]).outputs[0]

    def advice(self, instead: str) -> str:
        """Returns what to do where a tensor's value is not there yet, in TensorFlow's words."""
        return _ADVICE

    @property
    def advice_on_arrays(self) -> str:
        """What to do where NumPy asks for a value, in TensorFlow's words."""
        return "This error may indicate that you're trying to pass a Tensor to a NumPy call, which is not supported."

    def refuse(self, tensor: GraphTensor) -> TypeError:
        """Returns the error of a tensor that is used outside of its function, in TensorFlow's words."""
        return TypeError(
            f"{tensor!r} is out of scope and cannot be used here. Use return values, explicit Python locals or "
            "TensorFlow collections to access it.\nPlease see https://www.tensorflow.org/guide/"
            "function#all_outputs_of_a_tffunction_must_be_return_values for more information."
        )

    def shown_shape(self, shape: TensorShape) -> TensorShape:
        """Returns a shape as programs know it: None for a length that is not known."""
        return TensorShape(shape._dims)

    # Variables

    def used_variables(self) -> tuple[Any, ...]:
        """Returns the variables that the steps take, in the order of their first use."""
        inputs = [value for step in self.steps for value in flat(step.inputs) if hasattr(value, "assign_add")]
        return tuple({id(variable): variable for variable in inputs}.values())

    def variable(self, initial_value: Any = None, **traits: Any) -> Any:
        """Makes a variable, for good: ops of the trace find it as if it had been there before.

        Raises:
          ValueError: this is not the first call of the function.
        """
        from nbtf._ops.variables.variable import Variable

        graph = self
        while graph.outer is not None:
            graph = graph.outer
        if not graph.makes_variables:
            raise ValueError(_SINGLETON)
        initial_value = self._initial(initial_value)
        scope = SCOPE() or EMPTY
        names = self.get_name_scope()
        with inside(outside(scope, tapes=(), names=f"{names}/" if names else "")):
            variable = made(Variable, initial_value, **traits)
        graph.variables.append(variable)
        return variable

    def _initial(self, value: Any) -> Any:
        """Returns a first value that does not depend on the trace."""
        if callable(value):
            scope = SCOPE() or EMPTY
            try:
                with inside(outside(scope, tapes=())):
                    return value()
            except TypeError:  # it takes tensors of the trace
                value = value()
        if value.__class__ is GraphTensor:
            if self.compute is None:
                raise ValueError(f"The initial value of a variable, {value!r}, is only known when the function is run.")
            return self.compute(self, self._own(value))
        return value


def _dims_of(variable: Any) -> Any:
    return variable.shape._dims


def _original(value: Any) -> Any:
    """Returns the tensor of the graph that a program was handed as another object; other values as they are."""
    if value.__class__ is not GraphTensor or value._original is None:
        return value
    value._original._shape = value._shape  # the program may know more of it by now
    return value._original


def _originals(value: Any) -> Any:
    """Returns a value, or the items of a list, with tensors of the graph in the place of those that were handed out."""
    if value.__class__ is list or value.__class__ is tuple:
        items: Any = value
        return items.__class__([_originals(item) for item in items])
    return _original(value)


def _read(value: Any) -> Any:
    """Returns an attribute; of a variable its value."""
    return value.read_value() if hasattr(value, "assign_add") else value


def _depends_on_run(op: Any, tensors: Sequence[Any], attrs: Mapping[str, Any], result: Any) -> bool:
    """Tells whether the gradient of an op may depend on values that only a run has: lengths and attributes."""
    if op.__class__ is not Op or op.resource or op.no_gradient:
        return False
    return has_open_lengths([*tensors, *flat([result])]) or has_tensors([*attrs.values()])

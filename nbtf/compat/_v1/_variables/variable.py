"""A variable of a graph: what both kinds have in common, and which kind is made."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nbtf._graph.operation import Operation
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.coordinates import gather_nd
from nbtf._ops.arrays.gathering import gather
from nbtf._ops.variables.creation import VariableAggregation, VariableSynchronization
from nbtf._ops.variables.variable import Variable as EagerVariable
from nbtf._runtime.attributes import reads
from nbtf._runtime.operator_types import Operators
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tensor import Reference
from nbtf._shapes import ShapeLike, TensorShape
from nbtf._types import DType, DTypeLike, as_dtype
from nbtf.compat._v1._graph.defaults import building, get_default_graph
from nbtf.compat._v1._graph.dimension import shape_text
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._graph.process import process
from nbtf.compat._v1._session.defaults import evaluate_in_session, get_default_session
from nbtf.compat._v1._variables import ops
from nbtf.compat._v1._variables.changes import Changes, check_dtypes
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1._variables.scope_state import scope_uses_resources


class _Kinds(type):
    """Makes the kind of variable that is wanted, through the open creator scopes."""

    reference: type[Any]
    resource: type[Any]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not Variable:
            return super().__call__(*args, **kwargs)
        names = _ARGUMENTS[: len(args)]
        make: Callable[..., Any] = _make
        scope = SCOPE()
        for creator in () if scope is None else scope.creators:
            make = partial(creator, make)
        return make(**dict(zip(names, args, strict=True)), **kwargs)


_ARGUMENTS = (
    "initial_value",
    "trainable",
    "collections",
    "validate_shape",
    "caching_device",
    "name",
    "variable_def",
    "dtype",
    "expected_shape",
    "import_scope",
    "constraint",
    "use_resource",
    "synchronization",
    "aggregation",
    "shape",
)


def _make(use_resource: bool | None = None, **arguments: Any) -> Any:
    if building() is None:
        return _eager(**arguments)
    if use_resource is None:
        use_resource = scope_uses_resources(get_default_graph())
    if use_resource is None:
        use_resource = process().resource_variables
    return (_Kinds.resource if use_resource else _Kinds.reference)(**arguments)


def _eager(collections: Any = None, expected_shape: Any = None, **arguments: Any) -> EagerVariable:
    """Makes a variable where ops run at once."""
    variable = EagerVariable(**arguments)
    get_default_graph().add_to_collections(collections or (), variable)
    return variable


class Variable(Changes, Operators[Any], metaclass=_Kinds):
    """A node of the default graph that stands for a value which each session keeps for itself.

    The value comes with the run of `initializer`, and is replaced by that of assigning nodes.

    Args:
      initial_value: the first value, as a tensor, anything that becomes one, or a function without arguments.
      trainable: whether it is put into the collection of trainable variables; None means yes.
      collections: names of the collections it is put into; by default that of global variables.
      validate_shape: False allows an initial value whose shape is not known, and later ones of any shape.
      caching_device, expected_shape, import_scope: accepted for TensorFlow's sake, without effect.
      name: the name of the node; one that is taken gets a number.
      variable_def: not supported.
      dtype: what the value must be or become.
      constraint: a function that optimizers apply to the value after each update.
      use_resource: which kind is made: a resource, or a reference as in TensorFlow 1, the default.
      synchronization: how a strategy would keep copies equal.
      aggregation: what a strategy would do with values of several replicas.
      shape: a wider shape that later values may have.

    Raises:
      ValueError: there is no initial value, or its shape is not known.
    """

    # NumPy leaves `array + variable` to the variable.
    __array_priority__ = 100

    _graph: Graph
    _op: Operation
    _dtype: DType
    _initial_value: Any
    _initializer: Operation

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: ShapeLike = None,
    ) -> None:
        """Adds the nodes of the variable to the default graph."""
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        names = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
        if not isinstance(names, list | tuple | set):
            text = f"Got {names} of type {type(names)}"
            raise ValueError(f"collections argument to Variable constructor must be a list, tuple, or set. {text}")
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        self._trainable = synchronization is not VariableSynchronization.ON_READ if trainable is None else trainable
        self._constraint, self._synchronization, self._aggregation = constraint, synchronization, aggregation
        self._graph = get_default_graph()
        with self._graph.inside(), self._graph.control_dependencies(None):
            self._build(initial_value, name, None if dtype is None else as_dtype(dtype), validate_shape, shape)
        keys: list[Any] = list(names)  # pyright: ignore[reportUnknownArgumentType]
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
            keys.append(GraphKeys.TRAINABLE_VARIABLES)
        self._graph.add_to_collections(keys, self)

    def _build(self, value: Any, name: str | None, dtype: DType | None, validate_shape: bool, shape: Any) -> None:
        raise NotImplementedError

    # What it is

    @property
    def name(self) -> str:
        """The node's name with `:0` behind."""
        return f"{self._op.name}:0"

    op: Operation = reads("_op", "The node that stands for it.")
    graph: Graph = reads("_graph", "The graph it belongs to.")
    device: str = reads("_op.device", "The device that its node asks for; empty when none was.")
    dtype: DType = reads("_dtype", "The type of its elements; of a reference `float32_ref` and the like.")

    @property
    def shape(self) -> TensorShape:
        """The lengths of its axes, as far as the graph knows them."""
        return self._op.outputs[0]._shape

    def get_shape(self) -> TensorShape:
        """Returns `shape`."""
        return self.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Adds what is known of the shape; `ValueError` if it contradicts."""
        for tensor in (self._op.outputs[0], self._as_graph_element()):
            tensor._shape = tensor._shape.merge_with(shape)

    trainable: bool = reads("_trainable", "Whether it is in the collection of trainable variables.")
    constraint: Callable[[Any], Any] | None = reads(
        "_constraint", "What optimizers apply to the value after an update."
    )
    synchronization: VariableSynchronization = reads("_synchronization", "How a strategy would keep copies equal.")
    aggregation: VariableAggregation = reads(
        "_aggregation", "What a strategy would do with values of several replicas."
    )
    initializer: Operation = reads("_initializer", "The node whose run gives it the initial value.")
    initial_value: GraphTensor = reads("_initial_value", "What the initializer assigns.")

    @property
    def _shared_name(self) -> str:
        return self._op.name

    def _graph_for_nodes(self) -> Graph:
        """Returns the graph that nodes on it go to: its own, or the open branch of that."""
        current: Any = get_default_graph()
        reaches = getattr(current, "reaches", None)
        return current if reaches is not None and reaches(self._graph) else self._graph

    @property
    def __tf_source__(self) -> GraphTensor:
        """The tensor that gradients with respect to it flow to."""
        return self._op.outputs[0]

    # Its value

    def value(self) -> GraphTensor:
        """Returns a tensor with the value; the same node every time for a reference."""
        raise NotImplementedError

    def read_value(self) -> GraphTensor:
        """Returns a new tensor with the value, which waits for what the open blocks wait for."""
        raise NotImplementedError

    def _as_graph_element(self) -> GraphTensor:
        """Returns what a session fetches for it."""
        raise NotImplementedError

    def __tf_tensor__(self, dtype: DType | None = None) -> GraphTensor:
        """Is read where an op takes a tensor; `ValueError` for another dtype."""
        if dtype is not None and dtype is not self._dtype:
            raise ValueError(
                f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
                f"'{self.dtype.name}'"
            )
        return self.value()

    def gather_nd(self, indices: Any, name: str | None = None) -> GraphTensor:
        """Returns a tensor of elements or slices of the value."""
        with self._graph_for_nodes().inside():
            tensor: Any = gather_nd(self.value(), indices, name=name)  # pyright: ignore[reportArgumentType]
        return tensor

    def sparse_read(self, indices: Any, name: str | None = None) -> GraphTensor:
        """Returns a tensor of rows of the value."""
        with self._graph_for_nodes().inside():
            tensor: Any = gather(self.value(), indices, name=name)  # pyright: ignore[reportArgumentType]
        return tensor

    def eval(self, session: Any = None) -> Any:
        """Returns the value in a session or the default one.

        Raises:
          ValueError: there is no session, or it has another graph.
        """
        return evaluate_in_session(self._as_graph_element(), None, session)

    def load(self, value: Any, session: Any = None) -> None:
        """Gives it another value in a session, without adding nodes to the graph.

        Raises:
          ValueError: there is no session, or the value has another shape.
        """
        chosen = session or get_default_session()
        if chosen is None:
            raise ValueError("Either session argument should be provided or default session should be established")
        chosen.run(self.initializer, {self.initializer.inputs[1]: value})

    def count_up_to(self, limit: int, name: str | None = None) -> GraphTensor:
        """Returns a tensor whose run adds one to it and gives the value before; fails when that is `limit`."""
        graph, target = self._graph_for_nodes(), self._op.outputs[0]
        with graph.inside():
            check_dtypes(ops.COUNT_UP_TO, [target, target])
            shapes_and_dtypes = [(self.shape, self._dtype)]
            attrs = {"limit": limit}
            node = graph.add_known(
                ops.COUNT_UP_TO, [target], attrs, name or "CountUpTo", lambda name: shapes_and_dtypes
            )
        return node.outputs[0]

    def initialized_value(self) -> GraphTensor:
        """Returns a tensor with the value, or with the initial one in a session that has none yet."""
        graph = self._graph_for_nodes()
        with graph.inside():
            is_there = self._is_initialized()
            node = graph.add_known(
                ops.INITIALIZED_VALUE,
                [self._op.outputs[0], self.initial_value, is_there],
                {},
                "cond/Merge",
                lambda name: [(self.shape, self._dtype)],
            )
        return node.outputs[0]

    def _is_initialized(self, name: str | None = None) -> GraphTensor:
        raise NotImplementedError

    # Its use in Python

    def __getitem__(self, key: Any) -> GraphTensor:
        """Returns a part of the value; its `assign` gives that part of the variable another value when it is run."""
        value: Any = self.value()
        slice_of_value = value[key]
        slice_of_value.assign = partial(self._assign_part, key, slice_of_value.op.name)
        return slice_of_value

    def __iter__(self) -> Any:
        return iter(self.value())

    def ref(self) -> Reference:
        """Returns a hashable stand-in; `ref().deref()` is the variable."""
        return Reference(self)

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={shape_text(self.shape)} dtype={self.dtype.name}>"

    # As in TensorFlow 1 `==` is identity: no `__eq__`. The other operators are set below.


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_OPERATORS = (*_BINARY, *(f"r{name}" for name in _BINARY), *"lt le gt ge and or xor neg abs invert".split())


def _operator(name: str) -> Callable[..., Any]:
    def operate(self: Variable, *operands: Any) -> Any:
        with self._graph_for_nodes().inside():
            return getattr(self.value(), name)(*operands)

    return operate


def set_reference_class(variable_class: type[Variable]) -> None:
    """Says which class reference variables have; the one that stands above this file."""
    _Kinds.reference = variable_class


def set_resource_class(variable_class: type[Variable]) -> None:
    """Says which class resource variables have; the one that stands above this file."""
    _Kinds.resource = variable_class


for operator in _OPERATORS:
    setattr(Variable, f"__{operator}__", _operator(f"__{operator}__"))

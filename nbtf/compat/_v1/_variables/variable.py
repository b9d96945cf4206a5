"""Graph variables: what reference and resource variables have in common, and the choice between them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

from nbtf._graph.operation import Operation
from nbtf._graph.tensor import GraphTensor
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
from nbtf.compat._v1._graph.process import process
from nbtf.compat._v1._graph.session_graph import Graph
from nbtf.compat._v1._session.defaults import evaluate_in_session, get_default_session
from nbtf.compat._v1._surface.removed import without_attributes
from nbtf.compat._v1._variables import ops
from nbtf.compat._v1._variables.changes import Changes
from nbtf.compat._v1._variables.keys import GraphKeys


class _Kinds(type):
    """Creates the requested kind of variable through the open creator scopes."""

    reference: type[Any]
    resource: type[Any]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not Variable:
            return super().__call__(*args, **kwargs)
        names = [*signature(Variable.__init__).parameters][1 : 1 + len(args)]
        make: Callable[..., Any] = _make
        scope = SCOPE()
        for creator in () if scope is None else scope.creators:
            make = partial(creator, make)
        return make(**dict(zip(names, args, strict=True)), **kwargs)


def _make(use_resource: bool | None = None, **arguments: Any) -> Any:
    if building() is None:
        return _eager(**arguments)
    if use_resource is None:
        scopes = get_default_graph().variable_scopes
        use_resource = None if scopes is None else scopes.current.use_resource
    if use_resource is None:
        use_resource = process().resource_variables
    return (_Kinds.resource if use_resource else _Kinds.reference)(**arguments)


def _eager(collections: Any = None, expected_shape: Any = None, **arguments: Any) -> EagerVariable:
    """Creates a variable while ops run eagerly."""
    variable = EagerVariable(**arguments)
    get_default_graph().add_to_collections(collections or (), variable)
    return variable


@without_attributes("Variable")
class Variable(Changes, Operators[Any], metaclass=_Kinds):
    """A node of the default graph that names a value, of which each session has its own.

    Running `initializer` assigns the first value; assigning nodes replace it.

    Args:
      initial_value: the first value: a tensor, an object convertible to one, or a function without arguments.
      trainable: whether it is added to the collection of trainable variables; None means yes.
      collections: names of the collections to which it is added; by default that of global variables.
      validate_shape: False allows an initial value of unknown shape, and later values of any shape.
      caching_device: device, or function of a node, for a copy of the value that nodes read; None for no copy.
      expected_shape, import_scope: accepted for compatibility and ignored.
      name: name of the node; it gets a number if it is taken.
      variable_def: not supported.
      dtype: dtype to which the value is converted.
      constraint: function that optimizers apply to the value after each update.
      use_resource: whether to create a resource; by default, as in TensorFlow 1, a reference.
      synchronization: how a strategy would synchronize copies.
      aggregation: how a strategy would combine values from several replicas.
      shape: a more general shape for later values.

    Raises:
      ValueError: if the initial value is missing or its shape is unknown.
    """

    # Makes NumPy defer to the variable in `array + variable`.
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
            own_dtype = None if dtype is None else as_dtype(dtype)
            self._build(initial_value, name, own_dtype, validate_shape, shape, caching_device)
        keys: list[Any] = list(names)  # pyright: ignore[reportUnknownArgumentType]
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
            keys.append(GraphKeys.TRAINABLE_VARIABLES)
        self._graph.add_to_collections(keys, self)

    def _build(
        self, value: Any, name: str | None, dtype: DType | None, validate_shape: bool, shape: Any, cached_on: Any
    ) -> None:
        raise NotImplementedError

    # Properties

    @property
    def name(self) -> str:
        """The node's name followed by `:0`."""
        return f"{self._op.name}:0"

    op: Operation = reads("_op", "The node that represents the variable.")
    graph: Graph = reads("_graph", "The graph that contains the variable.")
    device: str = reads("_op.device", "The device requested for its node; empty if none was requested.")
    dtype: DType = reads("_dtype", "The element type; for a reference variable `float32_ref` and the like.")

    @property
    def shape(self) -> TensorShape:
        """The variable's shape, as far as the graph knows it."""
        return self._op.outputs[0]._shape

    def get_shape(self) -> TensorShape:
        """Returns `shape`."""
        return self.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Refines the known shape; raises `ValueError` if the shapes are incompatible."""
        for tensor in (self._op.outputs[0], self._as_graph_element()):
            tensor._shape = tensor._shape.merge_with(shape)

    trainable: bool = reads("_trainable", "Whether the variable is in the collection of trainable variables.")
    constraint: Callable[[Any], Any] | None = reads(
        "_constraint", "The function that optimizers apply to the value after an update."
    )
    synchronization: VariableSynchronization = reads("_synchronization", "How a strategy would synchronize copies.")
    aggregation: VariableAggregation = reads(
        "_aggregation", "How a strategy would combine values from several replicas."
    )
    initializer: Operation = reads("_initializer", "The node that assigns the initial value when it runs.")
    initial_value: GraphTensor = reads("_initial_value", "The value that the initializer assigns.")

    @property
    def _shared_name(self) -> str:
        return self._op.name

    def _graph_for_nodes(self) -> Graph:
        """Returns the graph for nodes that use the variable: its own graph, or an open branch inside it."""
        current: Any = get_default_graph()
        reaches = getattr(current, "reaches", None)
        return current if reaches is not None and reaches(self._graph) else self._graph

    @property
    def __tf_source__(self) -> GraphTensor:
        """The tensor that receives gradients with respect to the variable."""
        return self._op.outputs[0]

    # Value

    def value(self) -> GraphTensor:
        """Returns a tensor with the value; a reference variable always returns the same node."""
        raise NotImplementedError

    def read_value(self) -> GraphTensor:
        """Returns a new tensor with the value, subject to the open control-dependency blocks."""
        raise NotImplementedError

    def _as_graph_element(self) -> GraphTensor:
        """Returns the tensor that a session fetches for the variable."""
        raise NotImplementedError

    def __tf_tensor__(self, dtype: DType | None = None) -> GraphTensor:
        """Reads the variable when an op expects a tensor; raises `ValueError` for another dtype."""
        if dtype is not None and dtype is not self._dtype:
            raise ValueError(
                f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
                f"'{self.dtype.name}'"
            )
        return self.value()

    def eval(self, session: Any = None) -> Any:
        """Returns the value in a session, by default the default session.

        Raises:
          ValueError: if no session is available, or it has another graph.
        """
        return evaluate_in_session(self._as_graph_element(), None, session)

    def load(self, value: Any, session: Any = None) -> None:
        """Sets the value in a session without adding nodes to the graph.

        Raises:
          ValueError: if no session is available, or the value has another shape.
        """
        chosen = session or get_default_session()
        if chosen is None:
            raise ValueError("Either session argument should be provided or default session should be established")
        chosen.run(self.initializer, {self.initializer.inputs[1]: value})

    def initialized_value(self) -> GraphTensor:
        """Returns a tensor with the value, or with the initial value if the session has none yet."""
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

    # Python protocols

    def __getitem__(self, key: Any) -> GraphTensor:
        """Returns a slice of the value; its `assign` changes that part of the variable when it runs."""
        value: Any = self.value()
        slice_of_value = value[key]
        slice_of_value.assign = partial(self._assign_part, key, slice_of_value.op.name)
        return slice_of_value

    def __iter__(self) -> Any:
        return iter(self.value())

    def ref(self) -> Reference:
        """Returns a hashable reference to the variable; `ref().deref()` is the variable."""
        return Reference(self)

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={shape_text(self.shape)} dtype={self.dtype.name}>"

    # As in TensorFlow 1, `==` compares identity, so there is no `__eq__`. The other operators are set below.


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_OPERATORS = (*_BINARY, *(f"r{name}" for name in _BINARY), *"lt le gt ge and or xor neg abs invert".split())


def _operator(name: str) -> Callable[..., Any]:
    def operate(self: Variable, *operands: Any) -> Any:
        with self._graph_for_nodes().inside():
            return getattr(self.value(), name)(*operands)

    return operate


def set_reference_class(variable_class: type[Variable]) -> None:
    """Registers the class of reference variables, which a higher-level module defines."""
    _Kinds.reference = variable_class


def set_resource_class(variable_class: type[Variable]) -> None:
    """Registers the class of resource variables, which a higher-level module defines."""
    _Kinds.resource = variable_class


for operator in _OPERATORS:
    setattr(Variable, f"__{operator}__", _operator(f"__{operator}__"))

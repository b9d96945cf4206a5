"""The two kinds of graph variables, references and resources; importing this module registers both with `Variable`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NoReturn

from nbtf._graph.operation import Operation
from nbtf._graph.reference_types import reference_to
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.identity import identity
from nbtf._ops.variables.resource import VarHandleOp, read_variable
from nbtf._ops.variables.variable import _refused
from nbtf._runtime.attributes import reads
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.host_values import DEFAULT_OF, leaf_types
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import DType
from nbtf.compat._v1._graph.defaults import constant
from nbtf.compat._v1._graph.session_graph import Abilities, Graph
from nbtf.compat._v1._variables import ops
from nbtf.compat._v1._variables.changes import changing_node
from nbtf.compat._v1._variables.variable import Variable as Variable
from nbtf.compat._v1._variables.variable import set_reference_class, set_resource_class

# The initial value


def _initial_tensor(value: Any, dtype: DType | None) -> GraphTensor:
    """Returns a value as a graph tensor; constants from Python or NumPy are named `initial_value`.

    Raises:
      TypeError: if the value cannot be converted to `dtype`.
      ValueError: if the value is a tensor with another dtype.
    """
    if isinstance(value, Tensor):
        value = value.numpy()
    if hasattr(value, "__tf_tensor__"):
        try:
            return _of_graph(as_tensor(value, dtype))
        except ValueError as error:
            raise ValueError(f"initial_value: {error}") from None
    if isinstance(value, list | tuple) and not leaf_types(value) <= frozenset(DEFAULT_OF):
        return _of_graph(as_tensor(value, dtype))  # includes graph tensors
    return constant(value, dtype, name="initial_value")


def _of_graph(tensor: Any) -> GraphTensor:
    return tensor


def _initial_within(graph: Graph, value: Any, dtype: DType | None, variable: str) -> GraphTensor:
    """Returns a value as a tensor that is created in a variable's scope and on its device."""
    with graph.grouped_with(variable), graph.name_scope("Initializer"), graph.device(None):
        return _initial_tensor(value() if callable(value) else value, dtype)


def _shape_of(value: GraphTensor, explicit_shape: Any, validate: bool) -> TensorShape:
    """Returns the shape of a variable with the given initial value.

    Raises:
      ValueError: if the shape is unknown, or incompatible with `explicit_shape`.
    """
    if explicit_shape is not None:
        shape = TensorShape(explicit_shape)
        if not shape.is_compatible_with(value.shape):
            raise ValueError(
                f"In this `tf.Variable` creation, the initial value's shape ({value.shape}) is not compatible with "
                f"the explicitly supplied `shape` argument ({explicit_shape})."
            )
        return shape
    if not validate:
        return value.shape if value.shape.is_fully_defined() else TensorShape(None)
    if not value.shape.is_fully_defined():
        raise ValueError(f"initial_value must have a shape specified: {value}")
    return value.shape


# References


class RefVariable(Variable):
    """A variable whose output is a reference: tensors read from it show later assignments of the same run.

    Its nodes are `v/initial_value`, `v`, `v/Assign` and `v/read`.
    """

    def _build(
        self, value: Any, name: str | None, dtype: DType | None, validate_shape: bool, shape: Any, cached_on: Any
    ) -> None:
        graph = self._graph
        with graph.name_scope(name or "Variable") as scope:
            own_name = scope.removesuffix("/")
            if callable(value):
                initial = _initial_within(graph, value, dtype, own_name)
            else:
                initial = _initial_tensor(value, dtype)
            shapes_and_dtypes = [(_shape_of(initial, shape, validate_shape), initial._dtype)]
            attrs = {"dtype": initial._dtype, "shape": shapes_and_dtypes[0][0], "container": "", "shared_name": ""}
            self._op = graph.add_known(ops.VARIABLE, [], attrs, scope, lambda node: shapes_and_dtypes, "reference")
            self._dtype = initial._dtype
            self._reference_type = reference_to(initial._dtype)
            self._initial_value = initial
            self._initializer = self.assign(initial, use_locking=True, validate_shape=validate_shape, name="Assign").op
            with graph.colocate_with(self._op) if cached_on is None else graph.device(cached_on):
                self._snapshot = self._read("read")

    dtype: DType = reads("_reference_type", "The dtype of its references; `dtype.base_dtype` is the element type.")

    def _read(self, name: str) -> GraphTensor:
        tensor: Any = identity(self._ref(), name=name)
        tensor._link = "alias"
        return tensor

    def _ref(self) -> GraphTensor:
        """Returns the reference itself."""
        return self._op.outputs[0]

    def value(self) -> GraphTensor:
        """Returns the tensor `v/read`; it shows assignments that run before it is used."""
        return self._snapshot

    def read_value(self) -> GraphTensor:
        """Returns a new tensor with the value, subject to the open control-dependency blocks."""
        with self._graph_for_nodes().inside():
            return self._read("read")

    def _as_graph_element(self) -> GraphTensor:
        return self._ref()

    def _is_initialized(self, name: str | None = None) -> GraphTensor:
        node = self._graph_for_nodes().add_known(
            ops.IS_INITIALIZED, [self._ref()], {}, name or "IsVariableInitialized", lambda node: ops.TRUTH
        )
        return node.outputs[0]

    def _change(self, record: Any, values: list[Any], name: str | None, read_value: bool = True, **attrs: Any) -> Any:
        node = changing_node(self._graph_for_nodes(), record, self._ref(), values, name or record.type, attrs)
        return node.outputs[0] if read_value else node


# Resources


def _refusing(*texts: str) -> Callable[[Any, Any], NoReturn]:
    """Returns the method for an operator that is not supported: what was written, and two alternatives."""

    def refuse(self: Any, other: Any) -> NoReturn:
        raise _refused(*texts)

    return refuse


class ResourceVariable(Variable):
    """A variable whose output is a handle; a tensor read from it does not change afterwards.

    Its nodes are `v/Initializer/initial_value`, `v`, `v/IsInitialized/VarIsInitializedOp`, `v/Assign` and
    `v/Read/ReadVariableOp`.
    """

    _element: GraphTensor
    _cached: Any = None
    """The copy of the value on the caching device."""

    def _build(
        self, value: Any, name: str | None, dtype: DType | None, validate_shape: bool, shape: Any, cached_on: Any
    ) -> None:
        graph = self._graph
        with graph.name_scope(name or "Variable") as scope:
            own_name = scope.removesuffix("/")
            initial = _initial_within(graph, value, dtype, own_name)
            shapes_and_dtypes = [(_shape_of(initial, shape, validate_shape), initial._dtype)]
            attrs = {
                "dtype": initial._dtype,
                "shape": shapes_and_dtypes[0][0],
                "container": "",
                "shared_name": own_name,
            }
            with graph.grouped_with(own_name):
                self._op = graph.add_known(VarHandleOp, [], attrs, scope, lambda node: shapes_and_dtypes, "handle")
            graph.variable_of[self.handle] = self
            self._dtype = initial._dtype
            self._initial_value = initial
            with graph.name_scope("IsInitialized"):
                self._is_initialized()
            with self._beside():
                change = {"validate_shape": False}
                self._initializer = changing_node(graph, _ASSIGN, self.handle, [initial], f"{scope}Assign/", change)
            with graph.name_scope("Read"):
                with self._beside():
                    self._element = self.value()
                if cached_on is not None:
                    with graph.colocate_with(None, ignore_existing=True), graph.device(cached_on):
                        self._cached = identity(self._element)

    @contextmanager
    def _beside(self) -> Generator[None]:
        with self._graph.colocate_with(None, ignore_existing=True), self._graph.device(self._op.device):
            yield

    @property
    def handle(self) -> GraphTensor:
        """The output that represents the variable."""
        return self._op.outputs[0]

    @property
    def create(self) -> Operation:
        """The node that assigns the initial value when it runs."""
        return self._initializer

    @property
    def __tf_source__(self) -> GraphTensor:
        """The tensor that receives gradients with respect to the variable."""
        return self.handle

    def is_initialized(self, name: str | None = None) -> GraphTensor:
        """Returns a Boolean tensor: whether the variable has a value."""
        with self._graph_for_nodes().inside():
            return self._is_initialized(name)

    def value(self) -> GraphTensor:
        """Returns a new tensor with the value at the time when it runs, or the copy on the caching device."""
        if self._cached is not None:
            return self._cached
        with self._graph_for_nodes().inside():
            tensor: Any = read_variable(self.handle)  # pyright: ignore[reportArgumentType]
            return tensor

    def read_value(self) -> GraphTensor:
        """Returns a new tensor with the value at the time when it runs, on the device of the open device blocks."""
        graph = self._graph_for_nodes()
        with graph.inside():
            with graph.name_scope("Read"):
                value: Any = self.value()
            return identity(value)  # pyright: ignore[reportReturnType]

    def _as_graph_element(self) -> GraphTensor:
        return self._element

    def _is_initialized(self, name: str | None = None) -> GraphTensor:
        node = self._graph_for_nodes().add_known(
            ops.HANDLE_IS_INITIALIZED, [self.handle], {}, name or "VarIsInitializedOp", lambda node: ops.TRUTH
        )
        return node.outputs[0]

    def _change(self, record: Any, values: list[Any], name: str | None, read_value: bool = True, **attrs: Any) -> Any:
        with self._graph_for_nodes().inside():
            value: Any = as_tensor(values[-1], self._dtype)
            self._graph_for_nodes().settle()  # a constant is named `Const`, not after the node that uses it
        if record is ops.ASSIGN and not self.shape.is_compatible_with(value.shape):
            raise ValueError(
                f"Cannot assign value to variable ' {self.name}': Shape mismatch.The variable shape {self.shape}, "
                f"and the assigned value shape {value.shape} are incompatible."
            )
        record = ops.RESOURCE_OPS[record]
        kept_attrs = {"validate_shape": True} if record in ops.ASSIGNS else {name: attrs[name] for name in record.attrs}
        operands = [*values[:-1], value]
        node = changing_node(self._graph_for_nodes(), record, self.handle, operands, name or record.type, kept_attrs)
        return UnreadVariable(self, node) if read_value else node

    def numpy(self) -> NoReturn:
        """Raises an error, because a variable has no value outside a session."""
        raise NotImplementedError("numpy() is only available when eager execution is enabled.")

    def __bool__(self) -> bool:
        return bool(self.value())

    # As in TensorFlow, these raise an error, because the name would refer to a tensor afterwards.
    __iadd__ = _refusing("variable += value", "variable.assign_add(value)", "variable + value")
    __isub__ = _refusing("variable -= value", "variable.assign_sub(value)", "variable * value")  # TensorFlow's slip
    __imul__ = _refusing("var *= value", "var.assign(var * value)", "var * value")
    __itruediv__ = _refusing("var /= value", "var.assign(var / value)", "var / value")
    __ipow__ = _refusing("var **= value", "var.assign(var ** value)", "var ** value")


_ASSIGN = ops.RESOURCE_OPS[ops.ASSIGN]


class UnreadVariable(ResourceVariable):
    """The result of assigning to a resource variable: the same variable, read only after the assigning node."""

    def __init__(self, variable: ResourceVariable, assigner: Operation) -> None:
        self._of, self._after = variable, assigner
        self._graph, self._dtype = variable._graph, variable._dtype
        self._initial_value, self._initializer = variable._initial_value, variable._initializer
        self._trainable, self._constraint = variable._trainable, variable._constraint
        self._synchronization, self._aggregation = variable._synchronization, variable._aggregation
        self._op = assigner
        with self._graph_for_nodes().inside():
            self._element = self.value()

    @property
    def name(self) -> str:
        """The name of the assigning node."""
        return self._after.name

    @property
    def handle(self) -> GraphTensor:
        """The output that represents the variable."""
        return self._of.handle

    @property
    def shape(self) -> TensorShape:
        """The variable's shape, as far as the graph knows it."""
        return self._of.shape

    def value(self) -> GraphTensor:
        """Returns a new tensor with the value after the assigning node."""
        with self._graph_for_nodes().control_dependencies([self._after]):
            return super().value()

    def read_value(self) -> GraphTensor:
        """Returns a new tensor with the value after the assigning node, on the device of the open device blocks."""
        with self._graph_for_nodes().control_dependencies([self._after]):
            return super().read_value()


set_reference_class(RefVariable)
set_resource_class(ResourceVariable)


Abilities.variable = ResourceVariable

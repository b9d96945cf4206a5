"""Resource variables, which output a handle and are read by separate nodes."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NoReturn

from nbtf._graph.operation import Operation
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.identity import identity
from nbtf._ops.variables.resource import VarHandleOp, read_variable
from nbtf._ops.variables.variable import _refused
from nbtf._runtime.conversion import as_tensor
from nbtf._shapes import TensorShape
from nbtf._types import DType
from nbtf.compat._v1._variables import ops
from nbtf.compat._v1._variables.changes import changing_node
from nbtf.compat._v1._variables.initial import initial_within, shape_of
from nbtf.compat._v1._variables.variable import Variable, set_resource_class


class ResourceVariable(Variable):
    """A variable whose output is a handle; a tensor read from it does not change afterwards.

    Its nodes are `v/Initializer/initial_value`, `v`, `v/IsInitialized/VarIsInitializedOp`, `v/Assign` and
    `v/Read/ReadVariableOp`.
    """

    _element: GraphTensor

    def _build(self, value: Any, name: str | None, dtype: DType | None, validate_shape: bool, shape: Any) -> None:
        graph = self._graph
        with graph.name_scope(name or "Variable") as scope:
            own_name = scope.removesuffix("/")
            initial = initial_within(graph, value, dtype, own_name)
            shapes_and_dtypes = [(shape_of(initial, shape, validate_shape), initial._dtype)]
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
            with graph.name_scope("Read"), self._beside():
                self._element = self.value()

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
        """Returns a new tensor with the value at the time when it runs."""
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

    def __iadd__(self, other: Any) -> NoReturn:
        """Raises an error, because the name would refer to a tensor afterwards."""
        raise _refused("variable += value", "variable.assign_add(value)", "variable + value")

    def __isub__(self, other: Any) -> NoReturn:
        """Raises an error, because the name would refer to a tensor afterwards."""
        # TensorFlow's own slip: `variable * value` instead of `variable - value`.
        raise _refused("variable -= value", "variable.assign_sub(value)", "variable * value")

    def __imul__(self, other: Any) -> NoReturn:
        """Raises an error, because the name would refer to a tensor afterwards."""
        raise _refused("`var *= value`"[1:-1], "var.assign(var * value)", "var * value")

    def __itruediv__(self, other: Any) -> NoReturn:
        """Raises an error, because the name would refer to a tensor afterwards."""
        raise _refused("var /= value", "var.assign(var / value)", "var / value")

    def __ipow__(self, other: Any) -> NoReturn:
        """Raises an error, because the name would refer to a tensor afterwards."""
        raise _refused("var **= value", "var.assign(var ** value)", "var ** value")


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


set_resource_class(ResourceVariable)

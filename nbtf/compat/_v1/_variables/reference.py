"""Reference variables of TensorFlow 1, whose assigning nodes return the variable itself."""

from __future__ import annotations

from typing import Any

from nbtf._graph.reference_types import reference_to
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.identity import identity
from nbtf._runtime.attributes import reads
from nbtf._types import DType
from nbtf.compat._v1._variables import ops
from nbtf.compat._v1._variables.changes import changing_node
from nbtf.compat._v1._variables.initial import initial_tensor, initial_within, shape_of
from nbtf.compat._v1._variables.variable import Variable, set_reference_class


class RefVariable(Variable):
    """A variable whose output is a reference: tensors read from it show later assignments of the same run.

    Its nodes are `v/initial_value`, `v`, `v/Assign` and `v/read`.
    """

    def _build(self, value: Any, name: str | None, dtype: DType | None, validate_shape: bool, shape: Any) -> None:
        graph = self._graph
        with graph.name_scope(name or "Variable") as scope:
            own_name = scope.removesuffix("/")
            if callable(value):
                initial = initial_within(graph, value, dtype, own_name)
            else:
                initial = initial_tensor(value, dtype)
            shapes_and_dtypes = [(shape_of(initial, shape, validate_shape), initial._dtype)]
            attrs = {"dtype": initial._dtype, "shape": shapes_and_dtypes[0][0], "container": "", "shared_name": ""}
            self._op = graph.add_known(ops.VARIABLE, [], attrs, scope, lambda node: shapes_and_dtypes, "reference")
            self._dtype = initial._dtype
            self._reference_type = reference_to(initial._dtype)
            self._initial_value = initial
            self._initializer = self.assign(initial, use_locking=True, validate_shape=validate_shape, name="Assign").op
            with graph.colocate_with(self._op):
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


set_reference_class(RefVariable)

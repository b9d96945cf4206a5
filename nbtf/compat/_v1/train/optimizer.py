"""The base class of TensorFlow 1 optimizers: gradients, slots, and the node that updates all variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from nbtf._graph.node_gradients import as_whole
from nbtf._graph.operation import Operation
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._ops.structure import flatten
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf.autodiff.tape import GradientTape
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.gradients import gradients
from nbtf.compat._v1._graph.grouping import group
from nbtf.compat._v1._graph.session_graph import Graph
from nbtf.compat._v1._training.apply_op import Update
from nbtf.compat._v1._training.slots import beside, full_slot, is_of_graph
from nbtf.compat._v1._variables.assigning import assign_add
from nbtf.compat._v1._variables.changes import changing_node
from nbtf.compat._v1._variables.initializers import Constant, Initializer, Ones, Zeros
from nbtf.compat._v1._variables.initializing import trainable_variables
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1._variables.variable_classes import ResourceVariable, Variable


class Optimizer:
    """Trains variables through `minimize`, or through `compute_gradients` followed by `apply_gradients`.

    In a graph, the methods return nodes for a session to run. While ops run eagerly, a loss is a function without
    arguments.

    Args:
      use_locking: accepted and ignored.
      name: name scope of the nodes, and part of the slot names.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    SLOTS: tuple[str, ...] = ()
    """The names of the slots, in the order of their creation."""

    SETTINGS: tuple[str, ...] = ()
    """The names of the settings, in the order that the update expects; each is an attribute with a leading `_`."""

    _starts: Mapping[str, float] = {}  # a default shared by the class, never modified
    """The initial values of slots that do not start at 0."""

    update: Update
    """The update formula for a variable."""

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Any, Any]] = {}
        self._others: dict[tuple[str, Any], Any] = {}
        self._settings: dict[str, Any] = {}

    def get_name(self) -> str:
        """Returns the optimizer's name."""
        return self._name

    # Public methods for training

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        """Returns a node that makes one step against the gradients of a loss when it runs.

        Args:
          loss: a tensor; while ops run eagerly, a function without arguments.
          global_step: variable that is incremented by one.
          var_list: variables to train; by default all trainable ones.
          gate_gradients, aggregation_method: accepted for compatibility and ignored.
          colocate_gradients_with_ops: whether gradients are placed on the devices of the corresponding nodes.
          name: name of the node; by default the optimizer's name.
          grad_loss: initial gradient, with respect to the loss.

        Raises:
          ValueError: if the list of variables is empty or the loss depends on none of them.

        >>> import nbtf.compat.v1 as tf1
        >>> with tf1.Graph().as_default(), tf1.Session() as sess:
        ...     w = tf1.Variable(1.0)
        ...     step = tf1.train.GradientDescentOptimizer(0.25).minimize(w * w)
        ...     sess.run(tf1.global_variables_initializer())
        ...     _ = sess.run(step)
        ...     print(sess.run(w))
        0.5
        """
        pairs = self.compute_gradients(
            loss,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )
        if all([grad is None for grad, _ in pairs]):
            between = [str(variable) for _, variable in pairs]
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                f"between variables {between} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Returns pairs of a gradient and its variable; see `minimize`.

        Raises:
          ValueError: if the list of variables is empty or `gate_gradients` is unknown.
          RuntimeError: if ops run eagerly and the loss is not a function.
        """
        if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH. "
                f"Not {gate_gradients}"
            )
        if callable(loss):
            return _pairs_by_tape(loss, var_list, grad_loss)
        if building() is None:
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled."
            )
        chosen: list[Any] = trainable_variables() if var_list is None else flatten(var_list)
        if not chosen:
            raise ValueError("No variables to optimize.")
        grads = gradients(
            loss,
            chosen,
            None if grad_loss is None else [grad_loss],
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        return list(zip(grads, chosen, strict=True))

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Returns a node that makes one step against the given gradients when it runs.

        Args:
          grads_and_vars: pairs as returned by `compute_gradients`; pairs without a gradient are ignored.
          global_step: variable that is incremented by one after all updates.
          name: name of the node; by default the optimizer's name.

        Raises:
          TypeError: if a gradient is not a tensor.
          ValueError: if no pair has a gradient.
        """
        pairs = _checked_pairs(list(grads_and_vars))
        variables = [variable for _, variable in pairs]
        graph = graph_of(variables[0])
        with nullcontext() if graph is None else graph.inside():
            with _waiting_for_nothing(graph):
                self._create_slots(variables)
            with nullcontext("") if graph is None else graph.name_scope(name or self._name) as scope:
                self._settings = self._prepared(graph, variables)
                updates = [self._updated(grad, variable) for grad, variable in pairs]
                return self._finished(graph, updates, variables, global_step, scope)

    # Slots

    def get_slot(self, var: Any, name: str) -> Any:
        """Returns a slot of a variable; None if it does not exist."""
        return self._slots.get(name, {}).get(_key_of(var))

    def get_slot_names(self) -> list[str]:
        """Returns the sorted names of the existing slots."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """Returns the optimizer's own variables, sorted by name."""
        graph = building()
        slot_variables = [slot for slots in self._slots.values() for slot in slots.values()]
        candidates = [
            *slot_variables,
            *[variable for (_, owner), variable in self._others.items() if owner in (None, graph)],
        ]
        return sorted(
            [variable for variable in candidates if graph is None or variable.graph is graph],
            key=lambda variable: variable.name,
        )

    def _create_slots(self, variables: Sequence[Any]) -> None:
        """Creates the missing slots; those that start at 0 come last."""
        for variable in variables:
            for slot in sorted(self.SLOTS, key=lambda slot: slot not in self._starts):
                start, slots, key = self._starts.get(slot, 0.0), self._slots.setdefault(slot, {}), _key_of(variable)
                if key not in slots:
                    slots[key] = full_slot(variable, start, _initializer_of(start), self._name)

    # Methods that optimizers override

    def _attrs(self) -> dict[str, Any]:
        """Returns the attributes of the update op."""
        return {}

    def _prepared(self, graph: Graph | None, variables: Sequence[Any]) -> dict[str, Any]:
        """Returns the settings as tensors by name."""
        dtype = variables[0].dtype.base_dtype
        settings = {name: getattr(self, f"_{name}") for name in self.SETTINGS}
        return {name: _setting(value, dtype, graph, name) for name, value in settings.items()}

    def _with_settings(self, variable: Any) -> list[Any]:
        """Returns the slots and settings for the update of a variable, in the order of the op's inputs."""
        slots = [self._slots[name][_key_of(variable)] for name in self.SLOTS]
        dtype = variable.dtype.base_dtype
        return [*slots, *[value if value._dtype is dtype else cast(value, dtype) for value in self._settings.values()]]

    # Nodes

    def _updated(self, grad: Any, variable: Any) -> Any:
        """Returns the node that updates a variable; an eager variable is updated at once."""
        if not is_of_graph(variable):
            return self._apply(grad, variable)
        graph: Graph = variable.graph
        with graph.name_scope(f"update_{variable.op.name}"), beside(variable):
            node = self._apply(grad, variable)
            if variable.constraint is None:
                return node
            with graph.control_dependencies([node]):
                return variable.assign(variable.constraint(variable))

    def _apply(self, grad: Any, variable: Any) -> Any:
        if isinstance(grad, IndexedSlices) and not self.update.in_rows:
            grad = as_whole(grad, variable.op.outputs[0]) if is_of_graph(variable) else as_tensor(grad)
        rows = isinstance(grad, IndexedSlices)
        gradient_parts = [grad.values, grad.indices] if rows else [grad]
        record = self.update.op(not is_of_graph(variable) or isinstance(variable, ResourceVariable), rows)
        operands = [*self._with_settings(variable), *gradient_parts]
        if not is_of_graph(variable):
            variables = [variable, *operands[: record.refs - 1]]
            gradient_parts = [as_tensor(operand) for operand in operands[record.refs - 1 :]]
            return record.apply(variables, variables, gradient_parts, self._attrs(), record.type)
        operands = [_own_tensor(operand) for operand in operands]
        target = variable.op.outputs[0]
        return changing_node(variable.graph, record, target, operands, record.type, self._attrs())

    def _finish_step(self, updates: Sequence[Any], variables: Sequence[Any]) -> list[Any]:
        """Returns the nodes of a step: the updates and anything that must follow them."""
        return list(updates)

    def _finished(
        self, graph: Graph | None, updates: Sequence[Any], variables: Sequence[Any], step: Any, scope: str
    ) -> Any:
        nodes = self._finish_step(updates, variables)
        if graph is None:
            if step is not None:
                step.assign_add(1)
            return None
        if step is None:
            node = group(*nodes, name=scope)
        else:
            with graph.control_dependencies([group(*nodes, name="update")]), beside(step):
                node = _count_step(step, scope)
        train_ops = graph.get_collection_ref(GraphKeys.TRAIN_OP)
        if node not in train_ops:
            train_ops.append(node)
        return node


# Variables, settings and pairs of gradients and variables


Pairs = Sequence[tuple[Any, Any]]


def _count_step(step: Any, name: str) -> Operation:
    """Returns the node that increments the step counter."""
    with step.graph.inside():
        increment = _setting(1, step.dtype.base_dtype, step.graph, "value")
    counting = (
        step.assign_add(increment, name=name, read_value=False)
        if is_of_graph(step)
        else assign_add(step, increment, name=name)
    )
    return counting.op if isinstance(counting, GraphTensor) else counting


def _own_tensor(value: Any) -> Any:
    """Returns the output of a variable's node; other values are returned unchanged."""
    return value.op.outputs[0] if isinstance(value, Variable) else value


def graph_of(variable: Any) -> Graph | None:
    """Returns a variable's graph; None for an eager variable."""
    return variable.graph if is_of_graph(variable) else None


def _key_of(variable: Any) -> Any:
    """Returns a hashable object that identifies a variable."""
    return variable.op if is_of_graph(variable) else id(variable)


def _initializer_of(value: float) -> Initializer:
    """Returns an initializer for a constant value."""
    return Zeros() if value == 0.0 else Ones() if value == 1.0 else Constant(value)


def _setting(value: Any, dtype: Any, graph: Graph | None, name: str) -> Any:
    """Returns a setting as a tensor with its own name."""
    if callable(value):
        value = value()
    if isinstance(value, GraphTensor | Tensor | Variable):
        return as_tensor(value)
    tensor = as_tensor(value, dtype)
    return tensor.called(name) if isinstance(tensor, GraphTensor) else tensor


def _waiting_for_nothing(graph: Graph | None) -> AbstractContextManager[Any]:
    """Returns a block without control dependencies, in which slots are created."""
    return nullcontext() if graph is None else graph.control_dependencies(None)


def _checked_pairs(pairs: Pairs) -> list[tuple[Any, Any]]:
    """Returns the pairs that have a gradient.

    Raises:
      ValueError: if no pair has a gradient.
      TypeError: if a gradient is not a tensor.
      NotImplementedError: if a variable is a tensor.
    """
    if not pairs:
        raise ValueError("No variables provided.")
    for grad, _ in pairs:
        if grad is not None and not isinstance(grad, GraphTensor | Tensor | IndexedSlices | Variable):
            try:
                as_tensor(grad)
            except (TypeError, ValueError):
                raise TypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad}") from None
    with_gradient = [(grad, variable) for grad, variable in pairs if grad is not None]
    if not with_gradient:
        raise ValueError(f"No gradients provided for any variable: {[str(variable) for _, variable in pairs]}.")
    for _, variable in with_gradient:
        if isinstance(variable, GraphTensor | Tensor):
            raise NotImplementedError("Trying to update a Tensor ", variable)
    return with_gradient


def _pairs_by_tape(loss: Callable[[], Any], var_list: Any, grad_loss: Any) -> list[tuple[Any, Any]]:
    """Returns pairs of a gradient and its variable for the result of a function.

    Args:
      loss: function without arguments.
      var_list: the variables; by default all trainable ones that the function uses.
      grad_loss: initial gradient, with respect to the loss.

    Raises:
      RuntimeError: if ops build a graph.
      ValueError: if the list of variables is empty.
    """
    graph = building()
    if graph is not None:
        raise RuntimeError(
            "A loss function requires eager execution. Pass a tensor, or call `tf.enable_eager_execution()`."
        )
    with GradientTape() as tape:
        value = loss()
    chosen: list[Any] = list(tape.watched_variables()) if var_list is None else flatten(var_list)
    if not chosen:
        raise ValueError("No variables to optimize.")
    return list(zip(tape.gradient(value, chosen, grad_loss), chosen, strict=True))

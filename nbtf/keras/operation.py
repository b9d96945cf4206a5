"""Nodes of a functional model: uses of a layer, or of an operator between symbolic tensors."""

from __future__ import annotations

import operator as _operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from nbtf import nest
from nbtf._ops.op import find_op
from nbtf.keras.catalogue import add_class, function_of
from nbtf.keras.naming import auto_name, snake_case
from nbtf.keras.type_guards import is_dict, is_list


class History(NamedTuple):
    """The origin of a symbolic tensor: the operation, the node, and the index among the node's results."""

    operation: Any
    node_index: int
    tensor_index: int


class Node:
    """One use of an operation in a functional model.

    Args:
      operation: the operation.
      args: its positional arguments, which contain symbolic tensors.
      kwargs: its keyword arguments.
      outputs: the resulting symbolic tensors.
    """

    __slots__ = ("args", "input_tensors", "kwargs", "operation", "output_tensors", "outputs")

    def __init__(self, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: Any) -> None:
        self.operation: Any = operation
        self.args: tuple[Any, ...] = args
        self.kwargs: dict[str, Any] = kwargs
        self.outputs: Any = outputs
        self.input_tensors: list[Any] = list(symbolic_in((args, kwargs)))
        self.output_tensors: list[Any] = nest.flatten(outputs)
        index = len(operation._inbound_nodes)
        operation._inbound_nodes.append(self)
        for number, tensor in enumerate(self.output_tensors):
            tensor._keras_history = History(operation, index, number)

    @property
    def parents(self) -> Iterable[Node]:
        """The nodes that produce the inputs."""
        return [node_of(tensor) for tensor in self.input_tensors]


def node_of(tensor: Any) -> Node:
    """Returns the node that produces a symbolic tensor."""
    operation, index, _ = tensor._keras_history
    return operation._inbound_nodes[index]


def symbolic_in(structure: Any) -> Iterator[Any]:
    """Yields the symbolic tensors in nested arguments."""
    if is_list(structure):
        for inner in structure:
            yield from symbolic_in(inner)
    elif is_dict(structure):
        for key in sorted(structure, key=str):
            yield from symbolic_in(structure[key])
    elif hasattr(structure, "_keras_history"):
        yield structure


def replace_symbols(structure: Any, value_of: Callable[[Any], Any]) -> Any:
    """Returns nested arguments with each symbolic tensor replaced."""
    if is_list(structure) and not hasattr(structure, "_fields"):
        items: Any = [replace_symbols(item, value_of) for item in structure]
        return tuple(items) if isinstance(structure, tuple) else items
    if is_dict(structure):
        return {key: replace_symbols(entry, value_of) for key, entry in structure.items()}
    if isinstance(structure, slice):
        bounds: Any = structure  # pyright: ignore[reportUnknownVariableType]
        return slice(*[replace_symbols(bound, value_of) for bound in (bounds.start, bounds.stop, bounds.step)])
    return value_of(structure) if hasattr(structure, "_keras_history") else structure


operator: Any = _operator  # its functions have no type annotations
OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": operator.add,
    "Subtract": operator.sub,
    "Multiply": operator.mul,
    "TrueDivide": operator.truediv,
    "FloorDivide": operator.floordiv,
    "Mod": operator.mod,
    "Power": operator.pow,
    "Matmul": operator.matmul,
    "Negative": operator.neg,
    "Absolute": operator.abs,
    "LogicalNot": operator.invert,
    "LogicalAnd": operator.and_,
    "LogicalOr": operator.or_,
    "LogicalXor": operator.xor,
    "Equal": operator.eq,
    "NotEqual": operator.ne,
    "Less": operator.lt,
    "LessEqual": operator.le,
    "Greater": operator.gt,
    "GreaterEqual": operator.ge,
    "GetItem": operator.getitem,
}
"""Keras' names of the operators."""


def _find_function(operator_name: str) -> Callable[..., Any]:
    """Returns an operator by Keras' name for it, a public Keras function, or an op by TensorFlow's name: `tf.Sum`.

    Raises:
      ValueError: if the name is none of these, or if the op does more than compute tensors from tensors.
    """
    module, _, name = operator_name.rpartition(".")
    function = OPERATORS.get(operator_name) or function_of(module, name)
    if module == "tf":
        with suppress(LookupError):
            op = find_op(name)
            function = op if op.results and not op.resource else None
    if function is None:
        raise ValueError(f"{operator_name!r:.60} is not an operator or an op that only computes tensors from tensors.")
    return function


class Operator:
    """An operator between symbolic tensors, as a step of a functional model.

    Args:
      operator_name: name of the operator, such as `"Add"`, or of the function.
      function: function to call; by default the one with this name.
      name: name of the step.
    """

    built = True

    def __init__(self, operator_name: str, function: Callable[..., Any] | None = None, name: str | None = None) -> None:
        """Creates a step that is not part of a model yet."""
        self.kind = operator_name
        self.name: str = auto_name(snake_case(operator_name)) if name is None else name
        self.function: Callable[..., Any] = _find_function(operator_name) if function is None else function
        self._inbound_nodes: list[Node] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def get_config(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Operator:
        """Creates a step from the result of `get_config`.

        Raises:
          ValueError: if the name is not an operator, a Keras function, or an op that computes tensors from tensors.
        """
        return cls(config["kind"], name=config["name"])

    def __repr__(self) -> str:
        return f"<Operation name={self.name}>"


add_class("keras.operation", Operator)

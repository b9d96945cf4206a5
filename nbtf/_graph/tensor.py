"""A graph tensor: an output of a node, with a name and a shape but no value yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from nbtf._graph.lengths import LengthsShape
from nbtf._graph.reference_types import Link, shown_dtype
from nbtf._runtime.attributes import reads
from nbtf._runtime.operator_types import Operators
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tensor import Absent
from nbtf._shapes import TensorShape
from nbtf._types import DType
from nbtf.errors import OperatorNotAllowedInGraphError

if TYPE_CHECKING:
    from nbtf._graph.graph import SymbolicGraph
    from nbtf._graph.operation import Operation


class GraphTensor(Operators[Any]):
    """An output of a node. Ops create graph tensors while a graph is open; a session computes their values.

    A constant without a name has no node yet. The op that uses it names it, for example `add/y`; if its node is needed
    earlier, it is called `Const`.
    """

    __slots__ = (
        "__dict__",  # attributes that programs set on a tensor, such as a mask
        "__weakref__",
        "_consumers",
        "_dtype",
        "_graph",
        "_link",
        "_node",
        "_original",
        "_shape",
        "_value",
        "_watch",
        "assign",
        "value_index",
    )

    _device: Any = object()
    """Neither a device nor None: this marks a closed express lane."""
    _allocation: object = None
    _host: bool = False

    # Makes NumPy leave `array + tensor` to the tensor.
    __array_priority__ = 100

    def __init__(self, graph: SymbolicGraph, dtype: DType, shape: TensorShape, value_index: int = 0) -> None:
        """Creates a tensor that belongs to no node yet."""
        self._graph = graph
        self._dtype = dtype
        self._shape = shape
        self._node: Operation | None = None
        self._value: Any = None
        self._consumers: list[Operation] = []
        self._link: Link | None = None
        self._watch: object = None
        self._original: GraphTensor | None = None
        """The tensor of the graph, if this object is a program's handle, whose lifetime is tracked."""
        self.value_index: int = value_index

    @property
    def op(self) -> Operation:
        """The node that produces it."""
        if self._node is None:
            self._graph.settle()
        assert self._node is not None
        return self._node

    graph: SymbolicGraph = reads("_graph", "The graph that it belongs to.")

    @property
    def name(self) -> str:
        """The node's name and the number of the output: `a:0`."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def dtype(self) -> DType:
        """The type of its elements; for a variable's own output, a reference type or `resource`."""
        return self._dtype if self._link is None else shown_dtype(self._dtype, self._link)

    @property
    def shape(self) -> TensorShape:
        """The lengths of its axes, as far as the graph knows them."""
        return self._graph.shown_shape(TensorShape(()) if self._link == "handle" else self._shape)

    @property
    def _array(self) -> Any:
        """An object with the tensor's lengths in place of an array, for trials of gradients; it has no values."""
        if not isinstance(self._shape, LengthsShape):
            raise AttributeError(
                f"{self!r} has no values before a session runs the graph. Layers of tf.keras need values: in a "
                "TensorFlow 1 graph, use tf.layers instead."
            )
        return self._shape

    ndim: int | None = reads("shape.rank", "The number of its axes, or None.")

    device: str = reads("op.device", "The device that its node requests.")

    def get_shape(self) -> TensorShape:
        """Returns `shape`."""
        return self._graph.shown_shape(TensorShape(()) if self._link == "handle" else self._shape)

    def set_shape(self, shape: Any) -> None:
        """Adds to the known shape; raises `ValueError` for a contradiction."""
        self._shape = self._shape.merge_with(self._graph.read_shape(shape))

    def graph_here(self) -> SymbolicGraph:
        """Returns the graph that an op on it is added to: its own graph, or an open branch of it."""
        scope = SCOPE()
        opened = None if scope is None else scope.graph
        return opened if opened is not None and opened.reaches(self._graph) else self._graph

    def called(self, name: str | None) -> GraphTensor:
        """Returns itself; a constant without a name gets this name."""
        if self._node is None:
            self._graph.name_constant(self, name or "Const")
        return self

    def static_value(self) -> Any:
        """Returns its value if it depends on no feed or variable, else None."""
        value = self.known_part()
        return None if isinstance(value, list) else value

    def known_part(self) -> Any:
        """Returns an array, a list with None for elements that only a run knows, or None if nothing is known."""
        return self._value if self._node is None else self._node.known_part()

    def consumers(self) -> list[Operation]:
        """Returns the nodes that use it."""
        self._graph.settle()
        return list(self._consumers)

    def __tf_tensor__(self, dtype: DType | None = None) -> GraphTensor:
        """Returns itself; raises `ValueError` for another dtype."""
        if dtype is not None and dtype is not self._dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {self._dtype.name}: {self!r}"
            )
        return self

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Returns its value, from the given session or the default session.

        Raises:
          ValueError: if no session is open, or if the session has another graph.
        """
        return self._graph.evaluate(self, feed_dict, session)

    # Text

    def __str__(self) -> str:
        """Returns `Tensor("a:0", shape=(2, 3), dtype=float32, device=/device:CPU:0)`."""
        shape = "" if self.shape.rank is None else f", shape={self._graph.shape_text(self.shape)}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name}{device})'

    def __repr__(self) -> str:
        """Returns `<tf.Tensor 'a:0' shape=(2, 3) dtype=float32>`."""
        return f"<tf.Tensor '{self.name}' shape={self._graph.shape_text(self.shape)} dtype={self.dtype.name}>"

    # Operations that need a value raise an error

    numpy: Absent = Absent("'SymbolicTensor' object has no attribute '{name}'")

    def __bool__(self) -> NoReturn:
        """Raises an error: a symbolic tensor has no value."""
        raise OperatorNotAllowedInGraphError(
            f"Using a symbolic `tf.Tensor` as a Python `bool` is not allowed. {self._graph.advice('use tf.where')}"
        )

    def __iter__(self) -> NoReturn:
        """Raises an error: a symbolic tensor has no values."""
        raise OperatorNotAllowedInGraphError(
            f"Iterating over a symbolic `tf.Tensor` is not allowed. {self._graph.advice('use tf.unstack')}"
        )

    def __len__(self) -> NoReturn:
        """Raises an error: the length may be unknown."""
        raise TypeError(
            f"len is not well defined for a symbolic Tensor ({self.name}). "
            "Please call `x.shape` rather than `len(x)` for shape information."
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Raises an error: a symbolic tensor has no values."""
        raise NotImplementedError(
            f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array. {self._graph.advice_on_arrays}"
        )

    @property
    def not_yet(self) -> TypeError:
        """The error that an eager op raises for it; absent while a graph is built."""
        scope = SCOPE()
        if scope is not None and scope.graph is not None:
            raise AttributeError("not_yet")
        return self._graph.refuse(self)

    def __eq__(self, other: object) -> Any:
        """Compares elements in a traced function; otherwise returns whether both are the same tensor."""
        if self is other or not self._graph.building_function or other is None:
            return self is other
        return self._compare("equal", other)

    def __ne__(self, other: object) -> Any:
        """Returns the opposite of `==`."""
        if self is other or not self._graph.building_function or other is None:
            return self is not other
        return self._compare("not_equal", other)

    __hash__ = object.__hash__

    def _compare(self, function: str, operand: object) -> Any:
        raise NotImplementedError  # set by operators.py

    if TYPE_CHECKING:  # set by operators.py, which needs this class
        __getitem__: Any


GraphTensor.__name__ = GraphTensor.__qualname__ = "SymbolicTensor"  # the name in Python's errors and in programs

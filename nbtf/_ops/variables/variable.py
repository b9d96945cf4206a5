"""`tf.Variable`: a value that ops can replace, stored on the device where it was created."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.identity import identity
from nbtf._ops.operators import OPERATORS
from nbtf._ops.variables.creation import VariableAggregation, VariableSynchronization, made
from nbtf._ops.variables.resource import read_variable
from nbtf._ops.variables.updates import VariableUpdates
from nbtf._runtime.attributes import reads
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.context import CURRENT, open_graph
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.device import placed
from nbtf._runtime.lanes import is_watched
from nbtf._runtime.operator_types import Operators
from nbtf._runtime.phases import WEIGHTS, keeping
from nbtf._runtime.placement import follows_variable
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tape import ALWAYS
from nbtf._runtime.tensor import _GRAPH_ONLY, Absent, Reference, Tensor, tensor_of
from nbtf._shapes import ShapeLike, TensorShape
from nbtf._types import DType, DTypeLike


class Variable(VariableUpdates, Operators[Tensor]):
    """A tensor whose value can be changed with `assign` and related methods.

    A variable is stored on the device that was current at its creation. Reading and assigning run on this device,
    regardless of `tf.device`, and assigned values are copied to it. Ops accept a variable wherever they accept a
    tensor; later assignments do not change the value that an op has read.

    Difference from TensorFlow: `assign` returns the variable itself, not an `UnreadVariable`.

    Args:
      initial_value: the initial value, or a function without arguments that returns it.
      trainable: whether tapes watch the variable automatically; True by default, but False with
        `synchronization=ON_READ`.
      validate_shape, caching_device, import_scope, experimental_enable_variable_lifting: accepted
        and ignored.
      name: the name; need not be unique.
      variable_def: not supported.
      dtype: the required dtype of the value, to which a Python value is converted.
      constraint: function that optimizers apply to the value after each update; none by default.
      synchronization: when a strategy synchronizes copies.
      aggregation: how a strategy combines values that several replicas assign.
      shape: a wider shape, such as `[None]`, for later values; by default the shape is fixed.

    Raises:
      ValueError: if `initial_value` is missing or does not fit `dtype` or `shape`.

    >>> v = tf.Variable([1.0, 2.0])
    >>> v.assign_add([1.0, 1.0])
    <tf.Variable 'Variable:0' shape=(2,) dtype=float32, numpy=array([2., 3.], dtype=float32)>
    """

    __slots__ = ()

    _watch: object = ALWAYS
    _host: bool = False
    _shape: TensorShape | None = None
    """The requested wider shape; None if the shape is fixed."""
    _trainable: Any
    _constraint: Callable[[Any], Any] | None
    _synchronization: VariableSynchronization
    _aggregation: VariableAggregation

    __array_priority__ = 100

    # Not `__init__`: open creator scopes may return another object, such as a strategy's copies on several devices.
    def __new__(
        cls,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        import_scope: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: ShapeLike = None,
        experimental_enable_variable_lifting: bool | None = None,
    ) -> Variable:
        """Creates a variable through the open creator scopes."""
        arguments = {key: value for key, value in locals().items() if key not in ("cls", "__class__")}
        scope = SCOPE() and current_scope()
        make: Callable[..., Variable] = partial(made, cls)
        if cls is Variable:
            make = getattr(open_graph(), "variable", make)  # a graph has its own `variable` function
            for creator in () if scope is None else scope.creators:
                make = partial(creator, make)
        return keeping(WEIGHTS, partial(make, **arguments)) if is_watched() else make(**arguments)

    # Properties

    name: str = reads("_name", "The variable's name, followed by `:0`.")

    @property
    def shape(self) -> TensorShape:
        """The lengths of the axes."""
        return TensorShape.of(self._array.shape) if self._shape is None else self._shape

    dtype: DType = reads("_dtype", "The dtype of the elements.")

    @property
    def device(self) -> str:
        """The full name of the device that stores the variable."""
        return self._device.name

    trainable: bool = reads("_trainable", "Whether tapes watch the variable automatically.")

    @property
    def constraint(self) -> Callable[[Any], Any] | None:
        """The function that optimizers apply to the value after an update."""
        return self._constraint

    synchronization: VariableSynchronization = reads("_synchronization", "When a strategy synchronizes copies.")

    @property
    def aggregation(self) -> VariableAggregation:
        """How a strategy combines values that several replicas assign."""
        return self._aggregation

    def get_shape(self) -> TensorShape:
        """Returns `shape`."""
        return self.shape

    @property
    def _unique_id(self) -> str:
        """A name that no other living variable has; a strategy's copies share it. Keras 3 finds slots by it."""
        whole = getattr(self, "_whole", lambda: None)()
        whole = self if whole is None else whole
        return f"{whole._name.removesuffix(':0')}_{id(whole)}"

    op: Absent = Absent(_GRAPH_ONLY)
    graph: Absent = Absent(_GRAPH_ONLY)

    # Value

    def value(self) -> Tensor:
        """Returns the current value, on the variable's device."""
        return read_variable(self)

    def read_value(self) -> Tensor:
        """Returns the current value, on the current device."""
        return identity(read_variable(self))

    def numpy(self) -> Any:
        """Returns a copy of the value as a NumPy array, or as a NumPy scalar for rank 0."""
        return (self.read_value() if self._is_here() else self._bare()).numpy()

    def _is_here(self) -> bool:
        """Returns whether the device still exists: after a runtime restart, ops cannot read older variables."""
        machine = CURRENT.context.machine
        return machine is not None and machine.by_name.get(self._device.name) is self._device

    def _bare(self) -> Tensor:
        return tensor_of(self, self._dtype, self._device)

    def _displayed_value(self) -> Tensor:
        """Returns the value on its device, for display; this read appears in the log, as in TensorFlow."""
        if not self._is_here() or not CURRENT.context.observers.listening:
            return self._bare()
        with placed(self._device.name, follows_variable(self._device)):
            return self.read_value()

    def __tf_tensor__(self, dtype: DType | None = None) -> Tensor:
        """Returns the value as a tensor, for ops that take one."""
        if dtype is not None and dtype is not self._dtype:
            raise ValueError(
                f"Incompatible type conversion requested to type {dtype.name} for `tf.Variable of type "
                f"{self._dtype.name}. (Variable: {self!r})"
            )
        return read_variable(self)

    @property
    def initializer(self) -> Any:
        """The node that initializes the variable in a graph; otherwise None, since it already has its value."""
        return None

    def initialized_value(self) -> Tensor:
        """Returns the value as a separate tensor.

        >>> tf.Variable(3.0).initialized_value().numpy()
        np.float32(3.0)
        """
        return self.read_value()

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Returns True as a scalar tensor, since a variable always has a value.

        >>> tf.Variable(3.0).is_initialized().numpy()
        np.True_
        """
        return as_tensor(True)

    # Python protocols

    def __iadd__(self, other: Any) -> Any:
        """Raises an error, since the name would become a tensor."""
        raise _refused("variable += value", "variable.assign_add(value)", "variable + value")

    def __isub__(self, other: Any) -> Any:
        """Raises an error, since the name would become a tensor."""
        raise _refused("variable -= value", "variable.assign_sub(value)", "variable * value")  # TensorFlow's mistake

    def __imul__(self, other: Any) -> Any:
        """Raises an error, since the name would become a tensor."""
        raise _refused("var *= value", "var.assign(var * value)", "var * value")

    def __itruediv__(self, other: Any) -> Any:
        """Raises an error, since the name would become a tensor."""
        raise _refused("var /= value", "var.assign(var / value)", "var / value")

    def __ipow__(self, other: Any) -> Any:
        """Raises an error, since the name would become a tensor."""
        raise _refused("var **= value", "var.assign(var ** value)", "var ** value")

    def __repr__(self) -> str:
        if getattr(open_graph(), "building_function", False):
            return f"<tf.Variable '{self._name}' shape={self.shape} dtype={self._dtype.name}>"
        return (
            f"<tf.Variable '{self._name}' shape={self.shape} dtype={self._dtype.name}, "
            f"numpy={self._displayed_value()._numpy_text()}>"
        )

    __str__ = __repr__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Returns a copy of the value for NumPy."""
        array = CPU.xp.asarray(self.numpy())
        return array if dtype is None else array.astype(dtype, copy=False)

    def __bool__(self) -> bool:
        return bool(self.read_value())

    def __int__(self) -> int:
        """Returns a scalar's value as a Python number."""
        return int(self.value())

    def __float__(self) -> float:
        """Returns a scalar's value as a Python number."""
        return float(self.value())

    def __complex__(self) -> complex:
        """Returns a scalar's value as a Python number."""
        return complex(self.value())

    def __index__(self) -> int:
        """Returns an integer scalar's value for use as an index."""
        return self.value().__index__()

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.read_value())

    def __hash__(self) -> int:
        raise TypeError(f"Variable is unhashable. Instead, use variable.ref() as the key. (Variable: {self!r})")

    def ref(self) -> Reference:
        """Returns a hashable reference; `ref().deref()` is the variable."""
        return Reference(self)

    def __copy__(self) -> Variable:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        copy = memo[id(self)] = _remade(self.read_value(), *self._traits())
        return copy

    def __reduce__(self) -> Any:
        """Pickles value and traits; unpickling creates the variable on the current device."""
        return _remade, (self.numpy(), *self._traits())

    def _traits(self) -> tuple[str, dict[str, Any]]:
        return self._name.removesuffix(":0"), {
            "dtype": self._dtype,
            "trainable": self._trainable,
            "constraint": self._constraint,
            "synchronization": self._synchronization,
            "aggregation": self._aggregation,
            "shape": self._shape,
        }


def _refused(what: str, instead: str, new: str) -> RuntimeError:
    return RuntimeError(
        f"`{what}` with `tf.Variable`s is not supported. Use `{instead}` to modify the variable, "
        f"or `out = {new}` if you need to get a new output Tensor."
    )


def _remade(value: Any, name: str, traits: dict[str, Any]) -> Variable:
    """Creates a variable from the contents of a copy or pickle."""
    variable = made(Variable, value, name=name, **traits)
    variable._name = f"{name}:0"  # ignores open name scopes
    return variable


for name, function in OPERATORS.items():
    if name != "__getitem__":  # a variable has its own: its parts can be assigned to
        setattr(Variable, name, function)

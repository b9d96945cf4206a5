"""What a variable is: a value that ops can replace, on the device where it was made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from nbtf._devices.base import Device, Label
from nbtf._devices.cpu import CPU
from nbtf._locks import Lock
from nbtf._ops.arrays.identity import identity
from nbtf._ops.express import HANDED_OVER, constant_like
from nbtf._ops.operators import OPERATORS
from nbtf._ops.variables.creation import VariableAggregation, VariableSynchronization, alone, made
from nbtf._ops.variables.parts import VariableParts
from nbtf._ops.variables.resource import AssignAddVariableOp, AssignSubVariableOp, AssignVariableOp, read_variable
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.context import CURRENT, open_graph
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.device import device
from nbtf._runtime.phases import WEIGHTS, keeping
from nbtf._runtime.scopes import HERE, SCOPE
from nbtf._runtime.tape import ALWAYS
from nbtf._runtime.tensor import _GRAPH_ONLY, Absent, Reference, Tensor, tensor_of
from nbtf._shapes import ShapeLike, TensorShape
from nbtf._types import NUMBERS, DType, DTypeLike, TensorLike

NOTHING: Any = None
"""What assigning returns when no value is wanted; not said in its type, since hardly anyone asks for it."""

_ADD, _SUBTRACT, _ASARRAY, _NDARRAY = CPU.xp.add, CPU.xp.subtract, CPU.xp.asarray, CPU.xp.ndarray


class Variable(VariableParts):
    """A tensor whose value can be changed, by `assign` and its sisters.

    It lives on the device that was current when it was made, and stays there: reading and assigning run there,
    whatever `tf.device` says, and what is assigned is copied over. Ops take it wherever they take a tensor; what they
    got does not change when the variable does.

    Difference from TensorFlow: `assign` returns the variable itself, not a look-alike named `UnreadVariable`.

    Args:
      initial_value: the first value; a function without arguments is called for it.
      trainable: whether tapes watch it by themselves; None means yes, but no with `synchronization=ON_READ`.
      validate_shape, caching_device, import_scope, experimental_enable_variable_lifting: accepted for TensorFlow's
        sake, without effect.
      name: what `name` and the text show; names need not be unique.
      variable_def: not supported.
      dtype: what the value must be or, if it is Python's, become.
      constraint: a function that optimizers apply to the value after each update.
      synchronization: how a strategy keeps copies equal.
      aggregation: what a strategy does with values that several replicas assign.
      shape: a wider shape, such as `[None]`, that later values may have.

    Raises:
      ValueError: if there is no initial value, or it does not fit `dtype` or `shape`.

    >>> v = tf.Variable([1.0, 2.0])
    >>> v.assign_add([1.0, 1.0])
    <tf.Variable 'Variable:0' shape=(2,) dtype=float32, numpy=array([2., 3.], dtype=float32)>
    """

    __slots__ = ("_device", "_dtype", "_lock", "_updating")

    _device: Device
    _dtype: DType
    _lock: Lock
    """Held by whoever updates the variable on the road."""
    _updating: bool
    """Whether somebody does; then its lane is closed."""

    _watch: object = ALWAYS
    _host: bool = False
    _seq: int = 0
    _shape: TensorShape | None = None
    """The wider shape that was asked for; None where only the present one will do."""
    _name: str
    _trainable: Any
    _constraint: Callable[[Any], Any] | None
    _synchronization: VariableSynchronization
    _aggregation: VariableAggregation

    __array_priority__ = 100

    # Not `__init__`: the open creator scopes may make something else, such as one copy per device of a strategy.
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
        """Makes a variable, through the open creator scopes."""
        arguments = {key: value for key, value in locals().items() if key not in ("cls", "__class__")}
        scope = SCOPE() and current_scope()
        make: Callable[..., Variable] = partial(made, cls)
        if cls is Variable:
            make = getattr(open_graph(), "variable", make)  # a graph has its own
            for creator in () if scope is None else scope.creators:
                make = partial(creator, make)
        return keeping(WEIGHTS, partial(make, **arguments)) if HERE.watched else make(**arguments)

    # What it is

    @property
    def name(self) -> str:
        """The name it was given, with `:0` behind."""
        return self._name

    @property
    def shape(self) -> TensorShape:
        """The lengths of its axes."""
        return TensorShape.of(self._array.shape) if self._shape is None else self._shape

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return self._dtype

    @property
    def device(self) -> str:
        """The full name of the device where it lives."""
        return self._device.name

    @property
    def trainable(self) -> bool:
        """Whether tapes watch it by themselves."""
        return self._trainable

    @property
    def constraint(self) -> Callable[[Any], Any] | None:
        """What optimizers apply to the value after an update."""
        return self._constraint

    @property
    def synchronization(self) -> VariableSynchronization:
        """How a strategy keeps copies equal."""
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        """What a strategy does with values that several replicas assign."""
        return self._aggregation

    def get_shape(self) -> TensorShape:
        """Returns `shape`."""
        return self.shape

    op: Absent = Absent(_GRAPH_ONLY)
    graph: Absent = Absent(_GRAPH_ONLY)

    # Its value

    def value(self) -> Tensor:
        """Returns the value of this moment, on the variable's device."""
        return read_variable(self)

    def read_value(self) -> Tensor:
        """Returns the value of this moment, on the current device."""
        return identity(read_variable(self))

    def numpy(self) -> Any:
        """Returns a copy of the value: a NumPy array, or a NumPy scalar for rank 0."""
        return (self.read_value() if self._is_here() else self._bare()).numpy()

    def _is_here(self) -> bool:
        """Returns whether its device is still one: a variable from before a restart can be read, but not by ops."""
        machine = CURRENT.context.machine
        return machine is not None and machine.by_name.get(self._device.name) is self._device

    def _bare(self) -> Tensor:
        return tensor_of(self, self._dtype, self._device)

    def _displayed_value(self) -> Tensor:
        """Returns the value where it is, for text; a read that the log shows as TensorFlow's does."""
        if not self._is_here() or not CURRENT.context.observers.listening:
            return self._bare()
        with device(self._device.name):
            return self.read_value()

    def __tf_tensor__(self, dtype: DType | None = None) -> Tensor:
        """Is read where an op takes a tensor."""
        if dtype is not None and dtype is not self._dtype:
            raise ValueError(
                f"Incompatible type conversion requested to type {dtype.name} for `tf.Variable of type "
                f"{self._dtype.name}. (Variable: {self!r})"
            )
        return read_variable(self)

    # Giving it another

    def assign(
        self, value: TensorLike, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Gives the variable another value.

        Args:
          value: of the variable's dtype and shape, on any device.
          use_locking: accepted and ignored.
          read_value: False returns None.

        Raises:
          ValueError: if the value is a tensor of another dtype, or does not have the variable's shape.
          TypeError: if a Python value that does not suit the dtype.

        >>> tf.Variable([1.0, 2.0]).assign([3, 4]).numpy()
        array([3., 4.], dtype=float32)
        """
        tensor = as_tensor(value, self._dtype)
        array = tensor._array
        if array.shape != self._array.shape and not self.shape.is_compatible_with(array.shape):
            raise ValueError(
                f"Cannot assign value to variable ' {self._name}': Shape mismatch.The variable shape {self.shape}, "
                f"and the assigned value shape {array.shape} are incompatible."
            )
        device = self._device
        if tensor._device is device and device is HERE.device and ((scope := SCOPE()) is None or scope.lane is device):
            # One statement, see `_updated`.
            self._array = self._array if (busy := self._updating) else array
            if not busy:
                return self if read_value else NOTHING
        alone(partial(self._replace, tensor, name), self)
        return self if read_value else NOTHING

    def assign_add(
        self, delta: TensorLike, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Adds to the value.

        Args:
          delta: of the variable's dtype and shape; it is not broadcast.
          use_locking: accepted and ignored.
          read_value: False returns None.

        Raises:
          ValueError: if `delta` is a tensor of another dtype.
          TypeError: if a Python value that does not suit the dtype.

        >>> tf.Variable(3).assign_add(4).numpy()
        np.int32(7)
        """
        change: Any = delta
        if change.__class__ is float or change.__class__ is int:
            change = constant_like(self, change)
        if not self._updated(_ADD, change):
            self._update(AssignAddVariableOp, as_tensor(change, self._dtype), name=name)
        return self if read_value else NOTHING

    def assign_sub(
        self, delta: TensorLike, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Subtracts from the value.

        Args:
          delta: of the variable's dtype and shape; it is not broadcast.
          use_locking: accepted and ignored.
          read_value: False returns None.

        Raises:
          ValueError: if `delta` is a tensor of another dtype.
          TypeError: if a Python value that does not suit the dtype.

        >>> tf.Variable(3.0).assign_sub(1.0).numpy()
        np.float32(2.0)
        """
        change: Any = delta
        if change.__class__ is float or change.__class__ is int:
            change = constant_like(self, change)
        if not self._updated(_SUBTRACT, change):
            self._update(AssignSubVariableOp, as_tensor(change, self._dtype), name=name)
        return self if read_value else NOTHING

    def _updated(self, ufunc: Any, delta: Any) -> bool:
        """Is the express lane of updates: tells whether it did one.

        Written by hand, under the same conditions as the lanes that `express` generates. It takes no lock: the value
        is replaced if it is still the one that was read, in one statement without a call, between whose instructions
        CPython lets neither another thread nor a signal in. Otherwise the road does the update.
        """
        try:
            device, dtype = self._device, self._dtype
            if device is delta._device and dtype is delta._dtype and dtype in NUMBERS:
                scope = SCOPE()
                array, change = self._array, delta._array
                if (
                    device is (HERE.first if scope is None else scope.lane)
                    and array.shape == change.shape
                    and (device is HERE.device or self._updates_here(device))
                ):
                    if (new := ufunc(array, change)).__class__ is not _NDARRAY:
                        new = _ASARRAY(new)
                    self._array = new if (done := self._array is array and not self._updating) else self._array
                    return done
        except HANDED_OVER:
            pass
        return False

    def _moved(self, array: Any, ufunc: Any = None) -> bool:
        """Updates a variable on the CPU by an array of its dtype where nobody listens; tells whether it did."""
        before = self._array
        if before.shape != array.shape:
            return False
        new = array if ufunc is None else ufunc(before, array)
        if new.__class__ is not _NDARRAY:
            new = _ASARRAY(new)
        # One statement, see `_updated`.
        self._array = new if (done := self._array is before and not self._updating) else self._array
        return done

    def _updates_here(self, device: Any) -> bool:
        """Returns whether an update on another device does nothing to an account: no tensor shows the same memory."""
        if device not in HERE.elsewhere:
            return False
        is_unshared = device.is_exact and self._allocation is not None and sys.getrefcount(self._allocation) == 2
        return device.on_host or is_unshared

    def _update(self, op: Any, *inputs: Any, name: str | None = None, **attrs: Any) -> Variable:
        """Sends an update in place down the road."""
        return alone(partial(self._change, op, inputs, name, attrs), self)

    @property
    def initializer(self) -> Any:
        """None, since a variable has its value from the start. In a graph, the node that initializes it."""
        return None

    def initialized_value(self) -> Tensor:
        """Returns the value, as a tensor of its own.

        >>> tf.Variable(3.0).initialized_value().numpy()
        np.float32(3.0)
        """
        return self.read_value()

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Returns a true scalar: a variable has its value from the start.

        >>> tf.Variable(3.0).is_initialized().numpy()
        np.True_
        """
        return as_tensor(True)

    def _replace(self, value: Tensor, name: str | None) -> None:
        self._take(AssignVariableOp(self, value, name=name))

    def _change(self, op: Any, inputs: tuple[Any, ...], name: str | None, attrs: dict[str, Any]) -> Variable:
        # Does a tensor show the same memory? Then TensorFlow copies before the update, and both are charged.
        shared = (
            self._allocation is not None and sys.getrefcount(self._allocation) > 2 and self._device.updates_in_place
        )
        if shared and ((scope := SCOPE()) is None or scope.graph is None):
            label = Label(op.type, self._dtype.name, self._array.shape)
            self._take(self._device.copy_from(self._device, self, label))
        self._take(op(self, *inputs, name=name, **attrs))
        return self

    def _take(self, value: Any) -> None:
        """Shows the array of another buffer from now on, and shares its memory."""
        if value._allocation is self._allocation:
            self._array = value._array
        else:
            before = self._array, self._allocation  # they die afterwards: nothing may happen between the two
            self._array, self._allocation = value._array, value._allocation
            del before
        if value.__class__ is Tensor and value._seq:
            self._seq = value._seq

    # Its use in Python

    def __iadd__(self, other: Any) -> Any:
        """Refuses: it would make a tensor of the name."""
        raise _refused("variable += value", "variable.assign_add(value)", "variable + value")

    def __isub__(self, other: Any) -> Any:
        """Refuses: it would make a tensor of the name."""
        raise _refused("variable -= value", "variable.assign_sub(value)", "variable * value")  # TensorFlow's own slip

    def __imul__(self, other: Any) -> Any:
        """Refuses: it would make a tensor of the name."""
        raise _refused("var *= value", "var.assign(var * value)", "var * value")

    def __itruediv__(self, other: Any) -> Any:
        """Refuses: it would make a tensor of the name."""
        raise _refused("var /= value", "var.assign(var / value)", "var / value")

    def __ipow__(self, other: Any) -> Any:
        """Refuses: it would make a tensor of the name."""
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
        array = _ASARRAY(self.numpy())
        return array if dtype is None else array.astype(dtype, copy=False)

    def __bool__(self) -> bool:
        return bool(self.read_value())

    def __int__(self) -> int:
        """Converts a scalar."""
        return int(self.value())

    def __float__(self) -> float:
        """Converts a scalar."""
        return float(self.value())

    def __complex__(self) -> complex:
        """Converts a scalar."""
        return complex(self.value())

    def __index__(self) -> int:
        """Lets an integer scalar be an index."""
        return self.value().__index__()

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.read_value())

    def __hash__(self) -> int:
        raise TypeError(f"Variable is unhashable. Instead, use variable.ref() as the key. (Variable: {self!r})")

    def ref(self) -> Reference:
        """Returns a hashable stand-in; `ref().deref()` is the variable."""
        return Reference(self)

    def __copy__(self) -> Variable:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        copy = memo[id(self)] = _remade(self.read_value(), *self._traits())
        return copy

    def __reduce__(self) -> Any:
        """Pickles value and traits; it comes back on the device that is current then."""
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

    if TYPE_CHECKING:  # set below

        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...


def _refused(what: str, instead: str, new: str) -> RuntimeError:
    return RuntimeError(
        f"`{what}` with `tf.Variable`s is not supported. Use `{instead}` to modify the variable, "
        f"or `out = {new}` if you need to get a new output Tensor."
    )


def _remade(value: Any, name: str, traits: dict[str, Any]) -> Variable:
    """Makes a variable of what a copy or a pickle has kept."""
    variable = made(Variable, value, name=name, **traits)
    variable._name = f"{name}:0"  # whatever name scope is open
    return variable


for name, function in OPERATORS.items():
    if name != "__getitem__":  # it has its own: parts of a variable can be assigned to
        setattr(Variable, name, function)

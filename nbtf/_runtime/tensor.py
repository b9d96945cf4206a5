"""A tensor: a buffer, its dtype and its device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import time
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from nbtf._devices.base import Buffer, Device
from nbtf._devices.sites import find_call_site
from nbtf._record.rows import note_of_copy
from nbtf._runtime.context import CURRENT
from nbtf._runtime.operator_types import Operators
from nbtf._runtime.phases import part_of
from nbtf._runtime.scopes import SCOPE
from nbtf._shapes import TensorShape
from nbtf._types import DType, variant
from nbtf.errors import InvalidArgumentError


class Absent:
    """An attribute that users expect on a tensor but that does not exist: reading it explains the alternative.

    A `__getattr__` on the class would make CPython read every attribute five times slower.
    """

    __slots__ = ("_name", "_text")

    def __init__(self, text: str) -> None:
        """Stores the explanation; `{name}` stands for the attribute's name."""
        self._text = text

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        """Raises the AttributeError, including for `hasattr`."""
        if instance is None:
            return self
        error = AttributeError(self._text.format(name=self._name, kind=owner.__name__))
        if self._text is _LIKE_NUMPY:
            error.add_note("Or use the equivalent function, such as tf.reshape, or call .numpy() first.")
        raise error


_LIKE_NUMPY = (
    "EagerTensor object has no attribute '{name}'. \n"
    "        If you are looking for numpy-related methods, please run the following:\n"
    "        tf.experimental.numpy.experimental_enable_numpy_behavior()\n      "
)
_GRAPH_ONLY = "Tensor.{name} is undefined when eager execution is enabled."


class Mover:
    """The function that copies a tensor to another device; `copying.py` sets it."""

    move_to: Callable[[Any, Device], Any]


class Unpickler:
    """The function that makes a tensor of a host array again; `conversion.py` sets it."""

    as_tensor: Callable[..., Any]


class _SymbolicToo(type):
    """Makes `isinstance(x, tf.Tensor)` true for symbolic tensors in traced functions; their class is a floor above."""

    def __instancecheck__(cls, instance: Any) -> bool:
        """Returns whether an object is a tensor, with or without a value."""
        if super().__instancecheck__(instance):
            return True
        symbolic: Any = instance.__class__
        graph = getattr(instance, "_graph", None) if hasattr(symbolic, "not_yet") else None
        return cls is Tensor and graph is not None and graph.building_function


class Tensor(Buffer, Operators["Tensor"], metaclass=_SymbolicToo):
    """An array of numbers, strings or booleans on one device; immutable.

    Tensors are created by `tf.constant`, `tf.convert_to_tensor` and every op, not by calling the class.

    >>> t = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> t.shape, t.dtype
    (TensorShape([2, 2]), tf.float32)
    >>> t.device
    '/job:localhost/replica:0/task:0/device:CPU:0'
    """

    # No `__init__`: the express lanes fill the four slots (see _ops/express.py). Class attributes hold the defaults of
    # rarely used fields. `_watch` is the token of the tape that watches the tensor.
    __slots__ = ("_device", "_dtype", "_watch")

    _device: Device
    _dtype: DType
    _watch: object

    _host: bool = False
    """Whether the values are in host memory although the tensor belongs to another device."""
    _seq: int = 0
    """Number of the event that created this tensor; 0 if nothing listened."""

    # Makes NumPy leave `array + tensor` to the tensor.
    __array_priority__ = 100

    # Properties

    @property
    def shape(self) -> TensorShape:
        """The lengths of the tensor's axes."""
        return TensorShape.of(self._array.shape)

    @property
    def dtype(self) -> DType:
        """The type of the tensor's elements."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._array.ndim

    @property
    def device(self) -> str:
        """The full name of the device that the tensor belongs to."""
        return self._device.name

    @property
    def backing_device(self) -> str:
        """The full name of the device whose memory holds the values; CPU:0 for host-memory tensors."""
        return CURRENT.context.host.name if self._host else self._device.name

    def get_shape(self) -> TensorShape:
        """Returns `shape`."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Checks that the tensor is compatible with a shape; raises `ValueError` if not."""
        if not self.shape.is_compatible_with(shape):
            raise ValueError(f"Tensor's shape {self._array.shape} is not compatible with supplied shape {shape}.")

    # Values

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        """Raises TensorFlow's error, because tensors are immutable."""
        error = TypeError("'nbtf.python.framework.ops.EagerTensor' object does not support item assignment")
        error.add_note("Tensors are immutable. Use tf.tensor_scatter_nd_update or a tf.Variable.")
        raise error

    def __delitem__(self, key: Any) -> NoReturn:
        """Raises TensorFlow's error, because tensors are immutable."""
        raise TypeError("'nbtf.python.framework.ops.EagerTensor' object doesn't support item deletion")

    def numpy(self) -> Any:
        """Returns a copy of the values: a NumPy array, or a NumPy scalar (`bytes` for strings) for rank 0.

        Raises:
          InvalidArgumentError: if the dtype is `variant`, whose value is a list of tensors.
        """
        array = self._host_copy()
        if array.ndim:
            return array
        if self._dtype is variant:
            raise InvalidArgumentError("Cannot convert a Tensor of dtype variant to a NumPy array.")
        return array[()]

    def _host_copy(self) -> np.ndarray[Any, Any]:
        if self._host:
            return self._array.copy()
        device, context = self._device, CURRENT.context
        if device.on_host or not context.observers.listening:
            return device.get(self)
        began_at = time()
        array = device.get(self)
        call_site = find_call_site(part_of(SCOPE()))
        note = note_of_copy(device, context.host, "read", array.nbytes, 0.0, call_site, began_at=began_at)
        context.observers.take(note)
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Returns a copy of the values for NumPy."""
        array = self._host_copy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack__(self, stream: Any = None, **options: Any) -> Any:
        """Exports the values to another array library, which must not change them; a copy if the GPU is simulated."""
        from nbtf._runtime.exchange import lent

        return lent(self, {"stream": stream, **options})

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns where the values are, in DLPack's numbering: a real GPU, or the CPU, including for simulated GPUs."""
        from nbtf._runtime.exchange import dlpack_device

        return dlpack_device(self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Address, shape and type of values on a real GPU, for CuPy, Numba and PyTorch; undefined elsewhere."""
        from nbtf._runtime.exchange import cuda_interface

        return cuda_interface(self)

    def cpu(self) -> Tensor:
        """Returns the tensor on CPU:0, like TensorFlow's deprecated method."""
        return self._moved("CPU", 0)

    def gpu(self, gpu_index: int = 0) -> Tensor:
        """Returns the tensor on a GPU; raises `RuntimeError` if it does not exist, even with soft placement."""
        return self._moved("GPU", gpu_index)

    def _moved(self, device_type: str, index: int) -> Tensor:
        context = CURRENT.context
        name = f"/job:localhost/replica:0/task:0/device:{device_type}:{index}"
        if name not in context.devices.by_name:
            raise RuntimeError(f"{device_type}:{index} unknown device.")
        return Mover.move_to(self, context.devices.by_name[name])

    # Text forms

    def __str__(self) -> str:
        """Returns `tf.Tensor(values, shape=(2,), dtype=float32)`."""
        array = self._host_copy()
        text = str(array if array.ndim else array[()])
        return f"tf.Tensor({_indented(text)}, shape={array.shape}, dtype={self._dtype.name})"

    def __repr__(self) -> str:
        """Returns `<tf.Tensor: shape=(2,), dtype=float32, numpy=array(...)>`."""
        prefix = "value" if self._dtype is variant else "numpy"
        return f"<tf.Tensor: shape={self._array.shape}, dtype={self._dtype.name}, {prefix}={self._numpy_text()}>"

    def _numpy_text(self) -> str:
        array = self._host_copy()
        return _indented(repr(array if array.ndim else array.item()))  # as a Python number, float32 shows more digits

    def __format__(self, spec: str) -> str:
        """Formats the values in the same way as NumPy."""
        return format(self.numpy(), spec)

    # Conversion to Python values

    def __bool__(self) -> bool:
        """Returns whether the only element is true."""
        return bool(self._host_copy()) if self._array.size else False

    def __int__(self) -> int:
        """Converts a scalar to an int."""
        return int(self._scalar())

    def __float__(self) -> float:
        """Converts a scalar to a float."""
        return float(self._scalar())

    def __complex__(self) -> complex:
        """Converts a scalar to a complex number."""
        return complex(self._scalar())

    def __index__(self) -> int:
        """Converts an integer scalar for use as an index."""
        return self._host_copy().__index__()

    def _scalar(self) -> Any:
        if self._array.ndim:
            raise TypeError("only length-1 arrays can be converted to Python scalars")
        return self._host_copy()[()]

    def __len__(self) -> int:
        """Returns the length of the first axis."""
        if not self._array.ndim:
            raise TypeError("Scalar tensor has no `len()`")
        return self._array.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        """Yields the slices along the first axis; each is an op, placed like any other."""
        if not self._array.ndim:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[i] for i in range(self._array.shape[0]))

    def __hash__(self) -> int:
        """Raises an error, because `==` compares elements."""
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def ref(self) -> Reference:
        """Returns a hashable reference; `ref().deref()` is the tensor."""
        return Reference(self)

    def __copy__(self) -> Tensor:
        """Returns the tensor itself, because it is immutable."""
        return self

    def __deepcopy__(self, memo: Any) -> Tensor:
        """Returns the tensor itself, because it is immutable."""
        return self

    def __reduce__(self) -> Any:
        """Pickles the values; unpickling puts them on the device that is current then."""
        return Unpickler.as_tensor, (self._host_copy(), self._dtype)

    def eval(self, feed_dict: Any = None, session: Any = None) -> NoReturn:
        """Raises an error, because eager execution has no sessions."""
        raise NotImplementedError(
            "eval is not supported when eager execution is enabled, is .numpy() what you're looking for?"
        )

    def __dir__(self) -> list[str]:
        """Lists the attributes without those that only raise an explanation."""
        return [name for name in super().__dir__() if not isinstance(getattr(type(self), name, None), Absent)]

    T: Absent = Absent(_LIKE_NUMPY)
    astype: Absent = Absent(_LIKE_NUMPY)
    ravel: Absent = Absent(_LIKE_NUMPY)
    transpose: Absent = Absent(_LIKE_NUMPY)
    reshape: Absent = Absent(_LIKE_NUMPY)
    clip: Absent = Absent(_LIKE_NUMPY)
    size: Absent = Absent(_LIKE_NUMPY)
    tolist: Absent = Absent(_LIKE_NUMPY)
    data: Absent = Absent(_LIKE_NUMPY)
    op: Absent = Absent(_GRAPH_ONLY)
    graph: Absent = Absent(_GRAPH_ONLY)
    name: Absent = Absent(_GRAPH_ONLY)

    if TYPE_CHECKING:  # set by _ops/operators.py, since the ops are on a floor above this one

        def __getitem__(self, key: Any) -> Tensor: ...


class Reference:
    """A hashable reference to a tensor or a variable, returned by `ref()`."""

    __slots__ = ("_referent",)

    def __init__(self, referent: Any) -> None:
        """Stores the object and keeps it alive, as in TensorFlow."""
        self._referent = referent

    def deref(self) -> Any:
        """Returns the tensor or variable."""
        return self._referent

    def __hash__(self) -> int:
        """Hashes by identity."""
        return id(self._referent)

    def __eq__(self, other: object) -> bool:
        """Returns whether both refer to the same object."""
        return isinstance(other, Reference) and self._referent is other._referent

    def __repr__(self) -> str:
        """Returns a string that shows the object."""
        return f"<Reference wrapping {self._referent!r}>"


def tensor_of(buffer: Buffer, dtype: DType, device: Device) -> Tensor:
    """Returns the tensor that shares a buffer."""
    tensor = Tensor()
    tensor._array = buffer._array
    tensor._dtype = dtype
    tensor._device = device
    tensor._watch = None
    if buffer._allocation is not None:
        tensor._allocation = buffer._allocation
    return tensor


def _indented(text: str) -> str:
    return f"\n{text}" if "\n" in text else text

"""How Python values and arrays become tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbtf._devices.base import Device, Label
from nbtf._runtime.context import CURRENT
from nbtf._runtime.copying import tell_copied
from nbtf._runtime.events import OpExecuted, OpPlaced, OutputSpec, Reason, call_site, stamp, whereabouts
from nbtf._runtime.scopes import HERE, SCOPE, Scope
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf._types import DTYPE_OF, HOST_DTYPES, DType, as_dtype, bool_, complex128, float32, int32, int64, string

INT32 = range(-(2**31), 2**31)

DEFAULT_OF: dict[type, DType] = {
    float: float32,
    int: int32,
    bool: bool_,
    complex: complex128,
    str: string,
    bytes: string,
}
"""The dtype of Python values when nothing else is asked for."""


class EagerConst:
    """The op that the log shows when a value becomes a tensor."""

    type = "_EagerConst"

    def has_kernel(self, device_type: str, dtypes: Sequence[DType]) -> bool:
        """Values can be put on any device; strings and int32 stay in host memory."""
        return True


EAGER_CONST = EagerConst()


class Packer:
    """How a list of tensors becomes one; set by the op that does it, which stands above this floor."""

    pack: Callable[[Any], Tensor]


def as_tensor(value: Any, dtype: DType | None = None) -> Tensor:
    """Returns a tensor of a value; a tensor comes back as it is, on its own device.

    Args:
      value: a tensor, a variable, a number, a string, nested lists of them, or anything NumPy can read.
      dtype: what the result must be; None takes the value's own.

    Raises:
      ValueError: ragged or mixed lists, values that are no numbers, a tensor of another dtype.
      TypeError: a Python value that does not suit `dtype`.
    """
    if value.__class__ is Tensor:
        if dtype is not None and value._dtype is not dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value._dtype.name}: {value!r}"
            )
        return value
    convert = getattr(value, "__tf_tensor__", None)
    if convert is not None:
        return convert(dtype)
    if (value.__class__ is list or value.__class__ is tuple) and _holds_tensors(value):
        return as_tensor(Packer.pack([as_tensor(item) for item in value]), dtype)
    return constant_of(*host_array(value, dtype))


def constant_of(array: np.ndarray[Any, Any], dtype: DType) -> Tensor:
    """Returns a tensor of a host array that nobody else will change, on the device where constants go now."""
    scope = SCOPE()
    here = HERE.device
    if here is not None and (scope is None or scope.lane is here):
        tensor = Tensor()
        tensor._array = array
        tensor._dtype = dtype
        tensor._device = here
        tensor._watch = None
        return tensor
    if scope is not None and scope.graph is not None:
        return scope.graph.constant(array, dtype)
    return _placed(array, dtype, scope)


def _placed(array: np.ndarray[Any, Any], dtype: DType, scope: Scope | None) -> Tensor:
    """Puts a constant where placement says; observers hear `_EagerConst`, except in a scope that is just CPU:0."""
    context = CURRENT.context
    device, reason = context.place(EAGER_CONST, (dtype,), None, scope)
    host = dtype in HOST_DTYPES and device is not context.host
    silent = scope is not None and scope.request is not None and scope.request.name == context.host.name
    if silent or not context.observers.listening:
        return _put(array, dtype, device, host)
    return _told(array, dtype, device, host, reason, scope)


def _put(array: np.ndarray[Any, Any], dtype: DType, device: Device, host: bool) -> Tensor:
    if host or device.type == "CPU":
        tensor = Tensor()
        tensor._array = array
        tensor._dtype = dtype
        tensor._device = device
        tensor._watch = None
        if host:
            tensor._host = True
        return tensor
    return tensor_of(device.put(array, Label("_EagerConst", dtype.name, array.shape, _site())), dtype, device)


def _site() -> tuple[str, int] | None:
    return call_site() if CURRENT.context.observers.listening else None


def _told(
    array: np.ndarray[Any, Any], dtype: DType, device: Device, host: bool, reason: Reason, scope: Scope | None
) -> Tensor:
    context = CURRENT.context
    where = whereabouts(None if scope is None else scope.replica)
    context.observers.tell(OpPlaced("_EagerConst", device.name, reason, *stamp(), *where))
    tensor = _put(array, dtype, device, host)
    timing = "finished"
    if not host and device.type != "CPU":
        modelled = tell_copied(context, context.host, device, array.nbytes, 0.0, where)[1]
        timing = "modelled" if modelled else "finished"
    seq, now = stamp()
    outputs = (OutputSpec(array.shape, dtype.name, array.nbytes),)
    context.observers.tell(OpExecuted("_EagerConst", device.name, outputs, 0.0, timing, seq, now, *where))
    tensor._seq = seq
    return tensor


# Host values


def host_array(value: Any, dtype: DType | None = None) -> tuple[np.ndarray[Any, Any], DType]:
    """Returns a fresh host array of a Python value or an array, and its dtype."""
    kind = value.__class__
    if kind is list or kind is tuple:
        return _from_sequence(value, dtype)
    if kind in DEFAULT_OF:
        wanted = _dtype_for(value, {kind}, dtype)
        return _from_python(value, wanted, dtype)
    if isinstance(value, np.ndarray | np.generic):
        return _from_numpy(value, dtype)
    return _from_other(value, dtype)


def _from_numpy(value: Any, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    own = as_dtype(value.dtype) if value.dtype.kind not in "OSU" else string
    wanted = own if dtype is None else dtype
    if wanted is string:
        return _bytes_array(np.asarray(value, object)), string
    if own is string:
        raise ValueError(f"Failed to convert a NumPy array to a Tensor (Unsupported object type {type(value)}).")
    return np.array(value, wanted.np_dtype, copy=True), wanted


def _from_sequence(value: Any, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    kinds = _leaf_kinds(value)
    if not kinds:
        wanted = dtype or float32
        return np.array(value, wanted.np_dtype), wanted
    if not kinds <= DEFAULT_OF.keys():
        return _from_mixed_sequence(value, kinds, dtype)
    return _from_python(value, _dtype_for(value, kinds, dtype), dtype)


def _leaf_kinds(value: Any) -> set[type]:
    """Returns the types of the leaves of nested lists."""
    kinds = set(map(type, value))
    if list in kinds or tuple in kinds:
        if kinds - {list, tuple}:
            raise ValueError("Can't convert non-rectangular Python sequence to Tensor.")
        return set().union(*map(_leaf_kinds, value))
    return kinds


def _dtype_for(value: Any, kinds: set[type], dtype: DType | None) -> DType:
    """Returns the dtype that Python values of these types take, or refuses."""
    if dtype is not None:
        if not all(_suits(kind, dtype) for kind in kinds):
            raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {dtype.c_name}")
        return dtype
    found = {DEFAULT_OF[kind] for kind in kinds}
    if len(found) == 1:
        return found.pop()
    if found <= {int32, float32}:
        return float32
    if found <= {int32, float32, complex128}:
        return complex128
    raise ValueError("Can't convert Python sequence with mixed types to Tensor.")


def _suits(kind: type, dtype: DType) -> bool:
    if kind is str or kind is bytes:
        return dtype is string
    if dtype is string or (dtype is bool_ and kind is not bool):
        return False
    if kind is float:
        return dtype.is_floating or dtype.is_complex
    return dtype.is_complex if kind is complex else True


def _from_python(value: Any, wanted: DType, asked: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    if wanted is string:
        return _bytes_array(np.array(value, object)), string
    try:
        return np.array(value, wanted.np_dtype), wanted
    except OverflowError:
        return _from_large_integers(value, wanted, asked)
    except ValueError:
        raise ValueError("Can't convert non-rectangular Python sequence to Tensor.") from None


def _from_large_integers(value: Any, wanted: DType, asked: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    """Integers beyond int32 are int64 when nothing was asked for; beyond what was asked for they wrap."""
    try:
        array = np.array(value, np.int64)
    except OverflowError:
        raise ValueError("Can't convert Python sequence with out-of-range integer to Tensor.") from None
    return (array, int64) if asked is None else (array.astype(wanted.np_dtype), wanted)


def _bytes_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns an object array of bytes; text is encoded as UTF-8."""
    result = np.empty(array.shape, object)
    for place, item in np.ndenumerate(array):
        if isinstance(item, list | tuple):
            raise ValueError("Can't convert non-rectangular Python sequence to Tensor.")
        result[place] = item.encode() if isinstance(item, str) else bytes(item)
    return result


def _from_mixed_sequence(value: Any, kinds: set[type], dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    if any(
        kind is type(None) or not (issubclass(kind, np.generic | np.ndarray) or kind in DEFAULT_OF) for kind in kinds
    ):
        strange = next(kind for kind in kinds if not issubclass(kind, np.generic | np.ndarray))
        raise _unsupported(value, strange)
    try:
        return _from_numpy(np.array(value), dtype)
    except ValueError:
        raise ValueError("Can't convert non-rectangular Python sequence to Tensor.") from None


def _from_other(value: Any, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    if isinstance(value, bool | int | float | complex | str | bytes):  # subclasses, such as enums
        base = next(kind for kind in DEFAULT_OF if isinstance(value, kind) and (kind is bool or kind is not bool))
        return host_array(base(value), dtype)
    if isinstance(value, Sequence | range):
        return host_array(list(value), dtype)
    if hasattr(value, "__array__"):
        return _from_numpy(np.asarray(value), dtype)
    if hasattr(value, "__dlpack__"):
        return _from_numpy(np.from_dlpack(value), dtype)
    raise _unsupported(value, type(value))


def _unsupported(value: Any, kind: type) -> ValueError:
    return ValueError(f"Attempt to convert a value ({value!r}) with an unsupported type ({kind}) to a Tensor.")


def _holds_tensors(value: Any) -> bool:
    """Tells whether nested lists have a tensor or a variable somewhere."""
    for item in value:
        kind = item.__class__
        if kind in DEFAULT_OF:
            continue
        if kind is Tensor or hasattr(kind, "__tf_tensor__"):
            return True
        if (kind is list or kind is tuple) and _holds_tensors(item):
            return True
    return False


__all__ = ["DTYPE_OF", "EAGER_CONST", "Packer", "as_tensor", "constant_of", "host_array"]

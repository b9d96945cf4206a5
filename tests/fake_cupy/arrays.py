"""`cupy.ndarray` and functions of it: NumPy computes, CuPy's refusals are kept [1.3, 1.4, 1.5]."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.fake_cupy import memory
from tests.fake_cupy.machine import MACHINE
from tests.fake_cupy.stream import Stream, get_current_stream

NAMES = frozenset((Path(__file__).parents[1] / "ops" / "cupy14_names.txt").read_text().splitlines())
"""What CuPy has of NumPy's names."""
_KINDS = "?bBhHiIlLqQefdFD"
_ATOMIC_ORDER = (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64)
_ATOMIC_ADD = (*_ATOMIC_ORDER, np.float16)


class _At:
    """Bytes at an address, for NumPy; a class of ctypes for each size would be left to the garbage collector."""

    def __init__(self, address: int, nbytes: int) -> None:
        about = {"shape": (nbytes,), "typestr": "|u1", "data": (address, False), "version": 3}
        self.__array_interface__ = about


class ndarray:  # noqa: N801  # CuPy's name
    """An array on a card."""

    __slots__ = ("__weakref__", "_a", "base", "data")
    __array_ufunc__ = None  # NumPy's functions refuse it

    def __init__(self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C"):
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        dtype = checked(np.dtype(dtype))
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        self.data = memory.alloc(nbytes) if memptr is None else memptr
        self.base: Any = None
        if nbytes:
            raw = np.asarray(_At(self.data.ptr, nbytes))
            self._a: Any = np.ndarray(shape, dtype, raw, 0, strides, order)  # type: ignore[call-overload]
        else:
            self._a = np.empty(shape, dtype)

    # What it is

    @property
    def shape(self) -> tuple[int, ...]:
        return self._a.shape

    @property
    def dtype(self) -> Any:
        return self._a.dtype

    @property
    def ndim(self) -> int:
        return self._a.ndim

    @property
    def size(self) -> int:
        return self._a.size

    @property
    def nbytes(self) -> int:
        return self._a.nbytes

    @property
    def itemsize(self) -> int:
        return self._a.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return self._a.strides

    @property
    def flags(self) -> Any:
        return self._a.flags

    @property
    def device(self) -> Any:
        from tests.fake_cupy.cuda import Device

        return Device(self.data.device_id)

    @property
    def T(self) -> ndarray:  # noqa: N802
        return made(self._a.T, self)

    @property
    def mT(self) -> ndarray:  # noqa: N802
        return made(self._a.mT, self)

    @property
    def real(self) -> ndarray:
        return made(self._a.real, self)

    @real.setter
    def real(self, value: Any) -> None:
        operands(self, value)
        self._a.real[...] = plain(value)

    @property
    def imag(self) -> ndarray:
        return made(self._a.imag, self)

    @imag.setter
    def imag(self, value: Any) -> None:
        operands(self, value)
        self._a.imag[...] = plain(value)

    # To the host: each waits for the card

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        MACHINE.did("sync", "get", 0 if stream is None else stream.ptr)
        MACHINE.host_reads += 1
        if stream is None:
            raise AssertionError("the stream of the current device was used: pass the owner's [1.4]")
        return np.array(self._a, order="C")

    def _read(self) -> Any:
        MACHINE.did("sync", "read", get_current_stream().ptr)
        MACHINE.host_reads += 1
        return self._a

    def item(self, *args: Any) -> Any:
        return self._read().item(*args)

    def tolist(self) -> Any:
        return self._read().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")

    def __bool__(self) -> bool:
        return bool(self._read())

    def __int__(self) -> int:
        return int(self._read())

    def __float__(self) -> float:
        return float(self._read())

    def __complex__(self) -> complex:
        return complex(self._read())

    def __index__(self) -> int:
        return self._read().__index__()

    def __repr__(self) -> str:
        return repr(self._read())

    def __len__(self) -> int:
        return len(self._a)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self._a)))

    # Parts of it

    def __getitem__(self, key: Any) -> ndarray:
        operands(self)
        key = plain(key)
        if any(map(_is_mask, key if isinstance(key, tuple) else [key])):
            waited_for_a_shape("mask")
        found = self._a[wrapped(key, self.shape)]
        return made(found, self)

    def __setitem__(self, key: Any, value: Any) -> None:
        operands(self, value)
        if isinstance(value, np.ndarray) and value.ndim:
            raise TypeError(f"Unsupported type {type(value)}")
        self._a[wrapped(plain(key), self.shape)] = plain(value)

    # Methods

    def astype(self, dtype: Any, order: str = "K", casting: Any = None, subok: Any = None, copy: bool = True) -> Any:
        operands(self)
        if not copy and self.dtype == np.dtype(dtype):
            return self
        with np.errstate(all="ignore"):
            return made(self._a.astype(checked(np.dtype(dtype))))

    def copy(self, order: str = "C") -> ndarray:
        operands(self)
        return made(self._a.copy())

    def take(self, indices: Any, axis: Any = None, out: Any = None) -> ndarray:
        operands(self, indices)
        return made(self._a.take(plain(indices), axis, mode="wrap"))

    def argsort(self, axis: int = -1, kind: Any = None) -> ndarray:
        operands(self)
        if kind not in (None, "stable"):
            raise ValueError(f"kind {kind!r} is not supported")
        return made(self._a.argsort(axis, kind="stable"))

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        operands(self)
        self._a.sort(axis, kind="stable")

    def set(self, array: Any, stream: Any = None) -> None:
        self._a[...] = array


_SHAPE_OF_VALUES = frozenset("nonzero flatnonzero argwhere unique extract compress".split())
"""The values decide how much comes out: the host waits for them [1.5]."""


def waited_for_a_shape(name: str) -> None:
    MACHINE.did("sync", name, get_current_stream().ptr)


def _method(name: str) -> Callable[..., Any]:
    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        operands(self, *args)
        if name in _SHAPE_OF_VALUES:
            waited_for_a_shape(name)
        with np.errstate(all="ignore"):
            return made(getattr(self._a, name)(*map(plain, args), **kwargs), self)

    return method


for _name in (
    "all any argmax argmin clip conj conjugate cumprod cumsum diagonal dot fill flatten max mean min nonzero prod "
    "ravel repeat reshape round searchsorted squeeze std sum swapaxes trace transpose var view ptp"
).split():
    if hasattr(np.ndarray, _name):
        setattr(ndarray, _name, _method(_name))

_OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
for _name in [*_OPERATORS.split(), "lt le gt ge eq ne", *(f"r{one}" for one in _OPERATORS.split())]:
    for _one in _name.split():

        def _operator(self: ndarray, other: Any, _one: str = _one) -> Any:
            operands(self, other)
            MACHINE.did("kernel", f"__{_one}__", MACHINE.device, get_current_stream().ptr)
            with np.errstate(all="ignore"):
                return made(getattr(self._a, f"__{_one}__")(plain(other)), self)

        setattr(ndarray, f"__{_one}__", _operator)
        if _one in _OPERATORS.split():

            def _in_place(self: ndarray, other: Any, _one: str = _one) -> ndarray:
                operands(self, other)
                with np.errstate(all="ignore"):
                    getattr(self._a, f"__i{_one}__")(plain(other))
                return self

            setattr(ndarray, f"__i{_one}__", _in_place)
for _name in ("neg", "pos", "abs", "invert"):
    setattr(ndarray, f"__{_name}__", _method(f"__{_name}__"))


# Between the two worlds


def checked(dtype: Any) -> Any:
    if dtype.char not in _KINDS:
        raise ValueError(f"Unsupported dtype {dtype}")
    return dtype


def operands(*values: Any) -> None:
    """Refuses what CuPy's kernels refuse: arrays of NumPy, and arrays of another card."""
    for value in values:
        if type(value) in (list, tuple):
            operands(*value)
        elif isinstance(value, np.ndarray):
            raise TypeError(f"Unsupported type {type(value)}")
        elif isinstance(value, ndarray) and value.size and value.data.device_id != MACHINE.touch():
            raise ValueError(
                f"The device where the array resides ({value.data.device_id}) is different from the current device "
                f"({MACHINE.device}). Peer access is unavailable between these devices."
            )


def plain(value: Any) -> Any:
    """Returns what NumPy is to compute with."""
    if isinstance(value, ndarray):
        return value._a
    if type(value) in (list, tuple):
        return type(value)([plain(one) for one in value])
    return value


def wrapped(key: Any, shape: tuple[int, ...]) -> Any:
    """Returns an index whose integer arrays count modulo the length, as CuPy's do."""
    parts = list(key) if isinstance(key, tuple) else [key]
    takes = [0 if one is None else one.ndim if _is_mask(one) else 1 for one in parts]
    if any(one is Ellipsis for one in parts):
        place = next(i for i, one in enumerate(parts) if one is Ellipsis)
        takes[place] = len(shape) - (sum(takes) - 1)
    axis = 0
    for number, one in enumerate(parts):
        if isinstance(one, np.ndarray) and one.dtype.kind in "iu" and shape[axis]:
            parts[number] = one % np.asarray(shape[axis], one.dtype) if shape[axis] <= np.iinfo(one.dtype).max else one
        axis += takes[number]
    return tuple(parts) if isinstance(key, tuple) else parts[0]


def _is_mask(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == bool


def made(result: Any, *inputs: Any) -> Any:
    """Returns NumPy's result as arrays on the card: a view where it is one, else in memory of its own."""
    if isinstance(result, tuple):
        items = [made(one, *inputs) for one in result]
        return type(result)(*items) if hasattr(result, "_fields") else tuple(items)
    if isinstance(result, list):
        return [made(one, *inputs) for one in result]
    if result is None or not isinstance(result, np.ndarray | np.generic):
        return result
    array = np.asarray(result)
    for one in inputs:
        if isinstance(one, ndarray):
            if result is one._a:
                return one
            if array.size and np.may_share_memory(array, one._a):
                return _view(array, one)
    fresh = ndarray(array.shape, array.dtype)
    fresh._a[...] = array
    return fresh


def _view(array: Any, of: ndarray) -> ndarray:
    view = ndarray.__new__(ndarray)
    view._a, view.base = array, of if of.base is None else of.base
    view.data = memory.MemoryPointer(of.data.mem, array.ctypes.data - of.data.mem.ptr)
    return view


def host_operands(args: Any) -> list[Any]:
    return [one for arg in args for one in (arg if type(arg) in (list, tuple) else (arg,))]


def function(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Returns one of CuPy's functions."""

    @functools.wraps(original)
    def on_the_card(*args: Any, **kwargs: Any) -> Any:
        operands(*args, *kwargs.values())
        MACHINE.did("kernel", name, MACHINE.touch(), get_current_stream().ptr)
        if name in _SHAPE_OF_VALUES:
            waited_for_a_shape(name)
        out = kwargs.get("out")
        with np.errstate(all="ignore"):
            result = original(*map(plain, args), **{key: plain(value) for key, value in kwargs.items()})
        return out if out is not None else made(result, *host_operands(args))

    return on_the_card


class _Solvers(threading.local):
    linalg = "ignore"


SOLVERS = _Solvers()
"""What `cupyx.errstate` sets."""
_FAILED = ("Singular matrix", "Matrix is not positive definite", "did not converge")


def solver(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Returns one of CuPy's solvers: those that fail leave numbers that mean nothing, and say so only if told to."""

    def on_the_card(*args: Any, **kwargs: Any) -> Any:
        try:
            found = function(name, original)(*args, **kwargs)
        except np.linalg.LinAlgError as error:
            if not any(text in str(error) for text in _FAILED):
                raise
            if SOLVERS.linalg == "raise":
                _looked_at_info()
                text = (
                    f"Error reported by {name} in cuSOLVER. devInfo = [2]. Please refer to the cuSOLVER documentation."
                )
                raise np.linalg.LinAlgError(text) from None
            return made(np.full_like([plain(one) for one in args if isinstance(one, ndarray)][-1], 7))
        if SOLVERS.linalg == "raise":
            _looked_at_info()
        return found

    return on_the_card


def _looked_at_info() -> None:
    MACHINE.did("sync", "devInfo", get_current_stream().ptr)


class Ufunc:
    """A ufunc of CuPy's; few can be scattered or reduced."""

    def __init__(self, name: str, original: Any) -> None:
        self.__name__, self._original = name, original
        self._call = function(name, original)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        if self.__name__ not in ("add", "multiply"):
            raise NotImplementedError(f"`cupy_{self.__name__}.reduce` is not supported yet")
        operands(array)
        MACHINE.did("kernel", f"{self.__name__}.reduce", MACHINE.touch(), get_current_stream().ptr)
        with np.errstate(all="ignore"):
            return made(self._original.reduce(plain(array), axis=axis, dtype=dtype, keepdims=keepdims))

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        if self.__name__ not in ("add", "multiply"):
            raise NotImplementedError(f"`cupy_{self.__name__}.accumulate` is not supported yet")
        operands(array)
        return made(self._original.accumulate(plain(array), axis=axis, dtype=dtype))

    def at(self, array: ndarray, indices: Any, values: Any = None) -> None:
        operands(array, values)
        allowed = {"add": _ATOMIC_ADD, "subtract": (np.int32, np.uint32)} | dict.fromkeys(
            ("maximum", "minimum"), _ATOMIC_ORDER
        )
        if array.dtype not in map(np.dtype, allowed.get(self.__name__, ())):
            raise TypeError(f"{self.__name__}.at does not support {array.dtype} as data type")
        MACHINE.did("kernel", f"{self.__name__}.at", MACHINE.touch(), get_current_stream().ptr)
        with np.errstate(all="ignore"):
            self._original.at(array._a, wrapped(plain(indices), array.shape), plain(values))

    def outer(self, a: Any, b: Any, **kwargs: Any) -> Any:
        operands(a, b)
        return made(self._original.outer(plain(a), plain(b), **kwargs))


def asarray(value: Any, dtype: Any = None, order: Any = None, *, blocking: bool = False) -> ndarray:
    """Copies to the current device, when it is not there."""
    if isinstance(value, ndarray):
        operands(value)
        return value if dtype is None or value.dtype == np.dtype(dtype) else value.astype(dtype)
    if hasattr(value, "__cuda_array_interface__"):
        from tests.fake_cupy.exchange import with_interface

        return with_interface(value)
    return array(value, dtype)


def array(value: Any, dtype: Any = None, copy: bool = True, order: Any = "K", ndmin: int = 0, **more: Any) -> ndarray:
    """Copies to the current device."""
    if isinstance(value, ndarray):
        operands(value)
        return made(np.array(value._a, dtype))
    host = np.array(plain(value), dtype)
    checked(host.dtype)
    MACHINE.did("upload", host.nbytes, get_current_stream().ptr)
    return made(host)


def ascontiguousarray(value: Any, dtype: Any = None) -> ndarray:
    """Returns the array itself where it is contiguous."""
    if isinstance(value, ndarray) and value._a.flags.c_contiguous and dtype in (None, value.dtype):
        return value
    return array(value, dtype)


def empty(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    """Makes an array."""
    return ndarray(shape, dtype)


def lexsort(keys: Any) -> ndarray:
    """Takes an array of one or two axes only, no tuple."""
    operands(keys)
    if keys.ndim > 2:
        raise NotImplementedError("Keys with the rank of three or more is not supported in lexsort")
    return made(np.lexsort(keys._a))


def argsort(a: Any, axis: int = -1, kind: Any = None) -> ndarray:
    """Knows stable sorting only."""
    return a.argsort(axis, kind)


def sort(a: Any, axis: int = -1, kind: Any = None) -> ndarray:
    """Knows stable sorting only."""
    if kind not in (None, "stable"):
        raise ValueError(f"kind {kind!r} is not supported")
    operands(a)
    return made(np.sort(a._a, axis, kind="stable"))


def take(a: Any, indices: Any, axis: Any = None, out: Any = None) -> ndarray:
    """Counts modulo the length."""
    return a.take(indices, axis)


def broadcast(*arrays: Any) -> Any:
    """Tells which shape arrays have together."""
    operands(*arrays)
    return np.broadcast(*map(plain, arrays))


_SOLVERS = frozenset(f"linalg.{name}" for name in "cholesky eigh eigvalsh inv solve svd".split())
HOST_RESULTS = frozenset({"iinfo", "finfo", "issubdtype", "promote_types", "result_type", "can_cast", "isdtype"})


@functools.cache
def named(name: str, prefix: str = "") -> Any:
    """Returns what CuPy has under one of NumPy's names."""
    if prefix + name not in NAMES:
        raise AttributeError(f"module 'cupy' has no attribute '{prefix}{name}'")
    original = getattr(getattr(np, prefix.rstrip(".")) if prefix else np, name)
    if isinstance(original, np.ufunc):
        return Ufunc(name, original)
    if name in HOST_RESULTS or isinstance(original, type) or not callable(original):
        return original
    return (solver if prefix + name in _SOLVERS else function)(prefix + name, original)


_NULL = Stream.null

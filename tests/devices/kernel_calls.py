"""What kernels ask of the array library: a NumPy that writes down each call, for the real CuPy to be asked the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from nbtf._devices.cpu import CPU
from nbtf._ops.op import Op
from nbtf._runtime.context import Context, use_context
from nbtf._types import as_dtype
from tests.ops.samples import Sample, all_samples
from tests.ops.test_every_op import call

WAITS = ("__bool__", "__int__", "__float__", "__complex__", "__index__", "item", "tolist")
"""Methods that bring values to the host: on a card the host waits for them."""
METHODS = (
    *"all any argmax argmin argsort astype clip conj conjugate copy cumprod cumsum diagonal dot fill flatten".split(),
    *"max mean min nonzero prod ravel repeat reshape round searchsorted sort squeeze std sum swapaxes take".split(),
    *"trace transpose var view __getitem__ __setitem__".split(),
)
VIEW = np.ndarray.view


class Asked(NamedTuple):
    """One call: the path of the function (`add.reduce`; `.max` for a method of the first argument) and what it got."""

    path: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __str__(self) -> str:
        words = [*map(_word, self.args), *(f"{name}={_word(value)}" for name, value in self.kwargs.items())]
        return f"{self.path}({', '.join(words)})"


def _word(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{'' if isinstance(value, Listed) else 'host '}{value.dtype}{list(value.shape)}"
    return f"[{', '.join(map(_word, value))}]" if isinstance(value, list | tuple) else repr(value)


class Listed(np.ndarray):
    """An array of a pretended device: what is done with it is written down, and no result is a NumPy scalar."""

    calls: list[Asked]

    def __array_finalize__(self, obj: Any) -> None:
        self.calls = getattr(obj, "calls", [])

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        path = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        return _asked(self.calls, path, getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise AssertionError(f"NumPy's {func.__name__} got an array of the device; kernels use `xp`")


def _method(name: str) -> Callable[..., Any]:
    numpys = getattr(np.ndarray, name)

    def method(self: Listed, *args: Any, **kwargs: Any) -> Any:
        return _asked(self.calls, f".{name}", numpys, (self, *args), kwargs)

    return method


for _name in (*METHODS, *WAITS):
    setattr(Listed, _name, _method(_name))


class Spy:
    """NumPy, or a part of it, that writes down what is called; kernels take it for CuPy."""

    def __init__(self, part: Any, path: str, calls: list[Asked]) -> None:
        self._part, self._path, self._calls = part, path, calls
        self.__name__ = path or "cupy"

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        if isinstance(found, ModuleType) or (callable(found) and not isinstance(found, type)):
            found = Spy(found, f"{self._path}.{name}" if self._path else name, self._calls)
        setattr(self, name, found)  # the same object each time: kernels compare functions
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _asked(self._calls, self._path, self._part, args, kwargs)


def _asked(calls: list[Asked], path: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Calls NumPy, and writes the call down if it was not an error there either."""
    with np.errstate(all="ignore"):
        result = function(*_plain(args), **_plain(kwargs))
    calls.append(Asked(path, args, kwargs))
    return result if path.lstrip(".") in WAITS else _listed(result, calls)


def _plain(value: Any) -> Any:
    if isinstance(value, Listed):
        return VIEW(value, np.ndarray)
    if type(value) in (tuple, list):
        return type(value)(_plain(one) for one in value)
    return {name: _plain(one) for name, one in value.items()} if isinstance(value, dict) else value


def _listed(value: Any, calls: list[Asked]) -> Any:
    """Returns arrays as arrays of the pretended device; NumPy's scalars become arrays of rank 0, as CuPy has them."""
    if isinstance(value, np.ndarray | np.generic):
        made = VIEW(np.asarray(value), Listed)
        made.calls = calls
        return made
    if isinstance(value, tuple | list):
        parts = [_listed(one, calls) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


class Run(NamedTuple):
    """A kernel, the arrays it gets and its attributes."""

    op: Op
    arrays: list[Any]
    attrs: dict[str, Any]

    def asks(self) -> list[Asked]:
        """Returns all calls that the kernel makes."""
        calls: list[Asked] = []
        copies = [[one.copy() for one in array] if isinstance(array, list) else array.copy() for array in self.arrays]
        self.op.kernel(Spy(np, "", calls), *_listed(copies, calls), **self.attrs)
        return calls


def runs_on_gpus() -> Iterator[Run]:
    """Yields what the samples of every op run that could be on a GPU, with each dtype that its rule allows."""
    for sample in all_samples():
        for run in _runs(sample):
            if _is_for_gpus(run):
                yield run
                yield from filter(_is_for_gpus, _other_dtypes(run))


def _runs(sample: Sample) -> list[Run]:
    """Returns the runs of kernels that a sample leads to."""
    found: list[Run] = []

    class Listener(CPU):
        def run(self, op: Any, buffers: Any, attrs: Any, specs: Any = None, site: Any = None) -> Any:
            arrays = [[one._array for one in b] if b.__class__ is list else b._array for b in buffers]
            found.append(Run(op, arrays, dict(attrs)))
            return super().run(op, buffers, attrs, specs, site)

    with use_context(Context(environ={})) as context:
        context.host.__class__ = Listener
        context.observers.add(lambda event: None)  # lanes are closed to whom somebody listens
        call(sample, getattr(sample.function, "__wrapped__", sample.function))
    return found


def _is_for_gpus(run: Run) -> bool:
    arrays = [one for array in run.arrays for one in (array if isinstance(array, list) else [array])]
    if run.op.host_outputs or any(array.dtype.kind in "OV" for array in arrays):
        return False
    dtypes = [as_dtype(array.dtype) for array in arrays]
    return run.op.has_kernel("GPU", [*dtypes, *run.op.output_dtypes(dtypes, run.attrs, 1)])


def _other_dtypes(run: Run) -> Iterator[Run]:
    letters = [token.rstrip("*") for token in run.op.tokens]
    for letter, allowed in run.op.sets.items():
        for dtype in sorted((dtype for dtype in allowed if dtype.np_dtype.kind not in "OV"), key=str):
            arrays = [
                _cast(array, dtype.np_dtype) if letter == own else array
                for own, array in zip(letters, run.arrays, strict=True)
            ]
            yield run._replace(arrays=arrays)


def _cast(array: Any, dtype: Any) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the imaginary part goes
        return [one.astype(dtype) for one in array] if isinstance(array, list) else array.astype(dtype)

"""What the real CuPy says where there is no GPU: a program that asks it and writes the answers to a file, as JSON.

The tests run it in a process of its own: CuPy stays out of the process in which they pretend to have another one.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nbtf._devices.cuda.errors import is_out_of_memory, meaning
from nbtf._devices.cuda.solvers import REPORTED, failing
from nbtf.errors import InvalidArgumentError
from tests import fake_cupy
from tests.devices.cupy_surface import PARAMETERS, SURFACE
from tests.devices.kernel_calls import WAITS, Asked, Listed, runs_on_gpus

LACKING = object()
# Only as a program: pytest imports all modules to look for doctests.
cupy: Any = importlib.import_module("cupy") if __name__ == "__main__" else None


def found(path: str) -> Any:
    """Returns what is at a path in CuPy; `LACKING` where nothing is."""
    part: Any = cupy
    for name in path.split("."):
        part = getattr(part, name, LACKING)
    return part


def lacking_parameters() -> list[str]:
    """Returns the parameters that functions and classes do not have, as far as their signature or docstring says."""
    return [
        f"{path}({name})"
        for path, names in PARAMETERS.items()
        for name in names
        if name not in _words_about(found(path))
    ]


def _words_about(function: Any) -> str:
    try:
        return str(inspect.signature(function))
    except (TypeError, ValueError):  # compiled: the first line of the docstring has the signature
        return f"{inspect.getdoc(function)} {inspect.getdoc(getattr(function, '__init__', None))}"


def host_block(nbytes: int) -> Any:
    """Returns memory of the host that CuPy takes for a card's. It is never read: nothing can be launched here."""
    owner = np.empty(max(nbytes, 1), np.uint8)
    return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(owner.ctypes.data, nbytes, owner, 0), 0)


def as_cupys(value: Any) -> Any:
    """Returns arguments of a call with CuPy's arrays for those of the pretended device."""
    if isinstance(value, Listed):
        return cupy.ndarray(value.shape, value.dtype, memptr=host_block(value.nbytes))
    return type(value)(as_cupys(one) for one in value) if type(value) in (tuple, list) else value


def outcome(asked: Asked) -> str:
    """Returns how far a call got: `returned`, `launched`, `library` (one is not installed), or why CuPy refused."""
    try:
        with cupy.cuda.using_allocator(host_block):
            args = as_cupys(asked.args)
            kwargs = {name: as_cupys(value) for name, value in asked.kwargs.items()}
            if asked.path[0] == ".":
                getattr(args[0], asked.path[1:])(*args[1:], **kwargs)
            else:
                found(asked.path)(*args, **kwargs)
        return "returned"
    except cupy.cuda.runtime.CUDARuntimeError:
        return "launched"
    except ImportError as error:
        return "library" if str(error).startswith("Failure finding") else f"{error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


class Loop(NamedTuple):
    """A way in which a kernel uses a ufunc: the dtypes that NumPy has for it, and where the result is to go."""

    name: str
    operands: tuple[np.dtype[Any], ...]
    results: tuple[np.dtype[Any], ...]
    into: np.dtype[Any] | None


def loop_of(asked: Asked) -> Loop | None:
    """Returns how a ufunc is used; None for other functions, and for those whose dtypes somebody names.

    Ufuncs ask for the card before they look at dtypes, so that a call tells nothing of them here.
    """
    ufunc = getattr(np, asked.path, None)
    if not isinstance(ufunc, np.ufunc) or ufunc.signature is not None or "dtype" in asked.kwargs:
        return None
    results = ufunc.resolve_dtypes((*map(_dtype, asked.args), *[None] * ufunc.nout))[ufunc.nin :]
    strong = [one.dtype for one in asked.args if isinstance(one, np.ndarray | np.generic)]
    operands = tuple(_dtype(one) if isinstance(_dtype(one), np.dtype) else _weak(one, strong) for one in asked.args)
    into = asked.kwargs.get("out")
    into = into[0] if isinstance(into, tuple) else into
    return Loop(asked.path, operands, tuple(results), None if into is None else into.dtype)


def _dtype(value: Any) -> Any:
    if isinstance(value, bool):
        return np.dtype(bool)
    return value.dtype if isinstance(value, np.ndarray | np.generic) else type(value)


def _weak(value: Any, strong: list[Any]) -> Any:
    """Returns the dtype that a Python number takes beside arrays."""
    return np.result_type(*strong, type(value)(0))


def unlike(loop: Loop) -> str:
    """Returns in what CuPy's ufunc differs from NumPy's; nothing where it does not."""
    for types in found(loop.name).types:
        takes, gives = types.split("->")
        if "E" in types:  # bfloat16, for which NumPy has no letter
            continue
        if all(np.can_cast(one, np.dtype(char)) for one, char in zip(loop.operands, takes, strict=True)):
            results = tuple(np.dtype(char) for char in gives)
            if results != loop.results:
                return f"{loop.name}: {types} for {loop.operands}, NumPy gives {loop.results}"
            if loop.into is not None and not np.can_cast(results[0], loop.into, "same_kind"):
                return f"{loop.name}: {types} cannot go into {loop.into}"
            return ""
    return f"{loop.name}: nothing for {loop.operands}"


def kernels() -> dict[str, Any]:
    """Asks CuPy all that kernels ask: counts how far calls got, what was refused, and which ops wait for values."""
    far, refused, waits, loops = Counter[str](), dict[str, str](), set[str](), set[Loop]()
    for run in runs_on_gpus():
        try:
            calls = run.asks()
        except (ValueError, InvalidArgumentError):  # a dtype that the values of this sample do not suit
            continue
        for asked in calls:
            if asked.path.lstrip(".") in WAITS:
                waits.add(run.op.type)
                continue
            loop = loop_of(asked)
            if loop is not None:
                loops.add(loop)
            how = outcome(asked)
            known = how in ("returned", "launched", "library")
            far[how if known else "refused"] += 1
            if not known:
                refused.setdefault(f"{run.op.type}: {asked}", how)
    differences = sorted(filter(None, map(unlike, loops)))
    return {"far": far, "refused": refused, "waits": sorted(waits), "loops": len(loops), "differences": differences}


class Owner:
    """Keeps memory of the host, and says when it dies."""

    def __init__(self, freed: list[str]) -> None:
        """Takes memory."""
        self.host, self.freed = np.empty(64, np.uint8), freed

    def __del__(self) -> None:
        """Says that it is free."""
        self.freed.append("freed")


def allocators() -> dict[str, Any]:
    """Asks what the device's memory relies on: owners die with the last view, errors pass, threads are apart."""
    freed: list[str] = []
    owner = Owner(freed)
    pointer = cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(owner.host.ctypes.data, 64, owner, 0), 0)
    array = cupy.ndarray((16,), np.float32, memptr=pointer)
    del owner, pointer
    view = array[2:].reshape(7, 2)
    del array
    while_viewed = list(freed)
    del view

    class RefusedError(Exception):
        pass

    def refuse(nbytes: int) -> Any:
        raise RefusedError(nbytes)

    sizes: list[int] = []
    with cupy.cuda.using_allocator(lambda n: sizes.append(n) or host_block(n)):
        cupy.empty((0,), np.float32)
        cupy.empty((3, 5), np.float16)
    try:
        with cupy.cuda.using_allocator(refuse):
            cupy.empty(4, np.float32)
        passed = "nothing was raised"
    except RefusedError as error:
        passed = repr(error)
    memory = cupy.cuda.memory
    before = memory._get_thread_local_allocator()
    memory._set_thread_local_allocator(refuse)
    swapped = memory._get_thread_local_allocator() is refuse
    memory._set_thread_local_allocator(before)
    return {
        "freed while viewed": while_viewed,
        "freed after": freed,
        "sizes": sizes,
        "passed": passed,
        "swapped": swapped,
        "restored": memory._get_thread_local_allocator() is before,
    }


def errors() -> dict[str, Any]:
    """Shows the classes that CuPy really raises to the device, which knows them by name."""
    cuda = cupy.cuda
    raised: dict[str, Exception] = {
        "pool": cuda.memory.OutOfMemoryError(1, 2, 3),
        "cudaMalloc": cuda.runtime.CUDARuntimeError(2),
        "illegal address": cuda.runtime.CUDARuntimeError(700),
        "invalid device": cuda.runtime.CUDARuntimeError(101),
        "busy": cuda.runtime.CUDARuntimeError(46),
        "driver": _unmade(cuda.driver.CUDADriverError, 700),
        "compiler": cuda.compiler.CompileException("no", "source", "name", (), "nvrtc"),
        "nvrtc": _unmade(cuda.nvrtc.NVRTCError, 1),
    }
    for name, call in (("library", cupy.cuda.get_cublas_handle), ("host", _implicit)):
        try:
            call()
        except Exception as error:
            raised[name] = error
    found: dict[str, Any] = {}
    for name, error in raised.items():
        if is_out_of_memory(error):
            found[name] = ["ResourceExhaustedError", False]
        else:
            told = meaning(error, "GPU:0")
            found[name] = [type(told.error).__name__, bool(told.lost)]
    return found


def _unmade(kind: Any, status: int) -> Exception:
    """Returns an error whose text only the library could tell that is missing here."""
    error = kind.__new__(kind)
    error.status = status
    return error


def _implicit() -> None:
    np.asarray(as_cupys(_listed((2,))))


def _listed(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    return np.zeros(shape, dtype).view(Listed)


def attributes() -> list[str]:
    """Returns what the device reads of an array and does with memory, as far as it is missing."""
    array = as_cupys(_listed((4, 2)))
    view = array[1:].T

    class MemoryOfChunk(cupy.cuda.UnownedMemory):
        chunk: Any = None

    memory_of_ours = MemoryOfChunk(array.data.ptr, 32, array, 0)
    memory_of_ours.chunk = "anything"
    made = cupy.ndarray((2,), np.float32, memptr=cupy.cuda.MemoryPointer(memory_of_ours, 0))
    facts = {
        "a view lies in the same memory": view.data.mem is array.data.mem,
        "a view has a base": view.base is not None,
        "memory has an address and a size": (array.data.mem.ptr, array.data.mem.size) == (array.data.ptr, 32),
        "memory of ours keeps what is written on it": made.data.mem.chunk == "anything",
        "arrays know their device": array.data.device_id == 0,
        "the null stream has pointer 0": cupy.cuda.Stream.null.ptr == 0,
        "events and streams are ordered by these": all(
            hasattr(owner, name)
            for owner, name in (
                (cupy.cuda.Event, "record"),
                (cupy.cuda.Stream, "wait_event"),
                (cupy.cuda.Stream, "use"),
                (cupy.cuda.Stream, "synchronize"),
            )
        ),
        "pools have these": all(
            hasattr(cupy.cuda.memory.SingleDeviceMemoryPool, name)
            for name in ("malloc", "used_bytes", "total_bytes", "free_all_blocks", "set_limit", "get_limit")
        ),
    }
    with failing(cupy):
        facts["solvers can be told to say that they failed"] = _linalg() == "raise"
    facts["and are silent again afterwards"] = _linalg() == "ignore"
    told = inspect.getsource(cupy.linalg._util)
    facts["what they then say has a word to know it by"] = (
        told.count(f"{REPORTED} = {{}}") + told.count(f"/{REPORTED}Array = {{}}") == 2
    )
    return [fact for fact, true in facts.items() if not true]


def _linalg() -> str:
    return importlib.import_module("cupyx").geterr()["linalg"]


def mirror() -> list[str]:
    """Returns what only one of CuPy and the fake of it refuses.

    Asked is what CuPy looks at before it looks for a card; an operand of NumPy's is refused later, so not here.
    """
    calls: list[Asked] = [
        Asked(f"{name}.at", (_listed((4, 3), dtype), _listed((2,), np.int64), _listed((2, 3), dtype)), {})
        for name in ("add", "subtract", "maximum", "minimum", "multiply")
        for dtype in "?bhiqBHIQefdFD"
    ]
    calls += [Asked(f"{name}.reduce", (_listed((4, 3)), 0), {}) for name in ("add", "multiply", "maximum", "minimum")]
    calls += [Asked(f"{name}.accumulate", (_listed((4,)), 0), {}) for name in ("add", "multiply", "maximum")]
    calls += [
        Asked("argsort", (_listed((4,)),), {"kind": "quicksort"}),
        Asked("argsort", (_listed((4,)),), {"kind": "stable"}),
        Asked("lexsort", ((_listed((4,)), _listed((4,))),), {}),
        Asked("lexsort", (_listed((2, 4)),), {}),
        Asked("empty", ((2,), object), {}),
        Asked("empty", ((2,), "M8[s]"), {}),
        Asked("empty", ((2,), np.longdouble), {}),
        Asked("add", (_listed((2,)), [1.0, 2.0]), {}),
        Asked("add", (_listed((2,)), np.float32(1)), {}),
        Asked("add", (_listed((2,)), 1.0), {}),
        Asked("where", (_listed((2,), bool), _listed((2,)), 0.0), {}),
        Asked("take", (_listed((0,)), _listed((2,), np.int64)), {}),
    ]
    with fake_cupy.installed():
        fakes = [_fake_refuses(call) for call in calls]
    return [
        f"{call}: CuPy {'refuses' if real else 'takes'} it"
        for call, fake in zip(calls, fakes, strict=True)
        if fake != (real := outcome(call) not in ("returned", "launched", "library"))
    ]


def _fake_refuses(call: Asked) -> bool:
    function: Any = fake_cupy
    try:
        for name in call.path.split("."):
            function = getattr(function, name)
        function(*_as_fakes(call.args), **call.kwargs)
    except Exception:
        return True
    return False


def _as_fakes(value: Any) -> Any:
    if isinstance(value, Listed):
        return fake_cupy.array(np.array(value.tolist(), value.dtype).reshape(value.shape))
    return type(value)(_as_fakes(one) for one in value) if type(value) in (tuple, list) else value


def main() -> None:
    """Writes all answers to the file that is named on the command line."""
    names = Path(__file__).parents[1].joinpath("ops/cupy14_names.txt").read_text(encoding="utf-8").splitlines()
    answers = {
        "version": cupy.__version__,
        "available": cupy.cuda.is_available(),
        "lacking": [path for path in SURFACE if found(path) is LACKING],
        "lacking parameters": lacking_parameters(),
        "lacking names": [name for name in names if name[0] != "#" and found(name) is LACKING],
        "kernels": kernels(),
        "allocators": allocators(),
        "errors": errors(),
        "lacking facts": attributes(),
        "differences of the fake": mirror(),
    }
    Path(sys.argv[1]).write_text(json.dumps(answers), encoding="utf-8")


if __name__ == "__main__":
    main()

"""The express lane: one generated function in front of a public op, for the common case.

The lane handles tensors of one dtype on the current device while no observer is registered. Everything else goes to the
road: the public function as written. Stale state can only send an op to the road, never the other way.
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from nbtf import _types
from nbtf._devices.base import buffer_of
from nbtf._devices.cpu import CPU
from nbtf._runtime.conversion import host_array
from nbtf._runtime.scopes import HERE, SCOPE
from nbtf._runtime.tape import ALWAYS, LASTING, PLAIN
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf.errors import OpError

if TYPE_CHECKING:
    from nbtf._ops.op import Op

    # Names defined in each lane's namespace.
    lane: Callable[..., Any]
    build: Callable[[], None]

F = TypeVar("F", bound=Callable[..., Any])

HANDED_OVER = (
    AttributeError,
    TypeError,
    ValueError,
    IndexError,
    ArithmeticError,
    LookupError,
    MemoryError,
    RuntimeWarning,
    OpError,
)
"""Exceptions that make a lane give up: the road runs the op again and raises the proper error."""

# NumPy warns about overflow and division by zero; TensorFlow does not. If the user's settings turn the warning into
# an error, the lane hands the op to the road, which suppresses such warnings.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"nbtf\.(_ops|_devices\.cpu)(\.|$)")

LANE = """\
def {name}({params}):
{scalar}    try:
        device = {first}._device
        if device is {others}HERE.device and {dtypes}:
            scope = SCOPE()
            if scope is None or scope.lane is device:
                array = {call}
                if array.__class__ is not ndarray: array = asarray(array)
                result = Tensor()
                result._array = array; result._dtype = {result}; result._device = device; result._watch = None
                if scope is not None and (tape := scope.tape) is not None and ({watched}):
{heard}
                return result
    except HANDED_OVER: pass
    return road({args})
"""

HEARD = "                    tape.record(op, ({inputs},), {attrs}, result)"

# Inlined copies of `Tape.record` for tensors that no other tape watches; change both together.
HEARD_AT_ONCE = """\
                    if {x}._watch is tape.hearing{lasting}:
                        tape.entries.append((op, {kept}, {attrs}, {made})); result._watch = tape.hearing
                    else:
                        tape.record(op, ({x},), {attrs}, result)"""
PAIR_HEARD_AT_ONCE = """\
                    token = tape.hearing
                    if token is not None:
                        one = {x} if {x}._watch is not ALWAYS else tape.value_of({x})
                        other = {y} if {y}._watch is not ALWAYS else tape.value_of({y})
                        watch = one._watch; watched = other._watch
                        if (
                            (watch is None or watch is token or watch is tape.of_variable)
                            and (watched is None or watched is token or watched is tape.of_variable){lasting}
                        ):
                            if watch is not None or watched is not None:
                                tape.entries.append((op, (one, other), {attrs}, {made})); result._watch = token
                        else:
                            tape.record(op, (one, other), {attrs}, result)"""

SCALAR = "    if y.__class__ is float or y.__class__ is int: y = constant_like(x, y)\n"


def constant_like(x: Any, value: float) -> Any:
    """Returns a cached scalar tensor of `x`'s dtype on the lane's CPU; `value` if the road must convert it.

    0.0 and -0.0 are equal and would share a key, so zeros are looked up by their text. nan never equals itself and is
    not cached.
    """
    device = getattr(x, "_device", None)
    if device is None or device is not HERE.device:
        return value
    dtype: _types.DType = x._dtype
    key = (dtype, value or str(value), value.__class__)
    scalar = device.constants.get(key)
    if scalar is None:
        if value != value or not _exact(dtype, value):
            return value
        array, dtype = host_array(value, dtype)
        scalar = tensor_of(buffer_of(array), dtype, device)
        if len(device.constants) < 1000:  # so that a loop over floats cannot fill the memory
            device.constants[key] = scalar
    return scalar


def _exact(dtype: _types.DType, value: float) -> bool:
    return dtype.is_floating if value.__class__ is float else dtype.is_floating or dtype.is_integer


def express(op: Op, road: F) -> F:
    """Returns a public function with its lane in front; type checkers see the type of `road`."""
    names = road.__code__.co_varnames[: road.__code__.co_argcount]
    _check_names(op, names)
    space = _space(op, road)
    lane = FunctionType(_first_call.__code__, space, road.__name__)
    space.update(lane=lane, build=lambda: _build(lane, _text(op, road, names), f"<express lane of {op.type}>"))
    return _dressed_as(road, lane)


def _first_call(*args: Any, **kwargs: Any) -> Any:
    """Compiles a lane at its first call: compiling a hundred lanes would double the import time."""
    build()  # noqa: F821  # defined in the lane's namespace, as is `lane`
    return lane(*args, **kwargs)  # noqa: F821


def _build(lane: FunctionType, text: str, filename: str) -> None:
    space = lane.__globals__
    made: dict[str, FunctionType] = {}
    exec(compile(text, filename, "exec"), space, made)  # the only place that compiles generated code
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    lane.__defaults__ = space["road"].__defaults__
    lane.__code__ = made[lane.__name__].__code__


def _check_names(op: Op, names: tuple[str, ...]) -> None:
    """Checks that function and kernel agree on the attributes' order, since the lane passes them by position.

    The lane serves calls with a parameter that the op does not have only if the parameter was not given.
    """
    attrs = names[len(op.inputs) : len(op.inputs) + len(op.attrs)]
    if attrs != op.attrs or names[-1] != "name" or op.many or any(token[-1] == "*" for token in op.tokens):
        raise TypeError(f"{op.type}: {names} of the public function does not match {op.inputs + op.attrs} and `name`")


def _text(op: Op, road: Callable[..., Any], names: tuple[str, ...]) -> str:
    inputs = names[: len(op.inputs)]
    arrays = [f"{x}._array" for x in inputs]
    call = ", ".join(arrays) if op.function else ", ".join(["xp", *arrays, *op.attrs])
    parts = {
        "others": "".join(f"{x}._device is " for x in inputs[1:]),
        "dtypes": " and ".join([_dtype_test(op, inputs), *_not_given(op, road, names)]),
        "result": _result(op, inputs),
        "watched": " or ".join(f"{x}._watch is not None" for x in inputs),
        "heard": _heard(op, inputs),
        "first": inputs[0],
        "call": f"kernel({call})",
        "args": ", ".join(names),
    }
    return LANE.format(
        name=road.__name__,
        params=", ".join(names),
        scalar=SCALAR if inputs == ("x", "y") and len(set(op.tokens)) == 1 and op.tokens[0] in op.sets else "",
        **parts,
    )


def _heard(op: Op, inputs: tuple[str, ...]) -> str:
    """Returns the lines that record the op on the tape."""
    parts = {"inputs": ", ".join(inputs), "attrs": "{" + ", ".join(f"{a!r}: {a}" for a in op.attrs) + "}"}
    if op.taped is not PLAIN:
        return HEARD.format(**parts)
    parts["lasting"] = "".join(f" and {attr}.__class__ in LASTING" for attr in op.normalisers)
    parts["made"] = "result" if op.keeps_outputs else "id(result)"
    x, *more = inputs
    if not more:
        return HEARD_AT_ONCE.format(x=x, kept=f"({x},)" if op.keeps_inputs else f"id({x})", **parts)
    return PAIR_HEARD_AT_ONCE.format(x=x, y=more[0], **parts) if len(more) == 1 else HEARD.format(**parts)


def _dtype_test(op: Op, inputs: tuple[str, ...]) -> str:
    """Returns the dtype condition: a set test for the first input of each letter, identity for the others."""
    first: dict[str, str] = {}
    tests: list[str] = []
    for token, x in zip(op.tokens, inputs, strict=True):
        if token in first:
            tests.append(f"{x}._dtype is {first[token]}._dtype")
        else:
            tests.append(f"{x}._dtype in DTYPES_{token}")
            first[token] = x
    return " and ".join(tests)


def _not_given(op: Op, road: Callable[..., Any], names: tuple[str, ...]) -> list[str]:
    """Returns conditions that all parameters unknown to the kernel have their default, None or False."""
    defaults = dict(zip(reversed(names), reversed(road.__defaults__ or ()), strict=False))
    beyond = names[len(op.inputs) + len(op.attrs) : -1]
    if any(defaults[name] is not None and defaults[name] is not False for name in beyond):
        raise TypeError(f"{op.type}: {beyond} must be None or False by default")
    return [f"{name} is {defaults[name]}" for name in beyond]


def _result(op: Op, inputs: tuple[str, ...]) -> str:
    token = op.results[0]
    if token in op.attrs:
        return f"as_dtype({token})"
    return f"{inputs[op.tokens.index(token)]}._dtype" if token in op.tokens else "RESULT"


def _space(op: Op, road: Callable[..., Any]) -> dict[str, Any]:
    xp = CPU.xp
    sets = {token: op.sets.get(token) or frozenset({_types.as_dtype(token)}) for token in op.tokens}
    token = op.results[0]
    return {
        "__name__": road.__module__,
        "op": op,
        "road": road,
        "xp": xp,
        "kernel": getattr(xp, op.function) if op.function else op.kernel,
        "HERE": HERE,
        "SCOPE": SCOPE,
        "Tensor": Tensor,
        "ndarray": xp.ndarray,
        "asarray": xp.asarray,
        "HANDED_OVER": HANDED_OVER,
        "constant_like": constant_like,
        "ALWAYS": ALWAYS,
        "LASTING": LASTING,
        "as_dtype": _types.as_dtype,
        "RESULT": None if token in op.tokens or token in op.attrs else _types.as_dtype(token),
        **{f"DTYPES_{token}": dtypes for token, dtypes in sets.items()},
    }


def _dressed_as(road: F, lane: Any) -> F:
    """Makes a lane look like its road; `__wrapped__` is the bare road, which `inspect.signature` reads."""
    for name in ("__doc__", "__module__", "__qualname__", "__annotations__"):
        setattr(lane, name, getattr(road, name))
    lane.__wrapped__ = road
    return lane

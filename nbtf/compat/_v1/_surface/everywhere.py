"""How all of `tf.*` builds a graph where one is open.

As long as a graph is open, or eager execution is switched off, public functions of `nbtf` are replaced in its
namespaces by ones that look for a graph. In one of TensorFlow 1 the function of TensorFlow 1 takes over. In other
threads, and while a `tf.function` is traced, they do what they always do. When the last graph is closed the functions
themselves are back. Code of nbtf itself goes on calling what it called before.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from nbtf._locks import new_lock
from nbtf._runtime.changes import Change
from nbtf._runtime.context import open_graph
from nbtf._shapes import TensorShape
from nbtf.compat import _v1
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._surface.wrapping import wrapped

Names = dict[str, Any]

_NAMESPACES = (
    "nbtf",
    *(f"nbtf.{name}" for name in "bitwise debugging linalg math nn random sparse strings".split()),
)
_SAME_IN_BOTH = frozenset(
    {
        "as_dtype",
        "executing_eagerly",
        "function",
        "get_logger",
        "get_static_value",
        "group",
        "inside_function",
        "is_tensor",
    }
    | {"broadcast_static_shape", "custom_gradient", "grad_pass_through", "no_op", "recompute_grad"}
    | {"inside_function", "set_log_device_placement", "variable_creator_scope"}
)
"""Functions that make no nodes, or that know graphs themselves."""

_AS_TODAY = {"while_loop": {"return_same_structure": True}}
"""Arguments with which a function of TensorFlow 1 does what that of TensorFlow 2 does."""

_RENAMED = {"softmax_cross_entropy_with_logits": "softmax_cross_entropy_with_logits_v2", "where": "where_v2"}
"""Functions that TensorFlow 1 has under another name: under theirs it has older ones, which do something else."""


PROGRAM = object()
"""The reason for graphs everywhere after `disable_eager_execution`."""

_lock = new_lock()
_asking: set[object] = set()
"""The reasons for graphs everywhere: open blocks, each with its own object, and `PROGRAM`."""


class _Namespaces:
    """The functions in the namespaces: the public ones, or those that look for a graph."""

    look: bool | None = False
    """Whether they look for a graph; None while they are changed."""
    functions: tuple[tuple[Names, Names, Names], ...] = ()
    """Of each namespace all its names, the public functions and those that look; filled by a process's first graph."""


def graphs_everywhere() -> Change[None]:
    """Returns the change of a block in which the functions of all namespaces look for an open graph."""
    return Change("a graph", partial(build_everywhere, object()), False, True, None)


def build_everywhere(asking: object, asks: bool) -> None:
    """Makes the functions of all namespaces look for an open graph as long as a block or the program asks for it.

    Args:
      asking: a block, or `PROGRAM`.
      asks: whether it asks from now on, or no longer.
    """
    with _lock:
        (_asking.add if asks else _asking.discard)(asking)
        look = bool(_asking)
        if _Namespaces.look is look:
            return
        _Namespaces.functions = _Namespaces.functions or tuple(_functions())
        _Namespaces.look = None
        for names, functions, looking in _Namespaces.functions:
            current, successors = (functions, looking) if look else (looking, functions)
            if current.items() <= names.items():
                names.update(successors)
            else:  # a program has put its own there
                names.update({name: successors[name] for name in current if names.get(name) is current[name]})
        _Namespaces.look = look


def _functions() -> Iterator[tuple[Names, Names, Names]]:
    """Yields the public functions to replace; a function with two names is replaced by one."""
    replaced: dict[Any, Any] = {}
    for namespace in _NAMESPACES:
        module = import_module(namespace)
        values = {name: getattr(module, name) for name in set(dir(module)) - _SAME_IN_BOTH}
        functions = {name: value for name, value in values.items() if isinstance(value, FunctionType)}
        for name, function in functions.items():
            if function not in replaced:
                replaced[function] = _looking_for_a_graph(function, _counterpart(module, name, function))
        yield vars(module), functions, {name: replaced[function] for name, function in functions.items()}


def _counterpart(module: ModuleType, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns what builds nodes in the place of a function."""
    namespace = module.__name__.removeprefix("nbtf").removeprefix(".")
    source = getattr(_v1, namespace) if namespace else _v1
    counterpart = getattr(source, _RENAMED.get(name, name))
    if name == "constant":
        return _constant
    return counterpart if counterpart is wrapped(function) else _translated(function, counterpart)


def _constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Any:
    """Returns a constant that has as many elements as its shape, or one: TensorFlow 1 repeats the last of fewer."""
    if shape is not None:
        size, expected_shape = np.size(value), TensorShape(shape)
        if size not in (1, expected_shape.num_elements()):
            raise TypeError(f"Expected Tensor's shape: {tuple(expected_shape)}, but got {np.shape(value)}.")
    return _v1.constant(value, dtype, shape, name)


def _translated(function: Callable[..., Any], counterpart: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of TensorFlow 1 that takes the arguments of TensorFlow 2's.

    Arguments go by their names; one whose name TensorFlow 1 does not have, to the parameter in its place. Where an
    argument has no counterpart there, the function of TensorFlow 2 runs inside the graph.
    """
    signature, old_names = inspect.signature(function), [*inspect.signature(counterpart).parameters]
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in signature.parameters.values()):
        return counterpart
    names = {
        name: name if name in old_names else old_names[number]
        for number, name in enumerate(signature.parameters)
        if name in old_names or (number < len(old_names) and old_names[number] not in signature.parameters)
    }

    def build(*args: Any, **kwargs: Any) -> Any:
        arguments = signature.bind(*args, **kwargs).arguments
        if not arguments.keys() <= names.keys():
            return wrapped(function)(*args, **kwargs)
        return counterpart(
            **{names[name]: value for name, value in arguments.items()}, **_AS_TODAY.get(function.__name__, {})
        )

    return build


def _looking_for_a_graph(function: Callable[..., Any], build: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def either(*args: Any, **kwargs: Any) -> Any:
        if not isinstance(open_graph(), Graph) or sys._getframe(1).f_globals.get("__name__", "").startswith("nbtf."):
            return function(*args, **kwargs)
        return build(*args, **kwargs)

    vars(either)["eager"] = function
    return either

"""Makes all of `tf.*` build a graph while one is open.

While a graph is open or eager execution is disabled, the public functions in nbtf's namespaces are replaced by wrappers
that check for an open graph. Inside a TensorFlow 1 graph, a wrapper calls TensorFlow 1's version of the function. In
other threads and while a `tf.function` is traced, it calls the original function. When the last graph is closed, the
original functions are restored. Internal code of nbtf always calls the original functions.
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
from nbtf.compat._v1._graph.defaults import constant
from nbtf.compat._v1._graph.session_graph import Abilities, Graph
from nbtf.compat._v1._surface import lookup
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
"""Functions that create no nodes, or that handle graphs themselves."""

_AS_TODAY = {"while_loop": {"return_same_structure": True}}
"""Arguments that make a TensorFlow 1 function behave as TensorFlow 2's."""

_RENAMED = {"softmax_cross_entropy_with_logits": "softmax_cross_entropy_with_logits_v2", "where": "where_v2"}
"""Functions that have another name in TensorFlow 1, which uses their names for older, different functions."""


PROGRAM = object()
"""The key in `_asking` that `disable_eager_execution` sets."""

_lock = new_lock()
_asking: set[object] = set()
"""The reasons to build graphs everywhere: a separate object for each open block, and `PROGRAM`."""


class _Namespaces:
    """The functions currently in the namespaces: the originals or the wrappers that check for a graph."""

    look: bool | None = False
    """Whether the wrappers are installed; None during a switch."""
    functions: tuple[tuple[Names, Names, Names], ...] = ()
    """For each namespace: all its names, its original functions and their wrappers; filled by the first graph."""


def graphs_everywhere() -> Change[None]:
    """Returns the change for a block in which all functions check for an open graph."""
    return Change("a graph", partial(build_everywhere, object()), False, True, None)


def build_everywhere(asking: object, asks: bool) -> None:
    """Makes all functions check for an open graph while a block or the program requests it.

    Args:
      asking: a block's own object, or `PROGRAM`.
      asks: whether the request starts or ends.
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
            else:  # the program has replaced functions itself
                names.update({name: successors[name] for name in current if names.get(name) is current[name]})
        _Namespaces.look = look


def _functions() -> Iterator[tuple[Names, Names, Names]]:
    """Yields the functions to replace and their wrappers; a function with two names has one wrapper."""
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
    """Returns the function that builds nodes instead of the given one."""
    namespace = module.__name__.removeprefix("nbtf").removeprefix(".")
    older_name = _RENAMED.get(name, name)
    counterpart = getattr(lookup.find(namespace), older_name) if namespace else lookup.find(older_name)
    if name == "constant":
        return _constant
    return counterpart if counterpart is wrapped(function) else _translated(function, counterpart)


def _constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Any:
    """Returns a constant with as many values as its shape has elements, or one; TensorFlow 1 would repeat the last."""
    if shape is not None:
        size, expected_shape = np.size(value), TensorShape(shape)
        if size not in (1, expected_shape.num_elements()):
            raise TypeError(f"Expected Tensor's shape: {tuple(expected_shape)}, but got {np.shape(value)}.")
    return constant(value, dtype, shape, name)


def _translated(function: Callable[..., Any], counterpart: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a TensorFlow 1 function that accepts TensorFlow 2's arguments.

    Arguments are matched by name. An argument whose name TensorFlow 1 lacks goes to the parameter at the same position.
    If it has no counterpart there, the TensorFlow 2 function runs inside the graph.
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


Abilities.block = graphs_everywhere

"""How all of `tf.*` builds a graph where one is open: from a program's first graph on.

Public functions of `nbtf` are replaced, in its namespaces, by ones that look whether a graph is open. If so, the
function of TensorFlow 1 takes over, which knows graphs; if not, nothing has changed. Code of nbtf itself goes on
calling what it called before.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from nbtf._runtime.context import open_graph
from nbtf._shapes import TensorShape
from nbtf.compat import _v1
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._surface.wrapping import wrapped

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


def build_everywhere() -> None:
    """Makes the functions of all namespaces look for an open graph; called again it does nothing."""
    if hasattr(sys.modules["nbtf"].reshape, "eager"):
        return
    replaced: dict[Any, Any] = {}
    changes: list[tuple[ModuleType, dict[str, Any]]] = []
    for namespace in _NAMESPACES:
        module = import_module(namespace)
        changes.append((module, {}))
        for name in set(dir(module)) - _SAME_IN_BOTH:
            function = getattr(module, name)
            if isinstance(function, FunctionType) and not hasattr(function, "eager"):
                if function not in replaced:
                    replaced[function] = _looking_for_a_graph(function, _counterpart(module, name, function))
                changes[-1][1][name] = replaced[function]
    for module, functions in reversed(changes):  # last `nbtf` itself, which shows that all is done
        module.__dict__.update(functions)


def run_at_once() -> None:
    """Takes back what `build_everywhere` did: eager programs do without the look."""
    for namespace in _NAMESPACES:
        module = sys.modules.get(namespace, ModuleType(namespace))
        for name, function in vars(module).copy().items():
            if hasattr(function, "eager"):
                setattr(module, name, function.eager)


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

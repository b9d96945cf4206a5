"""Functions of `nbtf` that run inside the default graph, with their own arguments or with those of TensorFlow 1."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from inspect import Parameter, Signature
from operator import attrgetter
from types import FunctionType
from typing import Any

import nbtf
from nbtf._ops.op import Op
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._surface.scoping import inside, opened
from nbtf.compat._v1._surface.table import ROWS, SCOPES

_WRAPPED: dict[Any, Callable[..., Any]] = {}


def wrapped(value: Any) -> Any:
    """Returns a function that works in the default graph while ops build graphs; other objects are returned unchanged.

    A function is wrapped once: `tf.add is tf.add`.
    """
    if not isinstance(value, (FunctionType, Op)):
        return value
    value = eager(value)
    wrapper = _WRAPPED.get(value)
    if wrapper is None:
        wrapper = _WRAPPED[value] = _wrapper(value)
    return wrapper


def eager(value: Any) -> Any:
    """Returns the original of a function that `everywhere.py` wraps; other objects are returned unchanged."""
    return getattr(value, "eager", value)


def _wrapper(function: Any) -> Callable[..., Any]:
    default = SCOPES.get(getattr(function, "__name__", ""))
    names = {"__name__": function.type, "__doc__": None} if isinstance(function, Op) else {}

    def inside_the_graph(*args: Any, **kwargs: Any) -> Any:
        graph = building()
        if graph is None:
            return function(*args, **kwargs)
        with graph.inside():
            if default is None:
                return function(*args, **kwargs)
            with graph.name_scope(kwargs.pop("name", None) or default):
                return function(*args, **kwargs)

    functools.update_wrapper(inside_the_graph, function)
    for name, value in names.items():
        setattr(inside_the_graph, name, value)
    return inside_the_graph


# Functions of the table


def one_of(name: str, value: Any, older_name: str, older: Any) -> Any:
    """Returns the value of an argument that has two names.

    Raises:
      ValueError: if both are given.
    """
    if older is None:
        return value
    if value is not None:
        raise ValueError(f"Cannot specify both '{older_name}' and '{name}'.")
    return older


@functools.cache
def tabled(name: str) -> Callable[..., Any]:
    """Returns the function of a row of the table.

    Args:
      name: name of the row.
    """
    row = ROWS[name]
    function = eager(attrgetter(row.function)(nbtf))
    signature, takes = _signature(row.arguments), inspect.signature(function).parameters
    needed = {key for key, parameter in takes.items() if parameter.default is Parameter.empty}
    positional = {key for key, parameter in signature.parameters.items() if parameter.default is Parameter.empty}

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = bound.arguments
        for older, current in row.older.items():
            arguments[current] = one_of(current, arguments.get(current), older, arguments.pop(older))
        called = arguments.pop("name", None)
        passed = {
            key: value for key, value in arguments.items() if key in needed or (value is not None and key in takes)
        }
        for key in needed - row.fixed.keys():
            if passed.get(key) is None and key not in positional:
                raise ValueError(f"Must specify an {key} argument to tf.{call.__name__}()")
        with opened(row.scope, called) if row.scope else inside() as scope:
            last = scope if row.scope and row.names_last else None if row.scope else called
            return function(**{**passed, **({} if last is None else {"name": last}), **row.fixed})

    functools.update_wrapper(call, function)
    call.__name__ = call.__qualname__ = name.rpartition(".")[2]
    vars(call).update(__signature__=signature)
    call.__doc__ = _doc(function, name)
    return call


def _signature(arguments: str) -> Signature:
    """Returns the signature that a row describes: `x, name=None`."""
    (function,) = ast.parse(f"def _({arguments}): ...").body
    assert isinstance(function, ast.FunctionDef)
    names, defaults = function.args.args, [_value(default) for default in function.args.defaults]
    values = [Parameter.empty] * (len(names) - len(defaults)) + defaults
    pairs = zip(names, values, strict=True)
    return Signature([Parameter(name.arg, Parameter.POSITIONAL_OR_KEYWORD, default=value) for name, value in pairs])


def _value(default: ast.expr) -> Any:
    return getattr(nbtf, default.id) if isinstance(default, ast.Name) else ast.literal_eval(default)


def _doc(function: Callable[..., Any], name: str) -> str:
    row = ROWS[name]
    aliases = [f"`{older}` is an older name of `{current}`." for older, current in row.older.items()]
    summary = (function.__doc__ or "").strip().partition("\n")[0]
    return "\n\n".join([summary, " ".join([f"The arguments are TensorFlow 1's; see `nbtf.{row.function}`.", *aliases])])

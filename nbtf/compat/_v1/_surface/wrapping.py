"""Wrappers that run public functions of `nbtf` inside the default graph, for `compat.v1`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

from nbtf._ops.op import Op
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._surface.absent import refusal

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


_SCOPES = {
    "boolean_mask": "boolean_mask",
    "confusion_matrix": "confusion_matrix",
    "cosine_similarity": "cosine_distance",
    "det": "MatrixDeterminant",
    "dropout": "dropout",
    "einsum": "einsum",
    "embedding_lookup": "embedding_lookup",
    "eye": "eye",
    "foldl": "foldl",
    "foldr": "foldr",
    "l2_normalize": "l2_normalize",
    "linspace": "linspace",
    "matrix_transpose": "matrix_transpose",
    "meshgrid": "meshgrid",
    "moments": "moments",
    "norm": "norm",
    "normalize": "normalize",
    "reduce_std": "reduce_std",
    "reduce_variance": "reduce_variance",
    "repeat": "repeat",
    "saturate_cast": "saturate_cast",
    "scan": "scan",
    "sequence_mask": "SequenceMask",
    "sigmoid_cross_entropy_with_logits": "logistic_loss",
    "tensordot": "Tensordot",
    "trace": "Trace",
    "weighted_cross_entropy_with_logits": "logistic_loss",
    "weighted_moments": "weighted_moments",
    "zero_fraction": "zero_fraction",
}
"""Functions that create several nodes, and the name scope that contains them.

Source: the `name_scope` of each in the Python files of TensorFlow 2.21.
"""


def _wrapper(function: Any) -> Callable[..., Any]:
    default = _SCOPES.get(getattr(function, "__name__", ""))
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


class Namespace(ModuleType):
    """A namespace of `nbtf` whose functions build graphs, with additional names from TensorFlow 1.

    If `nbtf` has a function under two names, such as `tf.reduce_sum` and `tf.math.reduce_sum`, and the root of
    `compat.v1` defines its own version, this namespace offers that version as well.
    """

    def __init__(self, name: str, root: Any, own_names: Mapping[str, str] | None) -> None:
        """Creates a namespace that looks up its names on first use.

        Args:
          name: name of the namespace in `nbtf`.
          root: `nbtf.compat._v1`.
          own_names: additional names and their modules; None if nothing in the namespace builds a graph.
        """
        super().__init__(f"{root.__name__}.{name}")
        self._called = name
        self._source = import_module(f"nbtf.{name}")
        self._root = root
        self._own = own_names
        self.__doc__ = self._source.__doc__

    def __getattr__(self, name: str) -> Any:
        """Looks up a name in the namespace."""
        if name.startswith("__"):
            raise AttributeError(name)
        value = self._find(name)
        self.__dict__[name] = value
        return value

    def _find(self, name: str) -> Any:
        module = (self._own or {}).get(name)
        if module is not None:
            return getattr(import_module(f"{self._root.__name__}.{module}"), name)
        try:
            value = getattr(self._source, name)
        except AttributeError:
            raise refusal(f"{self._called}.{name}") from None
        return value if self._own is None else self._root.own_version(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._source), *(self._own or ())})

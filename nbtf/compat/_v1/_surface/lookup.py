"""The objects behind the names of `tf.compat.v1`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

import nbtf
from nbtf._missing import of_tensorflow_1
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.dimension import DimensionedShape
from nbtf.compat._v1._graph.process import process
from nbtf.compat._v1._surface.names import FROM, MOVED, NAMESPACES, WRAPPED_NAMESPACES
from nbtf.compat._v1._surface.table import ROWS
from nbtf.compat._v1._surface.wrapping import eager, tabled, wrapped

_V1 = "nbtf.compat._v1."

EAGER = frozenset({"Variable"})
"""Names that resolve to the eager `nbtf` functions after `enable_eager_execution`, outside graphs."""

OTHERWISE = frozenset({"metrics"})
"""Names of `nbtf` that mean something else in TensorFlow 1, which nbtf does not have."""


def find(name: str) -> Any:
    """Returns the object behind a name of `compat.v1`.

    Raises:
      AttributeError: if there is no such name; its note names a replacement.
    """
    now = process()
    if name == "TensorShape" and not now.v2_shapes:
        return DimensionedShape
    if name in FROM and not (name in EAGER and now.eager and building() is None and hasattr(nbtf, name)):
        module = FROM[name]
        return getattr(import_module(module if module.startswith("nbtf.") else _V1 + module), name)
    if name in ROWS:
        return tabled(name)
    if name in NAMESPACES:
        return import_module(_V1 + name)
    if name in WRAPPED_NAMESPACES:
        return _namespace(name)
    if name in MOVED:
        namespace, _, today = MOVED[name].partition(".")
        return own_version(name, getattr(import_module(f"nbtf.{namespace}".rstrip(".")), today or name))
    try:
        if name in OTHERWISE:
            raise AttributeError
        value = getattr(nbtf, name)
    except AttributeError:
        raise of_tensorflow_1(name) from None
    return value if name in FROM else own_version(name, value)


def own_version(name: str, value: Any) -> Any:
    """Returns the `compat.v1` version of a public `nbtf` function: a separate implementation, or a wrapper.

    Args:
      name: name of the function; `tf.math.add` and `tf.add` are the same function.
      value: the `nbtf` object with that name; anything but a function is returned unchanged.
    """
    if (name in FROM or name in ROWS) and eager(getattr(nbtf, name, value)) is eager(value):
        return find(name)
    return wrapped(value)


def offered() -> list[str]:
    """Returns the names that `compat.v1` offers, sorted."""
    defined = [name for name in (*FROM, *ROWS) if "." not in name]
    return sorted({*defined, *MOVED, *NAMESPACES, *WRAPPED_NAMESPACES, *dir(nbtf)} - OTHERWISE)


@functools.cache
def _namespace(name: str) -> Namespace:
    return Namespace(name, WRAPPED_NAMESPACES[name])


class Namespace(ModuleType):
    """A namespace of `nbtf` whose functions build graphs, with additional names from TensorFlow 1.

    If `nbtf` has a function under two names, such as `tf.reduce_sum` and `tf.math.reduce_sum`, and the root of
    `compat.v1` defines its own version, this namespace offers that version as well.
    """

    def __init__(self, name: str, own_names: Mapping[str, str] | None) -> None:
        """Creates a namespace that looks up its names on first use.

        Args:
          name: name of the namespace in `nbtf`.
          own_names: additional names and their modules; None if nothing in the namespace builds a graph.
        """
        super().__init__(_V1 + name)
        self._called = name
        self._source = import_module(f"nbtf.{name}")
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
        if f"{self._called}.{name}" in ROWS:
            return tabled(f"{self._called}.{name}")
        module = (self._own or {}).get(name)
        if module is not None:
            return getattr(import_module(_V1 + module), name)
        try:
            value = getattr(self._source, name)
        except AttributeError:
            raise of_tensorflow_1(f"{self._called}.{name}") from None
        return value if self._own is None else own_version(name, value)

    def __dir__(self) -> list[str]:
        rows = [name.rpartition(".")[2] for name in ROWS if name.startswith(f"{self._called}.")]
        return sorted({*dir(self._source), *(self._own or ()), *rows})

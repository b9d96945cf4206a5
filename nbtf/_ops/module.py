"""`tf.Module`: an object that finds the variables in its attributes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from nbtf._ops.structure import flatten_with_tuple_paths
from nbtf._ops.trackable import Trackable
from nbtf._ops.variables.variable import Variable
from nbtf._runtime import names

F = TypeVar("F", bound=Callable[..., Any])

_NAME = re.compile(r"^[a-zA-Z_]([a-zA-Z0-9_])*$")
_NEW_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?!^)(?=[A-Z][a-z])")
Found = tuple[tuple[Any, ...], Any]


class Module(Trackable):
    """An object that finds variables in its attributes, in their lists and dictionaries, and in nested modules.

    Args:
      name: a Python identifier; by default the class's name in snake case.

    Raises:
      ValueError: if `name` is not a valid identifier.

    >>> class Line(tf.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope = tf.Variable(2.0, name="slope")
    ...         self.offset = tf.Variable(1.0, name="offset", trainable=False)
    ...     def __call__(self, x):
    ...         return self.slope * x + self.offset
    >>> line = Line()
    >>> [v.name for v in line.variables], len(line.trainable_variables)
    (['offset:0', 'slope:0'], 1)
    """

    _TF_MODULE_IGNORED_PROPERTIES = frozenset[str]()
    """Names of attributes that are not searched for variables; a subclass may extend it."""

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = _NEW_WORD.sub("_", type(self).__name__).lower()
        elif not _NAME.match(name):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python identifiers "
                "(e.g. a valid class name)."
            )
        self._name = name
        with names.name_scope(name) as full_name:
            self._name_scope = names.name_scope(full_name)

    @property
    def name(self) -> str:
        """The module's own name, without the names of enclosing modules."""
        return self._name

    @property
    def name_scope(self) -> names.name_scope:
        """A context manager in which variable names get the module's name as a prefix."""
        return self._name_scope

    @property
    def variables(self) -> tuple[Any, ...]:
        """All variables: the module's own, sorted by attribute name, then those of nested modules."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The trainable variables, which tapes watch automatically."""
        return tuple(self._flatten(predicate=_is_trainable))

    @property
    def non_trainable_variables(self) -> tuple[Any, ...]:
        """The variables that are not trainable."""
        return tuple(self._flatten(predicate=lambda value: _is_variable(value) and not value.trainable))

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All nested modules, at any depth."""
        return tuple(self._flatten(predicate=lambda value: isinstance(value, Module)))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
        expand_composites: bool = False,
    ) -> Iterator[Any]:
        """Yields the contents of the attributes, sorted by name, then the contents of the modules among them."""
        visited: set[int] | None = None if with_path else {id(self)}
        for path, value in _search(self, (), recursive, attribute_traversal_key, visited, []):
            if predicate is None or predicate(value):
                yield (path, value) if with_path else value

    @classmethod
    def with_name_scope(cls, method: F) -> F:
        """Returns a decorated method that runs in the module's name scope.

        Args:
          method: a method of a module.

        Returns:
          The method; variables that it creates get the module's name as a prefix.

        >>> class Lazy(tf.Module):
        ...     @tf.Module.with_name_scope
        ...     def build(self):
        ...         self.w = tf.Variable(1.0, name="w")
        >>> lazy = Lazy()
        >>> lazy.build()
        >>> lazy.w.name
        'lazy/w:0'
        """

        @functools.wraps(method)
        def scoped(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped  # pyright: ignore[reportReturnType]  # it has the method's signature


def _is_variable(value: Any) -> bool:
    return isinstance(value, Variable) or hasattr(value, "__tf_variable__")


def _is_trainable(value: Any) -> bool:
    return _is_variable(value) and bool(value.trainable)


def _search(
    module: Module,
    before: tuple[Any, ...],
    recursive: bool,
    key: Callable[[str], Any] | None,
    visited: set[int] | None,
    inside: list[Module],
) -> Iterator[Found]:
    """Yields paths and values. `seen` holds objects to skip, `inside` the modules on the current path."""
    deeper: list[Found] = []
    recursive = recursive and not any(module is outer for outer in inside)
    attributes = vars(module)
    for name in sorted(attributes, key=key):
        if name in module._TF_MODULE_IGNORED_PROPERTIES or name == "_awaiting":
            continue
        try:
            leaves = flatten_with_tuple_paths(attributes[name])
        except Exception as error:
            raise ValueError(f"Error processing property {name!r} of {attributes[name]!r}") from error
        for inner, value in leaves:
            if visited is not None:
                if id(value) in visited:
                    continue
                visited.add(id(value))
            path = (*before, name, *inner)
            yield path, value
            if recursive and isinstance(value, Module):
                deeper.append((path, value))
    for path, value in deeper:
        yield from _search(value, path, recursive, key, visited, [*inside, module])

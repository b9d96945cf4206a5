"""What is `tf.Module`: an object that finds the variables in its attributes."""

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
    """An object with variables: its attributes, those in lists and dictionaries, and those of modules among them.

    Args:
      name: an identifier; the class's name in small letters when None.

    Raises:
      ValueError: if `name` is no identifier.

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
    """Attributes that a subclass does not want to be searched."""

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
        """The module's name, without those of the modules around it."""
        return self._name

    @property
    def name_scope(self) -> names.name_scope:
        """The block whose variables have the module's name in front of theirs."""
        return self._name_scope

    @property
    def variables(self) -> tuple[Any, ...]:
        """All variables: first its own, by the names of the attributes, then those of its modules."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The variables that tapes watch by themselves."""
        return tuple(self._flatten(predicate=_is_trainable))

    @property
    def non_trainable_variables(self) -> tuple[Any, ...]:
        """The other variables."""
        return tuple(self._flatten(predicate=lambda value: _is_variable(value) and not value.trainable))

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules in its attributes, and in theirs."""
        return tuple(self._flatten(predicate=lambda value: isinstance(value, Module)))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
        expand_composites: bool = False,
    ) -> Iterator[Any]:
        """Yields what is in the attributes, in the order of their names; then what is in the modules among it."""
        visited: set[int] | None = None if with_path else {id(self)}
        for path, value in _search(self, (), recursive, attribute_traversal_key, visited, []):
            if predicate is None or predicate(value):
                yield (path, value) if with_path else value

    @classmethod
    def with_name_scope(cls, method: F) -> F:
        """Lets a method run in the module's name scope: a decorator.

        Args:
          method: a method of a module.

        Returns:
          The method, whose variables get the module's name in front of theirs.

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

        return scoped  # pyright: ignore[reportReturnType]  # it takes and returns what the method does


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
    """Yields paths and values; `seen` are those that come no more, `inside` the modules on the way here."""
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

"""Finds the class or function that a saved name refers to, among those this program has; imports nothing."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from functools import cache
from types import FunctionType
from typing import Any

from nbtf import math, nn
from nbtf._ops.module import Module
from nbtf._ops.random.generator import Generator
from nbtf._ops.trackable import Trackable
from nbtf.keras import activations, losses
from nbtf.keras.catalogue import public_functions
from nbtf.keras.constraints import Constraint
from nbtf.keras.initializers import Initializer
from nbtf.keras.losses import Loss
from nbtf.keras.optimizers.schedules import LearningRateSchedule
from nbtf.keras.registry import get_custom_objects, get_registered_object
from nbtf.keras.regularizers import Regularizer
from nbtf.train.checkpoint import Checkpoint

_OURS = (Module, Checkpoint, Generator)
"""nbtf's classes that are saved by their attributes."""

_BASES: tuple[type, ...] = (Trackable, Loss, LearningRateSchedule, Initializer, Regularizer, Constraint)
"""The base classes whose subclasses in a program are found by module and name."""

_SAVED_HERE: weakref.WeakValueDictionary[tuple[str, str], Any] = weakref.WeakValueDictionary()
"""Classes and functions that this process has saved."""

FORMAT_KEEPS = (
    "The folder stores values, variables, and names of classes and functions, but no code. Define or import {name} "
    "before loading, in a module or in the notebook. Register a function, or a class without an nbtf base class, "
    "with `tf.keras.utils.register_keras_serializable()`, or pass it to `tf.keras.utils."
    "custom_object_scope({{{last!r}: ...}})`."
)


def is_saved_by_attributes(saved_class: type) -> bool:
    """Returns whether objects of a class are saved by their attributes: a program's classes, and three of nbtf's."""
    is_ours = (
        saved_class.__module__.startswith("nbtf.")
        and _look_up(saved_class.__module__, saved_class.__qualname__) is saved_class
    )
    return saved_class in _OURS or not is_ours  # a class defined in a doctest appears to belong to the module


def is_resolvable(saved_class: type) -> bool:
    """Returns whether another process with this class finds it when loading: nbtf's, derived, or registered."""
    is_ours = saved_class.__module__.startswith("nbtf.") or issubclass(saved_class, _BASES)
    return is_ours or saved_class in get_custom_objects().values()


def reference_to(value: Any) -> list[str] | None:
    """Returns module and qualified name of a class or function; None if it cannot be found there."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    if not isinstance(value, type) and _look_up(module, name) is not value:
        return None
    _SAVED_HERE[module, name] = value
    return [module, name]


def remember_functions(config: Any) -> None:
    """Remembers the program's functions in a config, so that this process can load what it saved."""
    for module, name, is_class in custom_names(config):
        function = None if is_class else _look_up(module, name)
        if function is not None:
            _SAVED_HERE[module, name] = function


def _look_up(module: str, name: str) -> Any:
    """Returns the object of a name in a module; only for names of the program's own objects."""
    value: Any = sys.modules.get(module)
    for attribute in name.split("."):
        value = getattr(value, attribute, None)
    return value


def custom_names(config: Any) -> Iterator[tuple[str, str, bool]]:
    """Yields module, name, and whether it is a class, of everything in a config that does not belong to Keras."""
    if isinstance(config, list):
        items: list[Any] = config  # pyright: ignore[reportUnknownVariableType]
        for item in items:
            yield from custom_names(item)
    elif isinstance(config, dict):
        entries: dict[str, Any] = config  # pyright: ignore[reportUnknownVariableType]
        module, name = entries.get("module"), entries.get("class_name")
        if isinstance(module, str) and isinstance(name, str) and entries.get("registered_name"):
            is_class = name != "function"
            yield module, name if is_class else str(entries.get("config")), is_class
        for entry in entries.values():
            yield from custom_names(entry)


def resolve_class(reference: list[str]) -> type:
    """Returns the class of a reference: one of nbtf's, a registered one, or one of the program's.

    Raises:
      ValueError: if there is none.
    """
    module, name = reference
    for candidate in (*_OURS, *_subclasses(*_BASES)):
        if (candidate.__module__, candidate.__qualname__) == (module, name) and is_saved_by_attributes(candidate):
            return candidate
    value = resolve(reference)
    if not isinstance(value, type):
        raise ValueError(f"{module}.{name} is {value!r:.80} in this program. Expected a class.")
    return value


def resolve(reference: list[str]) -> Any:
    """Returns the object of a reference: a registered class or function, one saved here, or a public nbtf function.

    Raises:
      ValueError: if there is none.
    """
    module, name = reference
    last = name.rpartition(".")[2]
    registered = [value for value in get_custom_objects().values() if _reference_key(value) == (module, name)]
    choices = (*registered, _SAVED_HERE.get((module, name)), _functions().get((module, name)))
    value = next((choice for choice in choices if choice is not None), get_registered_object(last))
    if value is None:
        full_name = f"{module}.{name}"[:160]
        raise ValueError(f"{full_name} cannot be found. {FORMAT_KEEPS.format(name=full_name, last=last[:80])}")
    return value


@cache
def _functions() -> dict[tuple[Any, Any], Any]:
    """Returns nbtf's public functions that are module attributes, such as `tf.nn.relu`."""
    functions: list[Any] = [value for value in {**vars(math), **vars(nn)}.values() if _is_op(value)]
    functions += [*public_functions(vars(activations)).values(), *public_functions(vars(losses)).values()]
    return {_reference_key(function): function for function in functions}


def _is_op(value: Any) -> bool:
    return isinstance(value, FunctionType) and value.__module__.startswith("nbtf._ops.")


def _reference_key(value: Any) -> tuple[Any, Any]:
    return getattr(value, "__module__", None), getattr(value, "__qualname__", None)


def _subclasses(*bases: type) -> Iterator[type]:
    """Yields the subclasses of some classes, latest first, because a notebook may redefine a class."""
    for base in bases:
        for subclass in reversed(base.__subclasses__()):
            yield subclass
            yield from _subclasses(subclass)

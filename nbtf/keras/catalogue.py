"""The Keras classes and functions that a file may name: those of the public modules below and no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

_MODULES: dict[str, Callable[[], ModuleType]] = {}
"""For each public module, such as `keras.layers`, the function that loads it; the package `keras` adds them."""

_CLASSES: dict[tuple[str, str], Any] = {}
"""Classes that a file may name although they are in none of these modules; their own files add them."""

_WITH_FUNCTIONS = ("keras.activations", "keras.losses", "keras.metrics")
"""Public modules whose functions a file may name."""

_DOORS = frozenset({"get", "serialize", "deserialize"})
"""Functions of the public modules that are not activations, losses or metrics."""


def add_module(name: str, load: Callable[[], ModuleType]) -> None:
    """Adds a public module, which is loaded when a name is looked up for the first time."""
    _MODULES[name] = load


def add_class(module: str, value: type) -> None:
    """Adds a class that a file may name, under the name of a module."""
    _CLASSES[module, value.__name__] = value


def class_of(module: str, name: str) -> Any:
    """Returns the public class with a given name (`keras.layers`, `Dense`), or None if it does not exist."""
    return _classes().get((module, name))


def function_of(module: str, name: str) -> Callable[..., Any] | None:
    """Returns the activation, loss or metric with a given name (`keras.activations`, `relu`), or None."""
    return _functions().get((module, name))


def is_public_function(value: Any) -> bool:
    """Returns whether a value is a Keras activation, loss or metric function."""
    return any(function is value for function in _functions().values())


def public_classes(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the Keras classes in a module's names that can be created from a config."""
    return {
        name: value
        for name, value in namespace.items()
        if name[0] != "_" and isinstance(value, type) and _is_ours(value) and hasattr(value, "from_config")
    }


def public_functions(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the Keras functions in a module's names that accept and return tensors."""
    return {
        name: value
        for name, value in namespace.items()
        if name[0] != "_" and isinstance(value, FunctionType) and _is_ours(value) and value.__name__ not in _DOORS
    }


def _is_ours(value: Any) -> bool:
    module: str = value.__module__
    return module.startswith("nbtf.keras.") and module not in ("nbtf.keras.registry", __name__)


@cache
def _classes() -> Mapping[tuple[str, str], Any]:
    classes = {
        (module_name, name): value
        for module_name, load in _MODULES.items()
        for name, value in public_classes(load().__dict__).items()
    }
    return {**classes, **_CLASSES}


@cache
def _functions() -> Mapping[tuple[str, str], Any]:
    return {
        (module_name, name): value
        for module_name in _WITH_FUNCTIONS
        for name, value in public_functions(_MODULES[module_name]().__dict__).items()
    }

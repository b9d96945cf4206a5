"""The Keras classes and functions that a file may name: those of the public modules below and no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import FunctionType
from typing import Any

_DOORS = frozenset({"get", "serialize", "deserialize"})
"""Functions of the public modules that are not activations, losses or metrics."""


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
    from nbtf.keras import (
        constraints,
        dtype_policies,
        initializers,
        layers,
        losses,
        metrics,
        models,
        optimizers,
        random,
        regularizers,
    )
    from nbtf.keras.operation import Operator
    from nbtf.keras.optimizers import schedules

    modules: Any = (
        *(constraints, dtype_policies, initializers, layers, losses, metrics, models, optimizers, schedules),
        *(random, regularizers),
    )
    classes = {
        (module.__name__.removeprefix("nbtf."), name): value
        for module in modules
        for name, value in public_classes(module.__dict__).items()
    }
    policy: Any = dtype_policies.DTypePolicy
    policies = {("keras", "DTypePolicy"): policy, ("keras.dtypes", "DTypePolicy"): policy}
    return {**classes, **policies, ("keras.operation", "Operator"): Operator}


@cache
def _functions() -> Mapping[tuple[str, str], Any]:
    from nbtf.keras import activations, losses, metrics

    modules: Any = (activations, losses, metrics)
    return {
        (module.__name__.removeprefix("nbtf."), name): value
        for module in modules
        for name, value in public_functions(module.__dict__).items()
    }

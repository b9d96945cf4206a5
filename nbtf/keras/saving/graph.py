"""Which variables belong to an object, and under what name is each of them saved?"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from nbtf._ops.module import Module
from nbtf._ops.variables.variable import Variable as TensorVariable
from nbtf.keras.layers.tracking import owned
from nbtf.keras.layers.weights import Weights
from nbtf.keras.metrics.metric import Metric
from nbtf.keras.optimizers.optimizer import Optimizer
from nbtf.keras.variables import Variable


def variables_of(root: Any) -> dict[str, Any]:
    """Returns the variables of an object by the way that leads to each: `model/layers/0/vars/1`.

    Layers, weights of layers and numbers of optimizers go by their position, so that a model that was made again finds
    its own; what other objects hold goes by the names of attributes and the keys of dictionaries. A variable that
    several ways lead to is found on the shortest.

    Args:
      root: a layer, a model, an optimizer, a metric, a `tf.Module`, or lists and dictionaries of such.
    """
    variables: dict[str, Any] = {}
    ids: set[int] = set()
    waiting: deque[tuple[Any, tuple[str, ...]]] = deque([(root, ())])
    alive: list[Any] = []  # what is made on the way: its id must stay its own
    while waiting:
        value, path = waiting.popleft()
        bare = value.handle if isinstance(value, Variable) else value
        if id(bare) in ids:
            continue
        ids.add(id(bare))
        alive.append(value)
        if isinstance(bare, TensorVariable):
            variables["/".join(path) or "value"] = value
        else:
            waiting.extend((child, (*path, name)) for name, child in parts_of(value))
    return variables


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yields what may hold variables in an object, each with its name there."""
    if isinstance(value, Mapping):
        entries: Mapping[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
        yield from ((str(key), child) for key, child in entries.items())
    elif isinstance(value, list | tuple):
        items: Any = value  # pyright: ignore[reportUnknownVariableType]
        yield from ((str(number), child) for number, child in enumerate(items))
    elif isinstance(value, Weights):
        of_layer = owned(vars(value), value._internal)
        yield from (("vars", of_layer.variables), ("layers", of_layer.layers), ("metrics", of_layer.metrics))
        optimizer = getattr(value, "optimizer", None)
        if optimizer is not None:
            yield "optimizer", optimizer
    elif isinstance(value, Optimizer | Metric):
        yield "vars", value.variables
    elif isinstance(value, Module) or hasattr(value, "_trackable_parts"):
        yield from _named_parts(value)
    elif _is_plain_object(value):
        plain: Any = value
        yield from plain.__dict__.items()


def _is_plain_object(value: Any) -> bool:
    """Tells whether to look into the attributes of an object: those of generators and the like, not of modules."""
    module = type(value).__module__
    return hasattr(value, "__dict__") and not callable(value) and module.startswith(("nbtf._ops", "nbtf.random"))


def _named_parts(value: Any) -> Iterator[tuple[str, Any]]:
    if hasattr(value, "_trackable_parts"):
        yield from value._trackable_parts()
        return
    attributes: dict[str, Any] = dict(value.__dict__)
    yield from attributes.items()

"""Name scopes for the nodes that a TensorFlow 1 function creates."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from nbtf._graph.tensor import GraphTensor
from nbtf._runtime.conversion import as_tensor
from nbtf._types import DType
from nbtf.compat._v1._graph.defaults import building


@contextmanager
def opened(default: str, name: str | None = None) -> Generator[str | None]:
    """Opens the default graph and a name scope in it if ops build a graph.

    Args:
      default: default name of the scope.
      name: name that the program gives; None for the default.

    Yields:
      The name of the function's last node; None while ops run eagerly.
    """
    graph = building()
    if graph is None:
        yield None
        return
    with graph.inside(), graph.name_scope(name or default) as scope:
        yield scope


@contextmanager
def inside() -> Generator[bool]:
    """Opens the default graph if ops build a graph, and yields whether they do."""
    graph = building()
    if graph is None:
        yield False
        return
    with graph.inside():
        yield True


def tensor_called(name: str, value: Any, dtype: DType | None = None) -> Any:
    """Returns a value as a tensor; a constant made from it gets the name."""
    tensor = as_tensor(value, dtype)
    return tensor.called(name) if isinstance(tensor, GraphTensor) else tensor

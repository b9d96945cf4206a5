"""How a function of TensorFlow 1 names the nodes that it makes: in a scope of its own name."""

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
    """Opens the default graph and a name scope in it, where a graph is built.

    Args:
      default: what the scope is called if the program says nothing.
      name: what the program says.

    Yields:
      What the function's last node takes for its name; None where ops run at once.
    """
    graph = building()
    if graph is None:
        yield None
        return
    with graph.inside(), graph.name_scope(name or default) as scope:
        yield scope


@contextmanager
def inside() -> Generator[bool]:
    """Opens the default graph where one is built; tells whether one is."""
    graph = building()
    if graph is None:
        yield False
        return
    with graph.inside():
        yield True


def tensor_called(name: str, value: Any, dtype: DType | None = None) -> Any:
    """Returns a tensor of a value; a constant made of it is called so."""
    tensor = as_tensor(value, dtype)
    return tensor.called(name) if isinstance(tensor, GraphTensor) else tensor

"""`tf.tuple`: tensors that wait for each other."""

from __future__ import annotations

from typing import Any

import nbtf
from nbtf._runtime.conversion import as_tensor
from nbtf.compat._v1._graph.defaults import building, get_default_graph
from nbtf.compat._v1._graph.grouping import group
from nbtf.compat._v1._surface.scoping import opened


def tuple(tensors: Any, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """Returns tensors that are available only when all of them have been computed.

    Args:
      tensors: tensors; None values are kept.
      control_inputs: further nodes to wait for.
    """
    if building() is None:
        return [*tensors]
    with opened("tuple", name):
        members = [None if value is None else as_tensor(value) for value in tensors]
        present = [member for member in members if member is not None]
        gate = group(*present, *(control_inputs or ()))
        with get_default_graph().control_dependencies([gate]):
            return [None if member is None else nbtf.identity(member, "control_dependency") for member in members]

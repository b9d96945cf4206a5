"""What does PyTorch keep for the backward pass of a tensor? The graph is read without running hooks or user code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

_RAW = "_raw_saved_"
"""Prefix of the attributes in which a node saves tensors."""


class SavedTensors(NamedTuple):
    """The number of nodes in a tensor's graph, the tensors that they saved, and the parameters that they lead to."""

    nodes: int
    tensors: list[Any]
    parameters: Sequence[Any] = ()


def saved_tensors(torch: Any, tensor: Any) -> SavedTensors:
    """Returns the tensors kept for the backward pass of a tensor; none after that pass has run."""
    tensors: list[Any] = []
    parameters: list[Any] = []
    nodes: list[Any] = [] if tensor.grad_fn is None else [tensor.grad_fn]
    visited = set(nodes)
    for node in nodes:  # the list grows during the loop
        if type(node).__name__ == "AccumulateGrad":
            parameters.append(node.variable)
        tensors += [value for value in _values(node) if issubclass(type(value), torch.Tensor)]
        parents = {parent for parent, _ in node.next_functions if parent is not None} - visited
        visited |= parents
        nodes += parents
    return SavedTensors(len(nodes), tensors, parameters)


def _values(node: Any) -> Iterator[Any]:
    for name in dir(cast("object", type(node))):
        if name.startswith(_RAW):
            try:
                raw = getattr(node, name)
            except RuntimeError:  # the backward pass has freed the tensor
                continue
            several: list[Any] = [*raw] if isinstance(raw, tuple | list) else [raw]
            for saved in several:
                yield getattr(saved, "data", None)  # values packed by a hook stay packed

"""What does PyTorch keep for the backward pass of a tensor? Its graph is walked; no hook and no code of a user runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

_RAW = "_raw_saved_"
"""How attributes of a node begin that hold what it saved, as it was saved."""


class SavedTensors(NamedTuple):
    """What a tensor's graph keeps: how many nodes it has, and the tensors that they saved."""

    nodes: int
    tensors: list[Any]


def saved_tensors(torch: Any, tensor: Any) -> SavedTensors:
    """Returns what is kept for the backward pass of a tensor; nothing once that pass has run."""
    tensors: list[Any] = []
    nodes: list[Any] = [] if tensor.grad_fn is None else [tensor.grad_fn]
    visited = set(nodes)
    for node in nodes:  # grows while it is walked
        tensors += [value for value in _values(node) if issubclass(type(value), torch.Tensor)]
        parents = {parent for parent, _ in node.next_functions if parent is not None} - visited
        visited |= parents
        nodes += parents
    return SavedTensors(len(nodes), tensors)


def _values(node: Any) -> Iterator[Any]:
    for name in dir(cast("object", type(node))):
        if name.startswith(_RAW):
            try:
                raw = getattr(node, name)
            except RuntimeError:  # the backward pass has run, and freed it
                continue
            several: list[Any] = [*raw] if isinstance(raw, tuple | list) else [raw]
            for saved in several:
                yield getattr(saved, "data", None)  # what a hook has packed stays packed

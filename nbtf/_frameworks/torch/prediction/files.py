"""Replaces `torch.save` and `torch.load` in a prediction: saved objects are kept in memory, and no file is written."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager
from os import PathLike, fspath
from typing import Any
from unittest.mock import patch

from nbtf._frameworks.torch.prediction.host import Host
from nbtf._frameworks.torch.prediction.ledger import Ledger


class Files:
    """The objects that a program has saved, by file."""

    def __init__(self, torch: Any, ledger: Ledger, host: Host, notes: list[str]) -> None:
        """Stores PyTorch, the ledger, the host that keeps tensors without values, and a list for notes."""
        self._torch, self._ledger, self._host, self._notes = torch, ledger, host, notes
        self._saved: dict[Any, Any] = {}
        self._load = torch.load

    def held_in_memory(self) -> AbstractContextManager[Any]:
        """Makes `torch.save` keep objects in memory, where `torch.load` finds them."""
        return patch.multiple(self._torch, save=self.save, load=self.load)

    def save(self, obj: object, f: Any, *_: Any, **__: Any) -> None:
        """Keeps a copy of an object, with its device tensors moved to the host."""
        name = self._name(f)
        if isinstance(name, str):
            self._notes.append(f"torch.save(..., {name!r}) wrote no file: a prediction has no values to save.")
        self._ledger.is_saving = True
        try:
            self._saved[name] = self._copied(obj, "cpu"), self._devices(obj), f
        finally:
            self._ledger.is_saving = False

    def load(self, f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Returns a saved object on its original device or on `map_location`; reads files from before the run."""
        name = self._name(f)
        if name not in self._saved:
            return self._load(f, map_location, *args, **kwargs)
        obj, devices, _ = self._saved[name]
        if map_location is None and len(devices) == 1:
            map_location = next(iter(devices))
        device = map_location if isinstance(map_location, str | self._torch.device) else "cpu"
        return self._copied(obj, device)

    def _name(self, f: Any) -> Any:
        return str(fspath(f)) if isinstance(f, str | PathLike) else id(f)  # pyright: ignore

    def _copied(self, obj: Any, device: Any) -> Any:
        """Returns a copy of an object with its tensors on a device."""
        tree_map_only: Any = self._torch.utils._pytree.tree_map_only
        copies: dict[int, Any] = {}

        def copied(tensor: Any) -> Any:
            if id(tensor) not in copies:
                moved = self._host.put_aside(tensor) if device == "cpu" else tensor.detach().to(device, copy=True)
                copies[id(tensor)] = moved if tensor.is_cuda or device != "cpu" else tensor.detach().clone()
            return copies[id(tensor)]

        if isinstance(obj, self._torch.nn.Module):
            return copy.deepcopy(obj).to(device)
        return tree_map_only(self._torch.Tensor, copied, obj)

    def _devices(self, obj: Any) -> set[Any]:
        """Returns the devices of the tensors in an object."""
        tree_leaves: Any = self._torch.utils._pytree.tree_leaves
        tensors: Any = obj.parameters() if isinstance(obj, self._torch.nn.Module) else tree_leaves(obj)
        return {tensor.device for tensor in tensors if isinstance(tensor, self._torch.Tensor)}

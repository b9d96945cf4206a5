"""Turns simulated devices on and off in this process, immediately or when PyTorch is imported."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from nbtf._devices.cards import PhysicalGPU
from nbtf._frameworks.importing import on_import


class Switch:
    """Installs simulated devices in PyTorch, now or as soon as it is imported, and removes them."""

    def __init__(self) -> None:
        """Starts without simulated devices."""
        self.installation: Any = None
        self._call_off: Callable[[], None] | None = None

    def on(self, cards: Sequence[PhysicalGPU], values: bool = True, read_as: float | None = None) -> None:
        """Gives PyTorch these cards as `cuda:0`, `cuda:1` and so on, replacing its current ones.

        Args:
          cards: simulated cards.
          values: whether tensors have values; without values they use no host memory.
          read_as: the value that every read returns if tensors have none; None makes reading raise an error.

        Raises:
          NoSimulationError: if this build of PyTorch does not support simulated GPUs.
          RuntimeError: if PyTorch is still being imported.
        """
        self.off()
        if not cards:
            return
        torch = sys.modules.get("torch")
        if torch is None:
            begin, self._call_off = on_import("torch", lambda: self._install_or_warn(cards, values, read_as))
            begin()
        elif getattr(getattr(torch, "__spec__", None), "_initializing", False):
            raise RuntimeError("PyTorch is still being imported. Simulate its GPUs before or after the import.")
        else:
            self._install(cards, values, read_as)

    def off(self) -> None:
        """Removes the devices; tensors that are left on them can no longer be used."""
        if self._call_off is not None:
            self._call_off()
            self._call_off = None
        if self.installation is not None:
            installation, self.installation = self.installation, None
            installation.remove()

    def begin_child(self) -> None:
        """Forbids the use of devices in a process that was forked after its parent had used them."""
        if self.installation is not None and sys.modules["torch"].cuda._initialized:
            self.installation.machine.forbid_in_fork()

    def _install_or_warn(self, cards: Sequence[PhysicalGPU], values: bool, read_as: float | None) -> None:
        """Installs the devices; warns instead of breaking the user's import."""
        try:
            self._install(cards, values, read_as)
        except Exception as error:
            warnings.warn(f"PyTorch has no simulated GPUs: {error}", RuntimeWarning, stacklevel=2)

    def _install(self, cards: Sequence[PhysicalGPU], values: bool, read_as: float | None) -> None:
        from nbtf._frameworks.torch.simulation.installation import Installation
        from nbtf._frameworks.torch.simulation.library import load_torch

        self._call_off = None
        self.installation = Installation(load_torch(), cards, values, read_as)


SWITCH = Switch()
"""The switch of this process: PyTorch and its devices exist once per process."""

if hasattr(os, "register_at_fork"):  # missing on Windows, which has no fork
    os.register_at_fork(after_in_child=SWITCH.begin_child)

"""Does PyTorch of this process have simulated devices, or is it to get them when it is imported?"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from nbtf._devices.cards import PhysicalGPU
from nbtf._frameworks.importing import on_import


class Switch:
    """Puts simulated devices into PyTorch, now or as soon as somebody imports it, and takes them out."""

    def __init__(self) -> None:
        """Begins without."""
        self.installation: Any = None
        self._call_off: Callable[[], None] | None = None

    def on(self, cards: Sequence[PhysicalGPU], values: bool = True, read_as: float | None = None) -> None:
        """Gives PyTorch these cards as `cuda:0`, `cuda:1` and so on, in place of those it has.

        Args:
          cards: simulated ones.
          values: whether tensors have values; without, they take no memory of this computer.
          read_as: what every value is that somebody reads where there are none; reading raises when None.

        Raises:
          NoSimulationError: this build of PyTorch does not let its GPUs be simulated.
          RuntimeError: PyTorch is only half imported.
        """
        self.off()
        if not cards:
            return
        torch = sys.modules.get("torch")
        if torch is None:
            begin, self._call_off = on_import("torch", lambda: self._install_or_warn(cards, values, read_as))
            begin()
        elif getattr(getattr(torch, "__spec__", None), "_initializing", False):
            raise RuntimeError("PyTorch is being imported at this moment; simulate its GPUs before or afterwards.")
        else:
            self._install(cards, values, read_as)

    def off(self) -> None:
        """Takes them out; tensors that are left on them can no longer be used."""
        if self._call_off is not None:
            self._call_off()
            self._call_off = None
        if self.installation is not None:
            installation, self.installation = self.installation, None
            installation.remove()

    def _install_or_warn(self, cards: Sequence[PhysicalGPU], values: bool, read_as: float | None) -> None:
        """Does not break the user's import."""
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
"""PyTorch is one for the process, and so is what it has."""

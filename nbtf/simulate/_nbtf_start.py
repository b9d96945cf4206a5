"""Gives PyTorch simulated GPUs in any Python program, if NBTF_SIMULATE is set: imports nbtf just before PyTorch.

Python imports this module at its start, so it must not import nbtf or anything else that is slow. It is installed
beside the package `nbtf`, together with `nbtf_start.pth`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


class _BeforeTorch:
    """Waits for the first `import torch`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Imports nbtf if PyTorch is about to be imported, and returns PyTorch's specification."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        os.environ.setdefault("NBTF_SIMULATED_GPUS", "1")
        try:
            __import__("nbtf")
        except Exception as error:
            print(f"nbtf: PyTorch has no simulated GPUs: {error}", file=sys.stderr)
        return find_spec(name)


if "torch" in os.environ.get("NBTF_SIMULATE", "").lower() and "torch" not in sys.modules:
    sys.meta_path.insert(0, _BeforeTorch())

"""Which of the libraries that a notebook imports can use simulated GPUs besides nbtf?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

SIMULATE = "NBTF_SIMULATE"
STARTUP = '__import__("nbtf")'
"""Code that gives those libraries their GPUs before the first cell."""

_IMPORTS_TORCH = re.compile(r"^[^\S\n]*(?:import|from)\s+torch\b", re.MULTILINE)


def imports_torch(sources: Iterable[str]) -> bool:
    """Returns whether a program imports PyTorch.

    Args:
      sources: the program's cells.

    >>> imports_torch(["x = 1", "import torch.nn as nn"]), imports_torch(["import torchless"])
    (True, False)
    """
    return any(_IMPORTS_TORCH.search(source) for source in sources)


def simulate_for(sources: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment variable that gives a program's libraries the simulated GPUs of an environment.

    Args:
      sources: the program's cells.
      environ: NBTF_SIMULATED_GPUS in it sets the number of GPUs; NBTF_SIMULATE in it overrides the detected imports.

    >>> simulate_for(["import torch"], {"NBTF_SIMULATED_GPUS": "4"})
    {'NBTF_SIMULATE': 'torch'}
    """
    has_gpus = environ.get("NBTF_SIMULATED_GPUS", "").strip() not in ("", "0")
    if SIMULATE in environ or not has_gpus or not imports_torch(sources):
        return {}
    return {SIMULATE: "torch"}


def is_simulated_for_torch(environ: Mapping[str, str] = os.environ) -> bool:
    """Returns whether an environment gives PyTorch simulated GPUs."""
    return "torch" in environ.get(SIMULATE, "") and environ.get("NBTF_SIMULATED_GPUS", "").strip() not in ("", "0")

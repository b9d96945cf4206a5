"""How much of a card does PyTorch use besides its tensors? Estimated, because no card was available to measure it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from nbtf._devices.catalog import Card

_MIB = 1 << 20

# CUDA's context with PyTorch's kernels: minimum and maximum in MiB, by the major version of the compute capability.
# nvidia-smi shows these for a process with one small tensor, as users report it for PyTorch 1.13 to 2.7. NVIDIA has no
# such table: it depends on driver, release and the loaded kernels (some 300 MiB since CUDA 11.7, which loads kernels on
# first use: github.com/pytorch/pytorch/issues/107667). Hence a range.
_CONTEXT = {3: (150, 350), 5: (150, 350), 6: (200, 400), 7: (250, 500), 8: (300, 600), 9: (400, 700)}
_OTHER_CONTEXT = (400, 800)

# parseChosenWorkspaceSize, aten/src/ATen/cuda/CublasHandlePool.cpp: two of 4096 KiB and eight of 16 KiB, or on Hopper
# eight of 4096 KiB. The first matrix product on a stream allocates them in the caching allocator. NVIDIA recommends
# at least 4 MiB, and 32 MiB on Hopper: cuBLAS reference, cublasSetWorkspace(). The 8519680 bytes were observed on a
# card: discuss.pytorch.org/t/178671.
_WORKSPACE = 2 * 4096 * 1024 + 8 * 16 * 1024
_WORKSPACE_OF_HOPPER = 8 * 4096 * 1024


WORKSPACE_SETTING = "CUBLAS_WORKSPACE_CONFIG"
"""Configures other workspaces, each as KiB and count: `:4096:2:16:8`. Source: cuBLAS reference."""


class FixedParts(NamedTuple):
    """Bytes used on a card whatever the program does: the context (minimum and maximum) and the cuBLAS workspace."""

    context: tuple[int, int]
    workspace: int

    @property
    def at_least(self) -> int:
        """Bytes used if the context is small and no matrix product runs."""
        return self.context[0]

    @property
    def at_most(self) -> int:
        """Bytes used if the context is large and matrix products run on one stream."""
        return self.context[1] + self.workspace


def fixed_parts(card: Card, environ: Mapping[str, str] | None = None) -> FixedParts:
    """Returns the memory that PyTorch uses on a card besides its tensors.

    Args:
      card: the card.
      environ: environment with `CUBLAS_WORKSPACE_CONFIG`; None means that of this process.

    >>> from nbtf._devices.catalog import find_card
    >>> fixed_parts(find_card("A100-40GB")).workspace
    8519680
    >>> fixed_parts(find_card("A100-40GB"), {"CUBLAS_WORKSPACE_CONFIG": ":16:8"}).workspace
    131072
    """
    major = card.compute_capability[0]
    low, high = _CONTEXT.get(major, _OTHER_CONTEXT)
    # As in PyTorch: anything but pairs is ignored, and a text without a pair keeps the default sizes.
    pairs = re.findall(r":([0-9]+):([0-9]+)", (os.environ if environ is None else environ).get(WORKSPACE_SETTING, ""))
    chosen = sum([int(kib) * int(count) * 1024 for kib, count in pairs])
    return FixedParts((low * _MIB, high * _MIB), chosen or (_WORKSPACE_OF_HOPPER if major == 9 else _WORKSPACE))

"""What does PyTorch take of a card beside its tensors? Modelled: no card was at hand to measure it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from nbtf._devices.catalog import Card

_MIB = 1 << 20

# CUDA's context with PyTorch's kernels, from and to, in MiB, by the major number of the compute capability: what
# nvidia-smi shows for a process that has made one small tensor, as users report it for PyTorch 1.13 to 2.7. No table of
# NVIDIA's has it: it depends on driver, release and which kernels were loaded (some 300 MiB since CUDA 11.7 loads them
# when they are used: github.com/pytorch/pytorch/issues/107667). Hence from and to.
_CONTEXT = {3: (150, 350), 5: (150, 350), 6: (200, 400), 7: (250, 500), 8: (300, 600), 9: (400, 700)}
_OTHER_CONTEXT = (400, 800)

# parseChosenWorkspaceSize, aten/src/ATen/cuda/CublasHandlePool.cpp: two of 4096 KiB and eight of 16 KiB, or on Hopper
# eight of 4096 KiB, taken by the first matrix product on a stream, out of the caching allocator. NVIDIA recommends
# 4 MiB at least, and 32 MiB on Hopper: cuBLAS reference, cublasSetWorkspace(). The 8519680 bytes were seen on a card:
# discuss.pytorch.org/t/178671.
_WORKSPACE = 2 * 4096 * 1024 + 8 * 16 * 1024
_WORKSPACE_OF_HOPPER = 8 * 4096 * 1024


WORKSPACE_SETTING = "CUBLAS_WORKSPACE_CONFIG"
"""Says other workspaces, each as KiB and how many: `:4096:2:16:8`. Source: cuBLAS reference."""


class FixedParts(NamedTuple):
    """Bytes that are taken on a card whatever the program is: at least, at most, and what for."""

    context: tuple[int, int]
    workspace: int

    @property
    def at_least(self) -> int:
        """What is taken if the context is small and no matrix product runs."""
        return self.context[0]

    @property
    def at_most(self) -> int:
        """What is taken if the context is large and matrix products run on one stream."""
        return self.context[1] + self.workspace


def fixed_parts(card: Card, environ: Mapping[str, str] | None = None) -> FixedParts:
    """Returns what PyTorch takes of a card beside its tensors.

    Args:
      card: which one.
      environ: where `CUBLAS_WORKSPACE_CONFIG` is read; this process's environment when None.

    >>> from nbtf._devices.catalog import find_card
    >>> fixed_parts(find_card("A100-40GB")).workspace
    8519680
    >>> fixed_parts(find_card("A100-40GB"), {"CUBLAS_WORKSPACE_CONFIG": ":16:8"}).workspace
    131072
    """
    major = card.compute_capability[0]
    low, high = _CONTEXT.get(major, _OTHER_CONTEXT)
    # As PyTorch does: what is not a pair counts for nothing, and a text without any pair leaves its own sizes.
    pairs = re.findall(r":([0-9]+):([0-9]+)", (os.environ if environ is None else environ).get(WORKSPACE_SETTING, ""))
    chosen = sum([int(kib) * int(count) * 1024 for kib, count in pairs])
    return FixedParts((low * _MIB, high * _MIB), chosen or (_WORKSPACE_OF_HOPPER if major == 9 else _WORKSPACE))

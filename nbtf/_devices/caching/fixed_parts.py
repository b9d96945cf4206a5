"""What does PyTorch take of a card beside its tensors? Modelled: no card was at hand to measure it."""

from __future__ import annotations

from typing import NamedTuple

from nbtf._devices.catalog import Card

_MIB = 1 << 20

# CUDA's context with PyTorch's kernels, from and to, in MiB, by the major number of the compute capability: what
# nvidia-smi shows for a process that has made one small tensor, as users report it for PyTorch 1.13 to 2.7.
_CONTEXT = {3: (150, 350), 5: (150, 350), 6: (200, 400), 7: (250, 500), 8: (300, 600), 9: (400, 700)}
_OTHER_CONTEXT = (400, 800)

# parseChosenWorkspaceSize, aten/src/ATen/cuda/CublasHandlePool.cpp: two of 4096 KiB and eight of 16 KiB, or on Hopper
# eight of 4096 KiB, taken by the first matrix product on a stream, out of the caching allocator.
_WORKSPACE = 2 * 4096 * 1024 + 8 * 16 * 1024
_WORKSPACE_OF_HOPPER = 8 * 4096 * 1024


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


def fixed_parts(card: Card) -> FixedParts:
    """Returns what PyTorch takes of a card beside its tensors.

    >>> from nbtf._devices.catalog import find_card
    >>> fixed_parts(find_card("A100-40GB")).workspace
    8519680
    """
    major = card.compute_capability[0]
    low, high = _CONTEXT.get(major, _OTHER_CONTEXT)
    return FixedParts((low * _MIB, high * _MIB), _WORKSPACE_OF_HOPPER if major == 9 else _WORKSPACE)

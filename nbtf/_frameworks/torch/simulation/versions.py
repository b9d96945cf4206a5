"""Which CUDA and cuDNN does PyTorch report for simulated cards?"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from nbtf._frameworks.torch.simulation.releases import OLDER_CARDS, Release, Versions
from nbtf._frameworks.torch.simulation.replacing import Replacements

TURING = (7, 5)
"""The lowest compute capability that CUDA 13 and cuDNN 9.11 support."""


def versions_for(release: Release, capabilities: Collection[tuple[int, int]]) -> Versions:
    """Returns the versions of the build of a release that runs on cards of all these compute capabilities.

    >>> from nbtf._frameworks.torch.simulation.releases import RELEASES
    >>> [versions_for(RELEASES[2, 13], capabilities).cuda for capabilities in ([(8, 0)], [(7, 0), (8, 0)])]
    ['13.0', '12.6']
    """
    return OLDER_CARDS if min(capabilities) < TURING else release.versions


def install_versions(torch: Any, versions: Versions, replacements: Replacements) -> None:
    """Makes PyTorch report the versions; the libraries themselves are not loaded."""
    replacements.set(torch.version, "cuda", versions.cuda)
    replacements.set(torch._C, "_cuda_getCompiledVersion", lambda: versions.compiled)
    replacements.set(torch.backends.cudnn, "version", lambda: versions.cudnn)
    replacements.set(torch.backends.cudnn, "is_available", lambda: True)

"""Which CUDA and cuDNN would a PyTorch for these cards have been built with?"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from nbtf._frameworks.torch.simulation.replacing import Replacements

TURING = (7, 5)
"""The lowest compute capability that CUDA 13 and cuDNN 9.11 support."""


class Versions(NamedTuple):
    """The version of CUDA as `torch.version.cuda` reports it, and that of cuDNN as `torch.backends.cudnn.version`."""

    cuda: str
    cudnn: int

    @property
    def compiled(self) -> int:
        """The version of CUDA as a number, such as 12060."""
        major, minor = map(int, self.cuda.split("."))
        return 1000 * major + 10 * minor


# Sources: the requirements of torch 2.13.0 on PyPI; for older cards, the build for CUDA 12.6, which has the last cuDNN
# that `torch/backends/cudnn/__init__.py` accepts for them.
_LATEST, _FOR_OLDER_CARDS = Versions("13.0", 92000), Versions("12.6", 91002)


def versions_for(capabilities: Collection[tuple[int, int]]) -> Versions:
    """Returns the versions of the newest release that runs on cards of all these compute capabilities.

    >>> versions_for([(8, 0)]).cuda, versions_for([(7, 0), (8, 0)]).cuda
    ('13.0', '12.6')
    """
    return _FOR_OLDER_CARDS if min(capabilities) < TURING else _LATEST


def install_versions(torch: Any, versions: Versions, replacements: Replacements) -> None:
    """Makes PyTorch report the versions; the libraries themselves are not loaded."""
    replacements.set(torch.version, "cuda", versions.cuda)
    replacements.set(torch._C, "_cuda_getCompiledVersion", lambda: versions.compiled)
    replacements.set(torch.backends.cudnn, "version", lambda: versions.cudnn)
    replacements.set(torch.backends.cudnn, "is_available", lambda: True)

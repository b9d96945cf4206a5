"""The differences between releases of PyTorch: the layout of the core, and the libraries of each build.

Supporting another release means adding a row to `RELEASES`; a test compares the row of the installed release with its
headers. The core of a newer release is read from its headers.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from nbtf._frameworks.torch.simulation.core_layout import CoreLayout, layout_in_headers


class NoSimulationError(NotImplementedError):
    """This build of PyTorch does not support simulated GPUs."""


class Versions(NamedTuple):
    """The version of CUDA as `torch.version.cuda` reports it, and that of cuDNN as `torch.backends.cudnn.version`."""

    cuda: str
    cudnn: int

    @property
    def compiled(self) -> int:
        """The version of CUDA as a number, such as 12060."""
        major, minor = map(int, self.cuda.split("."))
        return 1000 * major + 10 * minor


class Release(NamedTuple):
    """The core of a release, and its libraries on PyPI."""

    layout: CoreLayout
    versions: Versions
    """Source: the requirements of the release on PyPI."""


OLDER_CARDS = Versions("12.6", 91002)
"""The libraries for cards below compute capability 7.5: those of the builds for CUDA 12.6.

They have the last cuDNN that `torch/backends/cudnn/__init__.py` accepts for such cards.
"""

# Slots that are the same in all supported releases.
_GUARD = {
    "type": 0,
    "exchangeDevice": 1,
    "getDevice": 2,
    "setDevice": 3,
    "getStream": 5,
    "getStreamFromGlobalPool": 7,
    "getNewStream": 8,
    "exchangeStream": 9,
}
_HOOKS = {
    "isBuilt": 2,
    "isAvailable": 3,
    "hasPrimaryContext": 4,
    "init": 5,
    "deviceCount": 6,
    "getCurrentDevice": 8,
    "isPinnedPtr": 11,
    "getPinnedMemoryAllocator": 12,
    "hasCUDA": 16,
}


def _layout(record: int, query_stream: int, guard_count: int, hooks_count: int) -> CoreLayout:
    """Returns the layout of a release, given the slots of two functions and the numbers of functions."""
    events = {"record": record, "block": record + 1, "queryEvent": record + 2, "deviceCount": record + 3}
    return CoreLayout(_GUARD | events | {"queryStream": query_stream}, guard_count, _HOOKS, hooks_count)


RELEASES = {
    (2, 10): Release(_layout(11, 16, 24, 48), Versions("12.8", 91002)),
    (2, 11): Release(_layout(12, 17, 25, 51), Versions("13.0", 91900)),
    (2, 12): Release(_layout(12, 17, 26, 51), Versions("13.0", 92000)),
    (2, 13): Release(_layout(12, 17, 26, 51), Versions("13.0", 92000)),
}
"""The supported releases by major and minor version."""

RANGE = "PyTorch {}.{} to {}.{}".format(*min(RELEASES), *max(RELEASES))
"""The supported releases as users read them."""


def release_of(torch: Any) -> Release:
    """Returns the release of a PyTorch; the layout of one that is newer than all known ones is read from its headers.

    Raises:
      NoSimulationError: if the release is older than the supported ones, or if a newer one has another core.
    """
    numbers = re.match(r"(\d+)\.(\d+)", torch.__version__)
    version = (int(numbers[1]), int(numbers[2])) if numbers else max(RELEASES)
    if version < min(RELEASES):
        raise NoSimulationError(
            f"GPUs cannot be simulated in PyTorch {torch.__version__}, which is too old. Use {RANGE}."
        )
    return RELEASES.get(version) or Release(_read_layout(torch), RELEASES[max(RELEASES)].versions)


def not_understood(torch: Any) -> NoSimulationError:
    """Returns the error for a PyTorch whose core differs from those of all supported releases."""
    return NoSimulationError(
        f"GPUs cannot be simulated in this PyTorch ({torch.__version__}): its core is not as expected. "
        f"Use {RANGE} on Linux or macOS."
    )


def _read_layout(torch: Any) -> CoreLayout:
    """Returns the layout of a core that is not in the table, if it has all the functions that nbtf replaces."""
    try:
        layout = layout_in_headers(Path(torch.__file__).parent / "include")
    except (OSError, AttributeError, ValueError):
        raise not_understood(torch) from None
    expected = RELEASES[max(RELEASES)].layout
    if expected.guard.keys() <= layout.guard.keys() and expected.hooks.keys() <= layout.hooks.keys():
        return layout
    raise not_understood(torch)

"""What is left of CUDA's own libraries that programs call by `torch.cuda.cudart()` and `torch.cuda.nvtx`?"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from nbtf._frameworks.torch.simulation.driver import Driver

_SUCCESS = 0
"""`cudaError::cudaSuccess`."""


class Runtime:
    """CUDA's runtime library: what is free, and marks for profilers that nobody reads."""

    cudaError = SimpleNamespace(success=_SUCCESS)  # noqa: N815  # CUDA's names

    def __init__(self, driver: Driver) -> None:
        """Takes what answers for the devices."""
        self.cudaMemGetInfo = driver.memory_info

    def cudaProfilerStart(self) -> int:  # noqa: N802
        """Does nothing: no profiler of CUDA's looks on."""
        return _SUCCESS

    def cudaProfilerStop(self) -> int:  # noqa: N802
        """Does nothing either."""
        return _SUCCESS

    def cudaGetErrorString(self, error: int) -> str:  # noqa: N802
        """Returns what CUDA says of an error."""
        return "no error" if error == _SUCCESS else f"error {error}"

    def __getattr__(self, name: str) -> Any:
        """Says that a function is not there.

        Raises:
          NotImplementedError: always, for a name of CUDA's.
          AttributeError: for another.
        """
        if name.startswith("cuda"):
            raise NotImplementedError(f"{name} is not there on simulated GPUs: no CUDA library is loaded.")
        raise AttributeError(name)


class Markers:
    """NVTX: marks for Nsight, which does not look at simulated devices."""

    def __init__(self) -> None:
        """Begins outside any range."""
        self._depth, self._ranges = 0, 0

    def rangePushA(self, message: str) -> int:  # noqa: N802  # NVTX's names
        """Begins a range inside others, and returns how many it is inside of."""
        self._depth += 1
        return self._depth - 1

    def rangePop(self) -> int:  # noqa: N802
        """Ends the innermost range, and returns how many it was inside of."""
        self._depth -= 1
        return self._depth

    def rangeStartA(self, message: str) -> int:  # noqa: N802
        """Begins a range of its own, and returns its number."""
        self._ranges += 1
        return self._ranges

    def rangeEnd(self, number: int) -> None:  # noqa: N802
        """Ends it."""

    def markA(self, message: str) -> None:  # noqa: N802
        """Marks a moment."""

    def deviceRangeStart(self, message: str, stream: Any) -> object:  # noqa: N802
        """Begins a range in the work of a device."""
        return object()

    def deviceRangeEnd(self, handle: object, stream: Any) -> None:  # noqa: N802
        """Ends it."""

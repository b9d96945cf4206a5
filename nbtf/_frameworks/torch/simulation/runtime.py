"""The CUDA libraries that programs call through `torch.cuda.cudart()` and `torch.cuda.nvtx`, simulated in part."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from nbtf._frameworks.torch.simulation.driver import Driver

_SUCCESS = 0
"""`cudaError::cudaSuccess`."""


class Runtime:
    """The CUDA runtime library: reports free memory; profiler functions do nothing."""

    cudaError = SimpleNamespace(success=_SUCCESS)  # noqa: N815  # CUDA's names

    def __init__(self, driver: Driver) -> None:
        """Stores the driver of the devices."""
        self.cudaMemGetInfo = driver.memory_info

    def cudaProfilerStart(self) -> int:  # noqa: N802
        """Does nothing: no CUDA profiler is attached."""
        return _SUCCESS

    def cudaProfilerStop(self) -> int:  # noqa: N802
        """Does nothing: no CUDA profiler is attached."""
        return _SUCCESS

    def cudaGetErrorString(self, error: int) -> str:  # noqa: N802
        """Returns CUDA's text for an error number."""
        return "no error" if error == _SUCCESS else f"error {error}"

    def __getattr__(self, name: str) -> Any:
        """Raises an error for an unsupported function.

        Raises:
          NotImplementedError: if CUDA has a function of this name.
          AttributeError: if it has none.
        """
        if name.startswith("cuda"):
            raise NotImplementedError(f"{name} is not available on simulated GPUs: no CUDA library is loaded.")
        raise AttributeError(name)


class Markers:
    """NVTX: markers for Nsight, which does not profile simulated devices."""

    def __init__(self) -> None:
        """Starts outside any range."""
        self._depth, self._ranges = 0, 0

    def rangePushA(self, message: str) -> int:  # noqa: N802  # NVTX's names
        """Begins a nested range, and returns the number of ranges around it."""
        self._depth += 1
        return self._depth - 1

    def rangePop(self) -> int:  # noqa: N802
        """Ends the innermost range, and returns the number of ranges around it."""
        self._depth -= 1
        return self._depth

    def rangeStartA(self, message: str) -> int:  # noqa: N802
        """Begins an independent range, and returns its number."""
        self._ranges += 1
        return self._ranges

    def rangeEnd(self, number: int) -> None:  # noqa: N802
        """Ends an independent range."""

    def markA(self, message: str) -> None:  # noqa: N802
        """Marks a moment."""

    def deviceRangeStart(self, message: str, stream: Any) -> object:  # noqa: N802
        """Begins a range in the work of a device."""
        return object()

    def deviceRangeEnd(self, handle: object, stream: Any) -> None:  # noqa: N802
        """Ends a device range."""

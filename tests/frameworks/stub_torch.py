"""A stub of PyTorch with one card: its dispatcher tells modes of ops, its allocator counts. Nothing is computed."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar


class TorchDispatchMode:
    """A mode of the dispatcher, while it is entered."""

    entered: ClassVar[list[Any]] = []

    def __init__(self) -> None: ...

    def __enter__(self) -> TorchDispatchMode:
        self.entered.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self.entered.remove(self)


def stub_torch(cards: int) -> ModuleType:
    """Returns the module."""
    torch: Any = ModuleType("torch")
    cuda = SimpleNamespace(in_use=0, peak=0, begun=False)
    cuda.is_initialized, cuda.device_count = lambda: cuda.begun, lambda: cards
    cuda.memory_allocated = cuda.memory_reserved = lambda number: cuda.in_use
    cuda.max_memory_allocated = lambda number: cuda.peak
    cuda.reset_peak_memory_stats = lambda number: setattr(cuda, "peak", cuda.in_use)
    torch.cuda, torch.Tensor, torch._C = cuda, type("Tensor", (), {}), SimpleNamespace()
    torch.utils = SimpleNamespace(_python_dispatch=SimpleNamespace(TorchDispatchMode=TorchDispatchMode))

    def ones(nbytes: int) -> object:
        def run() -> object:
            if cards:
                cuda.begun = True
                cuda.in_use += nbytes
                cuda.peak = max(cuda.peak, cuda.in_use)
            return SimpleNamespace(device=SimpleNamespace(type="cuda" if cards else "cpu"))

        for mode in reversed(TorchDispatchMode.entered):
            return mode.__torch_dispatch__(run, ())
        return run()

    torch.ones, torch.free = ones, lambda nbytes: setattr(cuda, "in_use", cuda.in_use - nbytes)
    return torch

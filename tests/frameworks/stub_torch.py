"""A stub of PyTorch with one card: its dispatcher tells modes of ops, its allocator counts. Nothing is computed."""

from __future__ import annotations

import threading
from types import ModuleType, SimpleNamespace
from typing import Any

_THREAD = threading.local()


def modes() -> list[Any]:
    """The modes that this thread has entered, the innermost last."""
    return _THREAD.__dict__.setdefault("modes", [])


class TorchDispatchMode:
    """A mode of the dispatcher; its end takes the innermost away, whichever that is."""

    def __init__(self) -> None: ...

    def __enter__(self) -> TorchDispatchMode:
        modes().append(self)
        return self

    def __exit__(self, *error: object) -> None:
        modes().pop()


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
    torch.utils._python_dispatch._get_current_dispatch_mode_stack = lambda: [*modes()]
    torch.utils._python_dispatch._pop_mode = lambda: modes().pop()
    torch.utils._python_dispatch._push_mode = lambda mode: modes().append(mode)

    def ones(nbytes: int) -> object:
        def run() -> object:
            if cards:
                cuda.begun = True
                cuda.in_use += nbytes
                cuda.peak = max(cuda.peak, cuda.in_use)
            return SimpleNamespace(device=SimpleNamespace(type="cuda" if cards else "cpu"))

        return modes()[-1].__torch_dispatch__(run, ()) if modes() else run()

    torch.ones, torch.free = ones, lambda nbytes: setattr(cuda, "in_use", cuda.in_use - nbytes)
    return torch

"""Raises errors for the driver functions of `torch.cuda` that simulated devices lack, named after the caller."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from nbtf._frameworks.torch.simulation.replacing import Replacements

_PREFIXES = ("_cuda_", "_nccl_version")
_SENSORS = ("utilization", "temperature", "power_draw", "clock_rate", "memory_usage")


def install_absent(torch: Any, replacements: Replacements) -> None:
    """Makes unsupported driver functions and classes raise an error when they are called.

    Args:
      torch: PyTorch.
      replacements: records the original attributes for removal.
    """
    core: Any = torch._C

    def absent(name: str) -> Any:
        if name.startswith(_PREFIXES):
            return _refusal(name)
        raise AttributeError(f"module 'torch._C' has no attribute {name!r}")

    replacements.set(core, "__getattr__", absent)
    attributes: dict[str, Any] = dict(core.__dict__)
    for name, value in attributes.items():
        if isinstance(value, type) and "_dummy_type" in str(value.__init__):
            replacements.set(value, "__new__", staticmethod(_refusal(name)))
    replacements.set(torch.cuda.graphs, "_cuda_isCurrentStreamCapturing", lambda: False)
    for name in _SENSORS:
        replacements.set(torch.cuda, name, _no_sensor(name))


def _refusal(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **_kwargs: Any) -> Any:
        is_class = bool(args) and isinstance(args[0], type)
        asker = f"torch.cuda.{args[0].__name__}" if is_class else _asker() or f"torch._C.{name}"
        raise NotImplementedError(
            f"{asker} is not available on simulated GPUs: it calls the driver of a real card ({name}). "
            "Skip it if torch.cuda.get_device_name() contains 'simulated'."
        )

    return refuse


def _asker() -> str:
    """Returns the name of the PyTorch function that the user's code called."""
    frame, name = sys._getframe(2), ""
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("torch."):
        name = f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}"
        frame = frame.f_back
    return name


def _no_sensor(name: str) -> Callable[..., Any]:
    def refuse(device: Any = None) -> Any:
        raise NotImplementedError(
            f"torch.cuda.{name} reads a sensor of a real card, and simulated GPUs have no sensors. "
            "torch.cuda.memory_allocated() and %devices show what is in use."
        )

    return refuse

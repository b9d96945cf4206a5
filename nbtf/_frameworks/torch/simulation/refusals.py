"""Errors for the CUDA features, driver functions and sensors that simulated devices do not have."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from nbtf._frameworks.torch.simulation.driver_table import reason_of
from nbtf._frameworks.torch.simulation.machine import NO_OUTLINES, Machine
from nbtf._frameworks.torch.simulation.replacing import Replacements

_GRAPHS = "Simulated GPUs do not support CUDA graphs. Run the code without torch.cuda.graph: the results are the same."
_SHARING = "Simulated GPUs do not share memory between processes. Send tensor.cpu() instead."
_COMPILED = "torch.compile does not compile for simulated GPUs: the code runs eagerly, with the same results."
_PROFILED = "The profiler shows the work of this computer: simulated GPUs run no kernels."
_NO_NCCL = (
    "torch.cuda.nccl.{name} calls NCCL, which needs real cards. With simulated GPUs, use "
    "torch.nn.DataParallel, torch.distributed or tensor.to(device)."
)
_NCCL = ("all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "init_rank", "unique_id")
_REFUSED_KEYS = ("SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA", "NestedTensorCUDA")


def install_refusals(machine: Machine, replacements: Replacements, fallback: Callable[[str, Any], None]) -> None:
    """Installs clear errors where PyTorch would fail with a message about its build.

    Args:
      machine: machine with the devices.
      replacements: records the original attributes for removal.
      fallback: registers a function for all ops of a dispatch key.
    """
    torch = machine.torch
    replacements.set(torch.cuda.CUDAGraph, "__new__", staticmethod(refuse(_GRAPHS)))
    for name in ("_share_cuda_", "_new_shared_cuda"):
        replacements.set(torch.UntypedStorage, name, refuse(_SHARING))
    replacements.set(torch, "compile", _eagerly(torch.compile, torch.compiler.disable))
    replacements.set(torch.backends.cudnn, "is_acceptable", _no)  # avoids the warning that cuDNN was not built
    for name in _NCCL:
        replacements.set(torch.cuda.nccl, name, refuse(_NO_NCCL.format(name=name)))
    profiler: Any = torch.autograd.profiler.profile
    replacements.set(profiler, "__init__", _of_cpu(profiler.__init__))
    for key in _REFUSED_KEYS:
        fallback(key, _refuse_op(key.removesuffix("CUDA")) if machine.layouts else refuse(NO_OUTLINES))


def _no(_tensor: Any) -> bool:
    return False


def refuse(text: str) -> Callable[..., Any]:
    """Returns a function that raises `NotImplementedError`."""

    def refusal(*_args: Any, **_kwargs: Any) -> Any:
        raise NotImplementedError(text)

    return refusal


def _refuse_op(layout: str) -> Callable[..., Any]:
    def refusal(op: Any, *_args: Any, **_kwargs: Any) -> Any:
        raise NotImplementedError(
            f"Simulated GPUs do not support {op} for tensors of layout {layout}: PyTorch's CUDA or CPU lacks it."
        )

    return refusal


def _of_cpu(start: Callable[..., None]) -> Callable[..., None]:
    """Returns a profiler's start method that profiles the CPU if a card's kernels were requested."""

    def start_on_cpu(profiler: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.pop("use_device", None) or kwargs.pop("use_cuda", None):
            warnings.warn(_PROFILED, RuntimeWarning, stacklevel=3)
            kwargs["use_cpu"] = True  # otherwise the profile would be empty
        start(profiler, *args, **kwargs)

    return start_on_cpu


def _eagerly(compile: Callable[..., Any], disable: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a `torch.compile` that runs code eagerly, with a warning that nothing is compiled.

    Even tracing is left out: the tracer cannot follow the Python kernels of simulated devices.
    """

    def compiled(model: Any = None, **options: Any) -> Any:
        if options.get("backend", "inductor") != "inductor":
            return compile(model, **options)
        if model is None:
            return partial(compiled, **options)
        warnings.warn(_COMPILED, RuntimeWarning, stacklevel=2)
        return disable(model)

    compiled.__doc__ = compile.__doc__
    return compiled


_PREFIX = "_cuda_"
_SENSORS = ("utilization", "temperature", "power_draw", "clock_rate", "memory_usage")


def install_absent(torch: Any, replacements: Replacements) -> None:
    """Makes unsupported driver functions and classes raise an error when they are called.

    Args:
      torch: PyTorch.
      replacements: records the original attributes for removal.
    """
    core: Any = torch._C

    def absent(name: str) -> Any:
        if name.startswith(_PREFIX):
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
            f"{asker} is not available on simulated GPUs: {reason_of(name)} ({name}). "
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

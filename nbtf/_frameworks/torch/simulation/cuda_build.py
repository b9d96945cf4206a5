"""Makes a PyTorch that was built with CUDA look like one without, as long as it has simulated devices.

PyPI's PyTorch for Linux is built with CUDA, and used on computers without a card. Its driver functions and the base
classes of streams call the driver. A build for the CPU has neither: `torch.cuda` then consists of Python code alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

from nbtf._frameworks.torch.simulation.releases import NoSimulationError
from nbtf._frameworks.torch.simulation.replacing import Replacements

_DRIVER = ("_cuda_", "_nccl_")
_STREAMS = ("_CudaStreamBase", "_CudaEventBase")
_OTHERS = ("_CUDAGraph", "_MemPool", "_graph_pool_handle")
"""Names in `torch._C` that `torch.cuda` replaces by dummies in a build without CUDA, beside the driver functions."""

_MODULES: dict[str, ModuleType] = {}
"""The module of streams that was loaded without CUDA: its classes stay the same in a process."""


def is_cuda_build(torch: Any) -> bool:
    """Returns whether PyTorch was built with CUDA.

    Raises:
      NoSimulationError: if it can use a card, or was built for AMD's cards.
    """
    if torch.version.hip:
        raise NoSimulationError("This PyTorch was built for ROCm. Simulated GPUs need a build for the CPU or for CUDA.")
    core: Any = torch._C
    count: Callable[[], int] | None = core.__dict__.get("_cuda_getDeviceCount")
    if count is not None and count():
        raise NoSimulationError(
            "This PyTorch can use a real GPU. Simulated GPUs need a process without one: hide it with "
            "CUDA_VISIBLE_DEVICES='' before PyTorch is imported."
        )
    return count is not None


def install_without_cuda(torch: Any, replacements: Replacements) -> None:
    """Removes the driver functions, and builds the classes of streams and events on classes of Python.

    Args:
      torch: PyTorch, built with CUDA.
      replacements: records the original attributes for removal.
    """
    core: Any = torch._C
    attributes: dict[str, Any] = core.__dict__
    originals: dict[int, str] = {}
    for name, value in [*attributes.items()]:
        if name in _STREAMS or name in _OTHERS or name.startswith(_DRIVER):
            originals[id(value)] = name
            replacements.remove(core, name)
    _replace_classes(torch.cuda.streams, _streams_without_cuda(replacements, core), replacements)

    def dummy(original: Any) -> Any:
        """Returns the class that stands for an attribute of `torch._C` in a build without CUDA."""
        name = originals[id(original)]
        if name not in attributes:
            replacements.set(core, name, torch._utils._dummy_type(name))
        return attributes[name]

    for module in _modules("torch.cuda"):
        for name, value in [*vars(module).items()]:
            if id(value) in originals:
                replacements.set(module, name, dummy(value))
            bases = value.__bases__ if isinstance(value, type) and value.__module__ == module.__name__ else ()
            for base in [base for base in bases if id(base) in originals]:
                replacements.set(value, "__new__", staticmethod(_as(dummy(base))))


def keep_failing(torch: Any) -> None:
    """Makes `torch.cuda` fail to initialize whenever no devices are simulated, with the error that it has now.

    Otherwise it would no longer fail: the core initializes CUDA once per process, which simulated devices do.
    """
    core: Any = torch._C
    init = core._cuda_init
    if isinstance(init, partial):
        return
    try:
        init()
    except RuntimeError as error:
        core._cuda_init = partial(_fail, str(error))


def _fail(text: str) -> None:
    raise RuntimeError(text)


def _as(dummy: Any) -> Callable[..., Any]:
    """Returns the `__new__` of a class that is derived from a class of CUDA: it does what a dummy does."""

    def create(*args: Any, **kwargs: Any) -> Any:
        return dummy.__new__(*args, **kwargs)

    return create


def _streams_without_cuda(replacements: Replacements, core: Any) -> ModuleType:
    """Returns the module `torch.cuda.streams` as a build without CUDA would have it."""
    spec = find_spec("torch.cuda.streams")
    assert spec is not None
    assert spec.loader is not None
    streams = _MODULES.get(spec.name)
    if streams is None:
        streams = module_from_spec(spec)
        spec.loader.exec_module(streams)
        _MODULES[spec.name] = streams
    for base, derived in zip(_STREAMS, ("Stream", "Event"), strict=True):
        replacements.set(core, base, getattr(streams, derived).__bases__[0])
    return streams


def _replace_classes(original: ModuleType, replacement: ModuleType, replacements: Replacements) -> None:
    """Replaces the classes of a module in all modules of PyTorch that have imported them."""
    classes = {
        id(value): getattr(replacement, name)
        for name, value in vars(original).items()
        if isinstance(value, type) and value.__module__ == original.__name__
    }
    for module in _modules("torch"):
        for name, value in [*vars(module).items()]:
            if id(value) in classes:
                replacements.set(module, name, classes[id(value)])


def _modules(package: str) -> list[ModuleType]:
    """Returns the loaded modules of a package."""
    loaded = [*sys.modules.items()]
    return [module for name, module in loaded if name == package or name.startswith(f"{package}.")]

"""Host tensors without values: the large tensors that a model begins with, and all results computed from them."""

from __future__ import annotations

import ctypes
import inspect
import mmap
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from nbtf._frameworks.torch.prediction.ledger import COPY, Ledger
from nbtf._frameworks.torch.simulation.machine import Machine
from nbtf._frameworks.torch.simulation.replacing import Replacements

_LARGE = 16 << 20
"""Host tensors of this size or more have no values: a model's initial values do not affect its memory."""

_NEW = ("empty", "rand", "randn")
_FILLS = ("uniform_", "normal_", "exponential_", "bernoulli_", "cauchy_", "log_normal_")
_MOVES = ("to", "cuda")


class Host:
    """Host tensors without values, all over the same shared memory."""

    def __init__(self, torch: Any, machine: Machine, ledger: Ledger) -> None:
        """Stores PyTorch with its simulated devices, and the ledger that records copies to them."""
        self._torch, self._machine, self._ledger = torch, machine, ledger
        self._zeros, self._meta, self._empty = Zeros(torch), torch.device("meta"), torch.empty
        self._unknown = machine.unknown
        self.reads: Counter[str] = Counter()
        """How often the program read values from a device, by line."""

    @contextmanager
    def without_values(self) -> Generator[None]:
        """Makes large new tensors use no memory, and skips computing with them while a model is made or moved."""
        torch, replacements, mode = self._torch, Replacements(), _mode_class()
        for name in _NEW:
            replacements.set(torch, name, self._new(getattr(torch, name)))
        for name in _FILLS:
            replacements.set(torch.Tensor, name, _filling(getattr(torch.Tensor, name)))
        for name in _MOVES:
            replacements.set(torch.Tensor, name, self._moving(getattr(torch.Tensor, name)))
        for name, function in inspect.getmembers(torch.nn.init, inspect.isfunction):
            if name.endswith("_") and not name.startswith("_"):
                replacements.set(torch.nn.init, name, _within(function, mode, self))
        replacements.set(torch.nn.Module, "_apply", _within(torch.nn.Module._apply, mode, self))
        replacements.set(torch.Tensor, "__repr__", _described(torch.Tensor.__repr__))
        replacements.set(self._machine, "unknown", self.read)
        try:
            yield
        finally:
            replacements.undo()

    def read(self, tensor: Any) -> Any:
        """Returns zeros in place of the values that the program reads from a device tensor."""
        if not self._ledger.is_saving:
            self.reads[self._ledger.current_line()] += 1
        return self.put_aside(tensor) if _nbytes(tensor) >= _LARGE else self._unknown(tensor)

    def put_aside(self, tensor: Any) -> Any:
        """Returns a host tensor without values that has the shape of another tensor."""
        return _mark(self._zeros.like(self._outline(tensor)))

    def run(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Runs an op; its results have no values if one of its host tensors has none."""
        is_hollow, has_devices = self._look([*args, *kwargs.values()])
        if not is_hollow or has_devices or _is_view(func):
            return func(*args, **kwargs)
        results = func(*[self._lower(value) for value in args], **{k: self._lower(v) for k, v in kwargs.items()})
        written = [argument.name for argument in func._schema.arguments if _is_written(argument)]
        if written:
            names = [argument.name for argument in func._schema.arguments]
            return (dict(zip(names, args, strict=False)) | kwargs)[written[0]]
        return self._raise_to_host(results)

    def _look(self, values: Any) -> tuple[bool, bool]:
        """Returns whether the arguments include a host tensor without values, and whether they include a device."""
        is_hollow = has_devices = False
        for value in values:
            if isinstance(value, self._torch.Tensor):
                has_devices |= value.is_cuda
                is_hollow |= not value.is_cuda and hasattr(value.untyped_storage(), "is_hollow")
            elif isinstance(value, list | tuple):
                hollow, devices = self._look(value)  # pyright: ignore[reportUnknownArgumentType]
                is_hollow, has_devices = is_hollow or hollow, has_devices or devices
            elif isinstance(value, self._torch.device):
                has_devices |= value.type == "cuda"
        return is_hollow, has_devices

    def _lower(self, value: Any) -> Any:
        if isinstance(value, self._torch.Tensor):
            return self._outline(value)
        if isinstance(value, list | tuple):
            return [self._lower(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
        return self._meta if isinstance(value, self._torch.device) else value

    def _outline(self, tensor: Any) -> Any:
        return self._torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=self._meta)

    def _raise_to_host(self, outline: Any) -> Any:
        if isinstance(outline, list | tuple):
            return [self._raise_to_host(each) for each in outline]  # pyright: ignore[reportUnknownVariableType]
        return _mark(self._zeros.like(outline)) if isinstance(outline, self._torch.Tensor) else outline

    def _new(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a factory whose large host tensors have no values."""
        torch, plain = self._torch, {"device", "dtype", "requires_grad", "generator", "layout"}

        def create(*size: Any, **options: Any) -> Any:
            device = torch.device(options.get("device") or torch.get_default_device())
            if device.type == "cpu" and not {*options} - plain:
                try:
                    outline = self._empty(
                        size[0] if len(size) == 1 else size, dtype=options.get("dtype"), device=self._meta
                    )
                except (TypeError, RuntimeError):
                    return make(*size, **options)  # raises PyTorch's error for wrong arguments
                if _nbytes(outline) >= _LARGE:
                    return _mark(self._zeros.like(outline)).requires_grad_(bool(options.get("requires_grad")))
            return make(*size, **options)

        return create

    def _moving(self, move: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a method that allocates device memory for tensors that come from the host."""
        ledger = self._ledger

        def moved(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if tensor.is_cuda:
                return move(tensor, *args, **kwargs)
            phase, ledger.phase = ledger.phase, COPY
            try:
                return move(tensor, *args, **kwargs)
            finally:
                ledger.phase = phase

        return moved


def _mode_class() -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode  # pyright: ignore

    class HostMode(TorchDispatchMode):  # pyright: ignore
        """A dispatch mode that runs every op through `Host`."""

        def __init__(self, host: Host) -> None:
            super().__init__()  # pyright: ignore
            self._host = host

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return self._host.run(func, args, kwargs or {})

    return HostMode


def _filling(fill: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method that does not fill tensors without values."""

    def filled(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        is_hollow = not tensor.is_cuda and hasattr(tensor.untyped_storage(), "is_hollow")
        return tensor if is_hollow else fill(tensor, *args, **kwargs)

    return filled


def _within(function: Callable[..., Any], mode: Any, host: Host) -> Callable[..., Any]:
    """Returns a function that runs within a mode, which skips computing with tensors without values."""

    def called(*args: Any, **kwargs: Any) -> Any:
        with mode(host):
            return function(*args, **kwargs)

    return called


def _described(write: Callable[..., str]) -> Callable[..., str]:
    """Returns a formatter that prints device tensors without their values."""

    def described(tensor: Any, **options: Any) -> str:
        if not tensor.is_cuda:
            return write(tensor, **options)
        return f"tensor(..., device='{tensor.device}', size={tuple(tensor.size())}, dtype={tensor.dtype})"

    return described


def _is_view(func: Any) -> bool:
    infos = [returned.alias_info for returned in func._schema.returns]
    return any(info is not None and not info.is_write for info in infos)


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _mark(tensor: Any) -> Any:
    """Marks the memory of a tensor as having no values."""
    tensor.untyped_storage().is_hollow = True
    return tensor


def _nbytes(tensor: Any) -> int:
    return tensor.numel() * tensor.element_size()


_MIB = 1 << 20
_STEP, _ADDRESSES = 64, 1 << 22
"""Tensors start at different addresses, so that they can be distinguished."""


class Zeros:
    """Host tensors of any size over the same zeros; untouched pages use no physical memory."""

    def __init__(self, torch: Any) -> None:
        """Reserves address space for tensors up to 16 MiB."""
        self._torch, self._cpu = torch, torch.device("cpu")
        self._empty = torch.empty  # the original, before it is replaced
        self._pages: list[mmap.mmap] = []
        self._count = 0
        self._reserve(16 * _MIB)

    def like(self, meta: Any) -> Any:
        """Returns a host tensor with the shape, strides and dtype of a meta tensor."""
        torch, nbytes = self._torch, meta.untyped_storage().nbytes()
        if nbytes > self._size:
            self._reserve(nbytes)
        self._count += 1
        address = self._address + self._count % _ADDRESSES * _STEP
        storage = torch._C._construct_storage_from_data_pointer(address, self._cpu, nbytes)
        return self._empty(0, dtype=meta.dtype).set_(storage, meta.storage_offset(), meta.size(), meta.stride())

    def _reserve(self, nbytes: int) -> None:
        """Maps more pages; earlier mappings stay for the tensors that use them."""
        flags = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0) | getattr(mmap, "MAP_NORESERVE", 0)
        total = nbytes + _STEP * _ADDRESSES
        pages = mmap.mmap(-1, total, flags=flags) if flags else mmap.mmap(-1, total)
        self._pages.append(pages)
        self._size, self._address = nbytes, ctypes.addressof(ctypes.c_char.from_buffer(pages))

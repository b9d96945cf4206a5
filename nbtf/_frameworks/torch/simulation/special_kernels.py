"""What do ops do that move values between devices, or give a tensor other memory?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._frameworks.torch.simulation.kernels import ViewKernel
from nbtf._frameworks.torch.simulation.machine import Machine


def special_kernels(machine: Machine) -> dict[str, Callable[..., Any]]:
    """Returns their kernels by full name."""
    copying = _Copying(machine)
    return {
        "aten::copy_": copying.copy,
        "aten::_to_copy": copying.to_copy,
        **{
            f"aten::set_.{overload}": ViewKernel(machine, f"aten::set_.{overload}")
            for overload in ("source_Storage", "source_Storage_storage_offset", "source_Tensor")
        },
        "aten::resize_": _Resizing(machine).resize,
    }


class _Copying:
    """Copies between devices, or between a device and the CPU."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._copy = machine.torch.ops.aten.copy_.default.redispatch
        self._to_copy = machine.torch.ops.aten._to_copy.default.redispatch

    def copy(self, target: Any, source: Any, non_blocking: bool = False) -> Any:
        """Writes the values of one tensor into another."""
        machine = self._machine
        with machine.plain():
            self._copy(machine.cpu_keys, machine.lower(target, []), machine.lower(source, []), non_blocking)
        return target

    def to_copy(self, source: Any, *, device: Any = None, **options: Any) -> Any:
        """Returns a copy of another dtype or on another device."""
        machine = self._machine
        with machine.plain():
            numbers: list[int] = []
            host_source = machine.lower(source, numbers)
            if device is not None:
                machine.lower(device, numbers)
            options["pin_memory"] = None
            copy = self._to_copy(machine.cpu_keys, host_source, device=machine.cpu, **options)
            if device is not None and device.type != "cuda":
                return copy
            return machine.put_on_card(copy, numbers[-1])


class _Resizing:
    """Gives a tensor another shape, and more memory where that takes more."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._set = ViewKernel(machine, "aten::set_.source_Storage_storage_offset")

    def resize(self, tensor: Any, size: Any, memory_format: Any = None) -> Any:
        """Resizes a tensor in place."""
        torch = self._machine.torch
        with self._machine.plain():
            layout = torch.empty(
                size, dtype=tensor.dtype, device="meta", memory_format=memory_format or torch.contiguous_format
            )
            storage, offset = tensor.untyped_storage(), tensor.storage_offset()
            needed = (offset + layout.numel()) * tensor.element_size()
            if needed > storage.nbytes():
                number = tensor.get_device()
                larger = torch.empty(needed, dtype=torch.uint8)
                larger[: storage.nbytes()] = self._machine.bytes_of(tensor)
                storage = self._machine.put_on_card(larger, number).untyped_storage()
            self._set(tensor, storage, offset, layout.size(), layout.stride())
        return tensor

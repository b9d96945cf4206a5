"""Kernels for ops that move values between devices or give a tensor other memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._frameworks.torch.simulation.kernels import ViewKernel
from nbtf._frameworks.torch.simulation.machine import Machine, extent_of
from nbtf._frameworks.torch.simulation.overlaps import SharedStorages
from nbtf._frameworks.torch.simulation.synchronized_norms import synchronized_norms


def special_kernels(machine: Machine) -> dict[str, Callable[..., Any]]:
    """Returns the kernels by the op's full name."""
    copying = _Copying(machine)
    return {
        "aten::copy_": copying.copy,
        "aten::_to_copy": copying.to_copy,
        "aten::_local_scalar_dense": copying.item,
        **{
            f"aten::set_.{overload}": ViewKernel(machine, f"aten::set_.{overload}")
            for overload in ("source_Storage", "source_Storage_storage_offset", "source_Tensor")
        },
        **{
            f"aten::_use_{library}_ctc_loss{overload}": _no
            for library in ("cudnn", "miopen")
            for overload in ("", ".Tensor")
        },
        "aten::_pack_padded_sequence": _pack_padded(machine),
        "aten::resize_": _Resizing(machine).resize,
        **{
            f"aten::{name}.dtype{form}": _Product(machine, name)
            for name in ("mm", "bmm", "addmm", "baddbmm")
            for form in ("", "_out")
        },
        **synchronized_norms(machine),
    }


def _no(*_args: Any) -> bool:
    return False


def _pack_padded(machine: Machine) -> Callable[..., Any]:
    op = machine.op("aten::_pack_padded_sequence")

    def pack(tensor: Any, lengths: Any, batch_first: bool) -> Any:
        """Packs on the device; the number of sequences per step stays on the CPU."""
        with machine.plain():
            numbers: list[int] = []
            packed, batch_sizes = op(machine.lower(tensor, numbers), lengths, batch_first)
            return machine.put_on_card(packed, numbers[0], "aten::_pack_padded_sequence"), batch_sizes

    return pack


class _Product:
    """Multiplies matrices into a larger dtype, which is an argument: the CPU has no such ops."""

    def __init__(self, machine: Machine, name: str) -> None:
        self._machine, self._name = machine, f"aten::{name}"
        self._op = getattr(machine.torch.ops.aten, name).default

    def __call__(self, *args: Any, out: Any = None, **options: Any) -> Any:
        machine = self._machine
        *tensors, dtype = args
        with machine.plain():
            numbers: list[int] = []
            lowered = [machine.lower(tensor, numbers).to(dtype) for tensor in tensors]
            result = machine.put_on_card(self._op(*lowered, **options), numbers[0], self._name)
            if machine.timing.is_wanted:
                machine.timing.add_op(numbers[0], self._name, lowered, options, result)
        return result if out is None else out.resize_(result.size()).copy_(result)


class _Copying:
    """Copies between devices, or between a device and the CPU."""

    def __init__(self, machine: Machine) -> None:
        self._machine, self._shared_storages = machine, SharedStorages(machine)
        aten = machine.torch.ops.aten
        self._copy, self._to_copy, self._item = aten.copy_.default, aten._to_copy.default, aten._local_scalar_dense

    def copy(self, target: Any, source: Any, non_blocking: bool = False) -> Any:
        """Writes the values of one tensor into another."""
        machine = self._machine
        with machine.plain():
            if machine.tensors.has_values:
                lowered = [machine.lower(target, []), machine.lower(source, [])]
                lowered, _ = self._shared_storages.join((target, source), {}, lowered, {})
                self._copy(*lowered, non_blocking)
            elif not target.is_cuda:
                target.copy_(machine.unknown(source))
            if machine.timing.is_wanted:
                self._add_time("aten::copy_", source, source.get_device(), target)
        return target

    def _add_time(self, name: str, source: Any, source_number: int, target: Any) -> None:
        """Adds the copy to the cards' modelled time: over the bus, or within one card's memory."""
        timing, number = self._machine.timing, target.get_device()
        if number != source_number:
            timing.add_copy(source_number, number, source.numel() * source.element_size())
        else:
            timing.add_op(number, name, (source,), {}, target)

    def to_copy(self, source: Any, *, device: Any = None, **options: Any) -> Any:
        """Returns a copy with another dtype or on another device."""
        machine = self._machine
        with machine.plain():
            numbers: list[int] = []
            lowered = machine.lower(source, numbers)
            options["pin_memory"] = None
            if device is None or device.type == "cuda":
                if device is not None:
                    machine.lower(device, numbers)
                outline = machine.torch.empty_strided(
                    lowered.size(), lowered.stride(), dtype=lowered.dtype, device=machine.meta
                )
                expected = self._to_copy(outline, **options)
                label = machine.label("aten::_to_copy", expected)
                machine.look_at_computer(extent_of(expected), numbers[-1])
                grants = [machine.charge(extent_of(expected), numbers[-1], label)]
                copy = self._to_copy(lowered, device=machine.tensors.device, **options)
                result = machine.put_on_card(copy, numbers[-1], "aten::_to_copy", grants)
            else:
                if not machine.tensors.has_values:
                    lowered = machine.unknown(lowered)
                result = self._to_copy(lowered, device=device, **options)
            if machine.timing.is_wanted:
                self._add_time("aten::_to_copy", source, numbers[0], result)
            return result

    def item(self, tensor: Any) -> Any:
        """Returns the only value of a tensor as a Python number."""
        machine = self._machine
        with machine.plain():
            lowered = machine.lower(tensor, [])
            if machine.timing.is_wanted:
                machine.timing.add_copy(tensor.get_device(), -1, tensor.element_size())
            return self._item(lowered if machine.tensors.has_values else machine.unknown(lowered))


class _Resizing:
    """Changes a tensor's shape, and allocates more memory if the new shape needs it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._set = ViewKernel(machine, "aten::set_.source_Storage_storage_offset")

    def resize(self, tensor: Any, size: Any, memory_format: Any = None) -> Any:
        """Resizes a tensor in place."""
        torch = self._machine.torch
        if memory_format is None and tensor.size() == torch.Size(size):
            return tensor  # keeps its strides
        with self._machine.plain():
            layout = torch.empty(
                size, dtype=tensor.dtype, device="meta", memory_format=memory_format or torch.contiguous_format
            )
            storage, offset = tensor.untyped_storage(), tensor.storage_offset()
            needed = (offset + layout.numel()) * tensor.element_size()
            if needed > storage.nbytes():
                tensors, number = self._machine.tensors, tensor.get_device()
                self._machine.look_at_computer(needed, number)
                grants = [self._machine.charge(needed, number, self._machine.label("aten::resize_", layout))]
                larger = torch.empty(needed, dtype=torch.uint8, device=tensors.device)
                if tensors.has_values:
                    larger[: storage.nbytes()] = self._machine.bytes_of(tensor)
                storage = self._machine.put_on_card(larger, number, "aten::resize_", grants).untyped_storage()
            self._set(tensor, storage, offset, layout.size(), layout.stride())
        return tensor

"""Tells CPU ops which of their tensors share memory, so that they reject overlapping inputs and outputs.

PyTorch looks for overlapping memory only between tensors of one storage, or in one tensor given twice. The CPU tensors
below device tensors are made one by one, each with its own storage. For ops that write to an argument, this module
makes them again with a common storage wherever the device tensors have one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from nbtf._frameworks.torch.simulation.machine import Machine


def _overlap(tensors: Sequence[Any], listed: Sequence[Any]) -> bool:
    """Returns whether the memory of two tensors overlaps, each from its first to its last element.

    Addresses are compared, because a storage that Python has seen is no longer PyTorch's alone: the backward pass would
    then not add to gradients in place. Ops on lists accept the same tensor in two lists.

    Args:
      tensors: tensors that are arguments themselves.
      listed: tensors in lists.
    """
    spans = [_span(tensor) for tensor in tensors if tensor.numel()]
    if listed:
        spans += {_span(tensor) for tensor in listed if tensor.numel()}
    spans.sort()
    return any(start < end for (_, end), (start, _) in pairwise(spans))


def _span(tensor: Any) -> tuple[int, int]:
    """Returns the addresses of a tensor's first byte and behind its last one."""
    count, start = tensor.numel(), tensor.data_ptr()
    if not tensor.is_contiguous():
        count = 1 + sum([(size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride(), strict=True)])
    return start, start + count * tensor.element_size()


class SharedStorages:
    """Lowers the arguments of one op together, with a common storage for tensors that share memory."""

    def __init__(self, machine: Machine) -> None:
        """Stores the machine with the devices."""
        self._machine, self._tensor_class = machine, machine.torch.Tensor
        self._strided, self._construct = machine.torch.strided, machine.torch._C._construct_storage_from_data_pointer

    def join(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], host_args: list[Any], host_kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Returns the lowered arguments of an op, joined where the device tensors share memory.

        Args:
          args: positional arguments of the device's op.
          kwargs: keyword arguments of the device's op.
          host_args: the lowered positional arguments.
          host_kwargs: the lowered keyword arguments.
        """
        lists = [value for value in args if value.__class__ is list or value.__class__ is tuple]
        listed = [*self._on_devices(lists)] if lists else []
        tensor_args = [value for value in args if value.__class__ is not list and value.__class__ is not tuple]
        tensors = [*self._on_devices((*tensor_args, *kwargs.values()))]
        if not _overlap(tensors, listed):
            return host_args, host_kwargs
        lowered = self._joined([*listed, *tensors], self._storage_below)
        return (
            [self.replaced(value, below, lowered) for value, below in zip(args, host_args, strict=True)],
            {name: self.replaced(kwargs[name], below, lowered) for name, below in host_kwargs.items()},
        )

    def resizable(self, values: Sequence[Any], outputs: Sequence[Any]) -> dict[int, Any]:
        """Returns copies of the tensors that share a storage with an output, in memory that PyTorch can resize.

        An op resizes its outputs before it looks for overlapping memory.

        Args:
          values: all arguments of an op.
          outputs: the arguments to which it writes its results.

        Returns:
          Tensors on the CPU, by the identity of the device tensor.
        """
        if not self._machine.tensors.has_values:
            return {}
        storages = {tensor.untyped_storage()._cdata for tensor in self._on_devices(outputs)}
        tensors = [each for each in self._on_devices(values) if each.untyped_storage()._cdata in storages]
        users = Counter([storage for storage, _ in {(each.untyped_storage()._cdata, id(each)) for each in tensors}])
        shared = [each for each in tensors if users[each.untyped_storage()._cdata] > 1]
        return self._joined(shared, lambda tensor: self._machine.bytes_of(tensor).clone().untyped_storage())

    def _on_devices(self, values: Sequence[Any]) -> Iterator[Any]:
        """Yields the device tensors among arguments, including those in lists."""
        for value in values:
            if isinstance(value, self._tensor_class):
                if value.is_cuda and value.layout is self._strided:
                    yield value
            elif value.__class__ is list or value.__class__ is tuple:
                yield from self._on_devices(value)

    def _storage_below(self, tensor: Any) -> Any:
        """Returns the storage of a device tensor as one of the CPU."""
        storage = tensor.untyped_storage()
        return self._construct(storage.data_ptr(), self._machine.tensors.device, storage.nbytes())

    def _joined(self, tensors: Sequence[Any], storage_of: Callable[[Any], Any]) -> dict[int, Any]:
        """Returns the tensors on CPU storages, one for each device storage, by the identity of the device tensor."""
        torch, device = self._machine.torch, self._machine.tensors.device
        below: dict[int, Any] = {}
        lowered: dict[int, Any] = {}
        for tensor in tensors:
            if id(tensor) in lowered:
                continue
            storage = tensor.untyped_storage()
            host_storage = below.get(storage._cdata)
            if host_storage is None:
                host_storage = below[storage._cdata] = storage_of(tensor)
            host = torch.empty(0, dtype=tensor.dtype, device=device).set_(
                host_storage, tensor.storage_offset(), tensor.size(), tensor.stride()
            )
            if tensor.is_conj():
                host = torch._conj(host)
            lowered[id(tensor)] = torch._neg_view(host) if tensor.is_neg() else host
        return lowered

    def replaced(self, value: Any, below: Any, lowered: Mapping[int, Any]) -> Any:
        """Returns a lowered argument with the joined tensors in place of the separate ones."""
        if isinstance(value, self._tensor_class):
            return lowered.get(id(value), below)
        if value.__class__ is list or value.__class__ is tuple:
            return [self.replaced(*pair, lowered) for pair in zip(value, below, strict=True)]
        return below

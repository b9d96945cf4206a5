"""Sparse and nested tensors on simulated devices: sparse ones consist of indices and values, nested ones of a buffer.

Their components are device tensors, and PyTorch's CPU code assembles them for every device. An op takes them apart,
builds a CPU tensor over the memory of the components, and runs on that tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from nbtf._frameworks.torch.simulation.agreement import check_devices
from nbtf._frameworks.torch.simulation.machine import Machine

LAYOUTS = ("Sparse", "SparseCsr", "NestedTensor")
"""Prefixes of the dispatch keys of such tensors; the device follows."""

_STRUCTURAL = frozenset(
    [
        f"aten::{name}"
        for name in (
            *("empty.memory_format", "empty_like", "clone", "copy_", "_to_copy", "zero_", "_coalesced_"),
            *("_sparse_coo_tensor_with_dims", "_sparse_coo_tensor_with_dims_and_tensors", "copy_sparse_to_sparse_"),
            *("sparse_resize_", "sparse_resize_and_clear_", "resize_as_sparse_", "is_coalesced", "sparse_dim"),
            *("dense_dim", "_nnz", "_dimI", "_dimV"),
        )
    ]
)
"""Ops that assemble such tensors or inspect their components, by ops on the components; they touch no values."""

_COMPRESSED = {
    "sparse_csr": ("crow_indices", "col_indices"),
    "sparse_bsr": ("crow_indices", "col_indices"),
    "sparse_csc": ("ccol_indices", "row_indices"),
    "sparse_bsc": ("ccol_indices", "row_indices"),
}


_OF_CPU = frozenset({"aten::_sparse_mm_reduce_impl", "aten::_sparse_mm_reduce_impl_backward"})
"""Ops for such tensors that only the CPU has."""


class Layouts:
    """Takes tensors apart and assembles them on another device."""

    def __init__(self, machine: Machine) -> None:
        """Stores the machine with the devices."""
        self._machine = machine
        aten, key = machine.torch.ops.aten, machine.torch._C.DispatchKey
        keys = {name: machine.torch._C.DispatchKeySet(getattr(key, f"{name}CPU")) for name in LAYOUTS}
        make_sparse, view = aten._sparse_coo_tensor_with_dims_and_tensors.default, aten._nested_view_from_buffer.default
        self._compressed = aten._sparse_compressed_tensor_unsafe.default
        self._sparse: Callable[..., Any] = partial(make_sparse.redispatch, keys["Sparse"])
        self._nested: Callable[..., Any] = partial(view.redispatch, machine.cpu_keys)
        self.keys = keys

    def components(self, tensor: Any) -> list[Any]:
        """Returns the components of a tensor; the lengths of a nested tensor are on the CPU."""
        if tensor.is_nested:
            return [
                tensor.values(),
                tensor._nested_tensor_size(),
                tensor._nested_tensor_strides(),
                tensor._nested_tensor_storage_offsets(),
            ]
        if tensor.is_sparse:
            return [tensor._indices(), tensor._values()]
        names = _COMPRESSED[str(tensor.layout).removeprefix("torch.")]
        return [*[getattr(tensor, name)() for name in names], tensor.values()]

    def rebuilt(self, tensor: Any, components: Sequence[Any], device: Any) -> Any:
        """Returns a tensor like another one, assembled of other components on a device."""
        if tensor.is_nested:
            return self._nested(*components)
        options = {"dtype": tensor.dtype, "layout": tensor.layout, "device": device}
        if tensor.is_sparse:
            dimensions = tensor.sparse_dim(), tensor.dense_dim()
            return self._sparse(*dimensions, tensor.size(), *components, **options, is_coalesced=tensor.is_coalesced())
        return self._compressed(*components, tensor.size(), **options)

    def lower(self, tensor: Any, numbers: list[int]) -> Any:
        """Returns a CPU tensor over the memory of a device tensor; returns CPU tensors unchanged."""
        if tensor.layout is self._machine.torch.strided and not tensor.is_nested:
            return self._machine.lower(tensor, numbers)
        numbers.append(tensor.get_device())
        if numbers[-1] < 0:
            return tensor
        components = [
            self._machine.lower(component, []) if component.is_cuda else component
            for component in self.components(tensor)
        ]
        return self.rebuilt(tensor, components, self._machine.cpu)

    def put_on_card(self, tensor: Any, number: int, op: str) -> Any:
        """Returns a device tensor that takes over the components of a CPU tensor, each charged to the device.

        Raises:
          OutOfMemoryError: if the device has too little memory.
          NotImplementedError: if the device does not support tensors of this layout.
        """
        torch = self._machine.torch
        if tensor.is_mkldnn or tensor.is_quantized:
            family = "quantized tensors" if tensor.is_quantized else "tensors of oneDNN layout"
            raise NotImplementedError(f"Simulated GPUs do not support {family}. Use tensor.cpu() for them.")
        components = self.components(tensor)
        count = 1 if tensor.is_nested else len(components)
        placed = [self._machine.put_on_card(component, number, op) for component in components[:count]]
        current = self._machine.current
        self._machine.current = number  # a sparse tensor takes the current device, whatever its components have
        try:
            return self.rebuilt(tensor, [*placed, *components[count:]], torch.device("cuda", number))
        finally:
            self._machine.current = current

    def kernels(self) -> Iterator[tuple[str, str, Callable[..., Any]]]:
        """Yields op, dispatch key and kernel for each op that the CPU implements for such tensors."""
        torch = self._machine.torch
        for name in torch._C._dispatch_get_all_op_names():
            if not name.startswith("aten::") or name in _OF_CPU:
                continue
            for layout in LAYOUTS:
                if torch._C._dispatch_has_kernel_for_dispatch_key(name, f"{layout}CPU"):
                    yield name, f"{layout}CUDA", _LayoutKernel(self._machine, self, name, self.keys[layout])


class _LayoutKernel:
    """Runs the CPU op on the tensors below, or runs ops on the components."""

    def __init__(self, machine: Machine, layouts: Layouts, name: str, keys: Any) -> None:
        """Stores the full name of the op, and the dispatch keys of its CPU kernel."""
        self._machine, self._layouts, self._name, self._keys = machine, layouts, name, keys
        base, _, overload = name.partition(".")
        self._label, self._schema = base, machine.torch._C._get_schema(base, overload)
        infos = [returned.alias_info for returned in self._schema.returns]
        is_view = any([info is not None and not info.is_write for info in infos])
        self._is_structural = name in _STRUCTURAL or is_view or base.startswith("aten::_nested_tensor_s")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the op."""
        machine = self._machine
        op = machine.op(self._name)
        with machine.plain():
            if self._is_structural:
                return self._put_together(op, args, kwargs)
            numbers: list[int] = []
            host_args = [self._lower(value, numbers) for value in args]
            host_kwargs = {name: self._lower(value, numbers) for name, value in kwargs.items()}
            number = max(numbers, default=machine.current)
            names = [argument.name for argument in self._schema.arguments]
            if min(numbers, default=number) != number:
                check_devices(machine, self._name, names, args, kwargs)
            with machine.generators[number].drawing():
                result = op(*host_args, **host_kwargs)
            if machine.timing.is_wanted:
                read = [*self._components([*host_args, *host_kwargs.values()])]
                machine.timing.add_op(
                    number, "", read, {}, [*self._components([result])]
                )  # no FLOP formula applies to components
            by_name = dict(zip(names, args, strict=False)) | kwargs
            lowered = dict(zip(names, host_args, strict=False)) | host_kwargs
            return self._returned(result, by_name, lowered, number)

    def _put_together(self, op: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Runs an op on components; meanwhile the tensors' device is current, so that results are made there."""
        machine, tensor_class = self._machine, self._machine.torch.Tensor
        devices = [value.device for value in args if isinstance(value, tensor_class)]
        numbers = [each.index for each in (*devices, kwargs.get("device")) if each is not None and each.type == "cuda"]
        previous, number = machine.current, next((number for number in reversed(numbers) if number is not None), None)
        machine.current = previous if number is None else number
        try:
            return op.redispatch(self._keys, *args, **kwargs)
        finally:
            machine.current = previous

    def _lower(self, value: Any, numbers: list[int]) -> Any:
        if isinstance(value, self._machine.torch.Tensor):
            return self._layouts.lower(value, numbers)
        if value.__class__ in (list, tuple):
            return [self._lower(element, numbers) for element in value]
        return self._machine.lower(value, numbers)

    def _components(self, values: Sequence[Any]) -> Iterator[Any]:
        """Yields the components of tensors."""
        for value in values:
            if value.__class__ in (list, tuple):
                yield from self._components(value)
            elif isinstance(value, self._machine.torch.Tensor):
                is_whole = value.layout is self._machine.torch.strided and not value.is_nested
                yield from [value] if is_whole else self._layouts.components(value)

    def _returned(self, result: Any, by_name: dict[str, Any], lowered: dict[str, Any], number: int) -> Any:
        """Returns written arguments as themselves, and other results as tensors of the device."""
        outputs: list[Any] = []
        results = result if len(self._schema.returns) > 1 else (result,)
        for value, returned in zip(results, self._schema.returns, strict=False):
            written = self._written(returned)
            if written is None:
                outputs.append(self._machine.put_on_card(value, number, self._label))
            else:
                self._write(by_name[written], lowered[written], number)
                outputs.append(by_name[written])
        return tuple(outputs) if len(outputs) > 1 else next(iter(outputs), None)

    def _written(self, returned: Any) -> str | None:
        """Returns the name of the argument that a result is identical to."""
        if returned.alias_info is None:
            return None
        return next(
            (
                argument.name
                for argument in self._schema.arguments
                if argument.alias_info is not None and argument.alias_info.before_set & returned.alias_info.before_set
            ),
            None,
        )

    def _write(self, target: Any, lowered: Any, number: int) -> None:
        """Updates a device tensor from the CPU tensor below it, whose components may have been replaced."""
        if target.is_sparse and target.is_cuda:
            addresses = [
                [component.data_ptr() for component in self._layouts.components(tensor)] for tensor in (lowered, target)
            ]
            if addresses[0] != addresses[1]:
                target.copy_(self._layouts.put_on_card(lowered, number, self._label))

"""PyTorch's tensors, as memory views see them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import nullcontext
from typing import Any

from nbtf._frameworks.base import Arrays, cautious, piece
from nbtf._frameworks.saved_tensors import SavedTensors, saved_tensors
from nbtf._runtime.holding import Holding


def tensors_of(library: str, torch: Any, device_types: Collection[str]) -> Arrays:
    """Returns the description of a library's tensors on some types of devices, given the library's name and module."""
    # Attributes of tensor subclasses may run user code, so nothing here reads them through the subclass.
    plain: Any = getattr(torch._C, "DisableTorchFunctionSubclass", nullcontext)

    @cautious(lambda: None)  # the many kinds of tensors without memory raise many kinds of errors
    def holding(tensor: Any) -> Holding | None:
        with plain():
            if tensor.device.type not in device_types:
                return None
            storage = _largest(tensor).untyped_storage()
            return piece(tensor.device.index or 0, storage.data_ptr(), storage.nbytes())

    def describe(tensor: Any) -> str:
        with plain():
            dtype = str(tensor.dtype).removeprefix("torch.")
            if getattr(tensor, "is_nested", False):
                return f"{tensor.size(0)} nested {dtype}"
            layout = str(getattr(tensor, "layout", "strided")).removeprefix("torch.")
            return f"{list(tensor.shape)} {'' if layout == 'strided' else f'{layout} '}{dtype}"

    def gradient(tensor: Any) -> Any:
        with plain():
            # PyTorch warns when `grad` of any other tensor is read.
            return tensor.grad if tensor.is_leaf or tensor.retains_grad else None

    @cautious(lambda: False)  # older releases do not count references
    def is_pythons(tensors: Sequence[Any], held_elsewhere: int = 0) -> bool:
        with plain():
            bases = [tensor._base for tensor in tensors]
            hidden = {id(base): base for base in bases if base is not None and not _contains(tensors, base)}
            alive = [*tensors, *hidden.values()]
            views = [sum([base is tensor for base in bases]) for tensor in alive]
            # The tensor's Python object is one more user of the tensor, and this query one of the storage.
            storage = tensors[0].untyped_storage()  # has a name, since older releases would count it no longer
            users = torch._C._storage_Use_Count(storage._cdata) - 1
            return users == len(alive) and all(
                tensor._use_count() == 1 + count + held_elsewhere for tensor, count in zip(alive, views, strict=True)
            )

    @cautious(lambda: SavedTensors(0, []))
    def saved(tensor: Any) -> SavedTensors:
        with plain():
            return saved_tensors(torch, tensor)

    return Arrays(library, torch.Tensor, holding, describe, gradient, is_pythons, saved)


def _largest(tensor: Any) -> Any:
    """Returns the part of a tensor with its memory; for a sparse tensor the larger of values and indices."""
    if "sparse" not in str(getattr(tensor, "layout", "")):
        return tensor
    if tensor.is_sparse:
        return max(tensor._values(), tensor._indices(), key=lambda each: each.numel() * each.element_size())
    return tensor.values()


def _contains(tensors: Sequence[Any], tensor: Any) -> bool:
    """Returns whether a tensor is in a list, by identity, because tensors compare values."""
    return any([each is tensor for each in tensors])

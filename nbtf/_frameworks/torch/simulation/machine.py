"""Which simulated devices does PyTorch have, and how do tensors come to them?"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from nbtf._devices.base import Label
from nbtf._devices.caching.allocator import CachingAllocator
from nbtf._devices.caching.report import OutOfDeviceMemory, format_size
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.sites import CallSite
from nbtf._frameworks.torch.hearing import hearing_of_thread
from nbtf._frameworks.torch.simulation.guard import MOST_DEVICES, Guard
from nbtf._frameworks.torch.simulation.leftovers import Leftovers, of_before
from nbtf._frameworks.torch.simulation.tensors import Outlines, Tensors
from nbtf._frameworks.torch.simulation.timing import Timing

NO_OUTLINES = (
    "Sparse and nested tensors are what their values say: simulated GPUs without values have none. "
    "Use dense ones, or tensor.cpu() for what is sparse."
)


class NoValuesError(RuntimeError):
    """A value was read on a device that is simulated without values."""


_REFUSED_BYTES = re.compile(r"DefaultCPUAllocator: (?:(?!DefaultCPUAllocator: ).)*you tried to allocate (\d+) bytes")
"""What the CPU's allocator says. Source: c10/core/impl/alloc_cpu.cpp."""


def implementation_of(generator: Any) -> int:
    """Returns the address of what a generator of PyTorch is in C++: its objects of Python come and go.

    Source: struct THPGenerator, torch/csrc/Generator.h.
    """
    return ctypes.c_void_p.from_address(id(generator) + object.__basicsize__).value or 0


class Machine:
    """The devices `cuda:0` to `cuda:n-1`: their cards, their memory, and the current device of each thread."""

    def __init__(
        self,
        torch: Any,
        cards: Sequence[PhysicalGPU],
        allocators: Sequence[CachingAllocator],
        values: bool = True,
        read_as: float | None = None,
        leftovers: Leftovers | None = None,
    ) -> None:
        """Makes them.

        Args:
          torch: PyTorch.
          cards: what each device is.
          allocators: what looks after its memory.
          values: whether tensors have values; without, they take no memory of this computer.
          read_as: what every value is that somebody reads where there are none; reading raises when None.
          leftovers: what is left of the devices before these.
        """
        if len(cards) > MOST_DEVICES:
            raise ValueError(f"PyTorch can have {MOST_DEVICES} simulated GPUs at most; got {len(cards)}.")
        self.torch, self.cards, self.allocators = torch, cards, allocators
        self.tensors = (Tensors if values else Outlines)(torch)
        self.timing = Timing(torch, cards)
        self.read_as = read_as
        self.plain = torch._C.DisableTorchFunction
        self.cpu, self.meta = torch.device("cpu"), torch.device("meta")
        self.cpu_keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
        self._tensor_class, self._device_class = torch.Tensor, torch.device
        self._strided = torch.strided
        self._dtypes: dict[Any, str] = {}
        self._generator_base = torch._C.Generator
        self._guard = Guard(torch, lambda: len(cards))
        self.leftovers = leftovers or Leftovers()
        self.layouts: Any = None
        """What puts sparse and nested tensors together, where tensors have values."""
        self.generators: Sequence[Any] = ()
        self.generator_addresses: set[int] = set()

    @property
    def current(self) -> int:
        """The number of this thread's current device."""
        return self._guard.current

    @current.setter
    def current(self, number: int) -> None:
        self.check(number)
        self._guard.current = number

    def check(self, number: int) -> None:
        """Raises CUDA's error where there is no device with this number."""
        if not 0 <= number < len(self.cards):
            raise self.torch.AcceleratorError(
                f"CUDA error: invalid device ordinal\nThere are {len(self.cards)} simulated devices; got {number}."
            )

    def op(self, name: str) -> Any:
        """Returns an op by its full name: `aten::add.Tensor`."""
        base, _, overload = name.removeprefix("aten::").partition(".")
        return getattr(getattr(self.torch.ops.aten, base), overload or "default")

    def lower(self, value: Any, numbers: list[int]) -> Any:
        """Returns an argument as the CPU's op takes it.

        Args:
          value: of a device's op; tensors in lists are lowered as well.
          numbers: takes the device of each tensor, -1 for the CPU, and that of an argument `device`.
        """
        if isinstance(value, self._tensor_class):
            number = value.get_device()
            if number >= 0 and self.leftovers and self.leftovers.has(value):
                raise RuntimeError(of_before(f"cuda:{number}"))
            numbers.append(number)
            return self.tensors.below(value) if number >= 0 else self.tensors.of_cpu(value)
        if value.__class__ is list or value.__class__ is tuple:
            return [self.lower(element, numbers) for element in value]
        if value.__class__ is self._device_class and value.type == "cuda":
            number = self.current if value.index is None else value.index
            self.check(number)
            numbers.append(number)
            return self.tensors.device
        if isinstance(value, self._generator_base) and implementation_of(value) not in self.generator_addresses:
            raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
        return value

    def put_on_card(self, value: Any, number: int, op: str, grants: list[Any] | None = None) -> Any:
        """Returns what an op of the CPU has returned, with its tensors on a device, charged there.

        Args:
          value: a tensor, several, or anything else.
          number: of the device.
          op: which op has returned it, such as `aten::mm`.
          grants: what was taken there for its tensors already, in their order; it is used up.

        Raises:
          OutOfMemoryError: PyTorch's, where the device has no room.
        """
        if isinstance(value, self._tensor_class):
            if value.layout is not self._strided or value.is_nested or value.is_quantized:
                if self.layouts is None:
                    raise NotImplementedError(NO_OUTLINES)
                return self.layouts.put_on_card(value, number, op)
            nbytes, memory = extent_of(value), grants.pop(0) if grants else None
            if memory is None or memory.requested != nbytes:  # the CPU has laid it out in another way
                self.give_back([memory], number)
                memory = self.charge(nbytes, number, self.label(op, value))
            return self.tensors.on_card(value, number, memory)
        if value.__class__ is list or value.__class__ is tuple:
            elements: Any = value
            return elements.__class__([self.put_on_card(element, number, op, grants) for element in elements])
        return value

    def unknown(self, tensor: Any) -> Any:
        """Returns what is read of a tensor without values, on the CPU.

        Raises:
          NoValuesError: nobody said what that is.
        """
        if self.read_as is None:
            raise NoValuesError(
                f"A tensor of shape {list(tensor.shape)} is read, but these GPUs are simulated without values."
            )
        return self.torch.full(tensor.size(), self.read_as, dtype=tensor.dtype, device=self.cpu)

    def remove(self) -> None:
        """Takes the devices away: what is left of their tensors says so, and PyTorch that it has no CUDA."""
        self._guard.remove()
        self.leftovers.add_living()
        self.lower, self.charge = self._refuse_to_lower, self._refuse_to_charge

    def _refuse_to_lower(self, value: Any, numbers: list[int]) -> Any:
        if isinstance(value, self._tensor_class) and value.get_device() >= 0:
            raise RuntimeError(of_before(f"cuda:{value.get_device()}"))
        if value.__class__ is list or value.__class__ is tuple:
            return [self._refuse_to_lower(element, numbers) for element in value]
        if value.__class__ is self._device_class and value.type == "cuda":
            self._refuse_device()
        return value

    def _refuse_to_charge(self, nbytes: int, number: int, label: Label) -> Any:
        self._refuse_device()

    def _refuse_device(self) -> None:
        """Raises what PyTorch raises where there is no CUDA."""
        self.torch.cuda._lazy_init()
        raise RuntimeError(of_before("a simulated GPU"))

    def give_back(self, grants: Sequence[Any], number: int) -> None:
        """Gives memory of a device back, now: a traceback may keep what holds it."""
        for memory in grants:
            self.allocators[number].free(memory)

    def check_computer(self, error: BaseException, number: int, op: str) -> None:
        """Says which of the two is too small where this computer had no memory for an op: the card, or the computer.

        Raises:
          OutOfMemoryError: PyTorch's, if that was it.
        """
        refused = _REFUSED_BYTES.search(str(error))
        if refused is None:
            return
        nbytes = int(refused[1])
        self.charge(nbytes, number, Label(op, "uint8", (nbytes,), self.site()))
        free = self.allocators[number].free_bytes
        raise self.torch.OutOfMemoryError(
            f"CUDA out of memory (simulated). Tried to allocate {format_size(int(refused[1]))}. Simulated GPU {number} "
            f"has {format_size(free)} free, but this computer, which stands in for it, has not."
        ) from error

    def bytes_of(self, tensor: Any) -> Any:
        """Returns all memory that a device's tensor shares, as bytes on the CPU."""
        torch, storage = self.torch, tensor.untyped_storage()
        empty = torch.empty(0, dtype=torch.uint8)
        address = torch._C._construct_storage_from_data_pointer(storage.data_ptr(), self.cpu, storage.nbytes())
        return empty.set_(address, 0, (storage.nbytes(),))

    def label(self, op: str, tensor: Any) -> Label:
        """Returns what memory of a tensor is for: its op, and the line where somebody watches."""
        dtype = self._dtypes.get(tensor.dtype) or self._dtypes.setdefault(tensor.dtype, str(tensor.dtype)[6:])
        return Label(op, dtype, tuple(tensor.size()), self.site())

    def site(self) -> CallSite | None:
        """Returns the place for which memory is taken now, where somebody watches."""
        hearing = hearing_of_thread(self.torch)
        return None if hearing is None else hearing.call_site_here()

    def run_whole(self, name: str, run: Callable[[], Any], tensors: Sequence[Any]) -> Any:
        """Runs on the CPU what is one op on a device; who records ops hears of that one."""
        hearing = hearing_of_thread(self.torch)
        return run() if hearing is None else hearing.run_whole(name, run, tensors)

    def aside(self) -> AbstractContextManager[None]:
        """Has who records ops not hear of what runs inside: no device would do it."""
        hearing = hearing_of_thread(self.torch)
        return nullcontext() if hearing is None else hearing.aside()

    def charge(self, nbytes: int, number: int, label: Label) -> Any:
        """Takes memory of a device, which is given back when the result dies."""
        try:
            return self.allocators[number].allocate(nbytes, label=label)
        except OutOfDeviceMemory as error:
            refusal = self.torch.OutOfMemoryError(str(error))
            of_nbtf = self.allocators[number].card.mapped_by("")
            if of_nbtf:
                refusal.add_note(_of_nbtf(of_nbtf))
        try:
            raise refusal
        finally:
            del refusal  # else it and this frame keep each other, and all tensors of the frames above, alive


def _of_nbtf(nbytes: int) -> str:
    return (
        f"nbtf's own ops have mapped {format_size(nbytes)} of this card: as TensorFlow does, nearly all that is free "
        "at the first op. tf.config.experimental.set_memory_growth before it has them take what they need."
    )


def extent_of(tensor: Any) -> int:
    """Returns the bytes that a tensor reaches over: a kernel of the CPU may have left it in larger memory."""
    nbytes = tensor.untyped_storage().nbytes()
    if tensor.numel() * tensor.element_size() == nbytes:
        return nbytes
    steps = sum([(size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride(), strict=True)])
    return min(nbytes, (tensor.storage_offset() + steps + 1) * tensor.element_size()) if tensor.numel() else 0

"""The simulated devices of PyTorch, and how tensors get onto them."""

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
from nbtf._devices.host_memory import available_bytes, is_too_much
from nbtf._devices.sites import CallSite
from nbtf._frameworks.torch.simulation.cuda_build import is_cuda_build, keep_failing
from nbtf._frameworks.torch.simulation.guard import MOST_DEVICES, Guard
from nbtf._frameworks.torch.simulation.leftovers import Leftovers, of_before
from nbtf._frameworks.torch.simulation.releases import release_of
from nbtf._frameworks.torch.simulation.tensors import Outlines, Tensors
from nbtf._frameworks.torch.simulation.timing import Timing
from nbtf._frameworks.torch.thread_observer import hearing_of_thread

NO_OUTLINES = (
    "Simulated GPUs without values do not support sparse and nested tensors, whose layout depends on their values. "
    "Use dense tensors, or tensor.cpu() for the sparse ones."
)


_WORTH_A_LOOK = 16 << 20
"""Bytes from which this computer's free memory is read, which takes 0.1 ms: less than filling so many bytes takes."""


class NoValuesError(RuntimeError):
    """A value was read on a device that is simulated without values."""


_REFUSED_BYTES = re.compile(r"DefaultCPUAllocator: (?:(?!DefaultCPUAllocator: ).)*you tried to allocate (\d+) bytes")
"""The error text of the CPU allocator. Source: c10/core/impl/alloc_cpu.cpp."""


def implementation_of(generator: Any) -> int:
    """Returns the address of a generator's C++ object: PyTorch creates its Python objects anew.

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
        """Creates the devices.

        Args:
          torch: PyTorch.
          cards: the card of each device.
          allocators: the memory allocator of each device.
          values: whether tensors have values; without values they use no host memory.
          read_as: the value that every read returns if tensors have none; None makes reading raise an error.
          leftovers: tensors left on earlier devices.
        """
        if len(cards) > MOST_DEVICES:
            raise ValueError(f"PyTorch can have at most {MOST_DEVICES} simulated GPUs; got {len(cards)}.")
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
        self.release = release_of(torch)
        self.is_with_cuda = is_cuda_build(torch)
        if self.is_with_cuda:
            keep_failing(torch)
        self._guard = Guard(torch, self.release.layout, self.is_with_cuda, lambda: len(cards))
        self.leftovers = leftovers or Leftovers()
        self.layouts: Any = None
        """Assembles sparse and nested tensors; present only if tensors have values."""
        self.is_forked = False
        """Whether this process was forked from one that had used the devices."""
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
        """Raises CUDA's error if no device has this number."""
        if not 0 <= number < len(self.cards):
            raise self.torch.AcceleratorError(
                f"CUDA error: invalid device ordinal\nThere are {len(self.cards)} simulated GPUs; got device {number}."
            )

    def forbid_in_fork(self) -> None:
        """Makes every use of the devices raise PyTorch's error: a forked process cannot use its parent's GPUs."""
        self.is_forked = True
        self.lower, self.charge = self._refuse_to_lower, self._refuse_to_charge

    def op(self, name: str) -> Any:
        """Returns an op by its full name, such as `aten::add.Tensor`."""
        base, _, overload = name.removeprefix("aten::").partition(".")
        return getattr(getattr(self.torch.ops.aten, base), overload or "default")

    def lower(self, value: Any, numbers: list[int]) -> Any:
        """Returns an argument in the form that the CPU op takes.

        Args:
          value: argument of the device's op; tensors in lists are converted as well.
          numbers: collects the device of each tensor (-1 for the CPU) and of an argument `device`.
        """
        if isinstance(value, self._tensor_class):
            number = value.get_device()
            if self.leftovers.allocations and number >= 0 and self.leftovers.has(value):
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
        """Returns the result of a CPU op with its tensors on a device, and charges them there.

        Args:
          value: a tensor, several tensors, or anything else.
          number: number of the device.
          op: name of the op that returned the value, such as `aten::mm`.
          grants: device memory allocated in advance for its tensors, in their order; consumed by this call.

        Raises:
          OutOfMemoryError: if the device has too little memory.
        """
        if isinstance(value, self._tensor_class):
            if value.layout is not self._strided or value.is_nested or value.is_quantized:
                if self.layouts is None:
                    raise NotImplementedError(NO_OUTLINES)
                return self.layouts.put_on_card(value, number, op)
            nbytes, memory = extent_of(value), grants.pop(0) if grants else None
            if memory is None or memory.requested != nbytes:  # the CPU op chose a different memory layout
                self.give_back([memory], number)
                memory = self.charge(nbytes, number, self.label(op, value))
            return self.tensors.on_card(value, number, memory)
        if value.__class__ is list or value.__class__ is tuple:
            elements: Any = value
            return elements.__class__([self.put_on_card(element, number, op, grants) for element in elements])
        return value

    def unknown(self, tensor: Any) -> Any:
        """Returns the CPU values read from a tensor without values.

        Raises:
          NoValuesError: if `read_as` was not given.
        """
        if self.read_as is None:
            raise NoValuesError(
                f"A tensor of shape {list(tensor.shape)} was read, but these GPUs are simulated without values."
            )
        return self.torch.full(tensor.size(), self.read_as, dtype=tensor.dtype, device=self.cpu)

    def remove(self) -> None:
        """Removes the devices: their remaining tensors raise an error, and PyTorch reports that CUDA is missing."""
        self._guard.remove()
        self.leftovers.add_living()
        self.lower, self.charge = self._refuse_to_lower, self._refuse_to_charge

    def _refuse_to_lower(self, value: Any, numbers: list[int]) -> Any:
        if isinstance(value, self._tensor_class) and value.get_device() >= 0:
            if self.is_forked:
                self._refuse_device()
            raise RuntimeError(of_before(f"cuda:{value.get_device()}"))
        if value.__class__ is list or value.__class__ is tuple:
            return [self._refuse_to_lower(element, numbers) for element in value]
        if value.__class__ is self._device_class and value.type == "cuda":
            self._refuse_device()
        return value

    def _refuse_to_charge(self, nbytes: int, number: int, label: Label) -> Any:
        self._refuse_device()

    def _refuse_device(self) -> None:
        """Raises the error that PyTorch raises without CUDA, or in a forked process."""
        self.torch.cuda._lazy_init()
        raise RuntimeError(of_before("a simulated GPU"))

    def give_back(self, grants: Sequence[Any], number: int) -> None:
        """Frees device memory immediately: a traceback could keep its owner alive."""
        for memory in grants:
            self.allocators[number].free(memory)

    def look_at_computer(self, nbytes: int, number: int) -> None:
        """Raises an error before memory is allocated that a card has and this computer lacks; reserves nothing.

        Without it, the operating system could end the process, because it grants more memory than it has.

        Raises:
          OutOfMemoryError: if this computer has too little memory for the tensors of an op.
        """
        if nbytes >= _WORTH_A_LOOK and self.tensors.has_values and is_too_much(nbytes, available_bytes()):
            self._refuse_for_computer(nbytes, number)

    def check_computer(self, error: BaseException, number: int, op: str) -> None:
        """Raises an error that names what ran out of memory during an op, the card or this computer.

        Raises:
          OutOfMemoryError: if the CPU allocator could not allocate memory for the op.
        """
        refused = _REFUSED_BYTES.search(str(error))
        if refused is None:
            return
        nbytes = int(refused[1])
        self._refuse_for_computer(nbytes, number, error)
        self.charge(nbytes, number, Label(op, "uint8", (nbytes,), self.site()))

    def _refuse_for_computer(self, nbytes: int, number: int, cause: BaseException | None = None) -> None:
        """Raises an error that names this computer, unless the card has too little memory as well."""
        allocator = self.allocators[number]
        allocated, reserved = allocator.level()
        free = allocator.free_bytes
        if nbytes <= free + reserved - allocated:
            raise self.torch.OutOfMemoryError(
                f"CUDA out of memory (simulated). Tried to allocate {format_size(nbytes)}. Simulated GPU {number} has "
                f"{format_size(free)} free, but this computer, which simulates it, has only "
                f"{format_size(available_bytes())} left. Use smaller tensors, or predict the memory without values: "
                "%%gpu_memory --predict."
            ) from cause

    def bytes_of(self, tensor: Any) -> Any:
        """Returns all memory that a device tensor shares, as bytes on the CPU."""
        torch, storage = self.torch, tensor.untyped_storage()
        empty = torch.empty(0, dtype=torch.uint8)
        address = torch._C._construct_storage_from_data_pointer(storage.data_ptr(), self.cpu, storage.nbytes())
        return empty.set_(address, 0, (storage.nbytes(),))

    def label(self, op: str, tensor: Any) -> Label:
        """Returns the label of a tensor's memory: its op, and its line while an observer is registered."""
        dtype = self._dtypes.get(tensor.dtype) or self._dtypes.setdefault(tensor.dtype, str(tensor.dtype)[6:])
        return Label(op, dtype, tuple(tensor.size()), self.site())

    def site(self) -> CallSite | None:
        """Returns the line that is allocating memory, while an observer is registered."""
        hearing = hearing_of_thread(self.torch)
        return None if hearing is None else hearing.call_site_here()

    def run_whole(self, name: str, run: Callable[[], Any], tensors: Sequence[Any]) -> Any:
        """Runs on the CPU what is a single op on a device; recorders of ops receive only that one op."""
        hearing = hearing_of_thread(self.torch)
        return run() if hearing is None else hearing.run_whole(name, run, tensors)

    def aside(self) -> AbstractContextManager[None]:
        """Hides the enclosed ops from recorders: no device would run them."""
        hearing = hearing_of_thread(self.torch)
        return nullcontext() if hearing is None else hearing.aside()

    def charge(self, nbytes: int, number: int, label: Label) -> Any:
        """Allocates device memory, which is freed when the result dies."""
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
            del refusal  # otherwise it and this frame keep each other alive, with all tensors of the frames above


def _of_nbtf(nbytes: int) -> str:
    return (
        f"nbtf's own ops have reserved {format_size(nbytes)} of this GPU: as in TensorFlow, the first op reserves "
        "nearly all free memory. Call tf.config.experimental.set_memory_growth first to reserve only what is needed."
    )


def extent_of(tensor: Any) -> int:
    """Returns the bytes that a tensor spans: a CPU kernel may have left it in larger memory."""
    nbytes = tensor.untyped_storage().nbytes()
    if tensor.numel() * tensor.element_size() == nbytes:
        return nbytes
    steps = sum([(size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride(), strict=True)])
    return min(nbytes, (tensor.storage_offset() + steps + 1) * tensor.element_size()) if tensor.numel() else 0

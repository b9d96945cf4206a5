"""What every device can do: the contract behind the runtime."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.first_use import FirstUse
from nbtf._devices.journal import Box, Journal
from nbtf._devices.links import Network
from nbtf._devices.names import LOCAL_TASK, short_name
from nbtf._devices.sites import CallSite, Site, site_of
from nbtf._types import DType, bfloat16
from nbtf.errors import OpError, UnimplementedError


class Buffer:
    """An array on a device, and what keeps its memory charged.

    Only the device that made a buffer may look into `_array`. Buffers that show the same memory (a tensor and its
    reshaped view) share one `_allocation`; the memory is given back when the last of them dies, on whatever thread.
    """

    __slots__ = ("__dict__", "__weakref__", "_array")

    # On the class, not a slot: most buffers are on the CPU, which is not accounted, and a fast lane need not set it.
    _allocation: object | None = None

    _array: Any


def buffer_of(array: Any, allocation: object | None = None) -> Buffer:
    """Returns a buffer for an array that its device has just made."""
    buffer = Buffer()
    buffer._array = array
    if allocation is not None:
        buffer._allocation = allocation
    return buffer


class Spec(NamedTuple):
    """Shape and dtype of a tensor, before it exists; None stands for an unknown length."""

    shape: tuple[int | None, ...]
    dtype: DType


Made: TypeAlias = "tuple[tuple[int, ...], DType]"
"""Shape and dtype of a tensor that exists."""


def nbytes_of(shape: tuple[int, ...], dtype: DType) -> int:
    """Returns the bytes of an array; of one of texts those of the references to them, as NumPy counts."""
    return math.prod(shape) * dtype.np_dtype.itemsize


class Label(NamedTuple):
    """What a piece of memory is for: shown by memory maps and out-of-memory tables.

    >>> _ = tf.runtime.simulate_gpus(1, memory="1GiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 1 GiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     x = tf.fill([1000], 1.0)
    >>> event = [event for event in record.events if isinstance(event, tf.runtime.Allocated)][-1]
    >>> event.label.op, event.label.dtype, event.label.shape
    ('Fill', 'float32', (1000,))
    """

    op: str
    dtype: str
    shape: tuple[int, ...]
    site: Site | CallSite = None


def describe_label(label: object) -> object:
    """Returns a label with file and line; on the way to an allocator it has only the code and the instruction."""
    if not isinstance(label, Label) or label.site is None or len(label.site) == 2:
        return label
    return Label(label.op, label.dtype, label.shape, site_of(label.site))


class Runnable(Protocol):
    """An op, as far as a device needs to know it: it can be sent by name."""

    type: str
    kernel: Any
    shares_memory: bool


class MemoryStats(NamedTuple):
    """The account of one device, in bytes.

    `in_use` is the allocator's figure (multiples of 256 on simulated GPUs), `requested` what tensors asked for.
    `external` is memory that other libraries lent to tensors: outside the pool and the limit, and in no other figure.
    """

    in_use: int
    peak: int
    requested: int
    pool: int
    limit: int
    num_allocs: int
    largest_alloc: int
    largest_free: int
    external: int = 0


class Piece(NamedTuple):
    """A piece of a device's memory that is in use. Sizes are in bytes; `nbytes` is what it is charged with."""

    region: int
    offset: int
    nbytes: int
    requested: int


class Memory(Protocol):
    """The memory of one logical device."""

    def stats(self) -> MemoryStats:
        """Returns the account; from any thread, without waiting for the device."""
        ...

    def level(self) -> tuple[int, int]:
        """Returns `in_use` and `pool`, at a fraction of the price of `stats`."""
        ...

    def reset_peak(self) -> None:
        """Sets the peak to what is in use now."""
        ...

    def map(self) -> Sequence[Any] | None:
        """Returns regions and chunks where the allocator knows them."""
        ...

    def piece(self, allocation: object) -> Piece | None:
        """Returns where the memory is that the hold of a buffer keeps; None when it has been given back."""
        ...

    def trim(self) -> int:
        """Gives cached memory back to the card; returns the bytes."""
        ...


class Device(ABC):
    """One logical device.

    Arrays belong to the device that made them. Inputs of `run` are on this device already: the runtime copies.
    `label` and the result `specs` name what is allocated; the device is asked for memory before a kernel runs.
    """

    name: str
    """TensorFlow's full name, `/job:localhost/replica:0/task:0/device:GPU:1`."""
    type: str
    """`"CPU"` or `"GPU"`."""
    index: int
    xp: ModuleType
    memory: Memory | None = None
    """None where memory is not accounted (the CPU)."""
    simulated: bool = False
    """Whether it stands for a card that is not there; whatever a user sees says so."""
    on_host: bool = False
    """Whether its memory is the computer's own: what is there need not be copied to be read."""
    holds_text: bool = True
    """Whether its memory can hold texts; where not, they stay with the host, and bfloat16 is refused."""
    models_time: bool = False
    """Whether its times are computed from what ran; where not, they are measured."""
    updates_in_place: bool = False
    """Whether an update of a variable writes into its memory, so that a tensor that shows it needs a copy first."""
    first_use: FirstUse | None = None
    """What it knows of kernels that must be compiled first; None where none are."""
    lane: bool = False
    """Whether it has a `quick` for express lanes; that of the CPU which plain ops go to is NumPy itself."""
    lists_in_lane: bool = False
    """Whether its lane serves ops that take lists or have several results, too: it has `granted_lists`."""
    records_in_lane: bool = False
    """Whether its lane may be used while recorders listen: its journal tells the pieces, and its times are modelled."""
    is_exact: bool = False
    """Whether its account is TensorFlow's to the byte: then no lane may keep anything longer than the road does."""
    tells_pieces: bool = False
    """Whether it keeps a journal of the pieces of its memory; see `journal.py`."""
    dlpack_device: tuple[int, int] = (1, 0)
    """Where its arrays are, for other libraries: kind of memory and number. Source: `DLDevice`, dlpack.h 1.0."""
    task: str = LOCAL_TASK
    """The process that it belongs to, as it begins its name."""
    network: Network | None = None
    """How it is linked with the devices of a cluster; None where there is none."""
    departure: OpError | None = None
    """Why it is no longer there, where it knows that itself: its task is lost."""
    loss: str | None = None
    """Since when it is lost, and why, in few words; None while it is there."""
    constants: dict[Any, Any]
    """Scalars that an express lane remembers; they go with the device."""

    @property
    def short_name(self) -> str:
        """The name people say: `GPU:1`, with the task in front where that is another process."""
        return short_name(self.name)

    @abstractmethod
    def put(self, array: np.ndarray[Any, Any], label: Label | None = None) -> Buffer:
        """Copies a host array in; the caller may change it afterwards."""

    def check_holds(self, *dtypes: DType) -> None:
        """Refuses bfloat16 on a device that computes with NumPy's kinds of numbers alone.

        Raises:
          UnimplementedError: such numbers would be put there, or computed.
        """
        if not self.holds_text and any([dtype is bfloat16 for dtype in dtypes]):
            raise UnimplementedError(
                f"{self.name} holds no numbers of bfloat16: use tf.float16 or tf.float32 there, or the CPU "
                '(with tf.device("CPU:0"))'
            )

    def put_lasting(self, array: np.ndarray[Any, Any], label: Label) -> Buffer:
        """Copies a host array in that nobody ever changes."""
        return self.put(array, label)

    @abstractmethod
    def get(self, buffer: Buffer) -> np.ndarray[Any, Any]:
        """Copies a buffer out, into a fresh host array; waits until its value is there."""

    @abstractmethod
    def copy_from(self, source: Device, buffer: Buffer, label: Label | None = None) -> Buffer:
        """Copies a buffer of another device to this one."""

    @abstractmethod
    def run(
        self,
        op: Runnable,
        buffers: Sequence[Any],
        attrs: Mapping[str, Any],
        specs: Sequence[Spec] | None = None,
        site: Site | CallSite = None,
    ) -> list[Buffer]:
        """Runs a kernel on buffers of this device.

        Args:
          op: has a `kernel` to be called with `xp`, the arrays and the attributes.
          buffers: one per input; a list of buffers where the op takes a list.
          attrs: the kernel's keyword arguments.
          specs: shapes and dtypes of the results where they are known before it runs.
          site: file and line that asked for it, or the place to look them up, for labels.

        Raises:
          ResourceExhaustedError: the results do not fit; nothing has changed.
        """

    def time_of(
        self, op: Runnable, inputs: Sequence[Made], outputs: Sequence[Made], seconds: float
    ) -> tuple[float, str]:
        """Returns how long a run took and what kind of time that is: `finished`, `launch` or `modelled`.

        Only a device that `models_time` is told what the inputs and outputs were; others measure.
        """
        return seconds, "finished"

    def copy_time_of(self, nbytes: int, seconds: float) -> tuple[float, bool]:
        """Returns how long a copy to or from this device took, and whether that time is modelled."""
        return seconds, False

    def keep_journal(self, journal: Journal | None) -> None:  # noqa: B027  # those without a journal do nothing
        """Takes down from now on what happens to the pieces of its memory, or no longer."""

    def hand_over(self, boxes: Sequence[Box]) -> None:  # noqa: B027
        """Puts what was taken down since the last time into boxes."""

    @abstractmethod
    def synchronize(self) -> None:
        """Waits for everything that was started; raises errors that were pending."""

    @abstractmethod
    def close(self) -> None:
        """Gives the device's resources back; its buffers can still be read on the host where that is possible."""


class GPU(Device):
    """A logical GPU: on a card, with a part of its memory, which is taken when somebody starts it."""

    type = "GPU"
    card: PhysicalGPU

    @property
    @abstractmethod
    def started(self) -> bool:
        """Whether it has taken memory."""

    @abstractmethod
    def use(self, memory: Any) -> None:
        """Takes memory in another way, as its backend planned it; before it has started."""

    @abstractmethod
    def start(self) -> None:
        """Takes the first memory, where this kind does so before the first op."""

    def fresh_allocator(self, limit: int | None) -> Any:
        """Returns an unused allocator with this GPU's rules and another limit; None where its rules are not known."""
        return None


def arrays_of(buffers: Sequence[Any]) -> list[Any]:
    """Returns the arrays behind the inputs of a run, lists of buffers as lists of arrays."""
    return [[b._array for b in x] if x.__class__ is list else x._array for x in buffers]

"""The interface that every device implements."""

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
from nbtf._locks import computed_once
from nbtf._types import OF_ML_DTYPES, DType
from nbtf.errors import OpError, UnimplementedError


class Buffer:
    """An array on a device, together with the object that keeps its memory charged.

    Only the device that made a buffer may read `_array`. Buffers that share memory (a tensor and its reshaped view)
    share one `_allocation`. The memory is freed when the last of them dies, on any thread.
    """

    __slots__ = ("__dict__", "__weakref__", "_array")

    # A class attribute, not a slot: most buffers are on the CPU, which is not accounted, and need not set it.
    _allocation: object | None = None

    _array: Any


def buffer_of(array: Any, allocation: object | None = None) -> Buffer:
    """Returns a buffer for an array that its device has just created."""
    buffer = Buffer()
    buffer._array = array
    if allocation is not None:
        buffer._allocation = allocation
    return buffer


class Spec(NamedTuple):
    """Shape and dtype of a tensor before it exists; None means an unknown length."""

    shape: tuple[int | None, ...]
    dtype: DType


Made: TypeAlias = "tuple[tuple[int, ...], DType]"
"""Shape and dtype of a tensor that exists."""


def nbytes_of(shape: tuple[int, ...], dtype: DType) -> int:
    """Returns the bytes of an array; for a string array, those of its references, as NumPy counts them."""
    return math.prod(shape) * dtype.np_dtype.itemsize


class Label(NamedTuple):
    """The purpose of a piece of memory, shown in memory maps and out-of-memory tables.

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


_LABELS: dict[tuple[Any, ...], Label] = {}
_REMEMBERED = 4096
"""Maximum number of remembered labels; they keep their places' code alive."""


def label_of(op: str, dtype: str, shape: tuple[int, ...], site: Site | CallSite) -> Label:
    """Returns the label of memory that a place requests; the same object each time, so that the log stores it once."""
    key = op, dtype, shape, id(site)
    label = _LABELS.get(key)
    if label is None or label.site is not site:
        if len(_LABELS) >= _REMEMBERED:
            _LABELS.clear()
        label = _LABELS[key] = Label(op, dtype, shape, site)
    return label


def describe_label(label: object) -> object:
    """Returns a label with file and line; the label given to an allocator has only the code and the instruction."""
    if not isinstance(label, Label) or label.site is None or len(label.site) == 2:
        return label
    return Label(label.op, label.dtype, label.shape, site_of(label.site))


class Runnable(Protocol):
    """The parts of an op that a device needs to know; the op can be sent to another process by its name."""

    type: str
    kernel: Any
    function: str | None
    """The NumPy and CuPy function that the kernel calls with its arrays, and nothing else; None for other kernels."""
    shares_memory: bool


class MemoryStats(NamedTuple):
    """The memory statistics of one device, in bytes.

    `in_use` is the allocator's figure (multiples of 256 on simulated GPUs); `requested` is what tensors requested.
    `external` is memory that other libraries share with tensors. It lies outside the pool and the limit, and no other
    figure includes it.
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
    """A piece of a device's memory that is in use. Sizes are in bytes; `nbytes` is the size that is charged."""

    region: int
    offset: int
    nbytes: int
    requested: int


class Memory(Protocol):
    """The memory of one logical device."""

    def stats(self) -> MemoryStats:
        """Returns the statistics; can be called from any thread and does not wait for the device."""
        ...

    def level(self) -> tuple[int, int]:
        """Returns `in_use` and `pool`; much cheaper than `stats`."""
        ...

    def reset_peak(self) -> None:
        """Sets the peak to the current use."""
        ...

    def map(self) -> Sequence[Any] | None:
        """Returns regions and chunks; None if the allocator does not know them."""
        ...

    def piece(self, allocation: object) -> Piece | None:
        """Returns the position of the memory that a buffer's hold keeps; None if it has been freed."""
        ...

    def trim(self) -> int:
        """Releases cached memory to the card; returns the number of bytes."""
        ...


class Device(ABC):
    """One logical device.

    Arrays belong to the device that made them. The runtime copies inputs, so those of `run` are already on this device.
    `label` and the result `specs` name the allocations; memory is requested before a kernel runs.
    """

    name: str
    """TensorFlow's full name, `/job:localhost/replica:0/task:0/device:GPU:1`."""
    type: str
    """`"CPU"` or `"GPU"`."""
    index: int
    xp: ModuleType
    memory: Memory | None = None
    """None if memory is not accounted, as on the CPU."""
    simulated: bool = False
    """Whether it simulates a card; every view and message for users labels it as simulated."""
    on_host: bool = False
    """Whether its memory is the computer's own, so that values can be read without a copy."""
    holds_text: bool = True
    """Whether its memory can hold strings; if not, strings stay on the host, and bfloat16 is rejected."""
    models_time: bool = False
    """Whether its times are calculated from the ops that ran; otherwise they are measured."""
    updates_in_place: bool = False
    """Whether a variable update writes into its memory, so that a tensor sharing the memory needs a copy first."""
    first_use: FirstUse | None = None
    """The kernels that it has compiled; None if it compiles none."""
    tells_pieces: bool = False
    """Whether it keeps a journal of the pieces of its memory; see `journal.py`."""
    dlpack_device: tuple[int, int] = (1, 0)
    """The location of its arrays for other libraries: memory kind and number. Source: `DLDevice`, dlpack.h 1.0."""
    task: str = LOCAL_TASK
    """The process that it belongs to; its name starts with this text."""
    network: Network | None = None
    """The links to the other devices of a cluster; None without a cluster."""
    departure: OpError | None = None
    """Why the device is gone, if it knows that its task is lost."""
    loss: str | None = None
    """Since when and why the device is lost, in a few words; None while it is available."""
    constants: dict[Any, Any]
    """Scalars that an express lane caches; they are freed with the device."""

    @computed_once
    def short_name(self) -> str:
        """The short name, such as `GPU:1`; for a device of another process, the task precedes it."""
        return short_name(self.name)

    @abstractmethod
    def put(self, array: np.ndarray[Any, Any], label: Label | None = None) -> Buffer:
        """Copies a host array in; the caller may change it afterwards."""

    def check_holds(self, *dtypes: DType) -> None:
        """Rejects bfloat16 and float8 on a device that supports only NumPy's own number types.

        Raises:
          UnimplementedError: if one of `dtypes` is bfloat16 or float8.
        """
        refused = [] if self.holds_text else [dtype for dtype in dtypes if dtype in OF_ML_DTYPES]
        if refused:
            raise UnimplementedError(
                f"{self.name} does not support {refused[0].name}. Use tf.float16 or tf.float32 there, or the CPU "
                '(with tf.device("CPU:0")).'
            )

    @abstractmethod
    def get(self, buffer: Buffer) -> np.ndarray[Any, Any]:
        """Copies a buffer into a new host array; waits until the value is available."""

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
          op: the op; its `kernel` is called with `xp`, the arrays and the attributes.
          buffers: one per input; a list of buffers for an input that is a list.
          attrs: the kernel's keyword arguments.
          specs: shapes and dtypes of the results, if they are known before the kernel runs.
          site: the requesting file and line, or the place from which to look them up, for labels.

        Raises:
          ResourceExhaustedError: if the results do not fit. Nothing has changed then.
        """

    def time_of(
        self, op: Runnable, inputs: Sequence[Made], outputs: Sequence[Made], seconds: float
    ) -> tuple[float, str]:
        """Returns the duration of a run and the kind of that time: `finished`, `launch` or `modelled`.

        Only a device that `models_time` receives the inputs and outputs; other devices measure.
        """
        return seconds, "finished"

    def copy_time_of(self, nbytes: int, seconds: float) -> tuple[float, bool]:
        """Returns the duration of a copy to or from this device, and whether that time is modelled."""
        return seconds, False

    def keep_journal(self, journal: Journal | None) -> None:  # noqa: B027  # devices without a journal ignore it
        """Starts recording changes to the pieces of its memory, or stops if `journal` is None."""

    def hand_over(self, boxes: Sequence[Box]) -> None:  # noqa: B027
        """Puts the entries recorded since the last call into boxes."""

    @abstractmethod
    def synchronize(self) -> None:
        """Waits until all started work has finished; raises pending errors."""

    @abstractmethod
    def close(self) -> None:
        """Releases the device's resources; its buffers can still be read on the host where that is possible."""


class GPU(Device):
    """A logical GPU: it uses a part of its card's memory, which it reserves when it starts."""

    type = "GPU"
    card: PhysicalGPU

    @property
    @abstractmethod
    def started(self) -> bool:
        """Whether it has reserved memory."""

    @abstractmethod
    def use(self, memory: Any) -> None:
        """Replaces the memory plan that its backend made; must be called before the GPU starts."""

    @abstractmethod
    def start(self) -> None:
        """Reserves its first memory, if this kind of GPU does so before the first op."""

    def fresh_allocator(self, limit: int | None) -> Any:
        """Returns an unused allocator with this GPU's rules and another limit; None if the rules are unknown."""
        return None


def arrays_of(buffers: Sequence[Any]) -> list[Any]:
    """Returns the arrays behind the inputs of a run; lists of buffers become lists of arrays."""
    return [[b._array for b in x] if x.__class__ is list else x._array for x in buffers]

"""A device of another process: ops on it are sent there, and the shapes of results are known before they arrive.

It does not depend on engines or messages: a `Link` transports its requests. Values stay on their task until they are
read. The task accounts for its memory and reports the account with its answers.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from nbtf._devices import cost
from nbtf._devices.base import (
    Buffer,
    Device,
    Label,
    Made,
    MemoryStats,
    Piece,
    Runnable,
    Spec,
    buffer_of,
    describe_label,
    nbytes_of,
)
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.journal import Box, Journal
from nbtf._devices.names import full_name
from nbtf._devices.sites import CallSite, Site
from nbtf._locks import drain
from nbtf._types import as_dtype
from nbtf.errors import InternalError, OpError


class Link(Protocol):
    """The connection to a task. Requests are executed in order; only `read` and `wait` wait."""

    task: str
    """Full name of the task."""
    loss: str | None
    """Since when and why the task is lost; None while it is available."""

    @property
    def issued(self) -> int:
        """Number of results requested so far."""
        ...

    def run(
        self,
        device: int,
        op: Any,
        inputs: Sequence[Any],
        attrs: Mapping[str, Any],
        specs: Sequence[Spec] | None,
        site: Site | CallSite,
    ) -> list[RemoteArray]:
        """Runs an op there; waits only if `specs` is None and the results are unknown."""
        ...

    def put(self, device: int, array: np.ndarray[Any, Any], label: Label) -> RemoteArray:
        """Sends an array to a device of the task."""
        ...

    def copy(self, device: int, source: RemoteArray, label: Label) -> RemoteArray:
        """Copies an array of this task, or from another task directly, to a device."""
        ...

    def free(self, number: int) -> None:
        """Reports that an array is no longer needed. Finalizers call it: it takes no lock and never waits."""
        ...

    def read(self, array: RemoteArray) -> np.ndarray[Any, Any]:
        """Returns the values as a new array; raises the error that prevented their computation."""
        ...

    def wait(self) -> None:
        """Waits for all requests; raises the first error that has not been raised yet."""
        ...

    def look(self, device: int, question: str) -> dict[str, Any]:
        """Queries the memory of a device; see `_cluster.records.Look`."""
        ...

    def listen(self, device: int, on: bool) -> None:
        """Starts or stops the recording of memory events on a device."""
        ...

    def reaches(self, link: Link) -> bool:
        """Returns whether the task can receive arrays from the task of another link."""
        ...

    def label_of(self, fields: Sequence[Any] | None) -> Label | None:
        """Returns a label reported by the task, with the line of this program."""
        ...

    def departure(self) -> OpError | None:
        """Returns why the task no longer accepts requests; None while it does."""
        ...


class RemoteArray:
    """An array of another process, identified by its number there; the process frees it when this object dies."""

    __slots__ = ("__weakref__", "dtype", "link", "number", "shape")

    def __init__(self, link: Link, number: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        """Wraps an array by its unique number."""
        self.number, self.shape, self.dtype, self.link = number, shape, dtype, link

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    def __del__(self) -> None:
        """Notifies the task that the array is no longer needed."""
        link = getattr(self, "link", None)
        if link is not None:  # None if an interrupt stopped the constructor
            link.free(self.number)


class Hold:
    """Represents the memory of an array and its views, as an allocator's chunk does on devices of this process."""

    __slots__ = ("__weakref__", "numbers")

    def __init__(self, number: int) -> None:
        """Starts with the number of the array."""
        self.numbers = [number]
        """Numbers of the array and its views; with any of them, the task finds the memory."""


class Traits(NamedTuple):
    """A device's properties as reported by its task; `card` is None for a CPU."""

    type: str
    number: int
    simulated: bool
    accounted: bool
    exact: bool
    in_place: bool
    card: PhysicalGPU | None


class RemoteDevice(Device):
    """A device of another task."""

    xp = np
    holds_text = False

    def __init__(self, link: Link, number: int, traits: Traits) -> None:
        """Creates the device with index `number` on the task."""
        self.link, self.number = link, number
        self.type, self.index, self.simulated = traits.type, traits.number, traits.simulated
        self.task = link.task
        self.name = full_name(self.type, self.index, link.task)
        self.card = traits.card
        self.models_time = traits.simulated
        self.updates_in_place = traits.in_place
        self.tells_pieces = traits.exact
        self.constants = {}
        self.account = RemoteMemory(self)
        self.memory = self.account if traits.accounted else None
        self._journal: Journal | None = None
        self._entries: deque[list[Any]] = deque()

    @property
    def departure(self) -> OpError | None:  # pyright: ignore[reportIncompatibleVariableOverride]  # never assigned
        """Why the device is gone, if its task has reported that."""
        return self.link.departure()

    @property
    def loss(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride]  # never assigned
        """Since when and why its task is lost."""
        return self.link.loss

    def put(self, array: np.ndarray[Any, Any], label: Label | None = None) -> Buffer:
        """Sends a copy of a host array to the device."""
        self.check_holds(as_dtype(array.dtype))
        label = label or Label("copy", as_dtype(array.dtype).name, array.shape)
        return self._charged(self.link.put(self.number, array, label))

    def get(self, buffer: Buffer) -> np.ndarray[Any, Any]:
        """Fetches the values as soon as they are available."""
        return buffer._array.link.read(buffer._array)

    def copy_from(self, source: Device, buffer: Buffer, label: Label | None = None) -> Buffer:
        """Copies a buffer here, directly from task to task; a buffer of this process is sent."""
        array = buffer._array
        if not isinstance(array, RemoteArray) or not self.link.reaches(array.link):
            return self.put(source.get(buffer), label)
        label = label or Label("copy", as_dtype(array.dtype).name, array.shape)
        return self._charged(self.link.copy(self.number, array, label))

    def run(
        self,
        op: Runnable,
        buffers: Sequence[Any],
        attrs: Mapping[str, Any],
        specs: Sequence[Spec] | None = None,
        site: Site | CallSite = None,
    ) -> list[Buffer]:
        """Runs a kernel there; the op's own rule provides the shapes of the results."""
        record: Any = op
        if specs is None:
            specs = record.specs([_specs_of(buffer) for buffer in buffers], attrs)
        if specs is not None and any([None in spec.shape for spec in specs]):
            specs = None
        arrays = [[b._array for b in x] if x.__class__ is list else x._array for x in buffers]
        results = self.link.run(self.number, op, arrays, attrs, specs, site)
        hold = buffers[0]._allocation if op.shares_memory else None
        if hold is None:
            return [self._charged(array) for array in results]
        hold.numbers += [array.number for array in results]
        return [buffer_of(array, hold) for array in results]

    def _charged(self, array: RemoteArray) -> Buffer:
        return buffer_of(array, Hold(array.number) if self.memory is not None else None)

    def time_of(
        self, op: Runnable, inputs: Sequence[Made], outputs: Sequence[Made], seconds: float
    ) -> tuple[float, str]:
        """Returns how long the card would take if it is simulated; otherwise how long sending the op took."""
        if self.card is None or not self.simulated:
            return seconds, "launch"
        if op.shares_memory:
            return 0.0, "modelled"
        nbytes = sum(nbytes_of(shape, dtype) for shape, dtype in (*inputs, *outputs))
        work = cost.operations(op.type, [shape for shape, _ in inputs], [shape for shape, _ in outputs])
        return cost.op_seconds(self.card.card, nbytes, work), "modelled"

    def synchronize(self) -> None:
        """Waits for all requests sent to the task; raises errors that have not been raised yet."""
        self.link.wait()

    def close(self) -> None:
        """Does nothing: arrays can be read as long as the task is available."""

    # Memory

    def keep_journal(self, journal: Journal | None) -> None:
        """Starts receiving changes to the pieces of its memory, or stops if `journal` is None."""
        if (journal is None) is not (self._journal is None):
            self._journal = journal
            if self.tells_pieces and self.link.departure() is None:
                self.link.listen(self.number, journal is not None)

    def hand_over(self, boxes: Sequence[Box]) -> None:
        """Puts the entries received since the last call into boxes."""
        for entries in drain(self._entries):
            for box in boxes:
                box.append(entries)

    def take_report(self, account: Sequence[int], entries: Sequence[Any]) -> None:
        """Stores a report from the task: the account, and the memory events in the format of `telling.py`."""
        self.account.latest = MemoryStats(*account)
        journal = self._journal
        if journal is None:
            return
        subjects = journal.granted, journal.freed, journal.refused
        flat: list[Any] = []
        for event, in_use, pool, piece, address, size, requested, label in entries:
            region = None if piece is None else RemoteRegion(*piece)
            number = journal.next_number()
            flat += (subjects[event], number, in_use, pool, region, address, size, requested, self.link.label_of(label))
        if flat:
            self._entries.append(flat)


class RemoteRegion(NamedTuple):
    """A region of a card's memory that its allocator divides."""

    number: int
    address: int
    size: int


class RemoteMemory:
    """A device's account as its task reported it last."""

    def __init__(self, device: RemoteDevice) -> None:
        """Starts without a report."""
        self._device = device
        self.latest: MemoryStats = MemoryStats(0, 0, 0, 0, 0, 0, 0, 0)
        self._pieces: dict[int, Piece] = {}
        self._looked_at = -1

    def stats(self) -> MemoryStats:
        """Returns the latest report; `Device.synchronize` waits for everything that was sent."""
        return self.latest

    def level(self) -> tuple[int, int]:
        """Returns bytes in use and bytes in the pool, from the latest report."""
        return self.latest.in_use, self.latest.pool

    def reset_peak(self) -> None:
        """Sets the peak to the current use."""
        self._device.link.look(self._device.number, "peak")
        self._device.link.wait()

    def map(self) -> Sequence[Any] | None:
        """Requests regions and chunks from the task."""
        from nbtf._devices.bfc.report import ChunkView, RegionView  # imported late: rarely needed

        link = self._device.link
        self._looked_at = link.issued
        reply = {} if link.departure() is not None else link.look(self._device.number, "map")
        regions = reply.get("map")
        if regions is None:
            return None
        self._pieces = {number: Piece(*fields) for number, *fields in reply["pieces"]}
        views: list[Any] = []
        for number, size, chunks in regions:
            each = [
                ChunkView(at, nbytes, used, requested, describe_label(link.label_of(label)), *details)
                for at, nbytes, used, requested, label, *details in chunks
            ]
            views.append(RegionView(number, size, tuple(each)))
        return views

    def piece(self, allocation: object) -> Piece | None:
        """Returns where a piece is; reads the task's map again if the last one may be out of date."""
        numbers = allocation.numbers if isinstance(allocation, Hold) else ()
        for _ in range(2):
            piece = next((self._pieces[number] for number in numbers if number in self._pieces), None)
            if piece is not None or not numbers or self._looked_at == self._device.link.issued:
                return piece
            self.map()
        return None

    def trim(self) -> int:
        """Makes the task release cached memory; returns the bytes."""
        return self._device.link.look(self._device.number, "trim").get("trimmed", 0)


def _specs_of(buffer: Any) -> Any:
    if buffer.__class__ is list:
        return [_specs_of(element) for element in buffer]
    array = buffer._array
    if not isinstance(array, RemoteArray):
        raise InternalError(f"An input is not stored on another task. Got {type(array).__name__}.")
    return Spec(array.shape, as_dtype(array.dtype))

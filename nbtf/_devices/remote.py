"""A device of another process: what is done on it is sent there; shapes of results are known before they are there.

It knows nothing of engines and messages: a `Link` carries what it says. Values stay where they are until somebody reads
them. Memory is accounted by the task that has it, and told with its answers.
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
    """The way to a task. What is asked first is done first; nothing waits but `read` and `wait`."""

    task: str
    """The full name of the task."""
    loss: str | None
    """Since when it is lost, and why; None while it is there."""

    @property
    def issued(self) -> int:
        """How many results were asked for until now."""
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
        """Has an op run; waits only where `specs` do not say what its results will be."""
        ...

    def put(self, device: int, array: np.ndarray[Any, Any], label: Label) -> RemoteArray:
        """Sends an array there."""
        ...

    def copy(self, device: int, source: RemoteArray, label: Label) -> RemoteArray:
        """Has a device take a copy of an array of this task, or of another one, from task to task."""
        ...

    def free(self, number: int) -> None:
        """Says that nobody needs an array any more. Called by finalizers: takes no lock, and never waits."""
        ...

    def read(self, array: RemoteArray) -> np.ndarray[Any, Any]:
        """Returns the values, a fresh array; raises what kept them from being computed."""
        ...

    def wait(self) -> None:
        """Waits for everything that was asked; raises the first error that nobody has heard of."""
        ...

    def look(self, device: int, question: str) -> dict[str, Any]:
        """Asks about memory; see `_cluster.records.Look`."""
        ...

    def listen(self, device: int, on: bool) -> None:
        """Wants to hear what happens to memory, or no longer."""
        ...

    def reaches(self, link: Link) -> bool:
        """Tells whether the task can take arrays from that of another link."""
        ...

    def label_of(self, fields: Sequence[Any] | None) -> Label | None:
        """Returns a label that the task has told, with the line of this program."""
        ...

    def departure(self) -> OpError | None:
        """Returns why nothing can be asked any more; None as long as it can."""
        ...


class RemoteArray:
    """An array of another process, by its number there; that process forgets it when this object dies."""

    __slots__ = ("__weakref__", "dtype", "link", "number", "shape")

    def __init__(self, link: Link, number: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        """Takes a number that nobody else has."""
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
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    def __del__(self) -> None:
        """Says that nobody needs it any more."""
        link = getattr(self, "link", None)
        if link is not None:  # an interrupt leaves it half made
            link.free(self.number)


class Hold:
    """Stands for the memory of an array and of its views, as allocators' chunks do on devices of this process."""

    __slots__ = ("__weakref__", "numbers")

    def __init__(self, number: int) -> None:
        """Takes the number of the array."""
        self.numbers = [number]
        """Of the array and its views: the task knows by any of them where the memory is."""


class Traits(NamedTuple):
    """What a device is like, as its task says; `card` is None for a CPU."""

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
        """Makes the device that is the task's `number`-th."""
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
    def departure(self) -> OpError | None:  # pyright: ignore[reportIncompatibleVariableOverride]  # nobody sets it
        """Why it is no longer there, if its task says so."""
        return self.link.departure()

    @property
    def loss(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride]  # likewise
        """Since when its task is lost, and why."""
        return self.link.loss

    def put(self, array: np.ndarray[Any, Any], label: Label | None = None) -> Buffer:
        """Sends a copy of a host array there."""
        self.check_holds(as_dtype(array.dtype))
        label = label or Label("copy", as_dtype(array.dtype).name, array.shape)
        return self._charged(self.link.put(self.number, array, label))

    def get(self, buffer: Buffer) -> np.ndarray[Any, Any]:
        """Fetches the values, as soon as they are there."""
        return buffer._array.link.read(buffer._array)

    def copy_from(self, source: Device, buffer: Buffer, label: Label | None = None) -> Buffer:
        """Takes a copy: from a device of any task without this process, from one of this process by sending it."""
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
        """Has a kernel run there; the results' shapes are those of the op's own rule."""
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
        """Returns how long the card would take, if it is simulated; else how long it took to send the op."""
        if self.card is None or not self.simulated:
            return seconds, "launch"
        if op.shares_memory:
            return 0.0, "modelled"
        nbytes = sum(nbytes_of(shape, dtype) for shape, dtype in (*inputs, *outputs))
        work = cost.operations(op.type, [shape for shape, _ in inputs], [shape for shape, _ in outputs])
        return cost.op_seconds(self.card.card, nbytes, work), "modelled"

    def synchronize(self) -> None:
        """Waits for everything that was sent there; raises errors that nobody has heard of."""
        self.link.wait()

    def close(self) -> None:
        """Does nothing: arrays can be read as long as the task is there."""

    # Memory

    def keep_journal(self, journal: Journal | None) -> None:
        """Wants to hear from now on what happens to the pieces of its memory, or no longer."""
        if (journal is None) is not (self._journal is None):
            self._journal = journal
            if self.tells_pieces and self.link.departure() is None:
                self.link.listen(self.number, journal is not None)

    def hand_over(self, boxes: Sequence[Box]) -> None:
        """Puts what was heard since the last time into boxes."""
        for entries in drain(self._entries):
            for box in boxes:
                box.append(entries)

    def take_report(self, account: Sequence[int], entries: Sequence[Any]) -> None:
        """Takes what the task tells: the account, and what has happened to pieces, as `telling.py` writes it."""
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
    """A piece of a card's memory that its allocator divides."""

    number: int
    address: int
    size: int


class RemoteMemory:
    """The account of a device as its task has told it last."""

    def __init__(self, device: RemoteDevice) -> None:
        """Begins with nothing told."""
        self._device = device
        self.latest: MemoryStats = MemoryStats(0, 0, 0, 0, 0, 0, 0, 0)
        self._pieces: dict[int, Piece] = {}
        self._looked_at = -1

    def stats(self) -> MemoryStats:
        """Returns what was told last; `Device.synchronize` waits for all that was sent."""
        return self.latest

    def level(self) -> tuple[int, int]:
        """Returns bytes in use and in the pool, as told last."""
        return self.latest.in_use, self.latest.pool

    def reset_peak(self) -> None:
        """Sets the peak to what is in use now."""
        self._device.link.look(self._device.number, "peak")
        self._device.link.wait()

    def map(self) -> Sequence[Any] | None:
        """Asks the task for regions and chunks."""
        from nbtf._devices.bfc.report import ChunkView, RegionView  # late: few ask

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
        """Returns where a piece is; the map, which tells where all are, is asked for anew where it may lack it."""
        numbers = allocation.numbers if isinstance(allocation, Hold) else ()
        for _ in range(2):
            piece = next((self._pieces[number] for number in numbers if number in self._pieces), None)
            if piece is not None or not numbers or self._looked_at == self._device.link.issued:
                return piece
            self.map()
        return None

    def trim(self) -> int:
        """Has the task give cached memory back; returns the bytes."""
        return self._device.link.look(self._device.number, "trim").get("trimmed", 0)


def _specs_of(buffer: Any) -> Any:
    if buffer.__class__ is list:
        return [_specs_of(element) for element in buffer]
    array = buffer._array
    if not isinstance(array, RemoteArray):
        raise InternalError(f"An input is on no other task: {type(array).__name__}.")
    return Spec(array.shape, as_dtype(array.dtype))

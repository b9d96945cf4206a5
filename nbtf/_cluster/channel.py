"""How does a controller use the devices of one task? Each request becomes a record in the task's queue."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nbtf._cluster import sending
from nbtf._cluster.engine import Address
from nbtf._cluster.record_queue import Owner, RecordQueue, Ticket
from nbtf._cluster.records import Copy, Get, Listen, Look, Put, Run
from nbtf._devices.base import Label, Spec
from nbtf._devices.remote import RemoteArray
from nbtf._devices.sites import CallSite, Site
from nbtf._types import as_dtype


class Channel(RecordQueue):
    """The connection to one task, which is the `Link` of its devices."""

    def __init__(
        self, address: Address, cluster: Owner, poke: Callable[[], None], heartbeat: float, deadline: float
    ) -> None:
        """Creates an unconnected channel; `poke` wakes the postman of its cluster."""
        super().__init__(address, cluster, poke, heartbeat, deadline)
        self._labels: dict[str, CallSite] = {}

    def run(
        self,
        device: int,
        op: Any,
        inputs: Sequence[Any],
        attrs: Mapping[str, Any],
        specs: Sequence[Spec] | None,
        site: Site | CallSite,
    ) -> list[RemoteArray]:
        """Runs an op on the task; see `Link`."""
        self.check()
        numbers, lists = sending.numbers_of(self, inputs)
        waits = specs is None
        results = (1 if not op.many else sending.MOST_RESULTS) if specs is None else len(specs)
        name = self.devices[device].name
        template, draw = sending.template_of(op, device, name, inputs, attrs, lists, results, waits)
        line = self._site_text(site)
        ticket = Ticket() if waits else None
        first = self._add(lambda first: Run(template, numbers, first, draw, line), results, ticket)
        if specs is not None:
            return [
                RemoteArray(self, first + at, spec.shape, spec.dtype.np_dtype)  # pyright: ignore[reportArgumentType]  # all lengths are known
                for at, spec in enumerate(specs)
            ]
        assert ticket is not None
        try:
            reply = self._answer_to(ticket)
        except BaseException:
            with self._changed:
                ticket.abandoned = first
                self._free_abandoned(ticket)
            raise
        return [
            RemoteArray(self, first + at, tuple(shape), as_dtype(dtype).np_dtype)
            for at, (shape, dtype) in enumerate(reply["specs"])
        ]

    def put(self, device: int, array: np.ndarray[Any, Any], label: Label) -> RemoteArray:
        """Sends an array to the task; the caller may change the array afterwards."""
        self.check()
        shape, dtype = array.shape, as_dtype(array.dtype)
        content = np.array(array, order="C").reshape(-1).view(np.uint8).data
        line = self._site_text(label.site)
        first = self._add(lambda first: Put(device, first, dtype.as_datatype_enum, shape, content, label.op, line), 1)
        return RemoteArray(self, first, shape, dtype.np_dtype)

    def copy(self, device: int, source: RemoteArray, label: Label) -> RemoteArray:
        """Copies an array to a device; the source lives until the copy is made."""
        self.check()
        peer = ""
        if source.link is not self:
            source_channel: Any = source.link
            source_channel.check()
            source_channel.flush()  # the source must be sent before a task waits for it
            fields = [
                source_channel.address.location,
                source_channel.hello["session"],
                source_channel.task,
                self.heartbeat,
                self.deadline,
            ]
            peer = json.dumps(fields, separators=(",", ":"))
        line = self._site_text(label.site)
        first = self._add(lambda first: Copy(device, first, source.number, peer, line), 1, sources=source)
        if peer:
            self.flush()
        return RemoteArray(self, first, source.shape, source.dtype)

    def read(self, array: RemoteArray) -> np.ndarray[Any, Any]:
        """Returns the values of an array."""
        ticket = Ticket()
        self._ask(Get(array.number), ticket)
        values = np.frombuffer(ticket.values, array.dtype).reshape(array.shape)
        return values if values.flags.writeable else values.copy()

    def wait(self, losses: bool = True) -> None:
        """Waits until all queued records are handled and raises the first error that has not been raised yet.

        The other errors are discarded, because they may follow from the first. With `losses=False`, errors caused by
        the loss of another task are discarded as well.
        """
        if self._waiting or self._under_way:
            self._ask(Look(0, "wait"))
        self.check()
        with self._changed:
            failures, self._failures = self._failures, {}
        untold = [number for number, failure in failures.items() if losses or not failure.follows_loss]
        if untold:
            raise self._error(failures[min(untold)])

    def look(self, device: int, question: str) -> dict[str, Any]:
        """Asks the task about its memory."""
        return self._ask(Look(device, question))

    def listen(self, device: int, on: bool) -> None:
        """Starts or stops notifications about memory."""
        if self._end is None:
            self._add(lambda _: Listen(device, on))
            self.flush()

    def reaches(self, link: Any) -> bool:
        """Returns whether another channel leads to a task of the same cluster."""
        return link.cluster is self.cluster

    # Lines and labels

    def _site_text(self, site: Site | CallSite) -> str:
        """Returns the text of a code line for the task; the line itself stays here for events."""
        if site is None:
            return ""
        text = sending.text_of_site(site)
        if text and len(site) == 3:
            self._labels[text] = site
        return text

    def label_of(self, fields: Sequence[Any] | None) -> Label | None:
        """Returns the label that a task reports, with the code line that stayed here."""
        if fields is None:
            return None
        op, dtype, shape, text = fields
        return Label(op, dtype, tuple(shape), self._labels.get(text) or sending.site_of_text(text))

"""How does an op become a record? By its name, the numbers of its inputs, and its attributes as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nbtf._cluster.plain import text_of
from nbtf._cluster.records import DRAWS, Copy, Draw, Drop, Put, Run, Template
from nbtf._devices.remote import RemoteArray
from nbtf._devices.sites import CallSite, Site, site_of
from nbtf._ops.op import OPS
from nbtf._runtime.seeds import Stream
from nbtf.errors import InternalError, UnimplementedError

MOST_RESULTS = 1 << 16
"""Numbers set aside for the results of an op that does not say how many it has."""


def numbers_of(link: Any, inputs: Sequence[Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the numbers of a task's arrays, and how long each list of them is, -1 for what is none.

    Raises:
      InternalError: an array is of another task.
    """
    numbers: list[int] = []
    lists: list[int] = []
    for value in inputs:
        is_list = value.__class__ is list
        lists.append(len(value) if is_list else -1)
        for array in value if is_list else (value,):
            if not isinstance(array, RemoteArray) or array.link is not link:
                raise InternalError(f"An input of an op is not on {link.task}.")
            numbers.append(array.number)
    return tuple(numbers), tuple(lists)


def template_of(
    op: Any,
    device: int,
    name: str,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any],
    lists: tuple[int, ...],
    results: int,
    waits: bool,
) -> tuple[Template, Draw | None]:
    """Returns what a record of an op says, and where a random op reads.

    Raises:
      UnimplementedError: the op cannot be sent.
    """
    if OPS.get(op.type) is not op:
        raise UnimplementedError(
            f"{op.type} cannot be sent to {name}: it runs Python code of this process. Run it under "
            "tf.device('/job:localhost/replica:0/task:0/CPU:0'); its results are sent where they are needed."
        )
    draw = None
    if not attrs:
        return Template(op.type, device, lists, '{"dict":[]}', results, waits), None
    stream = next((value for value in attrs.values() if value.__class__ is Stream), None)
    if stream is not None:
        draw = _draw(op, inputs, attrs, stream)
        attrs = {attr: _DRAWS if value is stream else value for attr, value in attrs.items()}
    try:
        text = text_of(dict(attrs))
    except TypeError as error:
        raise UnimplementedError(f"{op.type} cannot be sent to {name}: an attribute, {error}.") from None
    return Template(op.type, device, lists, text, results, waits), draw


_DRAWS = DRAWS[1:-1].encode().decode("unicode_escape")


class _CountedError(Exception):
    """How many numbers a kernel takes."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count


class _Counter:
    """A stream that only counts."""

    key = 0

    def take(self, count: int) -> tuple[int, int]:
        """Says how many were asked for."""
        raise _CountedError(count)


def _draw(op: Any, inputs: Sequence[Any], attrs: Mapping[str, Any], stream: Stream) -> Draw:
    """Returns where an op reads its random numbers, and sets them aside, as many as its kernel says it takes."""
    counter = _Counter()
    count = 0
    try:
        op.kernel(np, *inputs, **{attr: counter if value is stream else value for attr, value in attrs.items()})
    except _CountedError as counted:
        count = counted.count
    low, high = stream.take(count)
    return Draw(stream.key, low, high)


def dropped(record: Run | Put | Copy) -> Drop:
    """Returns what is sent in the place of a record that nobody wants any more."""
    return Drop(record.device, record.first, record.results, record.op, record.site)


def text_of_site(site: Site | CallSite) -> str:
    """Returns a line as it is sent: number and file."""
    plain = site_of(site) if site is not None and len(site) == 3 else site
    return "" if plain is None else f"{plain[1]} {plain[0]}"


def site_of_text(text: str) -> Site:
    """Returns the line that a text says."""
    line, _, file = text.partition(" ")
    return (file, int(line)) if text else None

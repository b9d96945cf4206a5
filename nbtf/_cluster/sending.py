"""How does an op become a record? As its name, the numbers of its inputs, and its attributes as text."""

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
"""Numbers reserved for the results of an op with an unknown number of results."""


def numbers_of(link: Any, inputs: Sequence[Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the numbers of a task's arrays, and the length of each list of them, -1 for single arrays.

    Raises:
      InternalError: if an array is on another task.
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
    """Returns the template of an op, and the position from which a random op reads.

    Raises:
      UnimplementedError: if the op cannot be sent.
    """
    if OPS.get(op.type) is not op:
        raise UnimplementedError(
            f"{op.type} cannot be sent to {name}: it runs Python code of this process. {_RUN_IT_HERE}"
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
        raise UnimplementedError(f"{op.type} cannot be sent to {name}: an attribute, {error}. {_RUN_IT_HERE}") from None
    return Template(op.type, device, lists, text, results, waits), draw


_RUN_IT_HERE = (
    "Run it under tf.device('/job:localhost/replica:0/task:0/CPU:0'); its results are sent where they are needed."
)

_DRAWS = DRAWS[1:-1].encode().decode("unicode_escape")


class _CountedError(Exception):
    """Carries the number of random numbers that a kernel reads."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count


class _Counter:
    """A stream that only counts."""

    key = 0

    def take(self, count: int) -> tuple[int, int]:
        """Raises an error that carries the requested number; nothing is drawn."""
        raise _CountedError(count)


def _draw(op: Any, inputs: Sequence[Any], attrs: Mapping[str, Any], stream: Stream) -> Draw:
    """Returns the position from which an op reads random numbers, and reserves as many as its kernel reads."""
    counter = _Counter()
    count = 0
    try:
        op.kernel(np, *inputs, **{attr: counter if value is stream else value for attr, value in attrs.items()})
    except _CountedError as counted:
        count = counted.count
    low, high = stream.take(count)
    return Draw(stream.key, low, high)


def dropped(record: Run | Put | Copy) -> Drop:
    """Returns the record that replaces one whose results are no longer needed."""
    return Drop(record.device, record.first, record.results, record.op, record.site)


def text_of_site(site: Site | CallSite) -> str:
    """Returns a code line as it is sent: number and file."""
    plain = site_of(site) if site is not None and len(site) == 3 else site
    return "" if plain is None else f"{plain[1]} {plain[0]}"


def site_of_text(text: str) -> Site:
    """Returns the code line that a string describes."""
    line, _, file = text.partition(" ")
    return (file, int(line)) if text else None

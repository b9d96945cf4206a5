"""Finds what only reference cycles keep alive until Python's garbage collector runs.

Works as the collector does, without collecting. All objects that lead to a tensor are gathered. Those with references
from elsewhere are alive, and so is everything they lead to; the rest is garbage. Garbage is common after an error,
because the error's traceback has the frame that has the error.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Collection
from types import ModuleType
from typing import Any

from nbtf import runtime
from nbtf.notebook.holders.search import HOLDERS

Piece = tuple[str, int, int]
"""A piece of memory: short name of the device, number of the region, offset in it."""

_SEEDS = 16
"""Number of tensors that one search starts from; a single pass of the collector answers for all of them."""

_MOST = 5_000
"""Maximum number of objects that lead to a tensor: garbage is small, whereas live objects lead everywhere."""


HELD_BY_CYCLES = "only a reference cycle, until Python's garbage collector runs"
"""The name that tables show for the holder of garbage."""


def garbage(pieces: Collection[Piece], deadline: float) -> set[Piece]:
    """Returns the pieces of memory of nbtf's tensors that only garbage holds.

    Args:
      pieces: the pieces to check, largest first.
      deadline: value of `time.monotonic()` at which the search stops.
    """
    if not pieces or time.monotonic() >= deadline:
        return set()
    tensors = _tensors(set(pieces))
    # No other list may refer to the tensors, because it would count as an object that holds them.
    return garbage_of({piece: tensors.pop(piece) for piece in pieces if piece in tensors}, deadline)


def garbage_of(tensors: dict[Piece, list[Any]], deadline: float) -> set[Piece]:
    """Returns the pieces of memory that only garbage holds.

    Args:
      tensors: all objects that hold each piece, largest piece first; emptied.
      deadline: value of `time.monotonic()` at which the search stops.
    """
    waiting, garbage_pieces = [*tensors], set[Piece]()
    while waiting and time.monotonic() < deadline:
        batch, waiting = waiting[:_SEEDS], waiting[_SEEDS:]
        ids = {piece: [id(tensor) for tensor in tensors[piece]] for piece in batch}
        seeds = [tensor for piece in batch for tensor in tensors.pop(piece)]
        dead = _dead(seeds, deadline)
        garbage_pieces |= {piece for piece in batch if dead.issuperset(ids[piece])}
    return garbage_pieces


def _tensors(pieces: Collection[Piece]) -> dict[Piece, list[Any]]:
    """Returns all tensors that hold the pieces, whatever refers to them."""
    tensors: dict[Piece, list[Any]] = {}
    for obj in gc.get_objects():
        holding = runtime.holding(obj) if issubclass(type(obj), HOLDERS) else None
        if holding is not None and (holding.device, holding.region, holding.offset) in pieces:
            tensors.setdefault((holding.device, holding.region, holding.offset), []).append(obj)
    return tensors


def _dead(objects: list[Any], deadline: float) -> set[int]:
    """Returns the ids of garbage among objects and everything that leads to them, which is added to the list."""
    if not _add_what_leads_to(objects, deadline):
        return set()
    numbers = {id(obj): number for number, obj in enumerate(objects)}
    counts, gauge = _references_among(objects, numbers), [object()]
    base_count = sys.getrefcount(gauge[0])
    alive = {
        number for number in range(len(objects)) if sys.getrefcount(objects[number]) - base_count != counts[number]
    }
    waiting = list(alive)
    while waiting:
        for referent in gc.get_referents(objects[waiting.pop()]):
            number = numbers.get(id(referent))
            if number is not None and number not in alive:
                alive.add(number)
                waiting.append(number)
    return {key for key, number in numbers.items() if number not in alive}


def _references_among(objects: list[Any], numbers: dict[int, int]) -> list[int]:
    """Returns, for each object, the number of references from the other objects."""
    counts = [0] * len(objects)
    for refers_to in map(gc.get_referents, objects):
        for key in filter(numbers.__contains__, map(id, refers_to)):
            counts[numbers[key]] += 1
    return counts


def _add_what_leads_to(objects: list[Any], deadline: float) -> bool:
    """Adds to a list all objects that lead to those in it; returns whether it could finish."""
    seen_ids, start = {id(objects), *map(id, objects)}, 0
    gauge = object()
    base_count = sys.getrefcount(gauge)
    while start < len(objects):
        if len(objects) > _MOST or time.monotonic() > deadline:
            return False
        last = objects[start:]
        start, seen_ids = len(objects), seen_ids | {id(last)}
        referrers = gc.get_referrers(*last)
        while referrers:
            referrer = referrers.pop()
            # Modules and classes stay alive: what they lead to has more references than were found, which proves that
            # it is alive. Only this function refers to the tuple of the query's arguments.
            if (
                id(referrer) not in seen_ids
                and not issubclass(type(referrer), ModuleType | type)
                and sys.getrefcount(referrer) > base_count
            ):
                seen_ids.add(id(referrer))
                objects.append(referrer)
    return True

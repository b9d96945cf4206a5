"""What do only reference cycles keep alive, until Python's garbage collector comes by?

Decided as the collector does, without collecting: all objects that lead to a tensor are gathered; those to which
somebody else refers are alive, and so is what they lead to; the rest is garbage. After an error this is common: its
traceback has the frame that has the error.
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
"""Tensors from which the search starts at once; the collector is asked about all of them in one pass."""

_MOST = 5_000
"""Objects that lead to a tensor, at most: garbage is small, and what is alive leads everywhere."""


def garbage(pieces: Collection[Piece], deadline: float) -> set[Piece]:
    """Returns which of some pieces of memory are held by garbage.

    Args:
      pieces: the largest first.
      deadline: what `time.monotonic()` says when there is no more time.
    """
    if not pieces or time.monotonic() >= deadline:
        return set()
    tensors, found = _tensors(set(pieces)), set[Piece]()
    waiting = [piece for piece in pieces if piece in tensors]
    while waiting and time.monotonic() < deadline:
        some, waiting = waiting[:_SEEDS], waiting[_SEEDS:]
        ids = {piece: [id(thing) for thing in tensors[piece]] for piece in some}
        seeds = [thing for piece in some for thing in tensors.pop(piece)]
        dead = _dead(seeds, deadline)
        found |= {piece for piece in some if dead.issuperset(ids[piece])}
    return found


def _tensors(pieces: Collection[Piece]) -> dict[Piece, list[Any]]:
    """Returns all tensors that hold pieces of memory, whoever holds them."""
    found: dict[Piece, list[Any]] = {}
    for thing in gc.get_objects():
        held = runtime.holding(thing) if issubclass(type(thing), HOLDERS) else None
        if held is not None and (held.device, held.region, held.offset) in pieces:
            found.setdefault((held.device, held.region, held.offset), []).append(thing)
    return found


def _dead(things: list[Any], deadline: float) -> set[int]:
    """Returns the ids of garbage, among some objects and all that lead to them. The latter are added to the list."""
    if not _add_what_leads_to(things, deadline):
        return set()
    numbers = {id(thing): number for number, thing in enumerate(things)}
    known, gauge = _references_among(things, numbers), [object()]
    own = sys.getrefcount(gauge[0])
    alive = {number for number in range(len(things)) if sys.getrefcount(things[number]) - own != known[number]}
    waiting = list(alive)
    while waiting:
        for one in gc.get_referents(things[waiting.pop()]):
            number = numbers.get(id(one))
            if number is not None and number not in alive:
                alive.add(number)
                waiting.append(number)
    return {key for key, number in numbers.items() if number not in alive}


def _references_among(things: list[Any], numbers: dict[int, int]) -> list[int]:
    """Returns how many references from among some objects each of them has."""
    known = [0] * len(things)
    for refers_to in map(gc.get_referents, things):
        for key in filter(numbers.__contains__, map(id, refers_to)):
            known[numbers[key]] += 1
    return known


def _add_what_leads_to(things: list[Any], deadline: float) -> bool:
    """Adds to a list all objects that lead to those in it; says whether it came to an end."""
    seen, start = {id(things), *map(id, things)}, 0
    gauge = object()
    own = sys.getrefcount(gauge)
    while start < len(things):
        if len(things) > _MOST or time.monotonic() > deadline:
            return False
        last = things[start:]
        start, seen = len(things), seen | {id(last)}
        found = gc.get_referrers(*last)
        while found:
            one = found.pop()
            # Modules and classes live on: what they lead to has a reference more than is found, which tells that it
            # lives. To the arguments of the question, a tuple, nobody refers but this function.
            if id(one) not in seen and not issubclass(type(one), ModuleType | type) and sys.getrefcount(one) > own:
                seen.add(id(one))
                things.append(one)
    return True

"""Explains why a request failed, in the words of the error, and what would have made it fit, tested by replaying."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple, Protocol

from nbtf import runtime
from nbtf._devices.exhausted import Shortage, shortage
from nbtf._devices.sizes import gib
from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.memory_bands import SLOTS, TEMPORARY, WEIGHTS, Band, Words
from nbtf.notebook.stills.memory_history import MemoryHistory, Refusal

_LIMITS, _PIECES, _CONTAINERS = 16, 8, 4
"""Maximum number of limits, of single deletions and of container deletions that are tried."""

_SMALL = 100
"""Pieces smaller than a request divided by this number are ignored."""

_REASONS = {"too large": "tooLarge", "mapped": "mapped", "in pieces": "fragmented"}
"""The text of each reason; the sum of the memory in use needs no further explanation."""

NO_PIECES: Mapping[runtime.Allocated, int] = MappingProxyType({})


class Fits(Protocol):
    """Replays all requests through the allocator, as `Recording.fits` does."""

    def __call__(self, limit: int | None, without: Mapping[runtime.Allocated, int] = NO_PIECES) -> runtime.Fit:
        """Tries a limit in bytes (None for its own), with pieces freed before the event with a given number."""
        ...


def shortage_of(event: runtime.Refused) -> Shortage:
    """Returns why a request did not fit, with the sizes as the error shows them."""
    return shortage(event.nbytes, event.limit, event.in_use, event.pool, event.largest_free)


def shortage_in_words(event: runtime.Refused, words: Words) -> str:
    """Returns the sentences of the error, in one of the languages."""
    short = shortage_of(event)
    reason = words[_REASONS[short.reason]] if short.reason in _REASONS else ""
    return filled(" ".join(filter(None, (words["sentence"], reason))), **short.sizes)


def request_in_words(event: runtime.Refused) -> str:
    """Returns the purpose of a request, to precede the sentences: `MatMul [2, 3]: `; empty if unknown."""
    return "" if event.label is None else f"{event.label.op} {list(event.label.shape)}: "


def held_before(history: MemoryHistory, refusal: Refusal) -> list[Band]:
    """Returns the pieces that an earlier line, or an earlier training step, still holds when a request fails.

    Weights, optimizer slots and inputs are not included, because a step needs them; nor are small pieces.
    """
    updates = [step for step in range(refusal.step) if history.changes[step].phase == "update"]
    latest = updates[-1] if updates else -1

    def is_before(band: Band) -> bool:
        if band.event is None or not band.event.phase:
            site = None if band.event is None else band.event.site
            return site is None or site != refusal.event.site
        return band.birth < latest and band.event.holder != "input"

    needed, smallest = (WEIGHTS, SLOTS, TEMPORARY), refusal.event.nbytes // _SMALL
    alive = (band for band in history.alive(refusal.step) if band.size >= smallest)
    return [band for band in alive if band.group not in needed and is_before(band)]


class Hints(NamedTuple):
    """What is known about a failed request, as sentences; empty where nothing is known."""

    held_before: str = ""
    fits: str = ""
    limit: str = ""

    @property
    def answer(self) -> str:
        """What would make the request fit: a deletion or, if none was found, a larger card."""
        return self.fits or self.limit


def hints(history: MemoryHistory, refusal: Refusal, fits: Fits | None, words: Words) -> list[str]:
    """Returns the sentences of `hints_of` that are not empty."""
    return [hint for hint in hints_of(history, refusal, fits, words) if hint]


def hints_of(
    history: MemoryHistory,
    refusal: Refusal,
    fits: Fits | None,
    words: Words,
    is_late: Callable[[], bool] = lambda: False,
) -> Hints:
    """Returns what is still held from earlier, which deletion would have made the request fit, and which limit.

    Hints are tested, not guessed: the requests are replayed through the allocator with each deletion or limit.

    Args:
      history: the history of the device.
      refusal: the failed request.
      fits: replays the requests; None if that is not possible.
      words: texts of the pictures.
      is_late: returns whether the time for replays is over.
    """
    live_bands, event = held_before(history, refusal), refusal.event
    held_bands = (
        filled(words["held"], names=_some_titles(live_bands, words), size=gib(_sum(live_bands))) if live_bands else ""
    )
    if fits is None or event not in fits(event.limit).refused:  # the recording comes from a different machine
        return Hints(held_bands)
    deletion = ""
    for bands in _deletions(history, live_bands, refusal):
        without = {band.event: event.seq for band in bands if band.event is not None}
        if is_late():
            break
        if event not in fits(event.limit, without).refused:
            deletion = _without(bands, words)
            break
    return Hints(
        held_bands, deletion, "" if is_late() else _limit(event, _requested(history.alive(refusal.step)), fits, words)
    )


def _deletions(history: MemoryHistory, live_bands: Sequence[Band], refusal: Refusal) -> Iterator[Sequence[Band]]:
    """Yields deletions worth trying: pieces that would make a large enough hole, then containers; small ones first."""
    holes = history.holes(refusal.step)
    below, above = {start + size: size for start, size in holes}, dict(holes)
    tried = sorted((band for band in live_bands if band.event is not None), key=lambda band: band.size)
    singles = (
        (band,)
        for band in tried
        if below.get(band.start, 0) + band.size + above.get(band.start + band.size, 0) >= refusal.event.nbytes
    )
    yield from islice(singles, _PIECES)
    containers: dict[str, list[Band]] = {}
    for band in tried:
        containers.setdefault(_container(band.name) or str(band.event and band.event.site), []).append(band)
    several = (bands for bands in containers.values() if len(bands) > 1)
    yield from islice(sorted(several, key=_sum), _CONTAINERS)


def _container(name: str) -> str:
    """Returns the variable with which a name begins: `held` of `held[3]`."""
    return re.split(r"[\[.,]", name, maxsplit=1)[0]


def _without(bands: Sequence[Band], words: Words) -> str:
    """Returns the hint with the statement that deletes pieces, or with their names if no statement does."""
    name = bands[0].name if len(bands) == 1 else _container(bands[0].name)
    try:
        ast.parse(f"del {name}")
    except SyntaxError:
        return filled(words["fitsWithout"], names=_some_titles(bands, words), size=gib(_sum(bands)))
    return filled(words["fitsAfter"], statement=f"del {name}")


def _limit(event: runtime.Refused, in_use: int, fits: Fits, words: Words) -> str:
    """Returns the hint with the smallest tested limit at which everything fits, or the least size of a card."""
    limit = event.limit
    step = 1 << max(20, (limit // 32 - 1).bit_length())
    number = 1 + bisect_left(range(1, _LIMITS + 1), True, key=lambda number: bool(fits(limit + number * step)))
    if number > _LIMITS:
        largest_tried, needed = limit + _LIMITS * step, in_use + event.nbytes
        return (
            filled(words["fitsNot"], limit=gib(largest_tried))
            if largest_tried >= needed
            else filled(words["fitsLeast"], size=gib(needed))
        )
    return filled(words["fitsFrom"], limit=gib(limit + number * step), less=gib(limit + (number - 1) * step))


def _some_titles(bands: Iterable[Band], words: Words, limit: int = 3) -> str:
    """Returns a short list of the largest pieces; those of one container are combined."""
    sizes, counts = Counter[str](), Counter[str]()
    for band in bands:
        name = _container(band.name) or f"{band.title(words)} {band.shape}".rstrip()
        sizes[name] += band.size
        counts[name] += 1
    names = [name if counts[name] == 1 else f"{counts[name]} × {name}" for name, _ in sizes.most_common(limit)]
    return ", ".join(names) + (", …" if len(sizes) > limit else "")


def _requested(bands: Iterable[Band]) -> int:
    """Returns the bytes that pieces were requested with; those of a card that is nearly full are larger."""
    return sum(band.size if band.event is None else band.event.nbytes for band in bands)


def _sum(bands: Iterable[Band]) -> int:
    return sum(band.size for band in bands)

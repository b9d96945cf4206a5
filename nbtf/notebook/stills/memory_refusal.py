"""Why did a request not fit, and what would have let it? Told as the error tells it; what would help is tried."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Protocol

from nbtf import runtime
from nbtf._devices.exhausted import Shortage, shortage
from nbtf._devices.sizes import gib
from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.memory_bands import SLOTS, TEMPORARY, WEIGHTS, Band, Words
from nbtf.notebook.stills.memory_history import MemoryHistory, Refusal

_LIMITS, _PIECES, _CONTAINERS = 16, 8, 4
"""How many limits are within reach, and how many deletions are tried."""

_SMALL = 100
"""What part of a request is too little to matter."""

_REASONS = {"too large": "tooLarge", "mapped": "mapped", "in pieces": "fragmented"}
"""Texts that say why; where the sum of what is in use says it all there is none."""

_NONE: Mapping[runtime.Allocated, int] = MappingProxyType({})


class Fits(Protocol):
    """Sends all requests once more through the allocator, as `Recording.fits` does."""

    def __call__(self, limit: int, without: Mapping[runtime.Allocated, int] = _NONE) -> runtime.Fit:
        """Tries a limit in bytes, with pieces freed before the event with a number."""
        ...


def shortage_of(event: runtime.Refused) -> Shortage:
    """Returns why a request did not fit, with the sizes as the error writes them."""
    return shortage(event.nbytes, event.limit, event.in_use, event.pool, event.largest_free)


def shortage_in_words(event: runtime.Refused, words: Words) -> str:
    """Returns the sentences of the error, in a language."""
    short = shortage_of(event)
    reason = words[_REASONS[short.reason]] if short.reason in _REASONS else ""
    return filled(" ".join(filter(None, (words["sentence"], reason))), **short.sizes)


def request_in_words(event: runtime.Refused) -> str:
    """Returns what a request was for, in front of the sentences: `MatMul [2, 3]: `; nothing where nobody knows."""
    return "" if event.label is None else f"{event.label.op} {list(event.label.shape)}: "


def held_before(history: MemoryHistory, refusal: Refusal) -> list[Band]:
    """Returns what is still held from an earlier line, or an earlier training step, when a request is refused.

    Weights, optimizer slots and inputs are no such thing, for a step needs them, nor what is small beside the request.
    """
    updates = [step for step in range(refusal.step) if history.changes[step].phase == "update"]
    latest = updates[-1] if updates else -1

    def is_before(band: Band) -> bool:
        if band.event is None or not band.event.phase:
            return band.event is None or band.event.site != refusal.event.site
        return band.birth < latest and band.event.holder != "input"

    needed, smallest = (WEIGHTS, SLOTS, TEMPORARY), refusal.event.nbytes // _SMALL
    alive = (band for band in history.alive(refusal.step) if band.size >= smallest)
    return [band for band in alive if band.group not in needed and is_before(band)]


def hints(history: MemoryHistory, refusal: Refusal, fits: Fits | None, words: Words) -> list[str]:
    """Returns what is still held from before, which deletion would have let a request fit, and which limit.

    Nothing is guessed: a deletion or a limit is named after the requests went through the allocator with it.

    Args:
      history: of the device.
      refusal: the request.
      fits: the allocator's answer; None where nobody can ask it.
      words: of the pictures.
    """
    live_bands = held_before(history, refusal)
    rows = (
        [filled(words["held"], names=_some_titles(live_bands, words), size=gib(_sum(live_bands)))] if live_bands else []
    )
    event = refusal.event
    if fits is None or event not in fits(event.limit).refused:  # another machine than that of the recording
        return rows
    for bands in _deletions(history, live_bands, refusal):
        without = {band.event: event.seq for band in bands if band.event is not None}
        if event not in fits(event.limit, without).refused:
            rows.append(_without(bands, words))
            break
    return [*rows, _limit(event.limit, fits, words)]


def _deletions(history: MemoryHistory, live_bands: Sequence[Band], refusal: Refusal) -> Iterator[Sequence[Band]]:
    """Yields what may be worth a try: pieces that would make a hole of the size, then containers; small ones first."""
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
    """Returns the variable that a name begins with: `held` of `held[3]`."""
    return re.split(r"[\[.,]", name, maxsplit=1)[0]


def _without(bands: Sequence[Band], words: Words) -> str:
    """Returns the statement that deletes pieces, or says which they are where no statement does."""
    name = bands[0].name if len(bands) == 1 else _container(bands[0].name)
    try:
        ast.parse(f"del {name}")
    except SyntaxError:
        return filled(words["fitsWithout"], names=_some_titles(bands, words), size=gib(_sum(bands)))
    return filled(words["fitsAfter"], statement=f"del {name}")


def _limit(limit: int, fits: Fits, words: Words) -> str:
    """Returns from which limit on all would fit."""
    step = 1 << max(20, (limit // 32 - 1).bit_length())
    number = 1 + bisect_left(range(1, _LIMITS + 1), True, key=lambda number: bool(fits(limit + number * step)))
    if number > _LIMITS:
        return filled(words["fitsNot"], limit=gib(limit + _LIMITS * step))
    return filled(words["fitsFrom"], limit=gib(limit + number * step), less=gib(limit + (number - 1) * step))


def _some_titles(bands: Iterable[Band], words: Words, limit: int = 3) -> str:
    """Returns the largest pieces in few words, those of a container together."""
    sizes, counts = Counter[str](), Counter[str]()
    for band in bands:
        name = _container(band.name) or f"{band.title(words)} {band.shape}".rstrip()
        sizes[name] += band.size
        counts[name] += 1
    names = [name if counts[name] == 1 else f"{counts[name]} × {name}" for name, _ in sizes.most_common(limit)]
    return ", ".join(names) + (", …" if len(sizes) > limit else "")


def _sum(bands: Iterable[Band]) -> int:
    return sum(band.size for band in bands)

"""Draws a device's memory after a step: its chunks by address, including holes, with names and sizes."""

from __future__ import annotations

import re
from functools import partial

from nbtf._devices.sizes import gib, part_of
from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.flow import flowed
from nbtf.notebook.stills.glyphs import fitted
from nbtf.notebook.stills.marks import Mark, Picture, Rectangle, Text, framed
from nbtf.notebook.stills.memory_bands import LEFT, MARGIN, OF_GROUP, Band, Words, picture_words
from nbtf.notebook.stills.memory_history import MemoryHistory

WIDTH, HEIGHT = 460.0, 330.0
BAR = 46.0
PALE = 0.35
"""Opacity of the bytes that the allocator adds to a request."""


class Scale:
    """Maps addresses to px: the px of the lowest address, and the bytes that fill the whole height."""

    def __init__(self, bottom: float, nbytes: int, height: float = HEIGHT) -> None:
        """Stores the px of address 0, the number of bytes up to the upper edge, and the height in px."""
        self.bottom: float = bottom
        self.top: float = bottom - height
        self.height: float = height
        self.nbytes: int = nbytes
        self.least: float = nbytes / height

    def y(self, address: float) -> float:
        """Returns the px of an address."""
        return self.bottom - address / self.nbytes * self.height

    def sides(self, band: Band) -> tuple[float, float, float]:
        """Returns the px of a piece's end, of the end of its requested bytes, and of its start."""
        requested = min(band.requested, band.size)
        return self.y(band.start + band.size), self.y(band.start + requested), self.y(band.start)

    def is_pale(self, band: Band) -> bool:
        """Returns whether the bytes beyond a piece's request are visible."""
        return band.size - band.requested >= self.least


def drawn_chunks(
    history: MemoryHistory, step: int, scale: Scale, left: float, right: float, words: Words
) -> list[Mark]:
    """Returns every chunk of a step, from `left` to `right` in px, with the names that fit."""
    marks: list[Mark] = []
    labels: list[tuple[float, float, str, str, str]] = []
    for start, size in history.holes(step):
        top, low = max(scale.y(start + size), scale.top), scale.y(start)
        title = f"{words['free']}: {size:,} B"
        marks.append(Rectangle(left, top, BAR, low - top, "hatch", opacity=0.45, title=title))
        labels.append(((top + low) / 2, low - top, words["free"], gib(size), "soft"))
    for band in history.alive(step):
        top, middle, low = scale.sides(band)
        marks.append(Rectangle(left, top, BAR, low - top, "paper", title=f"{band.about(words)}: {band.size:,} B"))
        if scale.is_pale(band):
            marks.append(Rectangle(left, top, BAR, middle - top, OF_GROUP[band.group], opacity=PALE))
        gap = 0.4 if low - middle > 2 else 0.0
        marks.append(Rectangle(left, middle + gap, BAR, low - middle - 2 * gap, OF_GROUP[band.group]))
        labels.append(((middle + low) / 2, low - middle, band.title(words), gib(band.requested), "ink"))
    marks.append(Rectangle(left, scale.top, BAR, scale.height, stroke="line"))
    return marks + _names(labels, left + BAR + 7, right)


def _names(labels: list[tuple[float, float, str, str, str]], left: float, right: float) -> list[Mark]:
    """Returns names and sizes; of two that are too close, only those of the larger."""
    marks: list[Mark] = []
    used_ys: list[float] = []
    for y, height, name, size, token in sorted(labels, key=lambda label: -label[1]):
        if height < 4 or any(abs(y - used_y) < 13 for used_y in used_ys):
            continue
        used_ys.append(y)
        figure = Text(right, y + 4, size, "soft", 11, anchor="end")
        short_name = shortened(name, figure.begin - 8 - left)
        marks += [figure, Text(left, y + 4, short_name, token, 11, 400 if token == "soft" else 500, mono=True)]
    return [mark for mark in marks if not isinstance(mark, Text) or mark.words]


def shortened(name: str, width: float) -> str:
    """Returns a name, or as much of it as fits. Paths lose their beginning, which many names share.

    >>> [shortened("hidden_1/kernel · velocity", width) for width in (200, 150, 70)]
    ['hidden_1/kernel · velocity', '…kernel · velocity', '…velocity']
    """
    fit = partial(fitted, width=width, size=11, weight=600, mono=True)
    ends = [match.end() for match in _PATH.finditer(name)] if "/" in name or "." in name else []
    candidates = [name, *[f"…{name[end:]}" for end in ends if ":" not in name], name.split(" · ")[0]]
    return next((text for text in candidates if fit(text) == text), "") or fit(name)


_PATH = re.compile(r"[/.](?=[^\W\d])| · ")
"""Separators of a path such as `model.layers[0].kernel`."""


def addresses(scale: Scale, right: float) -> list[Mark]:
    """Returns the labels of a scale, right-aligned at some px."""
    quarters = [scale.nbytes * quarter // 4 for quarter in range(5)]
    return [Text(right, scale.y(each) + 4, gib(each) if each else "0 B", "soft", 11, anchor="end") for each in quarters]


def free_in_words(history: MemoryHistory, step: int, words: Words) -> str:
    """Returns how much of the pool is free, and the size of its largest hole."""
    sizes = [size for _, size in history.holes(step)]
    return filled(words["holes"], size=gib(sum(sizes)), largest=gib(max(sizes))) if sizes else words["full"]


def memory_chunks(history: MemoryHistory, words: Words | None = None) -> Picture:
    """Returns a picture of the memory after the last step of a history.

    Args:
      history: the history of one device.
      words: texts of the sections `timeline` and `memoryPicture`; None uses those of the environment's language.
    """
    words, step, right = words or picture_words(), history.steps - 1, WIDTH - MARGIN
    regions = history.regions(step)
    count = filled(words["chunks"], regions=len(regions), n=sum(len(region.chunks) for region in regions))
    used = part_of(history.in_use[step], max(history.limit, history.top))
    about = filled(words["about"], name=history.short_name, used=used)
    title = Text(0, 0, filled(words["memoryOf"], name=history.short_name), size=15, weight=650)
    head, y = flowed([title, Text(0, 0, count, "soft")], MARGIN, right, 28)
    texts = [Text(0, 0, line, "soft", 11) for line in (about, free_in_words(history, step, words))]
    facts, y = flowed(texts, MARGIN, right, y + 20)
    scale = Scale(y + 16 + HEIGHT, max(history.top, 1))
    marks = [*addresses(scale, LEFT - 8), *drawn_chunks(history, step, scale, LEFT, right, words)]
    height = scale.bottom + MARGIN
    return framed(WIDTH, height, about, [*head, *facts, *marks])

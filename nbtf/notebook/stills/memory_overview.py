"""Draws the memory of several devices from the state of a live view: a row for each, all on one scale."""

from __future__ import annotations

from typing import Any

from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.glyphs import fitted, width_of
from nbtf.notebook.stills.marks import WIDTH, Line, Mark, Path, Picture, Rectangle, Text, framed
from nbtf.notebook.stills.memory_bands import Words, picture_words
from nbtf.notebook.tables import size

MOST = 16
"""Maximum number of devices with a row."""

_MARGIN = 16.0
_HEAD, _ROW, _FOOT = 46.0, 88.0, 34.0
_BAR, _CURVE, _CURVE_WIDTH = 22.0, 24.0, 150.0
_KEYS = (("py", "named"), ("tmp", "unnamed"), ("hatch", "free"))
_FREE, _SEVERAL = 0, 2
"""States of chunks."""


def memory_overview(state: dict[str, Any], width: float = WIDTH) -> Picture | None:
    """Returns a picture of the devices' memory; None while none of them has any.

    Args:
      state: the state that a memory view receives.
      width: in px; at least 480 are used.
    """
    devices = [device for device in state["devices"] if device["memory"] is not None]
    if not devices:
        return None
    overview = _Overview(devices[:MOST], max(width, 480.0), picture_words())
    return overview.picture(max(len(devices) - MOST, 0))


class _Overview:
    """Draws from top to bottom."""

    def __init__(self, devices: list[dict[str, Any]], width: float, words: Words) -> None:
        self._devices, self._width, self._words = devices, width, words
        self._right = width - _MARGIN
        self._largest = max(_limit(device["memory"]) for device in devices)
        self._scale = (width - 2 * _MARGIN) / self._largest
        self._highest = max(max(device["memory"]["peak"] or 0, 1) for device in devices)
        self._marks: list[Mark] = []

    def picture(self, device_count: int) -> Picture:
        """Returns the complete picture; `device_count` includes the devices without a row."""
        self._head()
        for number, device in enumerate(self._devices):
            self._row(device, _HEAD + number * _ROW)
        height = _HEAD + len(self._devices) * _ROW + _FOOT
        self._legend(height - 14, device_count)
        in_use = ", ".join(f"{device['name']} {size(device['memory']['in_use'])}" for device in self._devices)
        return framed(self._width, height, filled(self._words["overviewAbout"], devices=in_use), self._marks)

    def _head(self) -> None:
        title = Text(_MARGIN, 28, self._words["memory"], size=15, weight=650)
        bars = filled(self._words["barScale"], size=size(self._largest))
        curves = filled(self._words["curveScale"], size=size(self._highest))
        self._marks += [
            title,
            Text(title.x + title.width + 12, 28, bars, "soft", 11),
            Text(self._right, 28, curves, "soft", 11, anchor="end"),
        ]

    def _row(self, device: dict[str, Any], top: float) -> None:
        memory, y = device["memory"], top + 32
        name = Text(_MARGIN, top + 18, device["name"], size=13, weight=650)
        in_use = f"{size(memory['in_use'])} {self._words['inUse']}"
        figure = Text(name.x + name.width + 12, name.y, in_use, size=13, weight=650)
        limit = filled(self._words["ofLimit"], limit=size(memory["limit"])) if memory["limit"] else ""
        about, begin = " · ".join(filter(None, [limit, self._card(device)])), figure.x + figure.width + 8
        about = fitted(about, self._right - _CURVE_WIDTH - 12 - begin, 11) or limit
        card = Text(begin, name.y, about, "soft", 11, required=True)
        self._marks += [Line(_MARGIN, top, self._right, top), name, figure, card]
        self._curve([in_use for _, in_use, _ in device["history"]], top + 4)
        if "map" in device:
            self._chunks(device["map"], y)
        else:
            self._levels(memory, y)
        self._marks.append(Rectangle(_MARGIN, y, _limit(memory) * self._scale, _BAR, stroke="line"))
        self._marks.append(Text(_MARGIN, y + _BAR + 16, self._figures(device), "soft", 11))

    def _card(self, device: dict[str, Any]) -> str:
        model = device["model"] or ""
        return filled(self._words["simulated"], model=model) if device["kind"] == "simulated" else model

    def _figures(self, device: dict[str, Any]) -> str:
        """Returns the other figures of a device, each with its name."""
        memory, words = device["memory"], self._words
        figures = [
            filled(words["peak"], size=size(memory["peak"] or 0)),
            filled(words["pool"], size=size(memory["pool"])),
        ]
        if "map" in device:
            holes = filled(words["holes"], size=size(device["free"]), largest=size(device["largest_free"]))
            figures += [holes, filled(words["chunkCount"], n=device["map"]["chunks"])]
        return " · ".join(figures)

    def _curve(self, levels: list[int], top: float) -> None:
        """Draws the memory in use: each level that differs from the one before gets a column of equal width."""
        levels = [level for level, previous in zip(levels, [-1, *levels], strict=False) if level != previous]
        left, low = self._right - _CURVE_WIDTH, top + _CURVE
        step = _CURVE_WIDTH / max(len(levels), 1)
        points = [(left, low)]
        for number, level in enumerate(levels):
            y = low - min(level / self._highest, 1) * _CURVE
            points += [(left + number * step, y), (left + (number + 1) * step, y)]
        self._marks += [
            Path((*points, (points[-1][0], low)), "tint2", closed=True),
            Path(tuple(points), stroke="soft", stroke_width=1.3),
        ]

    def _levels(self, memory: dict[str, Any], y: float) -> None:
        """Draws memory in use and pool of a device that does not report addresses."""
        pool = Rectangle(_MARGIN, y, (memory["pool"] or 0) * self._scale, _BAR, "hatch", opacity=0.45)
        self._marks += [pool, Rectangle(_MARGIN, y, memory["in_use"] * self._scale, _BAR, "tmp")]

    def _chunks(self, drawn: dict[str, Any], y: float) -> None:
        """Draws every chunk at its position; regions are laid end to end."""
        start = 0
        for region in drawn["regions"]:
            for chunk in region["chunks"]:
                self._chunk(start, chunk, y, drawn["words"])
            start += region["size"]

    def _chunk(self, start: int, chunk: list[int], y: float, terms: list[str]) -> None:
        offset, nbytes, state, requested, op, shape, _, holder = chunk
        x, long = _MARGIN + (start + offset) * self._scale, nbytes * self._scale
        if long < 0.05:
            return  # too narrow to be visible on any screen
        if state == _FREE:
            words = f"{self._words['free']}: {nbytes:,} B"
            self._marks.append(Rectangle(x, y, long, _BAR, "hatch", opacity=0.45, title=words))
            return
        name = terms[holder] if holder >= 0 else ""
        title = name or " ".join(terms[term] for term in (op, shape) if term >= 0)
        if state == _SEVERAL:
            title = filled(self._words["chunkCount"], n=-requested)
        token, gap = "py" if name else "tmp", 0.4 if long > 3 else 0.0
        self._marks.append(
            Rectangle(x + gap, y, long - 2 * gap, _BAR, token, title=f"{title}: {nbytes:,} B".lstrip(": "))
        )
        words = fitted(name, long - 8, 11, mono=True)
        if words:
            self._marks.append(Text(x + 4, y + 15, words, "on-py", 11, mono=True))

    def _legend(self, y: float, device_count: int) -> None:
        x = _MARGIN
        for token, key in _KEYS:
            words, stroke = self._words[key], "line" if token == "hatch" else ""
            self._marks += [Rectangle(x, y - 9, 10, 10, token, stroke, radius=2), Text(x + 15, y, words, "soft", 11)]
            x += 29 + width_of(words, 11)
        if device_count:
            note = filled(self._words["moreDevices"], n=device_count)
            self._marks.append(Text(self._right, y, note, "soft", 11, anchor="end"))


def _limit(memory: dict[str, Any]) -> int:
    return max(memory["limit"] or 0, memory["pool"] or 0, memory["in_use"], 1)

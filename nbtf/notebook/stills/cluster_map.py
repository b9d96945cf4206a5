"""Draws a cluster: a row for each host and a square for each card, filled by the card's memory in use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nbtf import runtime
from nbtf.notebook import catalogue
from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.decision import Words
from nbtf.notebook.stills.device_facts import DeviceFacts
from nbtf.notebook.stills.device_grid import GAP, SQUARE, cells, drawn_square
from nbtf.notebook.stills.flow import flowed
from nbtf.notebook.stills.lanes import bytes_in_words
from nbtf.notebook.stills.marks import WIDTH, Group, Mark, Picture, Text, framed

_MARGIN, _NARROWEST = 16.0, 288.0
_LABELS, _SQUARE = 132.0, 76.0
"""Space for the names of hosts, and the minimum width of a square, in px."""

_NARROW, _ABOVE = 480.0, 40.0
"""In a narrower picture, names are drawn this many px above their cards."""

_MOST_ROWS = 16
"""Maximum number of hosts with rows of their own; beyond it, each host is a square."""

_LETTER = 7.5
"""The width of a letter of a name, in px."""


class _Fill(NamedTuple):
    """A card, or a host with all its cards, and how much of its memory is in use."""

    name: str
    in_use: int | None
    total: int


def cluster_map(look: runtime.ClusterLook, width: float = WIDTH, words: Words | None = None) -> Picture | None:
    """Returns a picture of a cluster's cards; None if there are none.

    Args:
      look: a snapshot of the cluster.
      width: in px; at least 288 are used.
      words: texts of the section `deviceMap`; None uses those of the environment's language.
    """
    texts = words or catalogue.words("deviceMap")
    width = max(width, _NARROWEST)
    hosts = {host.host: list(_fills(host)) for host in look}
    fills = [fill for members in hosts.values() for fill in members]
    if not fills:
        return None
    right = width - _MARGIN
    simulated = any(device.simulated for host in look for worker in host.workers for device in worker.devices)
    marks, y = flowed(_head(look, fills, simulated, texts), _MARGIN, right, 28)
    squares, y = _drawn(hosts, right, y + 14, texts)
    foot = [Text(0, 0, texts["heightInUse"], "soft", 11)]
    if look.silent:
        names = ", ".join(f"{worker.worker} ({worker.host})" for worker in look.silent)
        foot.append(Text(0, 0, filled(texts["silent"], names=names), "hot", 12))
    below, y = flowed(foot, _MARGIN, right, y + 20)
    height = round(y + _MARGIN)
    return framed(width, height, look.sentences()[0], [*marks, *squares, *below])


def _head(look: runtime.ClusterLook, fills: Sequence[_Fill], simulated: bool, words: Words) -> list[Text]:
    title = filled(words["clusterTitle"], hosts=len(look), n=len(fills))
    texts = [Text(0, 0, title, size=15, weight=650), Text(0, 0, _of(fills), "soft")]
    return [*texts, *([Text(0, 0, words["simulated"], "soft", required=True)] if simulated else [])]


def _fills(host: runtime.HostReport) -> Iterator[_Fill]:
    for card in host.cards:
        yield _Fill(f"card {card.number}", card.used, card.total or 0)
    for worker in host.workers:
        for device in worker.devices:
            if device.simulated or not host.cards:
                yield _Fill(f"{worker.worker} {device.name}", device.in_use, device.memory_limit or device.memory or 0)


def _drawn(hosts: dict[str, list[_Fill]], right: float, y: float, words: Words) -> tuple[list[Mark], float]:
    """Returns a row for each host, or squares if there are many hosts, and the y coordinate below them."""
    if len(hosts) > _MOST_ROWS:
        sums = [
            _Fill(host, sum([fill.in_use or 0 for fill in members]), sum([fill.total for fill in members]))
            for host, members in hosts.items()
        ]
        return _squares(sums, _MARGIN, y, right, words)
    marks: list[Mark] = []
    beside, above = (0.0, _ABOVE) if right < _NARROW else (_LABELS, 0.0)
    for host, members in hosts.items():
        label = Text(_MARGIN, y + 18, _short(host, beside or right - _MARGIN), size=11, weight=650)
        sums = Text(_MARGIN, y + 33, _of(members) if members else words["noCards"], "soft", 11)
        marks.append(Group((label, sums), f"{host}: {sums.words}"))
        squares, end = _squares(members, _MARGIN + beside, y + above, right, words)
        marks += squares
        y = max(end, y + (above or SQUARE)) + GAP
    return marks, y - GAP


def _squares(fills: Sequence[_Fill], x: float, y: float, right: float, words: Words) -> tuple[list[Mark], float]:
    squares = cells(len(fills), x, y, right - x, _SQUARE)
    marks: list[Mark] = []
    for fill, corner in zip(fills, squares.corners, strict=True):
        used = fill.in_use or 0
        name = _short(fill.name, squares.width).replace(":", " ")
        square = drawn_square(DeviceFacts(name), *corner, squares.width, used, max(fill.total, used, 1), words)
        marks.append(Group(square.marks, f"{fill.name}: {_of([fill])}"))
    return marks, squares.bottom


def _short(name: str, width: float) -> str:
    """Returns a name that fits: without the host's domain and, if needed, without what numbered names share."""
    letters = int(width / _LETTER) - 1
    first = name if name.replace(".", "").isdigit() or len(name) <= letters else name.partition(".")[0]
    return first if len(first) <= letters else f"…{first[1 - letters :]}"


def _of(fills: Sequence[_Fill]) -> str:
    """Returns how much memory of some cards is in use; a dash if it is unknown."""
    sizes = [fill.in_use for fill in fills if fill.in_use is not None]
    used = bytes_in_words(sum(sizes)) if sizes else "–"
    return f"{used} / {bytes_in_words(sum([fill.total for fill in fills]))}"

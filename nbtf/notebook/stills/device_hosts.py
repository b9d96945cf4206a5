"""Draws a cluster: a row for each host with the copies between hosts, or squares if there are many hosts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.decision import Words
from nbtf.notebook.stills.device_facts import DeviceFacts, MapFacts, host_of
from nbtf.notebook.stills.device_grid import GAP, SQUARE, cells, drawn_square
from nbtf.notebook.stills.lanes import bytes_in_words
from nbtf.notebook.stills.marks import Group, Mark, Path, Text

_MOST_ROWS = 16
"""Maximum number of hosts with rows of their own; beyond it, each host is a square."""

_GUTTER, _LABELS, _NARROWEST = 48.0, 76.0, 60.0
"""Width of flows and of names, and the minimum width of a square, in px."""

_LANES, _LANE, _FIRST_LANE = 12, 3.0, 8.0
"""Number of flows side by side, their distance, and the distance of the first from its hosts, in px."""

_WIDEST, _HEAD, _EAR = 3.0, 5.0, 3.0


class _Pair(NamedTuple):
    """Two hosts, by number, and the bytes copied from the first to the second, and back."""

    first: int
    second: int
    onwards: int
    back: int


def by_host(cards: Iterable[DeviceFacts]) -> dict[str, list[DeviceFacts]]:
    """Returns the cards of each host."""
    hosts: dict[str, list[DeviceFacts]] = {}
    for card in cards:
        hosts.setdefault(host_of(card.name), []).append(card)
    return hosts


def drawn_hosts(facts: MapFacts, x: float, y: float, width: float, words: Words) -> tuple[list[Mark], float, int]:
    """Returns hosts as rows of squares, or as squares; the y coordinate below; and the number of flows not drawn.

    Args:
      facts: the facts of the map.
      x: left edge, in px.
      y: upper edge, in px.
      width: total width, in px.
      words: texts of the section `deviceMap`.
    """
    hosts = by_host(facts.cards)
    if len(hosts) > _MOST_ROWS:
        return *_squares(facts, hosts, x, y, width, words), 0
    pairs = _pairs(facts, list(hosts))
    left = x + (_GUTTER if pairs else 0.0)
    marks, tops, end = _rows(facts, hosts, left, y, x + width - left, words)
    flows, hidden = _flows(pairs, list(hosts), tops, left - 4)
    return [*flows, *marks], end, hidden


def _rows(
    facts: MapFacts, hosts: dict[str, list[DeviceFacts]], x: float, y: float, width: float, words: Words
) -> tuple[list[Mark], list[float], float]:
    most_bytes = max((facts.traffic(card.name) for card in facts.cards), default=0)
    marks: list[Mark] = []
    tops: list[float] = []
    for host, members in hosts.items():
        tops.append(y)
        total = bytes_in_words(sum(facts.traffic(card.name) for card in members))
        marks += [Text(x, y + 18, host or words["here"], size=11, weight=650), Text(x, y + 33, total, "soft", 11)]
        row = cells(len(members), x + _LABELS, y, width - _LABELS, _NARROWEST)
        for card, corner in zip(members, row.corners, strict=True):
            marks.append(drawn_square(card, *corner, row.width, facts.traffic(card.name), most_bytes, words))
        y = row.bottom + GAP
    return marks, tops, y - GAP


def _squares(
    facts: MapFacts, hosts: dict[str, list[DeviceFacts]], x: float, y: float, width: float, words: Words
) -> tuple[list[Mark], float]:
    squares = cells(len(hosts), x, y, width, _NARROWEST)
    totals = {host: sum(facts.traffic(card.name) for card in members) for host, members in hosts.items()}
    most_bytes = max(totals.values(), default=0)
    marks: list[Mark] = []
    for (host, members), corner in zip(hosts.items(), squares.corners, strict=True):
        name = host or words["here"]
        title = f"{name}: {filled(words['gpus'], n=len(members))}, {bytes_in_words(totals[host])}"
        tile = DeviceFacts(name, is_lost=all(card.is_lost for card in members))
        square = drawn_square(tile, *corner, squares.width, totals[host], most_bytes, words)
        marks.append(Group(square.marks, title))
    return marks, squares.bottom

    # Between hosts


def between_hosts(facts: MapFacts) -> tuple[int, int]:
    """Returns the number of copies between cards of different hosts, and their bytes."""
    flows = [flow for flow in facts.between_cards() if host_of(flow.source) != host_of(flow.target)]
    return sum(flow.copies for flow in flows), sum(flow.nbytes for flow in flows)


def _pairs(facts: MapFacts, hosts: Sequence[str]) -> list[_Pair]:
    """Returns the pairs of hosts with copies between them, nearest first."""
    number = {host: at for at, host in enumerate(hosts)}
    nbytes: dict[tuple[int, int], list[int]] = {}
    for flow in facts.between_cards():
        source, target = number[host_of(flow.source)], number[host_of(flow.target)]
        if source != target:
            directions = nbytes.setdefault((min(source, target), max(source, target)), [0, 0])
            directions[source > target] += flow.nbytes
    pairs = [_Pair(first, second, *directions) for (first, second), directions in nbytes.items()]
    return sorted(pairs, key=lambda pair: (pair.second - pair.first, pair.first))


def _flows(pairs: Sequence[_Pair], hosts: Sequence[str], tops: Sequence[float], right: float) -> tuple[list[Mark], int]:
    """Returns a bracket for each pair that has a lane, as thick as its bytes, and the number of pairs without one."""
    lanes: list[list[_Pair]] = []
    lane_of: dict[_Pair, int] = {}
    for pair in pairs:
        free = [at for at, lane in enumerate(lanes) if all(not _overlap(pair, neighbour) for neighbour in lane)]
        if not free and len(lanes) < _LANES:
            free, lanes = [len(lanes)], [*lanes, []]
        if free:
            lanes[free[0]].append(pair)
            lane_of[pair] = free[0]
    most_bytes = max((pair.onwards + pair.back for pair in pairs), default=0)
    ends = _ends(lane_of, tops)
    marks: list[Mark] = []
    for pair, lane in lane_of.items():
        x, width = right - _FIRST_LANE - _LANE * lane, max(1.0, _WIDEST * (pair.onwards + pair.back) / most_bytes)
        first, second = ends[pair, pair.first], ends[pair, pair.second]
        bracket = Path(((right, first), (x, first), (x, second), (right, second)), stroke="cpy", stroke_width=width)
        heads = [_head(right, end) for end, nbytes in ((second, pair.onwards), (first, pair.back)) if nbytes]
        marks.append(Group((bracket, *heads), _title(pair, hosts)))
    return marks, len(pairs) - len(lane_of)


def _overlap(pair: _Pair, neighbour: _Pair) -> bool:
    return pair.first < neighbour.second and neighbour.first < pair.second


def _ends(lane_of: dict[_Pair, int], tops: Sequence[float]) -> dict[tuple[_Pair, int], float]:
    """Returns where each pair ends at each of its hosts: spread out, from the top down in order of lanes."""
    ends: dict[tuple[_Pair, int], float] = {}
    for host, top in enumerate(tops):
        members = sorted(
            [pair for pair in lane_of if host in (pair.first, pair.second)],
            key=lambda pair: (pair.second != host, -lane_of[pair] if pair.second == host else lane_of[pair]),
        )
        for at, pair in enumerate(members):
            ends[pair, host] = top + SQUARE * (at + 1) / (len(members) + 1)
    return ends


def _head(x: float, y: float) -> Path:
    return Path(((x - _HEAD, y - _EAR), (x, y), (x - _HEAD, y + _EAR)), "cpy", closed=True)


def _title(pair: _Pair, hosts: Sequence[str]) -> str:
    directions = ((pair.first, pair.second, pair.onwards), (pair.second, pair.first, pair.back))
    return "; ".join(
        f"{hosts[source]} → {hosts[target]}: {bytes_in_words(nbytes)}"
        for source, target, nbytes in directions
        if nbytes
    )

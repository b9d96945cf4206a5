"""Draws copies on a map: arrows and ribbons whose widths show their bytes, all on one scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nbtf.notebook.stills.device_facts import Flow, MapFacts
from nbtf.notebook.stills.glyphs import width_of
from nbtf.notebook.stills.lanes import bytes_in_words
from nbtf.notebook.stills.marks import Group, Mark, Path, Point, Rectangle, Text

WIDEST, WIDEST_OF_MANY = 22.0, 5.0
"""Width of the largest flow, in px; the second is for maps of many devices."""

_THINNEST = 1.0
_HEAD, _EAR = 9.0, 4.0
"""Length of an arrow's head, and how far it extends on each side, in px."""

_APART = 3.0
_LABEL = 18.0


class Ribbon(NamedTuple):
    """A flow between two cards: where it leaves one room and enters the other, and how far it dips below them."""

    flow: Flow
    x1: float
    x2: float
    depth: float


def widths(flows: Sequence[Flow], widest: float) -> dict[tuple[str, str], float]:
    """Returns the width of each flow in px, proportional to its bytes; the largest is `widest`."""
    most_bytes = max((flow.nbytes for flow in flows), default=0) or 1
    return {(flow.source, flow.target): max(_THINNEST, widest * flow.nbytes / most_bytes) for flow in flows}


def host_arrows(
    facts: MapFacts, card: str, widths_of: Mapping[str, float], x: float, top: float, bottom: float
) -> list[Mark]:
    """Returns the arrows from the host to a card and back, with their bytes beside them if there is space.

    Args:
      facts: the facts of the map.
      card: the card whose room is below.
      widths_of: widths of the arrows `down` and `up`, in px.
      x: centre of the first arrow, in px.
      top: lower edge of the host.
      bottom: upper edge of the room.
    """
    marks: list[Mark] = []
    for upward in (False, True):
        flow = facts.of_host(card, upward)
        if not flow.copies:
            continue
        width = widths_of["up" if upward else "down"]
        begin, end = (bottom, top) if upward else (top, bottom)
        title = f"{card}: {'↑' if upward else '↓'} {bytes_in_words(flow.nbytes)} × {flow.copies:,}"
        marks.append(Group((_straight(x, begin, end, width),), title))
        x += width + 2 * _EAR + _APART
    return marks


def _straight(x: float, begin: float, end: float, width: float) -> Path:
    half, neck = width / 2, end - _HEAD if end > begin else end + _HEAD
    points = ((x - half, begin), (x - half, neck), (x - half - _EAR, neck), (x, end), (x + half + _EAR, neck))
    return Path((*points, (x + half, neck), (x + half, begin)), "cpyf", "cpy", closed=True)

    # Between cards


def laid_out(
    flows: Sequence[Flow], rooms: Mapping[str, tuple[float, float]], top: float, widest: float, has_labels: bool
) -> tuple[list[Ribbon], dict[tuple[str, str], float], float]:
    """Returns the ribbons, the width of each flow, and the depth of the lowest ribbon.

    Args:
      flows: flows between cards.
      rooms: left and right edge of each card's room, in px.
      top: lower edge of the rooms.
      widest: width of the largest flow, in px; reduced if the flows do not fit at some room.
      has_labels: whether pairs need space for labels.
    """
    pairs = sorted({_pair(flow, rooms) for flow in flows}, key=lambda pair: (_span(pair, rooms), rooms[pair[0]]))
    order = {name: number for number, name in enumerate(sorted(rooms, key=lambda name: rooms[name]))}
    wide = _fitting(flows, rooms, widest)
    ports = _ports(flows, rooms, order, wide)
    levels: list[tuple[float, float, float]] = []
    depths: dict[tuple[str, str], float] = {}
    for pair in pairs:
        routes = [route for route in (pair, (pair[1], pair[0])) if route in wide]
        thick = sum(wide[route] for route in routes) + _APART * (len(routes) - 1)
        begin, end = rooms[pair[0]][0], rooms[pair[1]][1]
        over = [bottom for first, last, bottom in levels if first < end and last > begin]
        depth = max(over, default=top + 12) + (6 if over else 0) + (max(0.0, _LABEL - thick) / 2 if has_labels else 0)
        for route in routes:
            depths[route] = depth
            depth += wide[route] + _APART
        levels.append((begin, end, depth + (max(0.0, _LABEL - thick) / 2 if has_labels else 0)))
    ribbons = [Ribbon(flow, *ports[flow.source, flow.target], depths[flow.source, flow.target]) for flow in flows]
    return ribbons, wide, max((bottom for _, _, bottom in levels), default=top)


def _pair(flow: Flow, rooms: Mapping[str, tuple[float, float]]) -> tuple[str, str]:
    first, second = sorted((flow.source, flow.target), key=lambda name: rooms[name])
    return first, second


def _span(pair: tuple[str, str], rooms: Mapping[str, tuple[float, float]]) -> float:
    return round(rooms[pair[1]][0] - rooms[pair[0]][0], 1)


def _fitting(
    flows: Sequence[Flow], rooms: Mapping[str, tuple[float, float]], widest: float
) -> dict[tuple[str, str], float]:
    """Returns widths, scaled by one factor so that all ends fit at their rooms."""
    wide = widths(flows, widest)
    for name, (begin, end) in rooms.items():
        routes = [route for route in wide if name in route]
        needed = sum(wide[route] for route in routes)
        free = end - begin - 16 - len(routes) * (_APART + 2 * _EAR)
        if needed > free:
            wide = widths(flows, max(1.0, max(wide.values()) * max(free, 1.0) / needed))
    return wide


def _ports(
    flows: Sequence[Flow],
    rooms: Mapping[str, tuple[float, float]],
    order: Mapping[str, int],
    wide: Mapping[tuple[str, str], float],
) -> dict[tuple[str, str], tuple[float, float]]:
    """Returns where each flow leaves and enters: arcs to the left first, short ones outermost, so that none cross."""
    ends: dict[tuple[str, str], dict[str, float]] = {route: {} for route in wide}
    for name, (begin, end) in rooms.items():
        own_flows = [flow for flow in flows if name in (flow.source, flow.target)]
        far = {(flow.source, flow.target): order[_far_end(flow, name)] - order[name] for flow in own_flows}
        routes = sorted(far, key=lambda route: (far[route] > 0, -far[route], (route[0] == name) == (far[route] > 0)))
        step = min(_APART + 2 * _EAR, (end - begin - 8 - sum(wide[route] for route in routes)) / max(len(routes), 1))
        x = (begin + end) / 2 - (sum(wide[route] for route in routes) + step * (len(routes) - 1)) / 2
        for route in routes:
            ends[route][name] = x + wide[route] / 2
            x += wide[route] + step
    return {route: (xs[route[0]], xs[route[1]]) for route, xs in ends.items()}


def _far_end(flow: Flow, name: str) -> str:
    return flow.target if flow.source == name else flow.source


def drawn_ribbons(
    ribbons: Sequence[Ribbon], wide: Mapping[tuple[str, str], float], top: float, has_labels: bool
) -> Iterator[Mark]:
    """Yields the ribbons, lowest first, and for each pair of cards the bytes in each direction."""
    for ribbon in sorted(ribbons, key=lambda ribbon: -ribbon.depth):
        flow = ribbon.flow
        title = f"{flow.source} → {flow.target}: {bytes_in_words(flow.nbytes)} × {flow.copies:,}"
        yield Group((_bend(ribbon, wide[flow.source, flow.target], top),), title)
    if not has_labels:
        return
    for pair in sorted({tuple(sorted((ribbon.flow.source, ribbon.flow.target))) for ribbon in ribbons}):
        yield from _pair_label(
            [ribbon for ribbon in ribbons if {ribbon.flow.source, ribbon.flow.target} == set(pair)], wide
        )


def _bend(ribbon: Ribbon, width: float, top: float) -> Path:
    _, x1, x2, depth = ribbon
    half = width / 2 if x2 > x1 else -width / 2
    ear, neck, bottom = (_EAR if x2 > x1 else -_EAR), top + _HEAD, depth + width
    points: tuple[Point, ...] = (
        (x1 - half, top),
        (x1 - half, bottom),
        (x2 + half, bottom),
        (x2 + half, neck),
        (x2 + half + ear, neck),
        (x2, top + 1),
        (x2 - half - ear, neck),
        (x2 - half, neck),
        (x2 - half, depth),
        (x1 + half, depth),
        (x1 + half, top),
    )
    return Path(points, "cpyf", "cpy", closed=True)


def _pair_label(ribbons: Sequence[Ribbon], wide: Mapping[tuple[str, str], float]) -> Iterator[Mark]:
    left = min(min(ribbon.x1, ribbon.x2) for ribbon in ribbons)
    right = max(max(ribbon.x1, ribbon.x2) for ribbon in ribbons)
    top = min(ribbon.depth for ribbon in ribbons)
    bottom = max(ribbon.depth + wide[ribbon.flow.source, ribbon.flow.target] for ribbon in ribbons)
    words = "  ".join(
        f"{'→' if ribbon.x2 > ribbon.x1 else '←'} {bytes_in_words(ribbon.flow.nbytes)}"
        for ribbon in sorted(ribbons, key=lambda ribbon: ribbon.x2 < ribbon.x1)
    )
    width, middle = width_of(words, 11, 600) + 12, (top + bottom) / 2
    x = left + (right - left) * 0.55
    if width + 24 <= right - left:
        yield Rectangle(x - width / 2, middle - 9, width, 18, "paper", radius=4, is_tag=True)
        yield Text(x, middle + 4, words, size=11, weight=600, anchor="middle")

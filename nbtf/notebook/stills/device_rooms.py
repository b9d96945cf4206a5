"""Draws a device as a room: what ran there and why, and how full it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.decision import Words, is_as_asked, reason_in_words
from nbtf.notebook.stills.device_facts import DeviceFacts, OpCount
from nbtf.notebook.stills.flow import lines_of
from nbtf.notebook.stills.glyphs import fitted, width_of
from nbtf.notebook.stills.lanes import bytes_in_words
from nbtf.notebook.stills.marks import Mark, Path, Point, Rectangle, Text

TALL, COMPACT, HOST = 138.0, 106.0, 44.0
"""Heights of rooms, in px."""

_INSIDE = 12.0
_COLUMN = 6.0
"""Width of the bytes in and out of a compact room."""

_CURVE, _BAR, _LEAST = 14.0, 5.0, 1.5


def main_op(device: DeviceFacts) -> OpCount | None:
    """Returns the op that labels a room: one that requested another device, else the one with the most time."""
    return device.refused or next(iter(device.ops), None)


def drawn_host(device: DeviceFacts, x: float, y: float, width: float, sent: int, words: Words) -> Iterator[Mark]:
    """Yields a host as a beam across the picture.

    Args:
      device: the host.
      x: left edge, in px.
      y: upper edge, in px.
      width: width of the beam, in px.
      sent: bytes that it sent to cards.
      words: texts of the section `deviceMap`.
    """
    yield Rectangle(x, y, width, HOST, "tint", "hair2", radius=5)
    yield Rectangle(x, y, 4, HOST, "cpy", radius=2)
    name = Text(x + 16, y + 27, device.name, size=13, weight=650)
    yield name
    total = Text(
        x + width - _INSIDE, y + 27, filled(words["sends"], size=bytes_in_words(sent)), weight=650, anchor="end"
    )
    end = x + width - _INSIDE
    if sent and total.begin > name.x + name.width + 12:
        yield total
        end = total.begin - 12
    host = Text(name.x + name.width + 10, y + 27, words["host"], "soft")
    if host.x + host.width < end:
        yield host
        yield from _chips(device.ops, host.x + host.width + 24, y + 14, end)


def drawn_room(
    device: DeviceFacts,
    x: float,
    y: float,
    width: float,
    is_compact: bool,
    words: Words,
    copied: float | None = None,
) -> Iterator[Mark]:
    """Yields a device's room.

    Args:
      device: the device to draw.
      x: left edge, in px.
      y: upper edge, in px.
      width: at least 72 px.
      is_compact: whether it is one of many, drawn without the reason.
      words: texts of the section `deviceMap`.
      copied: bytes in and out as a share of the largest room's; None if they are drawn elsewhere.
    """
    height = COMPACT if is_compact else TALL
    inside = 8.0 if is_compact else _INSIDE
    right = x + width - inside - (0.0 if copied is None else _COLUMN)
    op = main_op(device)
    as_asked = op is None or is_as_asked(op.reason, device.name)
    yield Rectangle(x + 0.5, y + 0.5, width - 1, height - 1, "paper", "hair2" if as_asked else "hot", radius=8)
    name = Text(x + inside, y + 20, device.name, size=13, weight=650)
    yield name
    if copied:
        high = max(_LEAST, (height - 16) * copied)
        yield Rectangle(x + width - 6 - _COLUMN, y + height - 8 - high, _COLUMN, high, "cpyf", "cpy", 0.8, 1)
    executed = filled(words["ops"], n=device.executed)
    count = Text(right, y + 20, executed, "soft", 11, anchor="end")
    if not is_compact and count.begin > name.x + name.width + 8:
        yield count
    if op is None:
        yield Text(x + inside, y + (42 if is_compact else 46), fitted(words["nothing"], right - x - inside, 12), "soft")
    elif is_compact:
        yield Text(x + inside, y + 38, fitted(op.op, right - x - inside, 12, mono=True) or "…", weight=600, mono=True)
        yield Text(x + inside, y + 53, fitted(executed, right - x - inside, 11), "soft", 11)
    else:
        yield from _work(device, op, as_asked, x + inside, y, right, words)
    if device.is_lost:
        yield Text(x + inside, y + height - 10, fitted(words["lost"], right - x - inside, 12), "hot", weight=650)
    elif device.in_use is not None:
        yield from _memory(device, x + inside, y + height - 46, right, is_compact, words)


def _work(
    device: DeviceFacts, op: OpCount, as_asked: bool, x: float, y: float, right: float, words: Words
) -> Iterator[Mark]:
    times = f"× {op.times:,}" if op.times > 1 else ""
    size = next((size for size in (19.0, 15.0, 12.0) if width_of(op.op, size, mono=True) <= right - x), 12.0)
    name = Text(x, y + 46, fitted(op.op, right - x, size, mono=True), size=size, weight=650, mono=True)
    yield name
    if times and name.x + name.width + 8 + width_of(times, 12) <= right:
        yield Text(name.x + name.width + 8, y + 46, times, "soft")
    reason = Text(
        x, y + 63, reason_in_words(op.reason, op.op), "soft" if as_asked else "hot", 12, 400 if as_asked else 600
    )
    lines = _reason_lines(reason, right - x, 1 if len(device.ops) > 1 and as_asked else 2)
    for number, line in enumerate(lines):
        yield replace(reason, y=y + 63 + 15 * number, words=line, continues=number > 0)
    if len(lines) == 1:
        yield from _chips([other_op for other_op in device.ops if other_op is not op], x, y + 69, right)


def _reason_lines(reason: Text, room: float, most: int) -> list[str]:
    """Breaks a reason at its comma if both halves fit, otherwise between words; lines beyond `most` are dropped."""
    lines = lines_of(reason, room)
    if len(lines) > most:
        return [fitted(reason.words, room, 12, reason.weight)] if most == 1 else lines[:most]
    halves = reason.words.replace(", ", ",\n").split("\n")
    is_fit = all(width_of(half, 12, reason.weight) <= room for half in halves)
    return halves if len(lines) == len(halves) == 2 and is_fit else lines


def _chips(ops: list[OpCount], x: float, y: float, right: float) -> Iterator[Mark]:
    """Yields as many further ops as fit; the last text is the number of the others."""
    names = list(dict.fromkeys(op.op for op in ops))
    counts = {name: sum(op.times for op in ops if op.op == name) for name in names}
    for number, name in enumerate(names):
        text = f"{name} × {counts[name]:,}" if counts[name] > 1 else name
        width, count_left = width_of(text, 11, mono=True) + 10, len(names) - number
        room_left = width_of(f"+ {count_left}", 11) + 4 if count_left > 1 else 0.0
        if x + width + room_left > right:
            if number or width_of(f"+ {count_left}", 11) + x <= right:
                yield Text(x + 2, y + 12, f"+ {count_left}", "soft", 11, continues=number > 0)
            return
        yield Rectangle(x, y, width, 16, "tint", radius=2, is_tag=True)
        yield Text(x + 5, y + 12, text, size=11, mono=True, continues=number > 0)
        x += width + 6


def _memory(device: DeviceFacts, x: float, y: float, right: float, is_compact: bool, words: Words) -> Iterator[Mark]:
    in_use, width = device.in_use or 0, right - x
    yield from _curve(device.levels, x, y, width)
    share = in_use / device.limit if device.limit else 0.0
    yield Rectangle(x + 0.5, y + _CURVE + 4.5, width - 1, _BAR, "", "line", 0.8, 2)
    if in_use:
        yield Rectangle(x, y + _CURVE + 4, max(_LEAST, share * width), _BAR + 1, "fwd", radius=1)
    amount = Text(x, y + 36, bytes_in_words(in_use), size=12, weight=650)
    yield amount
    limit_text = bytes_in_words(device.limit) if device.limit else ""
    percent = "< 0.01 %" if 0 < share < 1e-4 else f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"
    for text in (filled(words["ofLimit"], percent=percent, limit=limit_text), percent):
        mark = Text(right, y + 36, text, "soft", 11, anchor="end")
        if device.limit and mark.begin > amount.x + amount.width + 8:
            yield mark
            return


def _curve(levels: list[int], x: float, y: float, width: float) -> Iterator[Mark]:
    """Yields the memory in use over time, as steps up to the highest."""
    highest = max(levels, default=0)
    if not highest:
        return
    step = width / len(levels)
    tops = [round(y + _CURVE * (1 - level / highest), 1) for level in levels]
    points: list[Point] = [(x, y + _CURVE)]
    for number, top in enumerate(tops):
        points += [(x + number * step, top), (x + (number + 1) * step, top)]
    yield Path((*points, (right := x + width, y + _CURVE)), "tint2", closed=True)
    yield Path((*points[1:], (right, y + _CURVE)), "", "soft", 1.0)

"""Draws one device's time: blocks, copies, and groups of ops that belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nbtf import runtime
from nbtf.notebook.catalogue import filled
from nbtf.notebook.stills.device_facts import short_in_cluster
from nbtf.notebook.stills.glyphs import fitted, width_of
from nbtf.notebook.stills.marks import Line, Mark, Path, Rectangle, Text
from nbtf.notebook.stills.palette import text_on
from nbtf.notebook.stills.schedule import Integers, Mask, Pieces, Schedule, Transfer, Work, is_host
from nbtf.notebook.stills.stacks import Colouring, Scale, column_width, spans_of, stacked

_OWN_BLOCK = 2.0
"""Width in px from which an op or a copy gets a block; below it, the lane shows how busy the device was."""

_TITLED, _NAMED, _SHAPED = 4.0, 26.0, 70.0
_TWO_LINES = 30.0
"""Widths in px from which a block gets a title, a name, and a shape."""

_GAP = 1 / 30
"""Maximum gap between the ops of a group, relative to the total time."""

_UNDERLINED = ("forward", "backward", "update")


class LaneDrawing:
    """A device's lane, at some height in the picture."""

    def __init__(self, schedule: Schedule, device: str, y: float, height: float, scale: Scale, step: float) -> None:
        """Stores what ran, the lane's position, and the width of its columns, in px."""
        self.device: str = device
        self.y: float = y
        self.height: float = height
        self.scale: Scale = scale
        self._ops = schedule.ops_on(device)
        self._step = step
        self._copies = schedule.copies_of(device)

    def ground(self) -> Rectangle:
        """Returns the background of the lane, visible while nothing runs."""
        return Rectangle(self.scale.begin, self.y, self.scale.width, self.height, "tint", radius=3)

    def blocks(self, colours: Colouring) -> Iterator[Mark]:
        """Yields a block for each op that is wide enough, and the load from all others, including copies."""
        ops, copies = self._ops, self._copies
        drawn = have_blocks(ops, self.scale)
        for work in ops.at(drawn):
            yield from self._block(work, colours.of(work))
        short = spans_of(ops.at(~drawn), copies.at(~have_blocks(copies, self.scale)), colours)
        yield from stacked(short, self.scale, self.y, self.height, self._step)

    def copies(self, words: Mapping[str, str]) -> Iterator[Mark]:
        """Yields a box for each copy that is wide enough."""
        for copy in self._copies.at(have_blocks(self._copies, self.scale)):
            yield from _box(copy, self, words)

    def _block(self, work: Work, token: str) -> Iterator[Mark]:
        x, end = self.scale.at(work.start), self.scale.at(work.end)
        width, middle = end - x, self.y + self.height / 2
        title = f"{work.op}, {self.device}: {seconds_in_words(work.seconds)}" if width >= _TITLED else ""
        edge = "paper" if width > 3 else ""
        yield Rectangle(x, self.y, width, self.height, token, edge, 0.8, title=title)
        own_name = work.op.rpartition("::")[2]  # without its library
        name = fitted(own_name, width - 8, 11, 600, mono=True) if width >= _NAMED else ""
        if not name:
            return
        shape = shape_of(work) if width >= _SHAPED and self.height >= _TWO_LINES else ""
        shape = shape if width_of(shape, 11, mono=True) <= width - 8 else ""
        yield Text(x + 4, middle + (-3 if shape else 4), name, text_on(token), 11, 600, mono=True)
        if shape:
            yield Text(x + 4, middle + 12, shape, text_on(token), 11, mono=True)

    def groups(
        self, colours: Colouring, words: Mapping[str, str], code_line: Callable[[runtime.Site], str]
    ) -> Iterator[Mark]:
        """Yields a line below each group of ops, with its name if it fits: a phase, or a line of the program."""
        firsts, lasts = self._spans(colours.by_phase)
        begins, ends = self.scale.at_all(self._ops.start[firsts]), self.scale.at_all(self._ops.end[lasts])
        edges = np.append(begins[1:], self.scale.end + 8)
        wide = np.flatnonzero(ends - begins >= 5)
        for at in wide.tolist():
            x, end, following = (float(column[at]) for column in (begins, ends, edges))
            first = self._ops[int(firsts[at])]
            token = colours.of(first) if colours.by_phase else "line"
            yield Rectangle(x, self.y + self.height + 2, end - x, 3, token, radius=1.5)
            room = following - x - 8
            name = words[first.phase] if colours.by_phase else _part_of_line(code_line(first.site), room)
            text = Text(x, self.y + self.height + 16, name, "soft", 11, halo=True, fixed=True)
            if name and text.width <= room:
                yield text

    def _spans(self, by_phase: bool) -> tuple[Integers, Integers]:
        """Returns the positions of the first and the last op of each group."""
        ops = self._ops
        drawn = np.flatnonzero(~ops.folded)
        groups: dict[object, int] = {None: 0}
        group = ops.of_each(lambda work: groups.setdefault(_group(work, by_phase), len(groups)), np.int64)[drawn]
        far = ops.start[drawn[1:]] - ops.end[drawn[:-1]] >= _GAP * self.scale.seconds
        begins = np.flatnonzero(np.concatenate([[True], far | (group[1:] != group[:-1])])[: len(drawn)])
        ends = np.append(begins[1:], len(drawn)) - 1
        is_named = group[begins] > 0
        return drawn[begins[is_named]], drawn[ends[is_named]]


def _group(work: Work, by_phase: bool) -> object:
    if by_phase:
        return work.phase if work.phase in _UNDERLINED else None
    return work.site


def _part_of_line(line: str, room: float) -> str:
    """Returns as much of a code line as fits; nothing if that would say too little."""
    return fitted(line, room, 11) if room >= _SHAPED else ""


def have_blocks(pieces: Pieces[Any], scale: Scale) -> Mask:
    """Returns which ops or copies are drawn individually."""
    return ~pieces.folded & (scale.at_all(pieces.end) - scale.at_all(pieces.start) >= _OWN_BLOCK)


def density_width(schedule: Schedule, scale: Scale) -> float:
    """Returns the width of the columns that show pieces without a block, in px."""
    columns: list[Integers] = []
    both: list[tuple[Pieces[Any], Sequence[Integers]]] = [(schedule.ops, [schedule.lanes_of_ops])]
    for pieces, lanes in (*both, (schedule.copies, schedule.lanes_of_copies)):
        short = (pieces.seconds > 0) & ~have_blocks(pieces, scale)
        px = scale.at_all(pieces.start[short]).astype(np.int64)
        columns += [lane[short] * 2**32 + px for lane in lanes]
    return column_width(len(np.unique(np.concatenate(columns))), scale.width * len(schedule.lanes))


# Copies


def drawn_copies(
    schedule: Schedule, lanes: Sequence[LaneDrawing], scale: Scale, words: Mapping[str, str]
) -> Iterator[Mark]:
    """Yields a ribbon for each copy from lane to lane, as wide as its duration, with a box at each end."""
    by_name = {lane.device: lane for lane in lanes}
    ends = [
        (copy, by_name[copy.source], by_name[copy.target])
        for copy in schedule.copies.at(have_blocks(schedule.copies, scale))
        if copy.source in by_name and copy.target in by_name
    ]
    yield from (_ribbon(copy, source, target) for copy, source, target in ends)
    for copy, source, target in ends:
        yield from _arrow(copy, source, target)
    for lane in lanes:
        yield from lane.copies(words)


def _ribbon(copy: Transfer, source: LaneDrawing, target: LaneDrawing) -> Path:
    x, end = source.scale.at(copy.start), source.scale.at(copy.end)
    first, second = sorted((source, target), key=lambda lane: lane.y)
    top, bottom = first.y + first.height, second.y
    opacity = 0.16 if is_host(copy.source) else 0.3
    return Path(((x, top), (x, bottom), (end, bottom), (end, top)), "cpyf", opacity=opacity, closed=True)


def _arrow(copy: Transfer, source: LaneDrawing, target: LaneDrawing) -> Iterator[Line]:
    x, end = source.scale.at(copy.start), source.scale.at(copy.end)
    if end - x <= 8:
        return
    down, middle = source.y < target.y, (x + end) / 2
    begin = source.y + source.height + 3 if down else source.y - 3
    stop = target.y - 4 if down else target.y + target.height + 4
    if is_host(copy.source):  # all cards are fed at once: one long arrow would hide the others
        begin = stop - 13 if down else stop + 13
    yield Line(middle, begin, middle, stop, "cpy", 1.6, arrow=True)


def _box(copy: Transfer, lane: LaneDrawing, words: Mapping[str, str]) -> Iterator[Mark]:
    x, end = lane.scale.at(copy.start), lane.scale.at(copy.end)
    sentence = f"{copy.source} → {copy.target}: {bytes_in_words(copy.nbytes)}, {seconds_in_words(copy.seconds)}"
    title = sentence if end - x >= _TITLED else ""
    yield Rectangle(x, lane.y, end - x, lane.height, "cpyf", "cpy", 0.8, 2, title=title)
    if is_host(lane.device):
        return
    outgoing = lane.device == copy.source
    partner = copy.target if outgoing else copy.source
    name = filled(
        words["to" if outgoing else "from"], name=words["host"] if is_host(partner) else short_in_cluster(partner)
    )
    middle, center = lane.y + lane.height / 2, (x + end) / 2
    size = bytes_in_words(copy.nbytes)
    both = (
        Text(center, middle - 2, name, "on-cpyf", 11, 600, "middle"),
        Text(center, middle + 12, size, "on-cpyf", 11, anchor="middle"),
    )
    alone = (Text(center, middle + 4, size, "on-cpyf", 11, anchor="middle"),)
    yield from next((texts for texts in (both, alone) if max(text.width for text in texts) + 8 <= end - x), ())


# Figures


def bytes_in_words(nbytes: int) -> str:
    """Returns a size with three digits.

    >>> bytes_in_words(940_584), bytes_in_words(5_643_504), bytes_in_words(12)
    ('919 KiB', '5.38 MiB', '12 B')
    """
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if nbytes >= size:
            return f"{_three_digits(nbytes / size)} {unit}"
    return f"{nbytes} B"


def seconds_in_words(seconds: float) -> str:
    """Returns a duration with three digits.

    >>> seconds_in_words(1.0411e-3), seconds_in_words(2.9e-5), seconds_in_words(3e-9), seconds_in_words(0)
    ('1.04 ms', '29 µs', '3 ns', '0 ns')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size * 0.9995:
            return f"{_three_digits(seconds / size)} {unit}"
    return f"{_three_digits(seconds * 1e9)} ns"


def shape_of(work: Work) -> str:
    """Returns the shape of an op's first result: `[784, 256]`."""
    return f"[{', '.join(map(str, work.output.shape))}]" if work.output is not None else ""


def _three_digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 99.95 else f"{number:.3g}"

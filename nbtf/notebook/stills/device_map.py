"""Draws the device map: what ran where, what was copied, and which ops ran elsewhere than requested."""

from __future__ import annotations

from collections.abc import Iterator

from nbtf import runtime
from nbtf.notebook import catalogue
from nbtf.notebook.catalogue import filled
from nbtf.notebook.session import Session
from nbtf.notebook.stills import device_flows
from nbtf.notebook.stills.decision import Words, drawn_way, is_as_asked, reason_in_words, steps_of
from nbtf.notebook.stills.device_facts import DeviceFacts, MapFacts, map_facts, short_in_cluster
from nbtf.notebook.stills.device_grid import ROOM, cells, drawn_grid, what_is_unlike
from nbtf.notebook.stills.device_hosts import between_hosts, drawn_hosts
from nbtf.notebook.stills.device_rooms import COMPACT, HOST, TALL, drawn_host, drawn_room, main_op
from nbtf.notebook.stills.flow import flowed
from nbtf.notebook.stills.lanes import bytes_in_words
from nbtf.notebook.stills.marks import WIDTH, Line, Mark, Picture, Rectangle, Text, framed
from nbtf.notebook.stills.memory_pictures import Still
from nbtf.notebook.stills.schedule import snapshot_of

_MARGIN, _GAP = 16.0, 12.0
_FEW, _MANY, _MOST = 6, 8, 16
_TITLED = 64
"""Number of devices that the alternative text describes."""
_ROOM, _COMPACT_ROOM = 150.0, 84.0
"""Minimum width of a room, and of a compact one, in px."""

_BELOW_HOST = 56.0
_NARROWEST = 288.0
"""The width that a page of 320 px leaves."""

_RECENT = 5_000
"""Number of a session's events that are read for memory over time: the picture is redrawn after each cell."""


def device_map(facts: MapFacts, width: float = WIDTH, words: Words | None = None) -> Picture:
    """Returns a map with a room for each device, or a square if there are many, and the copies between them.

    Args:
      facts: the facts of a recording, from `map_facts`.
      width: in px; at least 288 are used.
      words: texts of the section `deviceMap`; None uses those of the environment's language.
    """
    return _Map(facts, max(width, _NARROWEST), words or catalogue.words("deviceMap")).picture()


class _Map:
    """Draws from the top down; `_y` is the current position."""

    def __init__(self, facts: MapFacts, width: float, words: Words) -> None:
        self._facts, self._width, self._words = facts, width, words
        self._right = width - _MARGIN
        self._marks: list[Mark] = []
        self._y = 0.0
        self._is_summed = False
        self._hidden_flows = 0

    def picture(self) -> Picture:
        """Returns the complete map."""
        self._head()
        count = len(self._facts.cards)
        room = (self._right - _MARGIN + _GAP) / max(count, 1) - _GAP
        if self._facts.is_cluster:
            self._cluster()
        elif not count:
            self._host()
        elif count == 1 or (count <= _FEW and room >= _ROOM):
            self._rooms(room, is_compact=False)
        elif count <= _MANY and room >= _COMPACT_ROOM:
            self._rooms(room, is_compact=True)
        elif count <= _FEW:
            self._trunk()
        elif count <= _MOST:
            self._rows()
        else:
            self._grid()
        self._foot()
        height = round(self._y + _MARGIN)
        return framed(self._width, height, self._title(), self._marks)

    def _title(self) -> str:
        rooms = [
            f"{short_in_cluster(device.name)}: {op.op} × {op.times:,} ({reason_in_words(op.reason, op.op)})"
            for device in (*self._facts.hosts, *self._facts.cards)
            if (op := main_op(device))
        ]
        if len(rooms) > _TITLED:
            rooms[_TITLED:] = [f"… {filled(self._words['gpus'], n=len(self._facts.cards))}"]
        return f"{self._words['title']}. {'; '.join(rooms) or self._words['nothing']}"

    def _head(self) -> None:
        facts, words = self._facts, self._words
        title = filled(words["gpus"], n=len(facts.cards)) if len(facts.cards) > _MANY else words["title"]
        counts = filled(
            words["ran"],
            ops=filled(words["ops"], n=facts.ops),
            copies=self._copies(sum(flow.copies for flow in facts.flows)),
        )
        simulated = any(card.is_simulated for card in facts.cards)
        texts = [Text(0, 0, title, size=15, weight=650), Text(0, 0, counts, "soft")]
        texts.append(Text(0, 0, words["simulated" if simulated else "exact"], "soft", required=True))
        marks, self._y = flowed(texts, _MARGIN, self._right, 28)
        self._marks += marks
        self._y += 14

    # Rooms

    def _rooms(self, room: float, is_compact: bool) -> None:
        facts, words = self._facts, self._words
        begins = {card.name: _MARGIN + number * (room + _GAP) for number, card in enumerate(facts.cards)}
        top = self._host()
        height = COMPACT if is_compact else TALL
        between = facts.between_cards()
        rooms = {name: (x, x + room) for name, x in begins.items()}
        flows = [flow for flow in between if flow.source in rooms and flow.target in rooms]
        widest = device_flows.WIDEST_OF_MANY if is_compact else device_flows.WIDEST
        ribbons, wide, bottom = device_flows.laid_out(flows, rooms, top + height, self._widest(widest), not is_compact)
        scale = self._per_byte(widest, [(flow.nbytes, wide[flow.source, flow.target]) for flow in flows])
        for card in facts.cards:
            x = begins[card.name]
            if facts.hosts:
                self._host_flows(card, x, room, top, scale, is_compact)
        self._marks += device_flows.drawn_ribbons(ribbons, wide, top + height, not is_compact)
        for card in facts.cards:
            self._marks += drawn_room(card, begins[card.name], top, room, is_compact, words)
        self._y = (bottom if ribbons else top + height) + 8

    def _host(self) -> float:
        """Draws the hosts; returns the y coordinate at which the rooms begin."""
        facts = self._facts
        self._beams()
        has_flows = any(facts.of_host(card.name, up).copies for card in facts.cards for up in (False, True))
        self._y += (_BELOW_HOST if has_flows else _GAP) - 4 if facts.hosts and facts.cards else 0
        return self._y

    def _beams(self) -> None:
        facts = self._facts
        for host in facts.hosts:
            sent = sum(flow.nbytes for flow in facts.flows if flow.source == host.name)
            self._marks += drawn_host(host, _MARGIN, self._y, self._right - _MARGIN, sent, self._words)
            self._y += HOST + 4

    def _rows(self) -> None:
        """Draws compact rooms in rows. Ribbons do not fit between them, so each shows its bytes in and out."""
        cards = self._facts.cards
        self._is_summed = True
        self._beams()
        rooms = cells(len(cards), _MARGIN, self._y, self._right - _MARGIN, ROOM, COMPACT)
        traffic = [self._facts.traffic(card.name) for card in cards]
        for card, corner, nbytes in zip(cards, rooms.corners, traffic, strict=True):
            share = nbytes / max(1, *traffic)
            self._marks += drawn_room(card, *corner, rooms.width, True, self._words, share)
        self._y = rooms.bottom

    def _widest(self, widest: float) -> float:
        """Returns the width of the largest flow between cards, if the largest flow of all is `widest` wide."""
        flows = self._facts.flows
        between = max((flow.nbytes for flow in self._facts.between_cards()), default=0)
        most_bytes = max((flow.nbytes for flow in flows), default=0)
        return widest * between / most_bytes if between and most_bytes else widest

    def _per_byte(self, widest: float, drawn: list[tuple[int, float]]) -> float:
        """Returns the px per byte, of the ribbons if they were narrowed to fit; a hairline has no scale."""
        scale = widest / (max((flow.nbytes for flow in self._facts.flows), default=0) or 1)
        nbytes, width = max(drawn, default=(0, 0.0))
        return min(scale, width / nbytes) if nbytes else scale

    def _host_flows(self, card: DeviceFacts, x: float, room: float, top: float, scale: float, is_compact: bool) -> None:
        begin = top - _BELOW_HOST
        flows = {key: self._facts.of_host(card.name, key == "up") for key in ("down", "up")}
        widths_of = {key: max(1.0, flow.nbytes * scale) for key, flow in flows.items()}
        middle = x + room * (0.5 if is_compact else 0.25)
        self._marks += device_flows.host_arrows(self._facts, card.name, widths_of, middle, begin, top)
        amounts = [
            Text(0, 0, f"{arrow} {bytes_in_words(flows[key].nbytes)}", size=11 if is_compact else 13, weight=650)
            for key, arrow in (("down", "↓"), ("up", "↑"))
            if flows[key].copies
        ]
        drawn = sum(widths_of[key] + 11 for key in flows if flows[key].copies)
        for number, text in enumerate(amounts):
            y = begin + (25 if len(amounts) == 1 else 20) + 18 * number
            words = text.words.removeprefix("↓ ") if len(amounts) == 1 else text.words
            at = middle + drawn - 2 if not is_compact else x + 2
            mark = Text(at, y, words, text.fill, text.size, 650, halo=is_compact)
            if mark.x + mark.width <= x + room + _GAP - 2:
                self._marks.append(mark)
        copies = sum(flow.copies for flow in flows.values())
        count = Text(middle + drawn - 2, begin + 40, self._copies(copies), "soft", 11)
        if len(amounts) == 1 and not is_compact and count.x + count.width <= x + room + _GAP - 2:
            self._marks.append(count)

    def _copies(self, count: int) -> str:
        return filled(self._words["copies"], n=count)

    # Rooms below one another, if they do not fit side by side

    def _trunk(self) -> None:
        top, facts = self._y, self._facts
        self._host()
        trunk = _MARGIN + 10
        begin, self._y = top + HOST * bool(facts.hosts), top + (HOST + _GAP) * bool(facts.hosts)
        stop = begin
        for card in facts.cards:
            stop = self._branch(card, trunk)
        if facts.hosts:
            self._marks.insert(0, Line(trunk, begin, trunk, stop, "cpy", 2))

    def _branch(self, card: DeviceFacts, trunk: float) -> float:
        """Draws a room as a row beside the trunk; returns the y coordinate of its branch."""
        facts, top, x = self._facts, self._y, trunk + 18
        op, inside, right = main_op(card), trunk + 30, self._right - 12
        texts = [Text(0, 0, card.name, size=13, weight=650)]
        if op is not None:
            as_asked = is_as_asked(op.reason, card.name)
            times = f" × {op.times:,}" if op.times > 1 else ""
            texts.append(Text(0, 0, op.op + times, size=13, weight=650, mono=True))
            texts.append(Text(0, 0, reason_in_words(op.reason, op.op), "soft" if as_asked else "hot", 12))
        else:
            texts.append(Text(0, 0, self._words["nothing"], "soft"))
        if card.is_lost:
            texts.append(Text(0, 0, self._words["lost"], "hot", weight=650))
        elif card.in_use is not None:
            texts.append(Text(0, 0, bytes_in_words(card.in_use), size=11, weight=600))
        for arrow, upward in (("↓", False), ("↑", True)):
            flow = facts.of_host(card.name, upward)
            texts += [Text(0, 0, f"{arrow} {bytes_in_words(flow.nbytes)}", size=11)] if flow.copies else []
        sent = [flow for flow in facts.between_cards() if flow.source == card.name]
        texts += [Text(0, 0, f"→ {flow.target} {bytes_in_words(flow.nbytes)}", size=11) for flow in sent]
        marks, y = flowed(texts, inside, right, top + 20)
        self._marks.append(Rectangle(x + 0.5, top + 0.5, self._right - x - 1, y - top + 11, "paper", "hair2", radius=8))
        self._marks += marks
        if facts.hosts:
            self._marks.append(Line(trunk, top + 20, x - 1, top + 20, "cpy", 2, arrow=True))
        self._y = y + 12 + _GAP - 4
        return top + 20

    def _grid(self) -> None:
        self._is_summed = True
        marks, self._y = drawn_grid(self._facts, _MARGIN, self._y, self._right - _MARGIN, self._words)
        self._marks += marks

    def _cluster(self) -> None:
        self._is_summed = True
        marks, self._y, self._hidden_flows = drawn_hosts(
            self._facts, _MARGIN, self._y, self._right - _MARGIN, self._words
        )
        self._marks += marks

    # Foot

    def _foot(self) -> None:
        facts, words = self._facts, self._words
        self._flow(list(self._legend()))
        sentence = what_is_unlike(facts, words) if self._is_summed else ""
        if sentence:
            self._flow([Text(0, 0, sentence, weight=650)])
        folded = filled(words["folded"], constants=facts.constants, copies=facts.small_copies)
        if facts.constants or facts.small_copies:
            self._flow([Text(0, 0, folded, "soft", 11)])
        surprise = facts.surprise
        if surprise is not None and surprise[1].reason.path:
            self._marks.append(Line(_MARGIN, self._y + 12, self._right, self._y + 12))
            steps = steps_of(surprise[1].reason.path)
            marks, self._y = drawn_way(steps, _MARGIN, self._y + 22, self._right - _MARGIN)
            self._marks += marks

    def _legend(self) -> Iterator[Text]:
        facts, words = self._facts, self._words
        if self._is_summed:
            yield Text(0, 0, words["height"], "soft", 11)
        elif facts.flows:
            yield Text(0, 0, words["widths"], "soft", 11)
        between = facts.between_cards()
        if between:
            size = bytes_in_words(sum(flow.nbytes for flow in between))
            copies = self._copies(sum(flow.copies for flow in between))
            yield Text(0, 0, filled(words["between"], copies=copies, size=size), size=12, weight=650)
        count, nbytes = between_hosts(facts) if facts.is_cluster else (0, 0)
        if count:
            sentence = filled(words["betweenHosts"], copies=self._copies(count), size=bytes_in_words(nbytes))
            yield Text(0, 0, sentence, size=12, weight=650)
        if self._hidden_flows:
            yield Text(0, 0, filled(words["hiddenFlows"], n=self._hidden_flows), "soft", 11)

    def _flow(self, texts: list[Text]) -> None:
        if texts:
            marks, self._y = flowed(texts, _MARGIN, self._right, self._y + 20)
            self._marks += marks


# Doors


def device_picture(record: runtime.Recording, width: float = WIDTH) -> Still:
    """Returns a picture of what ran on each device in a recording, why, and what was copied between them.

    Args:
      record: a recording from `tf.runtime.recording()`.
      width: in px; at least 288 are used.

    Raises:
      TypeError: if `record` is not a recording.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(2)
    2 simulated GPUs (Tesla V100-SXM2-16GB, 16 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     with tf.device("GPU:1"):
    ...         x = tf.zeros([1024, 1024])
    >>> tf.notebook.device_picture(record)
    Device map. GPU:1: Fill × 1 (asked for by tf.device)
    """
    return Still(device_map(map_facts(snapshot_of(record), runtime.devices()), width))


def map_of_session(session: Session, width: float = WIDTH) -> Still:
    """Returns a picture of what a notebook's session has recorded since the last restart.

    Args:
      session: the session to draw.
      width: in px; at least 288 are used.
    """
    recorder = session.recorder
    complete = recorder.snapshot(_RECENT)
    recent = complete.since(recorder.totals_before_machine())
    snapshot = recent._replace(events=complete.events[max(0, len(complete.events) - recent.heard) :])
    return Still(device_map(map_facts(snapshot, runtime.devices()), width))

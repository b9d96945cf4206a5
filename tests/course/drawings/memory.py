"""The drawings of lessons 05, 06 and 11: how much of a card's memory is reserved, and what uses it."""

from __future__ import annotations

from nbtf.notebook.stills.marks import Line, Mark, Picture, Rectangle
from tests.course.drawings.parts import (
    MARGIN,
    SMALL,
    WIDTH,
    Say,
    arrow,
    block,
    code,
    frame,
    label,
    paragraph,
    picture,
)

_RIGHT = WIDTH - MARGIN


def mapped(say: Say) -> Picture:
    """Three amounts, each inside the next, and a pool that grows and stays."""
    marks: list[Mark] = frame(MARGIN, 54, 330, 150, fill="paper")
    marks += label(MARGIN + 14, 74, say("limit: the most it can reserve"))
    marks += [Rectangle(MARGIN + 12, 84, 260, 108, "tint2", radius=6)]
    marks += label(MARGIN + 26, 104, say("pool: what it has reserved"))
    marks += paragraph(MARGIN + 26, 122, say("nvidia-smi shows this"), 220)
    marks += block(MARGIN + 24, 144, 170, 36, say("in use: tensors"), "fwd", 12.5)
    pools = (2, 6, 14, 30, 30)
    for number, pool in enumerate(pools):
        x, height, used = 408 + number * 58.0, pool * 3.6, 0 if number == 4 else pool * 3.2
        marks += [Rectangle(x, 182 - height, 40, height, "tint2", "line", radius=2)]
        marks += [Rectangle(x + 4, 182 - used, 32, used, "fwd")] if used else []
        marks += label(x + 20, 176 - height, f"{pool} MiB", size=11, anchor="middle")
    marks += [Line(396, 182, _RIGHT, 182, "line")]
    marks += label(497, 200, say("tensors are made"), "soft", SMALL, anchor="middle")
    marks += code(660, 200, "del", "soft", "middle")
    return picture(say("In use, reserved, allowed: three amounts, one inside the other"), 218, marks)


def out_of_memory(say: Say) -> Picture:
    """The three causes as three cards with a request that none of them can give."""
    texts = (
        ("the limit", "The request is larger than the limit."),
        ("the holes", "Enough is free, but not contiguous."),
        ("a holder", "Something you deleted is still held."),
    )
    marks: list[Mark] = []
    for number, (name, words) in enumerate(texts):
        y = 54 + number * 62.0
        marks += label(MARGIN, y + 16, say(name), weight=600) + paragraph(MARGIN, y + 34, say(words), 190)
        marks += [Rectangle(230, y + 6, 300, 30, "tint", "line", radius=3)]
    marks += _request(230, 60, 360, say)
    marks += [Rectangle(230 + left, 122, width, 30, "fwd") for left, width in ((0, 62), (124, 52), (238, 62))]
    for left in (62.0, 176.0):
        marks += label(230 + left + 31, 141, say("free"), "soft", 11, anchor="middle")
    marks += [Rectangle(230, 184, 300, 30, "py")]
    marks += code(380, 203, "Out[7]", "on-py", "middle")
    for y in (122.0, 184.0):
        marks += [*_request(560, y, 124, say), Line(550, y + 15, 536, y + 15, "hot", 1.6, arrow=True)]
    return picture(say("One error, three causes: find out which before you buy memory"), 242, marks)


def _request(x: float, y: float, width: float, say: Say) -> list[Mark]:
    """Returns a request that finds no room."""
    box = Rectangle(x, y, width, 30, "", "hot", 1.6, radius=3, dashed=True)
    return [box, *label(x + width / 2, y + 19, say("request"), "hot", SMALL, anchor="middle")]


def options(say: Say) -> Picture:
    """Two sessions in a process, an allocator, and a card that has the first one's limit."""
    marks: list[Mark] = frame(MARGIN, 54, 330, 128) + label(MARGIN + 14, 74, say("a process"), "soft")
    marks += block(MARGIN + 14, 84, 150, 36, say("first session: 0.4"), "fwd", 12)
    marks += frame(MARGIN + 14, 132, 150, 36, dashed=True)
    marks += label(MARGIN + 89, 154, say("second session: 0.2"), "soft", 12, anchor="middle")
    marks += frame(MARGIN + 218, 84, 98, 84, stroke="focus", fill="paper")
    marks += label(MARGIN + 267, 130, say("allocator"), weight=600, anchor="middle")
    marks += arrow((MARGIN + 164, 102), (MARGIN + 218, 102), stroke="fwd")
    marks += arrow((MARGIN + 164, 150), (MARGIN + 204, 150), dashed=True)
    marks += label(MARGIN + 211, 154, "×", "hot", weight=600, anchor="middle")
    marks += arrow((350, 118), (396, 118))
    marks += [Rectangle(400, 98, 300, 40, "tint2", "line", radius=3), Rectangle(400, 98, 120, 40, "fwd", radius=3)]
    marks += label(400, 88, say("the card: 12 GiB"), "soft")
    marks += label(460, 123, "40 %", "on-fwd", weight=600, anchor="middle")
    marks += paragraph(400, 158, say("A fraction is of the whole card, for all sessions."), 300)
    return picture(say("The options belong to the process; its first session decides"), 200, marks)

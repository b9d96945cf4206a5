"""The drawings of lessons 16, 17 and 18: a queue, the bytes of a parameter, and a model divided among four GPUs."""

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


def queue(say: Say) -> Picture:
    """The host launches five products and stops its timer; the GPU is still at the first."""
    marks = label(MARGIN, 82, say("host"), weight=600) + label(MARGIN, 150, "GPU:0", weight=600)
    marks += [Line(100, y, _RIGHT, y, "hair") for y in (94.0, 162.0)]
    for number in range(5):
        x, start = 104 + number * 22.0, 126 + number * 92.0
        marks += [Rectangle(x, 66, 18, 26, "py", radius=3)]
        marks += block(start, 132, 88, 28, "MatMul", "fwd")
    marks += arrow((113, 94), (113, 114), (130, 130), stroke="cpy")
    marks += [Line(218, 58, 218, 168, "hot", 1.6, dashed=True)]
    marks += label(226, 74, say("the timer stops here"), "hot")
    marks += [Line(586, 58, 586, 168, "ok", 1.6, dashed=True)]
    marks += code(580, 90, "synchronize()", "ok", "end")
    marks += label(594, 74, say("the work is done"), "ok", SMALL)
    marks += label(MARGIN, 190, say("five launches, then five products from the queue"), "soft", SMALL)
    return picture(say("A launch returns before its work is done"), 208, marks)


def parameter(say: Say) -> Picture:
    """Four blocks of four bytes for each parameter, and activations that grow with the batch."""
    marks = label(MARGIN, 72, say("one parameter: 16 bytes"), weight=600)
    parts = (("weight", "wgt"), ("gradient", "bwd"), ("first moment", "upd"), ("second moment", "upd"))
    for number, (words, fill) in enumerate(parts):
        x = MARGIN + number * 108.0
        marks += block(x, 82, 104, 44, say(words), fill) + label(x + 52, 142, "4", anchor="middle")
    marks += [Line(MARGIN + 216, 152, MARGIN + 428, 152, "line")]
    marks += label(MARGIN + 322, 168, say("kept by Adam"), "soft", SMALL, anchor="middle")
    marks += label(486, 72, say("activations"), weight=600)
    for number, (batch, width) in enumerate((("1", 8.0), ("64", 56.0), ("256", 150.0))):
        y = 82 + number * 26.0
        marks += [Rectangle(486, y, width, 20, "fwd", radius=3)]
        marks += label(494 + width, y + 15, batch, "soft", SMALL)
    marks += label(486, 178, say("grow with the batch"), "soft", SMALL)
    marks += paragraph(MARGIN, 192, say("7 billion parameters: 112 GB"), 400)
    return picture(say("Training needs four times the bytes of the weights, plus activations"), 208, marks)


def shards(say: Say) -> Picture:
    """The memory of one of four GPUs at each stage: a block of full height is whole, a low block a quarter."""
    marks: list[Mark] = []
    parts = (("weights", "wgt", 32.0, 3), ("gradients", "bwd", 32.0, 2), ("moments", "upd", 64.0, 1))
    for stage, total in enumerate(("16", "10", "7", "4")):
        x = 170 + stage * 134.0
        marks += frame(x, 56, 120, 168, fill="paper")
        marks += label(x + 60, 76, "–" if stage == 0 else str(stage), weight=600, anchor="middle")
        base = 214.0
        for _, fill, height, first in parts:
            whole = stage < first
            marks += [Rectangle(x + 12, base - height, 96, height, "", "hair2", radius=3, dashed=True)]
            tall = height if whole else height / 4
            marks += [Rectangle(x + 12, base - tall, 96, tall, fill, radius=3)]
            base -= height + 2
        marks += label(x + 60, 244, total, anchor="middle")
    marks += label(MARGIN, 76, say("stage"), "soft")
    for words, y in (("moments", 118.0), ("gradients", 168.0), ("weights", 202.0)):
        marks += label(MARGIN, y, say(words))
    marks += label(MARGIN, 244, say("bytes per parameter"), "soft", SMALL)
    return picture(say("Each stage cuts one thing more into four, here on one of four GPUs"), 258, marks)

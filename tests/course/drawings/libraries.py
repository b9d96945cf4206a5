"""The drawing of lesson 13: a PyTorch program, and three questions that nbtf answers about it."""

from __future__ import annotations

from nbtf.notebook.stills.marks import Mark, Picture, Rectangle
from tests.course.drawings.parts import MARGIN, SMALL, WIDTH, Say, arrow, block, code, frame, label, picture

_RIGHT = WIDTH - MARGIN


def pytorch(say: Say) -> Picture:
    """A training step on the left; on the right, where it ran, what holds the memory, and other GPUs."""
    marks: list[Mark] = frame(MARGIN, 54, 204, 150, fill="paper") + label(MARGIN + 14, 76, say("your loop"), "soft")
    for number, line in enumerate(("loss = f(model(x), y)", "loss.backward()", "optimizer.step()")):
        marks += code(MARGIN + 14, 104 + number * 30, line)
    for y in (78.0, 129.0, 180.0):
        marks += arrow((MARGIN + 204, y), (262, y))
    marks += label(274, 83, say("where"), weight=600) + label(274, 134, say("what"), weight=600)
    marks += label(274, 181, say("what if"), weight=600) + label(274, 198, say("simulated"), "soft", SMALL)
    marks += frame(360, 58, _RIGHT - 360, 40) + code(372, 82, "aten::mm")
    marks += label(_RIGHT - 12, 82, say("backward of line 1"), "soft", SMALL, anchor="end")
    left = 360.0
    for words, width, fill in (("weights", 84, "wgt"), ("gradients", 92, "bwd"), ("activations", 110, "fwd")):
        marks += block(left, 114, width, 30, say(words), fill)
        left += width + 4
    marks += [Rectangle(left, 114, _RIGHT - left, 30, "", "line", radius=5, dashed=True)]
    for number in range(4):
        x = 360 + number * 86.0
        marks += frame(x, 162, 80, 42, dashed=True) + label(x + 40, 188, f"GPU:{number}", anchor="middle")
    return picture(say("Three questions about an unchanged PyTorch program"), 222, marks)

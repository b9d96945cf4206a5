"""The drawings of lessons 08, 09, 10, 12, 14 and 15: work on several GPUs, graphs, questions, and hosts."""

from __future__ import annotations

from nbtf.notebook.stills.marks import Line, Mark, Picture
from tests.course.drawings.parts import (
    LARGE,
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
    room,
)

_RIGHT = WIDTH - MARGIN


def towers(say: Say) -> Picture:
    """The same product on four GPUs, and the sum on the CPU."""
    marks: list[Mark] = []
    for gpu in range(4):
        x = MARGIN + gpu * 174.0
        marks += arrow((x + 79, 118), (x + 79, 140), (280 + gpu * 53.0, 140), (280 + gpu * 53.0, 162), stroke="cpy")
        marks += room(x, 52, 158, 66, f"GPU:{gpu}") + block(x + 12, 78, 134, 30, "MatMul", "fwd")
    marks += label(_RIGHT, 156, say("results, 16 bytes each"), "soft", SMALL, anchor="end")
    marks += label(MARGIN, 156, say("the same code on each"), "soft", SMALL)
    marks += room(200, 162, 320, 48, "CPU:0") + block(280, 171, 160, 30, "AddN", "tmp")
    return picture(say("You send work to each GPU, and collect the results in one place"), 226, marks)


def mirrored(say: Say) -> Picture:
    """A batch in four parts, a whole model on each GPU, and the loop that keeps them equal."""
    marks = label(MARGIN, 68, say("a batch of 64")) + label(MARGIN, 128, say("the whole model"))
    marks += paragraph(MARGIN, 192, say("all-reduce: adds up the gradients and sends the sum to all"), 150)
    for gpu in range(4):
        x = 190 + gpu * 130.0
        marks += block(x, 54, 120, 24, "16", "py", 12.5)
        marks += arrow((x + 60, 78), (x + 60, 92)) + room(x, 92, 120, 74, f"GPU:{gpu}")
        marks += block(x + 12, 118, 96, 36, say("model"), "wgt", 12.5)
        marks += [Line(x + 60, 166, x + 60, 196, "cpy", 2)]
    marks += [Line(250, 196, 640, 196, "cpy", 2)]
    for gpu in range(4):
        x = 250 + gpu * 130.0
        marks += [Line(x, 180, x, 168, "cpy", 2, arrow=True)]
    marks += block(390, 183, 110, 26, "all-reduce", "cpyf", 12.5)
    return picture(say("Each GPU holds the whole model and computes a part of the batch"), 240, marks)


def sessions(say: Say) -> Picture:
    """A graph whose nodes have no device yet, and the same graph after a session has run it."""
    marks: list[Mark] = []
    for number, words in enumerate(("described: nothing has run", "run: placed, then computed")):
        x, ran = MARGIN + number * 400.0, number == 1
        marks += frame(x, 74, 280, 132, dashed=not ran) + label(x, 64, say(words), weight=600)
        for name, left, top in (("a", 16.0, 88.0), ("b", 16.0, 150.0), ("MatMul", 156.0, 119.0)):
            wide = 108.0 if name == "MatMul" else 64.0
            colour = ("wgt" if name != "MatMul" else "fwd") if ran else "tint2"
            marks += block(x + left, top, wide, 28, name, colour, 12.5)
            marks += label(x + left + wide / 2, top + 42, "GPU:0" if ran else "?", "soft", SMALL, anchor="middle")
        marks += arrow((x + 80, 102), (x + 118, 102), (x + 118, 127), (x + 156, 127))
        marks += arrow((x + 80, 164), (x + 118, 164), (x + 118, 139), (x + 156, 139))
    marks += arrow((304, 140), (416, 140), stroke="focus", width=2.2) + code(360, 128, "sess.run(c)", anchor="middle")
    return picture(say("Old code describes a graph; devices are chosen when a session runs it"), 224, marks)


def used(say: Say) -> Picture:
    """Five questions as the rungs of a ladder; on a simulated card the answer ends at the fourth."""
    rungs = ("faster", "real", "used", "visible", "listed")
    notes = ("not asked", "no: NumPy on this CPU", "an operation ran there", "to this process", "by this computer")
    marks: list[Mark] = [Line(x, 50, x, 216, "line", 4) for x in (MARGIN + 44, MARGIN + 264)]
    for number, (rung, note) in enumerate(zip(rungs, notes, strict=True)):
        y = 54 + number * 32.0
        sign, colour = {0: ("–", "soft"), 1: ("×", "hot")}.get(number, ("✓", "ok"))
        marks += frame(MARGIN + 32, y, 244, 26, dashed=number == 0, stroke=colour, fill="paper")
        marks += label(MARGIN + 154, y + 17.5, say(rung), "soft" if number == 0 else "ink", weight=600, anchor="middle")
        marks += label(MARGIN + 292, y + 19, sign, colour, LARGE, 600)
        marks += label(MARGIN + 316, y + 17.5, say(note), "hot" if number == 1 else "soft")
    marks += frame(560, 86, 140, 94) + label(630, 110, "GPU:0", weight=600, anchor="middle")
    marks += label(630, 130, say("simulated"), "soft", SMALL, anchor="middle")
    marks += block(580, 142, 100, 26, "MatMul", "fwd")
    return picture(say("Is my GPU used? Five questions, and a log answers only some of them"), 232, marks)


def hosts(say: Say) -> Picture:
    """Three hosts with four GPUs each: short wide links inside a host, and a long thin link between two hosts."""
    marks: list[Mark] = []
    for task in range(3):
        x = MARGIN + task * 236.0
        marks += room(x, 56, 208, 118, f"/job:worker/task:{task}")
        for gpu in range(4):
            left, top = x + 14 + gpu % 2 * 104, 88 + gpu // 2 * 44.0
            marks += block(left, top, 76, 30, f"GPU:{gpu}", "fwd")
        marks += [Line(x + 90, y, x + 118, y, "cpy", 9) for y in (103.0, 147.0)]
        marks += [Line(left, 118, left, 132, "cpy", 9) for left in (x + 52, x + 156)]
    for task in range(2):
        x = MARGIN + task * 236.0
        marks += arrow((x + 104, 174), (x + 104, 192), (x + 340, 192), (x + 340, 175), stroke="cpy", width=1.4)
    marks += label(MARGIN, 214, say("inside a host: 12 µs for 4 MB"), "soft")
    marks += label(_RIGHT, 214, say("between hosts: 334 µs, modelled"), "soft", anchor="end")
    return picture(say("Between two computers the same bytes take much longer than inside one"), 232, marks)


def failure(say: Say) -> Picture:
    """Three hosts whose GPUs each hold the whole model; one host is crossed out, and the others keep the weights."""
    marks: list[Mark] = []
    for task in range(3):
        x, lost = MARGIN + task * 236.0, task == 2
        marks += frame(x, 56, 208, 96, dashed=lost, stroke="hot" if lost else "line")
        if lost:
            marks += [Line(x, 56, x + 208, 152, "hot", 2), Line(x, 152, x + 208, 56, "hot", 2)]
        marks += label(x + 104, 74, f"/job:worker/task:{task}", "soft" if lost else "ink", weight=600, anchor="middle")
        for gpu in range(2):
            left = x + 14 + gpu * 94
            marks += block(left, 100, 86, 36, say("model"), "tint2" if lost else "wgt", 12.5)
            marks += [] if lost else label(left, 94, f"GPU:{gpu}", "soft", SMALL)
    marks += label(MARGIN, 178, say("four copies of each weight are left"), "soft")
    marks += label(_RIGHT, 178, say("the step in progress is lost"), "hot", anchor="end")
    return picture(say("Each GPU holds the whole model, so the weights survive a lost machine"), 198, marks)

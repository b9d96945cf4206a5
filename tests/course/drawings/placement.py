"""The drawings of lessons 00 to 04 and 07: available devices, and where an operation runs."""

from __future__ import annotations

from nbtf.notebook.stills.marks import Mark, Picture
from tests.course.drawings.parts import (
    LARGE,
    MARGIN,
    SMALL,
    WIDTH,
    Say,
    arrow,
    block,
    bow,
    code,
    frame,
    label,
    picture,
    room,
)

_RIGHT = WIDTH - MARGIN


def start_here(say: Say) -> Picture:
    """Three cells, and four GPUs that work on a computer without any."""
    marks: list[Mark] = []
    cells = (
        ("the machine", "simulate_gpus(4)"),
        ("the view", "%devices --live"),
        ("the work", "tf.matmul(x, weights)"),
    )
    for number, (words, line) in enumerate(cells):
        y = 52 + number * 52.0
        marks += frame(MARGIN, y, 200, 42) + label(MARGIN + 12, y + 18, f"{number + 1}", "focus", weight=600)
        marks += label(MARGIN + 30, y + 18, say(words), weight=600) + code(MARGIN + 30, y + 34, line, "soft")
    marks += bow((MARGIN + 200, 73), (280, 73)) + bow((MARGIN + 200, 177), (280, 177))
    for gpu in range(4):
        x = 280 + gpu * 107.0
        marks += room(x, 52, 99, 92, f"GPU:{gpu}") + label(x + 49.5, 86, say("simulated"), "soft", 11, anchor="middle")
        marks += block(x + 10, 100, 79, 32, "MatMul", "fwd")
    marks += frame(280, 154, _RIGHT - 280, 44)
    marks += label(290, 172, "CPU", weight=600)
    marks += label(290, 189, say("NumPy does all the work here: no GPU is used."), "soft", SMALL)
    return picture(say("Press Shift+Enter three times: four GPUs work, on a computer that has none"), 214, marks)


def names(say: Say) -> Picture:
    """Many names for one position in a list, and the card at that position."""
    marks = label(MARGIN, 64, say("names"), "soft") + label(330, 64, say("this process's list"), "soft")
    marks += label(560, 64, say("cards"), "soft")
    for number, name in enumerate(("gpu:0", "/GPU:0", "/device:GPU:0", "/job:localhost/…/device:GPU:0")):
        y = 86 + number * 30.0
        marks += frame(MARGIN, y - 14, 224, 22) + code(MARGIN + 10, y + 1, name)
        marks += bow((MARGIN + 224, y - 3), (330, 84), "focus" if number == 1 else "line")
    for number in range(4):
        y = 72 + number * 30.0
        marks += frame(330, y, 130, 24, stroke="focus" if number == 0 else "hair2", fill="paper" if number else "tint")
        marks += label(342, y + 16.5, f"GPU:{number}", "soft" if number else "ink", weight=400 if number else 600)
        marks += arrow((460, y + 12), (556, y + 12), stroke="hair2" if number else "focus", dashed=True)
        marks += code(564, y + 16, ("0000:02:00.0", "0000:03:00.0", "0000:83:00.0", "0000:84:00.0")[number])
    marks += label(_RIGHT, 212, say("The bus id stays with the card."), "soft", SMALL, anchor="end")
    return picture(say("Many names for one place in a list; a place is not a card"), 228, marks)


def where(say: Say) -> Picture:
    """The rule in three steps, and the devices that each step leads to."""
    rules = (
        ("1", "the device that tf.device names"),
        ("2", "otherwise the lowest-numbered GPU"),
        ("3", "without a GPU version: the CPU"),
    )
    marks: list[Mark] = []
    for number, (count, words) in enumerate(rules):
        y = 52 + number * 50.0
        marks += frame(MARGIN, y, 270, 40) + label(MARGIN + 12, y + 25, count, "focus", LARGE, 600)
        marks += label(MARGIN + 34, y + 25, say(words))
    for gpu in range(4):
        x = 388 + gpu * 79.0
        marks += room(x, 52, 73, 76, f"GPU:{gpu}")
        working = {0: "fwd", 2: "py"}.get(gpu)
        marks += block(x + 7, 82, 59, 32, "MatMul", working) if working else []
        marks += [] if working else label(x + 36, 102, say("empty"), "soft", SMALL, anchor="middle")
    marks += room(388, 148, _RIGHT - 388, 44, "CPU:0") + block(470, 157, 94, 26, "StringJoin", "tmp")
    marks += arrow((290, 72), (340, 72), (340, 46), (582, 46), (582, 52), stroke="py")
    marks += bow((290, 122), (388, 98), "fwd") + bow((290, 172), (388, 170))
    return picture(say("A line of code has no device: each operation is placed when it runs"), 208, marks)


def placing(say: Say) -> Picture:
    """A matrix that is copied a hundred times, and the same loop after a single copy."""
    marks: list[Mark] = []
    for number, (words, sizes) in enumerate((("In a loop: 100 copies", "400 KiB"), ("Before it: 1 copy", "4 KiB"))):
        y = 52 + number * 88.0
        marks += room(MARGIN, y, 150, 76, "CPU:0") + block(MARGIN + 12, y + 30, 126, 32, "weights", "wgt")
        marks += room(430, y, 270, 76, "GPU:0")
        copied = number == 1
        marks += block(444, y + 30, 70, 32, "weights", "wgt") if copied else []
        marks += block(534 if copied else 444, y + 30, 152 if copied else 242, 32, "MatMul × 100", "fwd")
        shifts = (0.0,) if copied else (-15.0, -9.0, -3.0, 3.0, 9.0, 15.0)
        for shift in shifts:
            marks += arrow((170, y + 46 + shift), (430, y + 46 + shift), stroke="cpy", width=1.6)
        marks += label(300, y + 20, say(words), weight=600, anchor="middle")
        marks += label(300, y + 76, sizes, "soft", SMALL, anchor="middle")
    return picture(say("tf.device decides where operations run; tensors stay, and copies of them travel"), 232, marks)


def missing(say: Say) -> Picture:
    """The same request three times: obeyed, refused, bent."""
    marks: list[Mark] = []
    for number, word in enumerate(("obeyed", "refused", "bent")):
        x = MARGIN + number * 232.0
        marks += label(x, 64, say(word), weight=600) + frame(x, 74, 216, 26) + code(x + 10, 91, 'tf.device("GPU:2")')
        marks += room(x, 134, 102, 62, "GPU:0")
        marks += frame(x + 114, 134, 102, 62, dashed=bool(number)) + label(x + 124, 152, "GPU:2", weight=600)
    first, second, third = MARGIN, MARGIN + 232, MARGIN + 464
    marks += arrow((first + 165, 100), (first + 165, 134), stroke="fwd")
    marks += block(first + 124, 160, 82, 26, "MatMul", "fwd")
    marks += arrow((second + 165, 100), (second + 165, 128), stroke="hot")
    marks += label(second + 165, 178, say("an error"), "hot", weight=600, anchor="middle")
    marks += arrow((third + 165, 100), (third + 165, 118), (third + 51, 118), (third + 51, 134), stroke="hot")
    marks += block(third + 10, 160, 82, 26, "MatMul", "fwd")
    marks += label(third + 165, 178, say("does not exist"), "soft", SMALL, anchor="middle")
    for x, words in ((first, "GPU:2 exists"), (second, "soft placement off"), (third, "soft placement on: no message")):
        marks += label(x, 216, say(words), "soft", SMALL)
    return picture(say("GPU:2 was requested: no error does not mean that the request was obeyed"), 232, marks)


def mine(say: Say) -> Picture:
    """Four cards, two of them visible, and their names in the process."""
    marks = label(MARGIN, 64, say("cards in the computer"), "soft") + label(
        500, 64, say("names in this process"), "soft"
    )
    marks += frame(256, 74, 188, 28, stroke="focus", fill="paper")
    marks += code(350, 92, "CUDA_VISIBLE_DEVICES=3,1", anchor="middle")
    for card, bus in enumerate(("0000:02:00.0", "0000:03:00.0", "0000:83:00.0", "0000:84:00.0")):
        y, visible = 74 + card * 34.0, card in (3, 1)
        marks += frame(MARGIN, y, 176, 28, dashed=not visible) + label(MARGIN + 12, y + 18.5, f"{card}", weight=600)
        marks += code(MARGIN + 34, y + 18.5, bus, "ink" if visible else "soft")
    for name, (card, y) in enumerate(((3, 116.0), (1, 166.0))):
        colour = ("fwd", "bwd")[name]
        marks += bow((196, 88 + card * 34.0), (500, y + 14), colour, 2.2)
        marks += block(500, y, 200, 28, f"GPU:{name}", colour, 12.5, 600)
    marks += label(MARGIN, 232, say("Dashed: hidden from this process."), "soft", SMALL)
    return picture(say("Hiding cards renumbers the rest: GPU:0 is not always card 0"), 248, marks)

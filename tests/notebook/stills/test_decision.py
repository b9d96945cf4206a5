"""Has the drawn way to a decision a box for each rule that was tried, in its words and in every language?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import pairwise, product
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtf as tf
from nbtf._devices.discovery import simulated_machine
from nbtf._runtime.context import Context
from nbtf._runtime.placement import on_host, place_op
from nbtf._runtime.scopes import Request, merged
from nbtf._types import float32
from nbtf.errors import InvalidArgumentError, MissingDeviceError
from nbtf.notebook import catalogue
from nbtf.notebook.stills.decision import decision
from nbtf.notebook.stills.marks import Line, Picture, Rectangle, Text, texts_of
from nbtf.notebook.stills.reasons import is_as_asked, phrases_of
from nbtf.notebook.stills.svg import to_svg
from tests.machines import machine
from tests.notebook.conftest import Shell
from tests.notebook.stills.longer_texts import longer_texts
from tests.rings import paired

WORDS = catalogue.words("decision")
LANGUAGES = ("en", *catalogue.LANGUAGES)
NAMES = re.compile(r"[A-Z]+:\d+|int32|SparseSoftmax\w+", re.ASCII)
WIDTHS = [320, 640, 690, 960]
DEVICES = [None, "GPU:0", "GPU:3", "GPU:7", "CPU:0", "CPU:9", "/device:INK:3", "/job:elsewhere/device:GPU:0"]
SCOPES = [
    ("explicit scope",),
    ("replica of a strategy", "1"),
    ("strategy update",),
    ("dataset",),
    ("asked by the call",),
]


class Op:
    """An op with kernels for some kinds of devices."""

    def __init__(self, *kinds: str) -> None:
        self.type, self.kinds = "SparseSoftmaxCrossEntropyWithLogits", kinds

    def has_kernel(self, device_type: str, dtypes: Any) -> bool:
        return device_type in self.kinds


def asked(name: str | None, *reason: str) -> Request | None:
    return None if name is None else merged(name, None, tf.runtime.Reason(*reason))


def reasons() -> Iterator[tuple[str, tf.runtime.Reason]]:
    """A device and a reason for each way through the rules of placement."""
    ops = Op("CPU"), Op("CPU", "GPU")
    for gpus in (0, 1, 4):
        here = Context(simulated_machine(gpus), environ={}).devices
        for op, scope, cell, default, reason, soft in product(ops, DEVICES, DEVICES[:4], DEVICES[:4], SCOPES, (0, 1)):
            settings = here._replace(
                soft=bool(soft), cell=asked(cell, "cell"), default=asked(default, "session default")
            )
            try:
                device, reason = place_op(op, [float32], None, asked(scope, *reason), settings)
            except (MissingDeviceError, InvalidArgumentError):
                continue
            yield device.short_name, reason
            yield "CPU:0", on_host(reason, "int32")
        device, reason = place_op(ops[1], [float32], here.devices[-1], None, here)
        yield device.short_name, reason


WAYS = list({(device, reason.path): (device, reason) for device, reason in reasons()}.values())


def explained(device: str, reason: tf.runtime.Reason) -> tf.runtime.Explanation:
    label = f"{device} (simulated Tesla V100-SXM2-16GB)" if device.startswith("GPU") else device
    return tf.runtime.Explanation(device, label, (64, 64), "float32", "MatMul", reason, None, True)


def boxes(picture: Picture) -> list[Rectangle]:
    return [mark for mark in picture.marks if isinstance(mark, Rectangle) and mark.height == 49]


def texts_inside(picture: Picture, box: Rectangle) -> list[Text]:
    texts = texts_of(picture.marks)
    return [text for text in texts if box.y < text.y < box.y + 49 and box.x < text.begin < box.x + box.width]


def overlaps(texts: list[Text]) -> list[tuple[str, str]]:
    return [
        (text.words, other.words)
        for index, text in enumerate(texts)
        for other in texts[index + 1 :]
        if abs(text.y - other.y) < 10
        and text.begin < other.begin + other.width
        and other.begin < text.begin + text.width
    ]


def test_the_search_finds_every_rule() -> None:
    rules = {rule.rule for _, reason in WAYS for rule in reason.path}

    places = {"tf.device", "%%device", "default device", "strategy", "dataset", "call"}
    assert places | {"machine", "soft placement", "lowest-numbered GPU", "CPU", "kernel", "variable", "dtype"} == rules
    assert len(WAYS) > 30


@pytest.mark.parametrize("language", LANGUAGES)
def test_boxes_are_the_rules_in_their_words(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(catalogue.VARIABLE, language)
    said = catalogue.words("decision").values()
    sentences = [re.compile(re.sub(r"\\\{\w+\\\}", ".+", re.escape(text))) for text in said]
    for device, reason in WAYS:
        assert len(reason.path) == len(boxes(decision(explained(device, reason), 320)))
        for width in WIDTHS[1:]:  # a narrower box cuts a very long op, which stands above in full
            picture = decision(explained(device, reason), width)
            drawn = boxes(picture)
            assert len(reason.path) == len(drawn)
            for box, rule in zip(drawn, reason.path, strict=True):
                question, answer = (text.words for text in texts_inside(picture, box))
                assert any(sentence.fullmatch(question) for sentence in sentences), question
                assert NAMES.findall(f"{rule.question} {rule.answer}") == NAMES.findall(f"{question} {answer}")
                assert answer == rule.answer or any(sentence.fullmatch(answer) for sentence in sentences)


def test_what_said_no_is_red_and_dashed_and_the_end_is_green() -> None:
    for device, reason in WAYS:
        drawn = boxes(decision(explained(device, reason)))
        said_no = [rule.answer.startswith("no") for rule in reason.path]

        assert "ok" == drawn[-1].stroke
        assert said_no[:-1] == [box.dashed and box.stroke == "hot" for box in drawn[:-1]]
        assert not said_no[-1]


def test_arrows_lead_from_each_box_to_the_next() -> None:
    for device, reason in WAYS:
        for width in WIDTHS:
            picture = decision(explained(device, reason), width)
            arrows = [mark for mark in picture.marks if isinstance(mark, Line) and mark.arrow]
            for arrow, (box, following) in zip(arrows, pairwise(boxes(picture)), strict=True):
                across = box.x + box.width <= arrow.x1 < arrow.x2 <= following.x
                down = box.y + box.height <= arrow.y1 < arrow.y2 <= following.y
                assert across or down


@pytest.mark.parametrize(("width", "language"), paired(WIDTHS, LANGUAGES))
def test_no_text_stands_on_another_or_outside(width: int, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(catalogue.VARIABLE, language)
    for device, reason in WAYS:
        for texts in (nullcontext(), longer_texts("decision")):
            with texts:
                picture = decision(explained(device, reason), width, lambda _: "cell 12, line 3: c = tf.matmul(a, b)")
            all_texts = texts_of(picture.marks)
            outside = [text.words for text in all_texts if text.begin < 0 or text.begin + text.width > width]
            inside = [text for box in boxes(picture) for text in texts_inside(picture, box)]

            assert ([], []) == (outside, overlaps(all_texts))
            assert min(text.size for text in all_texts) >= 11
            assert 2 * len(reason.path) == len(inside)
            for box in boxes(picture):
                assert all(text.begin + text.width < box.x + box.width for text in texts_inside(picture, box))
            ElementTree.fromstring(to_svg(picture))


def test_it_is_a_row_where_there_is_room_else_a_column() -> None:
    with machine(4), tf.runtime.recording(), tf.device("GPU:7"):
        explanation = tf.runtime.explain_placement(tf.ones([2]))
    rows = {width: len({box.y for box in boxes(decision(explanation, width))}) for width in (320, 690, 960)}

    assert {320: 4, 690: 1, 960: 1} == rows


def test_red_is_what_is_not_where_it_was_asked_for() -> None:
    for device, reason in WAYS:
        asked = [rule.answer for rule in reason.path if rule.question == "What was asked for?"]

        assert is_as_asked(reason, device) == (asked in ([], [device]))


@given(st.lists(st.builds(tf.runtime.Rule, *[st.text(max_size=40)] * 3), max_size=6), st.integers(240, 2000))
def test_rules_that_are_not_known_yet_are_drawn_as_they_are(path: list[tf.runtime.Rule], width: int) -> None:
    device, reason = WAYS[0]
    picture = decision(explained(device, reason.after(*path)), width)
    drawn = boxes(picture)

    assert len(path) == len(drawn)
    assert all(0 <= box.x and box.x + box.width <= width and box.y + box.height < picture.height for box in drawn)
    ElementTree.fromstring(to_svg(picture))


# In a notebook


def test_cell_that_ends_with_an_explanation_shows_the_way(shell: Shell) -> None:
    ran = shell.run("with tf.device('GPU:7'): x = tf.matmul([[1.0]], [[2.0]])", "tf.runtime.explain_placement(x)")
    data, _ = shell.ip.display_formatter.format(ran.result)

    assert ran.error is None
    assert {"text/plain", "image/svg+xml"} == set(data)
    assert {"byScope", "here", "softPlacement"} <= {question[0] for question, _, _ in phrases_of(ran.result.path)}
    assert all(WORDS[name].partition("{")[0] in data["image/svg+xml"] for name in ("byScope", "here", "softPlacement"))
    assert "line 1" in data["image/svg+xml"]
    facts = [line.partition(":")[2].strip() for line in data["text/plain"].splitlines()]
    assert {"[1, 1] float32", "MatMul", "asked for GPU:7, soft placement"} <= {*facts}
    assert all(
        fact in data["image/svg+xml"] for fact in ("[1, 1] float32", "MatMul", "asked for GPU:7, soft placement")
    )


def test_explanation_without_a_way_is_a_table(shell: Shell) -> None:
    shell.ip.user_ns["x"] = unrecorded()
    ran = shell.run("tf.runtime.explain_placement(x)")

    assert {"text/plain", "text/html"} == set(shell.ip.display_formatter.format(ran.result)[0])


def unrecorded() -> tf.Tensor:
    """A tensor that a program on another machine has made."""
    with machine(0):
        return tf.constant([1.0])


def test_a_decision_is_drawn_without_the_extension(shell: Shell) -> None:
    ran = shell.run("x = tf.matmul([[1.0]], [[2.0]])", "tf.runtime.explain_placement(x)")
    tf.unload_ipython_extension(shell.ip)

    assert {"text/plain", "image/svg+xml"} == set(shell.ip.display_formatter.format(ran.result)[0])

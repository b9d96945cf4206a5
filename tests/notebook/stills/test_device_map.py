"""Does the device map draw what ran where and what was copied, with exact figures, and are all its texts readable?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import nullcontext
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nbtf as tf
from nbtf.notebook import catalogue
from nbtf.notebook.stills.device_facts import Flow, MapFacts, map_facts
from nbtf.notebook.stills.device_map import device_map
from nbtf.notebook.stills.marks import Group, Mark, Path, Picture, Rectangle, texts_of
from nbtf.notebook.stills.quantities import bytes_in_words
from nbtf.notebook.stills.svg import to_svg
from tests.machines import machine
from tests.notebook.conftest import Shell
from tests.notebook.stills.longer_texts import longer_texts
from tests.notebook.stills.test_decision import overlaps

WIDEST = 22.0
"""Width of the largest flow, in px."""

WIDTHS = [288.0, 320.0, 690.0, 960.0, 1600.0]
DEVICES = [0, 1, 2, 4, 6, 8, 12, 16, 17, 64]


def between_cards(facts: MapFacts) -> list[Flow]:
    return [flow for flow in facts.flows if "CPU" not in flow.source + flow.target]


def from_host(facts: MapFacts, card: str) -> Flow:
    return next(flow for flow in facts.flows if "CPU" in flow.source and flow.target == card)


def traffic(facts: MapFacts, name: str) -> int:
    return sum(flow.nbytes for flow in facts.flows if name in (flow.source, flow.target))


def recorded(count: int, size: int = 64) -> tf.runtime.Snapshot:
    """A program that feeds all cards, adds up on one that is not there, and sends the sum back."""
    with tf.runtime.recording() as record:
        with tf.device("CPU:0"):
            batch = tf.fill([size, 64], 1.0)
        parts: list[tf.Tensor] = []
        for number in range(count):
            with tf.device(f"GPU:{number}"):
                parts.append(tf.nn.relu(tf.matmul(tf.identity(batch), tf.identity(batch), transpose_a=True)))
        with tf.device("GPU:99"):
            total = tf.add_n(parts) if parts else tf.reduce_sum(batch)
        for number in range(1, count):
            with tf.device(f"GPU:{number}"):
                tf.identity(total)
    return record.snapshot()


@pytest.fixture(params=DEVICES)
def facts(request: pytest.FixtureRequest) -> Iterator[MapFacts]:
    """What each machine recorded."""
    with machine(request.param, model="Tesla K20m"):
        yield map_facts(recorded(request.param), tf.runtime.devices())


@pytest.fixture
def four() -> Iterator[MapFacts]:
    """What a machine with four cards recorded, with 1 MiB for each card."""
    with machine(4, model="Tesla K20m"):
        yield map_facts(recorded(4, size=4096), tf.runtime.devices())


def titled(picture: Picture) -> dict[str, Path]:
    """The shapes of a picture that have a title, by it."""
    return {mark.title: mark.marks[0] for mark in picture.marks if isinstance(mark, Group) and is_path(mark.marks[0])}  # type: ignore[misc]


def is_path(mark: Mark) -> bool:
    return isinstance(mark, Path)


def thickness(path: Path) -> float:
    """How wide an arrow is where it begins."""
    return abs(path.points[-1][0] - path.points[0][0])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("language", ["en", "ja", "zh_CN"])
def test_texts_are_inside_and_apart(
    facts: MapFacts, width: float, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTF_LANG", language)
    for texts in (nullcontext(), longer_texts("deviceMap")):
        with texts:
            picture = device_map(facts, width)
        drawn = texts_of(picture.marks)

        outside = [text.words for text in drawn if text.begin < 0 or text.begin + text.width > width + 0.5]
        small = [text.words for text in drawn if text.size < 11]
        assert ([], [], []) == (outside, overlaps(drawn), small)


def test_picture_is_safe_and_small(facts: MapFacts) -> None:
    svg = to_svg(device_map(facts))

    assert "svg" in ElementTree.fromstring(svg).tag
    assert len(svg) < (100_000 if len(facts.cards) > 8 else 30_000)


def test_every_device_is_drawn(facts: MapFacts) -> None:
    names = {text.words for text in texts_of(device_map(facts).marks)}

    assert {card.name for card in facts.cards} <= names


def test_widths_of_arrows_are_as_their_bytes(four: MapFacts) -> None:
    arrows = titled(device_map(four))
    nbytes = {f"{flow.source} → {flow.target}": flow for flow in between_cards(four)}

    assert 4 + len(nbytes) == len(arrows)
    per_byte = max(thickness(path) for path in arrows.values()) / max(flow.nbytes for flow in four.flows)
    for title, path in arrows.items():
        way = title.rpartition(": ")[0]
        flow = nbytes[way] if "→" in title else from_host(four, way)
        assert thickness(path) == pytest.approx(max(1.0, per_byte * flow.nbytes), abs=1)
        assert bytes_in_words(flow.nbytes) in title


@pytest.mark.parametrize("factor", [1, 100, 100_000])
def test_largest_arrow_is_no_wider_if_the_others_are_hairlines(four: MapFacts, factor: int) -> None:
    flows = [
        flow._replace(nbytes=flow.nbytes * (factor if "CPU" in flow.source else 1), copies=201) for flow in four.flows
    ]
    picture = device_map(dataclasses.replace(four, flows=tuple(flows)), 690)

    assert max(thickness(path) for path in titled(picture).values()) <= WIDEST
    assert "201 copies" in {text.words for text in texts_of(picture.marks)}


def test_op_that_is_elsewhere_than_asked_is_red_and_explained(four: MapFacts) -> None:
    texts = texts_of(device_map(four, 960).marks)

    assert ["asked for GPU:99, soft placement"] == [
        text.words for text in texts if text.fill == "hot" and "asked" in text.words
    ]
    assert {"no: GPU:0 to GPU:3", "GPU:99"} <= {text.words for text in texts}


@pytest.mark.parametrize("language", ["en", "ja", "zh_CN"])
def test_reason_of_what_is_elsewhere_than_asked_is_never_cut(
    four: MapFacts, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(catalogue.VARIABLE, language)
    whole = catalogue.words("reasons")["soft placement"].format(detail="GPU:99")
    for width in range(320, 1600, 32):
        texts = texts_of(device_map(four, width).marks)
        red = [text.words.replace(" ", "") for text in texts if text.fill == "hot" and text.y < 340]
        assert not [words for words in red if words.endswith("…")]
        assert red or 372 < width < 680, "only compact rooms leave reasons to the path below them"
        assert not red or whole.replace(" ", "") in "".join(red)


@pytest.mark.parametrize("count", [9, 13, 16])
def test_room_of_many_tells_its_op_its_memory_and_what_it_copied(count: int) -> None:
    with machine(count, model="Tesla K20m"):
        facts = map_facts(recorded(count), tf.runtime.devices())
    for width in WIDTHS:
        picture = device_map(facts, width)
        words = [text.words for text in texts_of(picture.marks)]
        columns = [mark.height for mark in picture.marks if isinstance(mark, Rectangle) and mark.fill == "cpyf"]
        nbytes = [traffic(facts, card.name) for card in facts.cards]
        per_byte = max(columns) / max(nbytes)

        assert count - 1 <= words.count("MatMul")
        assert [pytest.approx(max(1.5, each * per_byte), abs=1) for each in nbytes] == columns
        assert {bytes_in_words(card.in_use or 0) for card in facts.cards} <= set(words)


def test_no_room_is_named_by_bookkeeping() -> None:
    with machine(1), tf.runtime.recording() as record:
        weights = tf.Variable(np.ones([8, 8], "float32"))
        for _ in range(3):
            weights.assign_add(tf.constant(1.0) * weights)
        tf.exp(weights)

    room = map_facts(record.snapshot()).cards[0]
    assert room.ops[0].op in ("Exp", "Mul")
    assert "_EagerConst" not in {op.op for op in room.ops}


def test_sentence_says_what_is_unlike() -> None:
    with machine(16):
        words = [text.words for text in texts_of(device_map(map_facts(recorded(16))).marks)]

    assert [word for word in words if word.startswith("GPU:0 copies ")]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4000)), min_size=1, max_size=12))
def test_figures_are_those_of_the_recorder(steps: list[tuple[int, int]]) -> None:
    with machine(4), tf.runtime.recording() as record:
        last = tf.zeros([1])
        for number, length in steps:
            with tf.device(f"GPU:{number}"):
                last = tf.zeros([length]) + last[:1]
    snapshot = record.snapshot()
    facts = map_facts(snapshot, ())
    copied = [event for event in snapshot.events if isinstance(event, tf.runtime.Copied)]

    assert sum(event.nbytes for event in copied if event.nbytes >= 4096) == sum(flow.nbytes for flow in facts.flows)
    assert sum(event.nbytes < 4096 for event in copied) == facts.small_copies
    ops = [event.op for event in snapshot.events if isinstance(event, tf.runtime.OpPlaced)]
    assert (len(ops), ops.count("_EagerConst")) == (facts.ops + facts.constants, facts.constants)


def test_magic_draws_what_the_session_has_heard_on_the_machine_of_today(shell: Shell) -> None:
    shell.run("a = tf.ones([2])")
    shell.run("tf.runtime.restart()", "_ = tf.runtime.simulate_gpus(2)", "with tf.device('GPU:1'): b = tf.exp(1.0)")

    assert "Device map. GPU:1: Exp × 1 (asked for by tf.device)" == repr(shell.run("%devices --map").result)

"""Can every text of every still be read on every page from 400 px on?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.notebook.stills.cluster_map import cluster_map
from nbtf.notebook.stills.decision import decision
from nbtf.notebook.stills.device_facts import map_facts
from nbtf.notebook.stills.device_map import device_map
from nbtf.notebook.stills.device_memory import memory_chunks, memory_plane, memory_stack, treemap
from nbtf.notebook.stills.labels import box_of, keys_of, labels_of, shapes_of
from nbtf.notebook.stills.marks import Group, Mark, Picture, Rectangle, Text, framed, texts_of
from nbtf.notebook.stills.memory_overview import memory_overview
from nbtf.notebook.stills.narrow import LEAST_TEXT, LEAST_WIDTH, readable_width, settings
from nbtf.notebook.stills.out_of_memory import out_of_memory
from nbtf.notebook.stills.schedule import timed
from nbtf.notebook.stills.svg import to_svg
from nbtf.notebook.stills.timeline import timeline
from tests.conftest import browser_or_outcome
from tests.machines import MIB, machine
from tests.notebook.stills.test_memory_pictures import at_random, fragments, history_of, train

HONEST = re.compile(r"simulated|modelled")
NARROW = {"required", "continues", "fixed", "is_tag"}
"""Fields of marks for narrow pages, which a live view does not have: it draws anew for each width."""

FIGURES = re.compile(r"\d[\d.,]*\s?(?:[KMGT]iB|B|%|[nµm]?s)\b")


def of_memory(scene: Callable[[], Any]) -> Iterator[Picture]:
    with machine(1, memory="64MiB"):
        with tf.runtime.recording() as record:
            scene()
        history = history_of(record, 64 * MIB)
        yield memory_plane(history, fits=record.fits)
        yield memory_stack(history)
        yield treemap(history)
        yield memory_chunks(history)
        if history.refusals:
            yield out_of_memory(history, record.fits).picture


def of_devices(count: int) -> Iterator[Picture]:
    with machine(count, memory="256MiB"):
        strategy = tf.distribute.MirroredStrategy()
        with tf.runtime.recording() as record:
            with strategy.scope():
                model = tf.keras.Sequential([tf.keras.layers.Dense(256, activation="relu"), tf.keras.layers.Dense(10)])
                model.compile(optimizer="adam", loss="mse")
            model.fit(np.ones((64, 64), "float32"), np.ones((64, 10), "float32"), batch_size=64, verbose=0)
            tf.config.set_soft_device_placement(True)
            with tf.device("GPU:77"):
                x = tf.add(tf.ones([10]), 1.0)
        yield device_map(map_facts(record.snapshot(), tf.runtime.devices()))
        yield timeline(timed(record.snapshot()))
        yield decision(tf.runtime.explain_placement(x))


def of_cluster() -> Iterator[Picture]:
    limit, used = 16 << 30, 3 << 30
    memory = {"limit": limit, "pool": limit, "in_use": used, "peak": used}
    gpu = {"kind": "simulated", "model": "Tesla V100-SXM2-16GB", "memory": memory, "history": [(0, used, 0)]}
    overview = memory_overview({"devices": [{**gpu, "name": "GPU:0"}, {**gpu, "name": "GPU:1"}]})
    device = tf.runtime.DeviceInfo("GPU:0", "GPU", True, memory=limit, memory_limit=limit, in_use=used)
    worker = tf.runtime.WorkerReport("w1", "tls://10.0.0.1:1", "node-1", devices=(device,))
    look = cluster_map(tf.runtime.ClusterLook([tf.runtime.HostReport("node-1", (), (worker,))]))
    assert overview is not None
    assert look is not None
    yield from (overview, look)


STILLS: dict[str, Callable[[], Iterator[Picture]]] = {
    "a full card": lambda: of_memory(fragments),
    "training": lambda: of_memory(lambda: train(1)),
    "random": lambda: of_memory(lambda: at_random(3)),
    "one GPU": lambda: of_devices(1),
    "four GPUs": lambda: of_devices(4),
    "eight GPUs": lambda: of_devices(8),
    "32 GPUs": lambda: of_devices(32),
    "a cluster": of_cluster,
}


@pytest.fixture(scope="module")
def stills() -> list[Picture]:
    return [picture for scene in STILLS.values() for picture in scene()]


def forms(picture: Picture) -> Iterator[tuple[float, float, list[Text]]]:
    """Yields the narrowest page of each form, its scale there, and its texts; the widest form first."""
    if picture.narrow is not None:
        yield readable_width(picture), readable_width(picture) / picture.width, texts_of(picture.marks)
        yield LEAST_WIDTH, LEAST_WIDTH / picture.narrow.width, texts_of(picture.narrow.marks)
        return
    narrow = settings(picture)
    ends = [setting.most_width for setting in narrow] + [min(LEAST_WIDTH, picture.width)]
    texts = [texts_of(picture.marks), *(texts_of(setting.marks) for setting in narrow)]
    for width, visible in zip(ends, texts, strict=True):
        yield width, width / picture.width, visible


def test_no_text_is_smaller_than_10_px_on_a_page_from_400_px_on(stills: list[Picture]) -> None:
    sizes = [text.size * scale for picture in stills for _, scale, texts in forms(picture) for text in texts]

    assert LEAST_TEXT - 0.001 < min(sizes) < LEAST_TEXT + 0.1


def test_texts_of_narrow_pages_stand_beside_one_another_and_inside(stills: list[Picture]) -> None:
    for picture in stills:
        for _, _, texts in list(forms(picture))[1:]:
            boxes = [(text.begin, text.y - 0.7 * text.size, text.begin + text.width, text.y) for text in texts]
            sides = picture.narrow or picture
            assert all(left >= 0 and right <= sides.width and low <= sides.height for left, _, right, low in boxes)
            for number, (left, top, right, low) in enumerate(boxes):
                for other in boxes[:number]:
                    assert not (left < other[2] and other[0] < right and top < other[3] and other[1] < low), picture


def test_narrow_pages_show_no_figure_that_the_picture_does_not_have(stills: list[Picture]) -> None:
    for picture in stills:
        known = {figure for text in texts_of(picture.marks) for figure in FIGURES.findall(text.words)}
        for setting in settings(picture):
            assert {figure for text in texts_of(setting.marks) for figure in FIGURES.findall(text.words)} <= known


def test_a_narrow_page_keeps_the_title_and_the_legend(stills: list[Picture]) -> None:
    for picture in stills:
        title = max(texts_of(picture.marks), key=lambda text: (text.size, text.weight)).words
        for setting in settings(picture):
            squares = [mark for mark in setting.marks if isinstance(mark, Rectangle)]
            assert any(text.words.startswith(title[:4]) for text in texts_of(setting.marks))
            assert len(squares) >= len(keys_of(picture)) / 2


def test_a_narrow_page_says_what_is_simulated_and_modelled(stills: list[Picture]) -> None:
    """A time beside the lanes, for which there is no room, is the only exception: the heading says *modelled*."""
    for picture in stills:
        texts = texts_of(picture.marks)
        required = [text for text in texts if text.required]
        honest = {word for text in texts for word in HONEST.findall(text.words)}
        assert honest == {word for text in required for word in HONEST.findall(text.words)}, picture.title
        for setting in settings(picture):
            shown = [text for text in texts_of(setting.marks) if text.required]
            for wide, narrow in zip(required, shown, strict=True):
                assert HONEST.findall(wide.words) == HONEST.findall(narrow.words)


@pytest.mark.parametrize("length", [40, 80, 105])
def test_a_code_line_keeps_its_distance_from_the_bar_beside_it(length: int) -> None:
    code = "cell 3, line 4: " + "x" * (length - 16)
    marks: list[Mark] = [Rectangle(16, 20, 5, 60, "hot", radius=2), Text(30, 50, code, "soft", 11, mono=True)]

    narrow = settings(framed(900, 100, "", marks))

    assert narrow
    for setting in narrow:
        assert min(text.begin for text in texts_of(setting.marks)) >= 21 + 3


def test_a_required_text_takes_the_place_of_others() -> None:
    words = ["Device map", *(f"remark {number} of all" for number in range(4))]
    texts = [*(Text(0, 0, each, weight=650) for each in words), Text(0, 0, "GPUs simulated", required=True)]
    row = [
        replace(text, x=16 + sum(each.width + 16 for each in texts[:number]), y=28) for number, text in enumerate(texts)
    ]
    assert row[-1].x + row[-1].width < 690

    shown = [{text.words for text in texts_of(each.marks)} for each in settings(framed(690, 60, "", row))]

    assert shown
    assert all({"Device map", "GPUs simulated"} <= words for words in shown)
    assert not {*words} <= shown[-1]


def test_a_narrow_page_shows_a_line_only_below_all_lines_before_it(stills: list[Picture]) -> None:
    lines = 0
    for picture in stills:
        wide = texts_of(picture.marks)
        before = [(line.words, last.words) for last, line in pairwise(wide) if line.continues]
        followed = {words for _, words in before} - {last.words for last, line in pairwise(wide) if not line.continues}
        for setting in settings(picture):
            for last, line in pairwise([*texts_of(setting.marks), Text(0, 0, "")]):
                stem = line.words.rstrip(" …")
                assert not line.continues or last.words in [words for each, words in before if each.startswith(stem)]
                assert line.continues or last.words not in followed, "an ellipsis says that lines are missing"
                lines += line.continues
    assert lines


def test_a_box_of_one_text_has_its_size_or_is_left_out_with_it(stills: list[Picture]) -> None:
    tags = 0
    for picture in stills:
        own = [tag for label in labels_of(picture.marks) for tag in label.tags]
        if settings(picture) and picture.narrow is None:
            always, _, _ = to_svg(picture).partition('<g class="nbtf-keys">')
            count = len([mark for mark in _flat(picture.marks) if isinstance(mark, Rectangle)])
            assert always.count("<rect") == 1 + count - len(own) - len(keys_of(picture))  # and the paper
        for setting in settings(picture):
            for label in labels_of(setting.marks):
                boxes = [box for box in shapes_of(label.tags) if box.right - box.left > 10]
                assert all(box.contains(box_of(label.text)) for box in boxes)
                assert all(box.right - box.left <= label.text.width + 26 for box in boxes)
                tags += len(boxes)
    assert tags


def _flat(marks: Iterable[Mark]) -> Iterator[Mark]:
    for mark in marks:
        yield from _flat(mark.marks) if isinstance(mark, Group) else [mark]


def test_a_heading_with_room_for_all_its_texts_keeps_all(stills: list[Picture]) -> None:
    rows = 0
    for picture in stills:
        names = [key.text for key in keys_of(picture)]
        first = [text for text in texts_of(picture.marks) if text.y <= 28 and text not in names]
        for setting in settings(picture):
            smallest = min(text.size for text in texts_of(setting.marks))
            needed = sum(replace(text, size=max(text.size, smallest)).width for text in first) + 24 * len(first)
            if needed <= picture.width - 32:
                assert {text.words for text in first} <= {text.words for text in texts_of(setting.marks)}
                rows += len(first) > 1
    assert rows > len(stills) / 2


def test_a_browser_shows_one_form_at_each_width(stills: list[Picture]) -> None:
    """Loads every still as a document of several widths, and measures the texts that are visible."""
    program = browser_or_outcome()
    from playwright.sync_api import sync_playwright

    measure = """() => [...document.querySelectorAll('text')]
        .filter((text) => text.getBoundingClientRect().width > 0)
        .map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"""
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"]).new_page()
        for picture in stills:
            svg = to_svg(picture).replace("<svg ", '<svg style="display:block;width:100%;height:auto" ', 1)
            page.set_content(f"<!doctype html><body style='margin:0'>{svg}")
            for width in (400, 440, 564, 627, 690):
                page.set_viewport_size({"width": width, "height": 600})
                sizes = page.evaluate(measure)
                shown = next(texts for least, _, texts in forms(picture) if width >= least - 0.02)
                assert len(sizes) == len(shown), (picture.title, width)
                assert min(sizes) >= LEAST_TEXT - 0.01

"""Do pictures of memory show the allocator's chunks, with the figures of its errors?"""

from __future__ import annotations

import pickle
import re
from contextlib import nullcontext, suppress
from random import Random
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import nbtf as tf
from nbtf._devices.exhausted import ASKED, SHORTAGES
from nbtf.notebook import catalogue
from nbtf.notebook.stills.device_memory import memory_chunks, memory_plane, memory_stack, treemap
from nbtf.notebook.stills.drawing import answer
from nbtf.notebook.stills.marks import Picture, Rectangle, texts_of
from nbtf.notebook.stills.memory_bands import GROUPS, picture_words
from nbtf.notebook.stills.memory_history import MemoryHistory
from nbtf.notebook.stills.memory_pictures import Still, memory_picture
from nbtf.notebook.stills.memory_refusal import held_before, hints
from nbtf.notebook.stills.svg import to_svg
from tests.machines import LOCAL, MIB, machine
from tests.notebook.conftest import Shell
from tests.notebook.stills.longer_texts import longer_texts

GPU = f"{LOCAL}GPU:0"
WORDS = picture_words()
HEIGHT = 330
"""Height of the plane, in px."""
PLANE_END = 448
"""Px at which address 0 stands."""


def fragments() -> str:
    """Fifteen tensors of which some go, so that no hole is as large as the next request; returns the error."""
    held: list[Any] = [tf.zeros([2**8, 2**12]) for _ in range(15)]
    for number in (4, 6, 8, 10):
        held[number] = None
    with pytest.raises(tf.errors.ResourceExhaustedError) as error:
        tf.zeros([2**9, 2**12])
    return str(error.value)


def at_random(seed: int) -> None:
    """Takes and frees pieces of any size; some requests are refused."""
    random, held = Random(seed), list[Any]()
    for _ in range(60):
        if held and random.random() < 0.45:
            held.pop(random.randrange(len(held)))
        try:
            held.append(tf.zeros([random.randrange(1, 2 ** random.randrange(4, 21))]))
        except tf.errors.ResourceExhaustedError:
            held.clear()


def keep_at_random(seed: int) -> None:
    """Fills a card with pieces, frees some, and asks on other lines for more than the holes have."""
    random, held = Random(seed), list[Any]()
    with suppress(tf.errors.ResourceExhaustedError):
        while True:
            held.append(tf.zeros([random.randrange(2**8, 2**17)]))
    for _ in range(len(held) // 3):
        held.pop(random.randrange(len(held)))
    for power in (17, 18, 19):
        with suppress(tf.errors.ResourceExhaustedError):
            held.append(tf.zeros([2**power]))


def train(steps: int = 3) -> None:
    layers = [tf.keras.layers.Dense(256, activation="relu", name="hidden"), tf.keras.layers.Dense(10)]
    model = tf.keras.Sequential([tf.keras.layers.Input([784]), *layers])
    model.compile(optimizer="adam", loss="mse")
    for _ in range(steps):
        model.train_on_batch(np.ones((1024, 784), "float32"), np.ones((1024, 10), "float32"))


def history_of(record: tf.runtime.Recording, limit: int) -> MemoryHistory:
    return MemoryHistory(GPU, limit, record.events, record.regions_before())


def chunks_drawn(picture: Picture, limit: int) -> list[tuple[int, int, bool]]:
    """Returns address and size of what the cross-section has, and whether it is in use."""
    chunks: list[tuple[int, int, bool]] = []
    for mark in picture.marks:
        if isinstance(mark, Rectangle) and (match := re.search(r": ([\d,]+) B$", mark.title)):
            nbytes = int(match[1].replace(",", ""))
            assert mark.height == pytest.approx(nbytes / limit * HEIGHT, abs=1e-6)
            chunks.append(
                (round((PLANE_END - mark.y - mark.height) / HEIGHT * limit), nbytes, mark.title[:5] != "free:")
            )
    return sorted(chunks)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("growth", ["mapped at once", "grown"])
def test_cross_section_of_every_step_is_the_allocators_chunk_list(seed: int, growth: str) -> None:
    with machine(1, memory="8MiB", TF_FORCE_GPU_ALLOW_GROWTH=str(growth == "grown").lower()):
        looks: dict[int, Any] = {}
        with tf.runtime.recording() as record:
            random, held = Random(seed), list[Any]()
            for _ in range(40):
                if held and random.random() < 0.45:
                    held.pop(random.randrange(len(held)))
                try:
                    held.append(tf.zeros([random.randrange(1, 2 ** random.randrange(4, 20))]))
                except tf.errors.ResourceExhaustedError:
                    held.clear()
                regions = tf.runtime.memory_map("GPU:0")
                looks[history_of(record, 8 * MIB).steps - 1] = regions
            with pytest.raises(tf.errors.ResourceExhaustedError):
                tf.zeros([9 * MIB])  # so the plane goes up to the limit
        history = history_of(record, 8 * MIB)
    assert len(looks) > 20
    for step, regions in looks.items():
        assert history.regions(step) == regions
    for step in range(history.steps):
        starts = {each.region: each.start for each in history.extents if each.birth <= step < each.death}
        expected = [
            (starts[region.region] + chunk.offset, chunk.size, chunk.in_use)
            for region in history.regions(step)
            for chunk in region.chunks
        ]
        assert sorted(expected) == chunks_drawn(memory_plane(history, step=step), max(8 * MIB, history.top))
        assert sum(size for _, size, _ in expected) == history.pool[step]
        assert sum(size for _, size, used in expected if used) == history.in_use[step]
        assert sum(history.group_levels()[step].values()) == history.in_use[step]


def test_figures_of_a_refusal_are_those_of_the_error() -> None:
    with machine(1, memory="64MiB"):
        with tf.runtime.recording() as record:
            error = fragments()
        history = history_of(record, 64 * MIB)
        step = history.refusals[-1].step
        picture = memory_plane(history, 960, step=step, fits=record.fits)
    words = [text.words for text in texts_of(picture.marks)]
    sentence = "8 MiB requested, 48 of 64 MiB in use. 16 MiB are free but not contiguous: the largest block has 4 MiB."
    assert sentence in error
    assert any(sentence in text for text in words)
    assert {"48 MiB", "free 16 MiB, largest 4 MiB", "8 MiB needed", "out of memory"} <= set(words)
    assert any(re.fullmatch(r"would fit in \d+ MiB \(\d+ MiB: no\)", text) for text in words)
    holes = [size for _, size in history.holes(step)]
    assert (max(holes), sum(holes)) == (history.refusals[-1].event.largest_free, 64 * MIB - history.in_use[step])


def test_limit_that_would_do_is_tried() -> None:
    with machine(1, memory="64MiB"):
        with tf.runtime.recording() as record:
            fragments()
        still = memory_picture(record)
        words = next(text.words for text in texts_of(still.picture.marks) if text.words.startswith("would fit in "))
        enough, short = map(int, re.findall(r"(\d+) MiB", words))
        assert (bool(record.fits(enough * MIB)), bool(record.fits(short * MIB))) == (True, False)


@pytest.mark.parametrize(("held", "requested"), [(1, 256), (48, 256), (60, 1024), (40, 57)])
def test_a_card_is_at_least_as_large_as_what_is_in_use_and_the_request(held: int, requested: int) -> None:
    with machine(1, memory="64MiB"):
        with tf.runtime.recording() as record, tf.device("GPU:0"):
            kept = tf.zeros([held * MIB // 4])
            with pytest.raises(tf.errors.ResourceExhaustedError):
                tf.zeros([requested * MIB // 4])
        history = history_of(record, 64 * MIB)
        said = hints(history, history.refusals[-1], record.fits, WORDS)[-1]
        del kept

    total = held + requested
    if total > 96:
        assert re.fullmatch(r"needs a card with at least ([\d.,]+) (MiB|GiB)", said), said
        number, unit = said.split()[-2:]
        assert pytest.approx(total, rel=0.05) == float(number.replace(",", "")) * (1024 if unit == "GiB" else 1)
    else:
        assert re.fullmatch(r"needs a card with more than 96 MiB", said), said


def test_deletion_that_would_do_is_tried() -> None:
    with machine(1, memory="64MiB"):
        with tf.runtime.recording() as record:
            fragments()
        history = history_of(record, 64 * MIB)
        (refusal,) = history.refusals
        said = hints(history, refusal, record.fits, WORDS)
        tried = [
            band for band in held_before(history, refusal) if f"{band.title(WORDS)} {band.shape}, 4 MiB" in said[1]
        ]
        assert said[0] == "still held from earlier: 11 × Fill [256, 4096], 48 MiB"
        assert said[1] == "would fit without Fill [256, 4096], 4 MiB"
        assert any(record.fits(64 * MIB, {band.event: refusal.event.seq}) for band in tried if band.event)


@pytest.mark.parametrize("seed", range(6))
def test_no_hint_is_shown_that_the_allocator_denies(seed: int) -> None:
    """Names are given at random; what a hint says is done to the recorded requests."""
    with machine(1, memory="4MiB"):
        with tf.runtime.recording() as record:
            keep_at_random(seed)
        history = history_of(record, 4 * MIB)
        history.bands = [band._replace(name=f"kept[{at}]") for at, band in enumerate(history.bands)]
        statements = 0
        for refusal in history.refusals:
            said = hints(history, refusal, record.fits, WORDS)
            names = [words.removeprefix("would fit after: del ") for words in said if " del " in words]
            for name in names:
                bands = [band for band in history.alive(refusal.step) if band.name == name or name == "kept"]
                without = {band.event: refusal.event.seq for band in bands if band.event}
                assert refusal.event not in record.fits(4 * MIB, without).refused
            statements += len(names)
            fits_in = [words for words in said if words.startswith("would fit in ")]
            assert fits_in == said[-1:] or "needs a card" in said[-1]
    assert statements > 0


def test_another_machine_gives_no_hints() -> None:
    with machine(1, memory="64MiB"), tf.runtime.recording() as record:
        fragments()
    with machine(1, memory="2GiB"):
        history = history_of(record, 64 * MIB)
        assert [words for words in hints(history, history.refusals[0], None, WORDS) if "would" in words] == []
    with machine(0):
        assert "out of memory" in [text.words for text in texts_of(memory_picture(record).picture.marks)]


def test_sizes_that_read_alike_are_told_in_bytes() -> None:
    with machine(1, memory="64MiB"):
        with tf.runtime.recording() as record:
            held: list[Any] = [tf.zeros([2**21]) for _ in range(7)]
            held[2] = held[4] = None
            with pytest.raises(tf.errors.ResourceExhaustedError) as error:
                tf.zeros([2**21 + 64])
        history = history_of(record, 64 * MIB)
    texts = texts_of(memory_plane(history).marks)
    told = re.search(r"(8,388,864 bytes) requested, .* the largest block has 8,388,608 bytes\.", str(error.value))
    assert told is not None
    assert told[0] in " ".join(text.words for text in texts)
    assert told[1] in " ".join(text.words for text in texts if text.fill == "hot")  # in the request too


def test_sentences_of_a_shortage_are_those_of_the_error() -> None:
    sentences = [WORDS["tooLarge"], WORDS["mapped"], WORDS["fragmented"]]
    assert [WORDS["sentence"], "", *sentences] == [ASKED, *SHORTAGES.values()]


@pytest.fixture(scope="module")
def histories() -> dict[str, MemoryHistory]:
    """Of scenes of all kinds."""
    histories: dict[str, MemoryHistory] = {}
    for name, scene in {"fragments": fragments, "training": train, "random": lambda: at_random(5)}.items():
        with machine(1, memory="64MiB"):
            with tf.runtime.recording() as record:
                scene()
            histories[name] = history_of(record, 64 * MIB)
    return histories


def on_another(picture: Picture) -> list[tuple[str, str]]:
    """Texts that stand on another; what a request lies upon is painted over."""
    texts = [text for text in texts_of(picture.marks) if text.words and text.fill != "hot" and not text.mono]
    return [
        (text.words, other.words)
        for index, text in enumerate(texts)
        for other in texts[index + 1 :]
        if abs(text.y - other.y) < 10
        and text.begin < other.begin + other.width
        and other.begin < text.begin + text.width
    ]


@pytest.mark.parametrize("width", [560, 700, 960])
@pytest.mark.parametrize("language", ["en", *catalogue.LANGUAGES, "longer"])
@pytest.mark.parametrize("scene", ["fragments", "training", "random"])
def test_no_word_is_cut_or_stands_on_another(
    histories: dict[str, MemoryHistory], scene: str, language: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = histories[scene]
    if language != "longer":
        monkeypatch.setenv(catalogue.VARIABLE, language)
    with longer_texts("timeline", "memoryPicture") if language == "longer" else nullcontext():
        kinds = [
            memory_plane(history, width),
            memory_stack(history, width),
            treemap(history, width),
            memory_chunks(history),
        ]
    words = {text.words for picture in kinds for text in texts_of(picture.marks)}
    assert (language == "en") == (WORDS["memoryOf"].replace("{name}", "GPU:0") in words)
    for picture in kinds:
        texts = [text for text in texts_of(picture.marks) if text.words]
        assert [] == [
            text.words
            for text in texts
            if text.begin < 0 or text.begin + text.width > picture.width or text.y > picture.height - 4
        ]
        assert [] == on_another(picture)
        cut = [text.words for text in texts if "…" in text.words and not text.mono]
        assert [] == [words for words in cut if not re.match("test_mem", words)]  # lines of code are
        assert "{" not in " ".join(text.words for text in texts)


@pytest.mark.parametrize("width", [560, 640, 960])
@pytest.mark.parametrize("scene", [fragments, train, lambda: at_random(5)], ids=["fragments", "training", "random"])
def test_pictures_parse_and_cut_no_name_short(scene: Any, width: int) -> None:
    with machine(1, memory="64MiB"):
        with tf.runtime.recording() as record:
            scene()
        history = history_of(record, 64 * MIB)
    for picture in (memory_plane(history, width), memory_stack(history, width), treemap(history, width)):
        ElementTree.fromstring(to_svg(picture))
        for text in texts_of(picture.marks):
            assert text.size >= 11
            assert "…" not in text.words or len(text.words) >= 5
            assert -0.5 <= text.begin
            assert text.begin + text.width <= picture.width + 0.5


def test_bands_are_as_high_as_their_bytes() -> None:
    with machine(1, memory="64MiB"):
        with tf.runtime.recording() as record:
            fragments()
        history = history_of(record, 64 * MIB)
    picture = memory_plane(history)
    heights = [mark.height for mark in picture.marks if isinstance(mark, Rectangle) and "allocated" in mark.title]
    sizes = [band.size for band in history.bands if band.size * HEIGHT >= 64 * MIB]
    assert len(heights) == len(sizes) >= 15
    assert heights == pytest.approx([size * HEIGHT / (64 * MIB) for size in sizes])


def test_training_is_told_by_kind_of_holder() -> None:
    with machine(1, memory="64MiB"):
        with tf.runtime.recording() as record:
            train()
        history = history_of(record, 64 * MIB)
    totals = history.group_levels()[history.peak]
    assert sum(totals.values()) == max(history.in_use)
    assert all(totals[group] > 0 for group in GROUPS if group != "temporary")
    assert totals["weights"] >= 4 * (784 * 256 + 256 * 10)
    assert totals["optimizer slots"] >= 2 * totals["weights"] - MIB


@pytest.mark.parametrize("seed", range(3))
def test_boxes_of_a_treemap_cover_it_in_proportion(seed: int) -> None:
    random = Random(seed)
    sizes = sorted((random.randrange(1, 10**6) for _ in range(40)), reverse=True)
    boxes = answer("squarified", sizes, {"x": 10, "y": 20, "width": 300, "height": 200})
    areas = [box["width"] * box["height"] for box in boxes]
    assert areas == pytest.approx([size * 60_000 / sum(sizes) for size in sizes])
    ends = [(box["x"], box["x"] + box["width"], box["y"], box["y"] + box["height"]) for box in boxes]
    for number, (left, right, top, bottom) in enumerate(ends):
        assert 10 - 1e-6 <= left <= right <= 310 + 1e-6
        for other in ends[:number]:
            apart = min(right, other[1]) - max(left, other[0]) < 1e-6
            assert apart or min(bottom, other[3]) - max(top, other[2]) < 1e-6


def test_wrong_requests_are_refused() -> None:
    with machine(1, memory="64MiB"):
        with tf.runtime.recording() as record:
            held = tf.zeros([2**20])
        del held
        with pytest.raises(ValueError, match="Unknown view 'lane'"):
            memory_picture(record, view="lane")
        with pytest.raises(ValueError, match="Expected 0 to"):
            memory_picture(record, step=10**6)
        with pytest.raises(ValueError, match="No memory of 'GPU:3' was allocated"):
            memory_picture(record, "GPU:3")


@pytest.mark.parametrize("view", ["plane", "stacked", "treemap"])
def test_magic_returns_a_picture_with_names_of_the_program(shell: Shell, view: str) -> None:
    assert "Nothing to draw" in shell.run(f"%gpu_memory --{view}").out
    shell.run("import nbtf as tf")
    shell.run("held = [tf.zeros([2**20]) for _ in range(3)]")
    ran = shell.run(f"%gpu_memory --{view}")
    assert ran.error is None
    assert isinstance(ran.result, Still)
    formats, _ = shell.ip.display_formatter.format(ran.result)
    assert {"image/svg+xml", "text/plain"} <= formats.keys()
    assert view == "stacked" or "held[1]" in formats["image/svg+xml"]


def test_map_of_memory_is_drawn(shell: Shell) -> None:
    """The drawn chunks are those of the map, named as the program names them."""
    shell.run("held = [tf.zeros([2**20]) for _ in range(3)]; held[1] = None")
    ran = shell.run("tf.runtime.memory_map('GPU:0')")
    formats, _ = shell.ip.display_formatter.format(ran.result)
    svg = formats["image/svg+xml"]
    chunks = [chunk for region in ran.result for chunk in region.chunks]
    drawn = re.findall(r"<title>[^<]*: ([\d,]+) B</title>", svg)
    assert sorted(int(size.replace(",", "")) for size in drawn) == sorted(chunk.size for chunk in chunks)
    assert "held[2]" in svg
    assert "held[1]" not in svg
    assert formats["text/plain"] == repr(tuple(ran.result)) or formats["text/plain"].startswith("(RegionView(")
    assert pickle.loads(pickle.dumps(ran.result)) == ran.result


def test_weights_and_slots_from_before_a_recording_are_shown_as_such() -> None:
    with machine(1, memory=64 * MIB):
        model = tf.keras.Sequential([tf.keras.Input((256,)), tf.keras.layers.Dense(256)])
        model.compile("adam", "mse")
        model.train_on_batch(np.ones((4, 256)), np.ones((4, 256)))
        with tf.runtime.recording() as record:
            model.train_on_batch(np.ones((4, 256)), np.ones((4, 256)))
        history = MemoryHistory(GPU, 64 * MIB, record.events, record.regions_before("GPU:0"))

    (before, *_), after = history.group_levels(), history.group_levels()[-1]
    assert before["weights"] >= 2**18
    assert before["optimizer slots"] >= 2 * 2**18
    assert after["weights"] >= 2**18
    assert before["optimizer slots"] == after["optimizer slots"]


def test_a_still_is_an_image_too_which_fits_its_cell_and_needs_no_trust(shell: Shell) -> None:
    shell.run("import nbtf as tf", "a = tf.ones([8])")

    for line in ("%devices --map", "%gpu_memory --plane"):
        still = shell.run(line).result
        data = shell.ip.display_formatter.format(still)[0]

        assert {"image/svg+xml", "text/html", "text/plain"} == set(data), line
        assert data["text/html"].startswith("<img alt='"), line

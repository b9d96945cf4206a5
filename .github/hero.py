"""Makes the README's picture from real runs on simulated GPUs: `python .github/hero.py`.

It answers three questions: Where did it run? Why there? Who holds the memory? The upper drawing shows four cards that a
loop feeds, and a sum that requested a card that does not exist. The lower one shows the training step in which a 48 MiB
card runs out of memory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import nbtf as tf  # noqa: E402
from nbtf.notebook.stills.device_facts import MapFacts, map_facts  # noqa: E402
from nbtf.notebook.stills.marks import Line, Mark, Picture, Rectangle, Text  # noqa: E402
from nbtf.notebook.stills.marks import Path as Shape  # noqa: E402
from nbtf.notebook.stills.memory_bands import GROUPS, OF_GROUP  # noqa: E402
from nbtf.notebook.stills.memory_history import MemoryHistory  # noqa: E402
from nbtf.notebook.stills.quantities import bytes_in_words  # noqa: E402
from nbtf.notebook.stills.svg import to_svg  # noqa: E402

PICTURE = Path(__file__).with_name("hero.svg")
WIDTH, HEIGHT = 1280.0, 640.0
LEFT, RIGHT = 470.0, 1232.0
"""Left and right edge of the drawings, in px."""

LIMIT = 48


def recorded_map() -> MapFacts:
    """Returns the facts of a loop over four cards."""
    tf.runtime.restart()
    tf.runtime.simulate_gpus(4, model="Tesla K20m")
    with tf.device("/CPU:0"):
        batches = [tf.ones([256, 784]) for _ in range(4)]
        weights = tf.ones([784, 128])
    with tf.runtime.recording() as record:
        for _ in range(12):
            hidden: list[tf.Tensor] = []
            for number, batch in enumerate(batches):
                with tf.device(f"/GPU:{number}"):
                    hidden.append(tf.nn.relu(tf.matmul(batch, weights)))
            with tf.device("/GPU:7"):
                tf.add_n(hidden)
    return map_facts(record.snapshot(), tf.runtime.devices())


def recorded_memory() -> MemoryHistory:
    """Returns the memory history of a training run on a card that is too small for its second step."""
    tf.runtime.restart()
    tf.runtime.simulate_gpus(1, memory=f"{LIMIT}MiB")
    hidden = [tf.keras.layers.Dense(units, activation="relu") for units in (1024, 512)]
    optimizer = tf.keras.optimizers.Adam()
    with tf.runtime.recording() as record:
        model = tf.keras.Sequential([tf.keras.layers.Input([784]), *hidden, tf.keras.layers.Dense(10)])
        try:
            for _ in range(3):
                x, y = tf.ones([1024, 784]), tf.zeros([1024, 10])
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
                gradients = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        except tf.errors.ResourceExhaustedError:
            pass
    device = next(event.device for event in record.events if isinstance(event, tf.runtime.Refused))
    return MemoryHistory(device, LIMIT * 2**20, record.events, record.regions_before("GPU:0"))


def hero(facts: MapFacts, history: MemoryHistory) -> Picture:
    """Returns the picture: three questions on the left, with their answers on the right."""
    title = (
        "nbtf shows which operation ran on which GPU and why, what was copied, and what holds the memory: "
        f"{_asked_for(facts)[1]} requested {_asked_for(facts)[0]}, which does not exist, and ran on GPU:0; "
        f"{_request(history)} does not fit although {_free(history)} is free."
    )
    return Picture(WIDTH, HEIGHT, title, (*_questions(), *_map(facts), *_memory(history)))


def _asked_for(facts: MapFacts) -> tuple[str, str]:
    surprise = facts.surprise
    assert surprise is not None, "an op requested a card that does not exist"
    return surprise[1].reason.detail, surprise[1].op


def _request(history: MemoryHistory) -> str:
    return bytes_in_words(history.refusals[0].event.nbytes)


def _free(history: MemoryHistory) -> str:
    event = history.refusals[0].event
    return bytes_in_words(event.limit - event.in_use)


def _questions() -> Iterator[Mark]:
    yield Text(56, 124, "nbtf", size=76, weight=750)
    for number, (words, token) in enumerate(
        (("Where did it run?", "fwd"), ("Why there?", "hot"), ("Who holds the memory?", "py"))
    ):
        y = 196 + 52 * number
        yield Rectangle(56, y - 25, 5, 32, token, radius=2)
        yield Text(76, y, words, size=28, weight=650)
    for number, words in enumerate(
        (
            "TensorFlow's device API in a small",
            "runtime that shows every operation,",
            "copy and byte, live in Jupyter.",
        )
    ):
        yield Text(56, 366 + 29 * number, words, "soft", 20)
    yield Rectangle(56, 466, 350, 102, "tint", "hair", radius=8)
    yield Text(78, 497, "import nbtf as tf", size=18, weight=600, mono=True)
    yield Text(78, 524, "%load_ext nbtf", size=18, mono=True)
    yield Text(78, 551, "%devices --live", size=18, mono=True)
    yield Text(56, 606, "No GPU needed: nbtf simulates one.", "soft", 17)


def _map(facts: MapFacts) -> Iterator[Mark]:
    yield Rectangle(LEFT, 48, RIGHT - LEFT, 46, "tint", "hair2", radius=5)
    yield Rectangle(LEFT, 48, 6, 46, "cpy", radius=2)
    yield Text(LEFT + 24, 78, "CPU:0", size=20, weight=650)
    (fed,) = {flow.nbytes for flow in facts.flows if flow.source == "CPU:0"}
    yield Text(RIGHT - 20, 78, f"{bytes_in_words(fed)} to each", "soft", 17, anchor="end")
    room, gap = 178.0, (RIGHT - LEFT - 4 * 178.0) / 3
    for number, card in enumerate(facts.cards):
        x, op = LEFT + number * (room + gap), card.refused or card.ops[0]
        yield _arrow(x + room * 0.66, 94, 150)
        asked = op.reason.kind != "soft placement"
        yield Rectangle(x + 1, 151, room - 2, 116, "paper", "hair2" if asked else "hot", 2, 8)
        yield Text(x + 18, 181, card.name, size=18, weight=650)
        yield Text(x + 18, 214, op.op, size=20, weight=650, mono=True)
        words = f"requested {card.name if asked else op.reason.detail}"
        yield Text(x + 18, 247, words, "soft" if asked else "hot", 17, 400 if asked else 650)
    name = _asked_for(facts)[0]
    yield Rectangle(1036, 296, 196, 44, "paper", "hot", 1.6, 8, dashed=True)
    yield Text(1134, 324, f"{name} does not exist", "hot", 17, 650, "middle")
    yield Shape(((1030, 318), (530, 318), (530, 278)), stroke="hot", stroke_width=2, dashed=True)
    yield Shape(((530, 268), (522, 282), (538, 282)), "hot", closed=True)
    yield Rectangle(590, 304, 140, 28, "paper")
    yield Text(660, 324, "soft placement", "hot", 17, 650, "middle")


def _arrow(x: float, top: float, bottom: float) -> Shape:
    half, neck = 12, bottom - 16
    points = (
        (x - half, top),
        (x - half, neck),
        (x - half - 9, neck),
        (x, bottom),
        (x + half + 9, neck),
        (x + half, neck),
    )
    return Shape((*points, (x + half, top)), "cpyf", "cpy", closed=True)


def _memory(history: MemoryHistory) -> Iterator[Mark]:
    top, bottom, refusal = 366.0, 578.0, history.refusals[0]
    steps = refusal.step + 1 + refusal.step // 3
    yield Rectangle(LEFT, top, RIGHT - LEFT, bottom - top, "hatch", "line", opacity=0.5)

    def at(step: int, address: float) -> tuple[float, float]:
        share = min(step, steps) / steps
        return LEFT + share * (RIGHT - LEFT), bottom - address / history.limit * (bottom - top)

    for band in history.bands:
        (x, y), (end, high) = at(band.birth, band.start), at(_death(band.death, history), band.start + band.size)
        if y - high >= 1:
            yield Rectangle(x, high + 0.5, max(end - x, 1.5), y - high - 1, OF_GROUP[band.group], radius=1.5)
    x, _ = at(refusal.step, 0)
    yield Line(x, top - 10, x, bottom, "hot", 3)
    height = refusal.event.nbytes / history.limit * (bottom - top)
    box = max(height, 62.0)
    yield Rectangle(x + 14, top + 14, RIGHT - x - 28, box, "paper", "hot", 2.4, 6, dashed=True)
    middle = (x + RIGHT) / 2
    yield Text(middle, top + 40, f"{_request(history)} does not fit", "hot", 17, 650, "middle")
    yield Text(middle, top + 63, f"{_free(history)} is free", "hot", 16, 400, "middle")
    drawn = {band.group for band in history.bands}
    x = LEFT
    for group in (group for group in GROUPS if group in drawn):
        yield Rectangle(x, 594, 14, 14, OF_GROUP[group], radius=3)
        text = Text(x + 21, 607, group, "soft", 16)
        yield text
        x += text.width + 40
    yield Text(LEFT, 357, f"a {LIMIT} MiB card", "soft", 16)


def _death(step: int, history: MemoryHistory) -> int:
    """Returns the step at which a band ends; a band that is alive at the failed request extends to the edge."""
    return 10**9 if step > history.refusals[0].step else step


if __name__ == "__main__":
    PICTURE.write_text(to_svg(hero(recorded_map(), recorded_memory()), narrow=False) + "\n", encoding="utf-8")

"""Does a live view get the memory at a failed request, with the allocator's figures, until the next cell begins?"""

from __future__ import annotations

from typing import Any

import pytest

import nbtf as tf
from nbtf.notebook.session import SESSIONS
from nbtf.notebook.views.feed import Feed
from tests.notebook.conftest import ENOUGH, Shell

MIB = 2**20
FRAGMENTED = "held = [tf.ones([2**20]) for _ in range(15)]\nfor n in (3, 6, 9, 12): held[n] = None"
TOO_LARGE = "big = tf.ones([2**21])"


@pytest.fixture
def feed(shell: Shell) -> Feed:
    shell.run("tf.runtime.restart()", "_ = tf.runtime.simulate_gpus(1, memory='64MiB')")
    return Feed(SESSIONS[shell.ip])


def of_gpu(feed: Feed) -> dict[str, Any]:
    feed.refusals.look()
    feed.name_holders(ENOUGH)
    state = feed.with_maps(feed.state(False), fresh=True)
    return next(device for device in state["devices"] if device["name"] == "GPU:0") | {"refused": state["refused"]}


def holes(scene: dict[str, Any]) -> list[int]:
    """The free bytes between the pieces at the last step."""
    used = sorted((row[0], row[1]) for row in scene["pieces"] if row[5] == scene["steps"])
    start, end = scene["extents"][0][1], scene["extents"][0][1] + scene["extents"][0][2]
    edges = [*[(begin, begin + size) for begin, size in used], (end, end)]
    gaps = [begin - last for last, (begin, _) in zip([start, *[end for _, end in edges]], edges, strict=False)]
    return [gap for gap in gaps if gap]


def test_figures_are_those_of_the_allocator_and_of_the_error(shell: Shell, feed: Feed) -> None:
    shell.run(FRAGMENTED)
    error = str(shell.run(TOO_LARGE).error)
    regions = tf.runtime.memory_map("GPU:0")
    device = of_gpu(feed)

    scene = device["refusal"]
    [refusal] = scene["refusals"]
    free = [chunk.size for region in regions for chunk in region.chunks if not chunk.in_use]
    assert ["GPU:0"] == device["refused"]
    assert 8 * MIB == refusal["nbytes"]
    assert scene["steps"] - 1 == refusal["step"]
    assert (sorted(free), 4 * MIB) == (sorted(holes(scene)), max(free))
    assert "8 MiB requested, 48 of 64 MiB in use" in refusal["request"] + refusal["sentence"]
    assert "8.00MiB" in error or "[2097152]" in error
    names = {scene["texts"][row[6]] for row in scene["pieces"] if row[5] == scene["steps"]}
    assert {"held[0]", "held[14]"} <= names


def test_a_failure_that_the_program_catches_is_shown_and_forgotten_with_the_next_cell(shell: Shell, feed: Feed) -> None:
    shell.run("try:\n    x = tf.ones([2**26])\nexcept tf.errors.ResourceExhaustedError:\n    x = tf.ones([9])")
    before = of_gpu(feed)
    feed.refusals.forget()
    shell.run("y = 1")
    after = of_gpu(feed)

    assert ([256 * MIB], ["GPU:0"]) == ([each["nbytes"] for each in before["refusal"]["refusals"]], before["refused"])
    assert ("refusal" in after, after["refused"]) == (False, [])


def test_after_very_many_events_the_layout_at_the_request_is_drawn(
    shell: Shell, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbtf.notebook.stills.memory_pictures.MOST_LIVE_EVENTS", 10)
    shell.run(FRAGMENTED)
    shell.run(TOO_LARGE)
    scene = of_gpu(feed)["refusal"]

    assert (1, [4 * MIB] * 4) == (scene["steps"], [hole for hole in holes(scene) if hole >= 4 * MIB])

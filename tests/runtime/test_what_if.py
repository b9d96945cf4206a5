"""Does a recording say what its program would need with another limit, with growth, or without a line?"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf.errors import ResourceExhaustedError
from nbtf.runtime import Allocated
from tests.machines import MIB, machine


def _wander(seed: int) -> list[int]:
    """Makes and drops tensors until one does not fit; returns the sizes of those that did."""
    chosen, held, sizes = random.Random(seed), list[Any](), list[int]()
    try:
        for _ in range(60):
            if chosen.random() < 0.6 or not held:
                size = chosen.choice([1, 5000, MIB // 4, MIB, 2 * MIB])
                held.append(tf.zeros([size]))
                sizes.append(size)
            else:
                del held[chosen.randrange(len(held))]
    except ResourceExhaustedError:
        pass
    return sizes


def _grow(growth: bool) -> None:
    tf.config.experimental.set_memory_growth(tf.config.list_physical_devices("GPU")[0], growth)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("growth", [False, True], ids=["whole", "growing"])
def test_a_replay_stops_where_a_run_with_that_limit_and_growth_fails(growth: bool, seed: int) -> None:
    with machine(1, memory="512 MiB"):
        _grow(not growth)
        with tf.runtime.recording() as record:
            _wander(seed)
        (use,) = record.memory
        limits = [part * use.peak // 8 // MIB for part in (5, 7, 8, 9, 10, 12)]
        answers = {limit: record.what_if(f"allow_growth:{growth}", f"{limit}MiB") for limit in limits}
    for limit, answer in answers.items():
        with machine(1, memory=f"{limit} MiB"):
            _grow(growth)
            with tf.runtime.recording() as limited:
                sizes = _wander(seed)
            (other,) = limited.memory
            failed = [event for event in limited.events if isinstance(event, tf.runtime.Refused)]

        assert answer.stopped == bool(failed)
        assert answer.peak_allocated == other.peak
        if answer.refusal is not None:
            assert answer.refusal.requested == failed[0].nbytes
            assert answer.refusal.line.startswith("test_what_if.py:")
            assert sizes
        assert answer.settings == f"allow_growth:{growth}"
        assert answer.peak_reserved >= answer.peak_allocated

    assert {False, True} == {answer.stopped for answer in answers.values()}


def test_a_line_is_left_out() -> None:
    with machine(1, memory="256 MiB"), tf.runtime.recording() as record:
        first = tf.zeros([MIB])
        second = tf.zeros([2 * MIB])
        sites = [event.site for event in record.events if isinstance(event, Allocated) and event.nbytes > MIB]
        without = [record.what_if(without=f"test_what_if.py:{site[1]}") for site in sites if site]
        assert first is not second

        whole = record.what_if().peak_allocated

        assert [4 * MIB, 8 * MIB] == [whole - answer.peak_allocated for answer in without]
        with pytest.raises(ValueError, match=r"No memory was allocated by 'none\.py:1' on GPU:0"):
            record.what_if(without="none.py:1")


def test_a_recording_from_a_file_gives_the_same_answer(tmp_path: Path) -> None:
    with machine(1, memory="64 MiB"):
        _grow(True)
        with tf.runtime.recording() as record:
            _wander(1)
        record.save(tmp_path / "run.nbtf")
        answer = record.what_if(card="10MiB")
    opened = tf.runtime.read_recording(tmp_path / "run.nbtf")

    assert answer.stopped
    assert opened.what_if(card="10MiB") == answer
    assert not opened.what_if(card="1GiB").stopped


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"settings": "expandable_segments:True"}, r"GPU:0 has memory of TensorFlow, whose only settings are"),
        ({"device": "GPU:7"}, r"is not a simulated GPU"),
        ({"card": "much"}, r"'much' is neither a size"),
    ],
)
def test_wrong_questions_are_errors(question: dict[str, Any], message: str) -> None:
    with machine(1, memory="64 MiB"), tf.runtime.recording() as record:
        _wander(0)

        with pytest.raises(ValueError, match=message):
            record.what_if(**question)

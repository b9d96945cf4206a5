"""Does a replay of recorded requests say what a run with that limit, or with that free, would have done?"""

from __future__ import annotations

import random
from typing import Any

import pytest

import nbtf as tf
from nbtf.errors import ResourceExhaustedError
from nbtf.runtime import Allocated, Refused
from tests.machines import MIB, machine


def wander(seed: int) -> bool:
    """Makes and drops tensors until one does not fit; says whether all did."""
    chosen, held = random.Random(seed), list[Any]()
    try:
        for _ in range(60):
            if chosen.random() < 0.6 or not held:
                held.append(tf.zeros([chosen.choice([1, 5000, MIB // 4, MIB, 3 * MIB // 2, 2 * MIB])]))
            else:
                del held[chosen.randrange(len(held))]
    except ResourceExhaustedError:
        return False
    return True


def grow(growth: bool) -> None:
    tf.config.experimental.set_memory_growth(tf.config.list_physical_devices("GPU")[0], growth)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("growth", [False, True], ids=["whole", "growing"])
def test_a_replay_says_what_a_run_with_another_limit_does(growth: bool, seed: int) -> None:
    with machine(1, memory="512 MiB"):
        grow(growth)
        with tf.runtime.recording() as record:
            assert wander(seed)
        assert record.fits()
        (peak,) = [use.peak for use in record.memory]
        limits = [part * peak // 8 // MIB for part in (5, 7, 8, 9, 10, 12)]
        told = [bool(record.fits(limit * MIB)) for limit in limits]
    ran: list[bool] = []
    for limit in limits:
        with machine(1, memory=f"{limit} MiB"):
            grow(growth)
            with tf.runtime.recording():  # constants that nobody hears of may be kept instead of made anew
                ran.append(wander(seed))

    assert ran == told
    assert {False, True} == set(told)


def test_a_request_that_failed_fits_with_a_higher_limit_or_with_something_freed() -> None:
    with machine(1, memory="64 MiB"), tf.runtime.recording() as record:
        held = [tf.zeros([MIB]) for _ in range(15)]
        del held[4:12:2]
        with pytest.raises(ResourceExhaustedError):
            tf.zeros([2 * MIB])
        born = [event for event in record.events if isinstance(event, Allocated) and event.nbytes == 4 * MIB]

        assert not record.fits()
        assert [8 * MIB] == [event.nbytes for event in record.fits().refused]
        assert isinstance(record.fits().refused[0], Refused)
        assert record.fits("80MiB")
        assert record.fits(without=born[3:4])  # the neighbour of a hole
        assert not record.fits(without=born[0:1])
        # Freed in time, though something else may lie there by then.
        assert record.fits(without={born[3]: born[14].seq + 1})
        assert held


def test_what_was_there_before_the_recording_is_laid_out_as_it_was() -> None:
    with machine(1, memory="32 MiB"):
        held = [tf.zeros([MIB]) for _ in range(7)]
        del held[1:6:2]
        with tf.runtime.recording() as record, pytest.raises(ResourceExhaustedError):
            tf.zeros([2 * MIB])

        assert not record.fits()
        assert record.fits("37MiB")
        assert held


def test_a_recording_that_lost_its_beginning_says_so() -> None:
    with machine(1), tf.runtime.recording(capacity=5) as record:
        for _ in range(5000):
            tf.zeros([1])
    with machine(1), pytest.raises(ValueError, match="events are no longer kept"):
        record.fits()


@pytest.mark.parametrize("device", ["GPU:5", "CPU:0"])
def test_a_device_without_such_an_allocator_is_refused(device: str) -> None:
    with machine(1), tf.runtime.recording() as record:
        tf.zeros([1])
        with pytest.raises(ValueError, match="Only simulated GPUs"):
            record.fits(device=device)

"""Stage 3: several logical GPUs on one card: the device contract, copies under load, and a restored thread state."""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np

import nbtf as tf
from tests.gpu.stages import cards
from tests.gpu.stages.conformance import suite
from tests.gpu.stages.record import Record


def run(record: Record) -> None:
    """Runs the stage."""
    for logical in () if record.fake else (2, 4):
        suite(record, f"the contract of devices, {logical} logical GPUs", str(logical), "tests/contract")
    with cards.context(4, 64 if record.fake else 2048):
        _thread_is_given_back(record)
        _copies_under_load(record, record.size(2000, 500, 40), record.size(1024, 512, 16))
        _threads(record)


def _thread_is_given_back(record: Record) -> None:
    cp = cards.cupy()
    before = cp.cuda.runtime.getDevice()
    with cp.cuda.Stream(non_blocking=True) as mine:
        with cp.cuda.using_allocator(cp.cuda.MemoryPool().malloc):
            allocator = cp.cuda.get_allocator()
            with cards.on(1):
                x = tf.ones([100]) + 1.0
            same = cp.cuda.get_allocator() == allocator
        stream = cp.cuda.get_current_stream().ptr == mine.ptr
    record.check("a user's stream around a call is restored", stream)
    record.check("a user's allocator is restored", same)
    record.check("a user's current device is restored", cp.cuda.runtime.getDevice() == before)
    record.check("the result was computed on the right stream", x.numpy().tolist() == [2.0] * 100)


def _copies_under_load(record: Record, copies: int, side: int) -> None:
    """Copies results of products that are still running, while blocks are freed and reused all the time."""
    chance = random.Random(1)
    held: list[tuple[float, Any]] = []
    for number in range(4):
        with cards.on(number):
            held.append((float(side), tf.matmul(tf.ones([side, side]), tf.ones([side, side]))))
    wrong = 0
    for _ in range(copies):
        value, x = chance.choice(held)
        with cards.on(chance.randrange(4)):
            product = tf.matmul(tf.fill([side, side], value / side), tf.ones([side, side]))
            moved = tf.identity(x)
        held += [(value, product), (value, moved)]
        while len(held) > 12:
            expected, old = held.pop(chance.randrange(len(held)))
            if chance.random() < 0.05:
                wrong += not np.allclose(old.numpy(), expected, rtol=1e-5)
    wrong += sum(not np.allclose(x.numpy(), expected, rtol=1e-5) for expected, x in held)
    record.check(f"{copies} copies between 4 logical GPUs have the right values", wrong == 0, f"{wrong} are wrong")


def _threads(record: Record) -> None:
    errors: list[str] = []

    def work(number: int) -> None:
        try:
            with cards.on(number % 4):
                x = tf.fill([1000], float(number))
                for _ in range(50):
                    x = x + 1.0
            if x.numpy()[0] != number + 50:
                errors.append(f"{number}: {x.numpy()[0]}")
        except Exception as error:
            errors.append(repr(error))

    threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    record.check("8 threads on 4 logical GPUs raise no error", not errors, errors)

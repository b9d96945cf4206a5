"""Stage 7: what does it cost to monitor a card while it works, and are the figures right?"""

from __future__ import annotations

import os
import statistics
import threading
import time
from typing import Any

import nbtf as tf
from tests.gpu.stages import cards
from tests.gpu.stages.record import Record


def run(record: Record) -> None:
    """Runs the stage."""
    monitor = tf.runtime.CardMonitor()
    card = cards.card()
    reading: Any = monitor.card(card.uuid, card.bus_id, 0)
    if reading.used is None:
        record.note(cards.why_not(reading))
        return
    with cards.context() as context:
        costs = [_cost(monitor) for _ in range(record.size(200, 50, 5))]
        record.figure("one reading, median", statistics.median(costs) * 1000, "ms")
        record.figure("one reading, 99th percentile", sorted(costs)[-max(1, len(costs) // 100)] * 1000, "ms")
        _slowdown(record, context, monitor)
        _truth(record, context, monitor)


def _cost(monitor: Any) -> float:
    start = time.perf_counter()
    monitor.card(cards.card().uuid, cards.card().bus_id, 0)
    return time.perf_counter() - start


def _slowdown(record: Record, context: Any, monitor: Any) -> None:
    x = tf.ones([16])

    def loop() -> float:
        start = time.perf_counter()
        for _ in range(record.size(10_000, 5_000, 50)):
            tf.add(x, x)
        cards.wait(context)
        return time.perf_counter() - start

    loop()
    rounds = record.size(7, 5, 1)
    alone = min(loop() for _ in range(rounds))
    for rate, must in ((1, 0.02), (20, None)):
        with _watched(monitor, rate):
            slow = min(loop() for _ in range(rounds)) / alone - 1
        if must is not None and not record.fake:
            record.target(
                f"slowdown of a loop of ops, monitored {rate} times a second", max(slow, 0.0), must, 0.0, "of 1"
            )
        record.figure(f"slowdown, monitored {rate} times a second", slow * 100, "%")


class _watched:  # noqa: N801  # a block
    """Reads the card's figures in a separate thread, `rate` times a second."""

    def __init__(self, monitor: Any, rate: float) -> None:
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=[monitor, 1 / rate])

    def _watch(self, monitor: Any, pause: float) -> None:
        while not self._end.wait(pause):
            _cost(monitor)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()


def _truth(record: Record, context: Any, monitor: Any) -> None:
    card = cards.card()
    side = record.size(8192, 4096, 8)
    x = tf.ones([side, side])
    end, busiest = time.perf_counter() + record.size(3, 2, 0), 0
    while time.perf_counter() < end:
        for _ in range(4):
            tf.matmul(x, x)
        cards.wait(context)
        busiest = max(busiest, monitor.card(card.uuid, card.bus_id, 0).utilization or 0)
    record.figure("utilisation while products run", busiest, "%")
    record.check("products keep the card busy", busiest > 80 or record.fake, busiest)
    before = monitor.card(card.uuid, card.bus_id, 0).used
    held = tf.zeros([record.size(cards.GIB, cards.GIB, cards.MIB)], tf.uint8)
    cards.wait(context)
    grown = monitor.card(card.uuid, card.bus_id, 0).used - before
    record.check("memory in use follows the allocations", grown >= held.shape[0] or record.fake, f"{grown} bytes")
    pids = [one.pid for one in monitor.card(card.uuid, card.bus_id, 0).processes or ()]
    record.check("the process list includes this one, or is empty", not pids or os.getpid() in pids, pids)

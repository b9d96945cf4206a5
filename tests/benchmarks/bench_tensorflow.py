"""Measures what watching TensorFlow costs: `python tests/benchmarks/bench_tensorflow.py` where TensorFlow is installed.

Measures microseconds of `a + a` and of a call of a `tf.function`: alone, counted (a check without a watch), and
watched with device, reason, bytes and code line. The ways take turns, and the fastest block of all rounds counts. With
`--memory`, runs a million watched ops and prints how the memory of the process grows.
"""

from __future__ import annotations

import argparse
import os
import resource
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
from nbtf import runtime

tf: Any = import_module("tensorflow") if find_spec("tensorflow") else None

ROUNDS, CALLS = 15, 2000
MILLION = 1_000_000


@contextmanager
def alone() -> Generator[None]:
    """Nothing observes."""
    yield


@contextmanager
def counted() -> Generator[None]:
    """Ops are counted for checks."""
    with runtime.recording():
        yield


@contextmanager
def watched() -> Generator[None]:
    """Ops are recorded."""
    with ExitStack() as blocks:
        blocks.enter_context(runtime.recording(capacity=100_000))
        blocks.enter_context(runtime.watch("tensorflow"))
        yield


WAYS = (alone, counted, watched)


def cases() -> dict[str, Callable[[], Any]]:
    """Returns what is measured."""
    a = tf.ones((64, 64))

    @tf.function
    def double(x: Any) -> Any:
        return x + x

    return {"a + a": lambda: a + a, "call of a function": lambda: double(a)}


def microseconds(call: Callable[[], Any], way: Callable[[], Any]) -> float:
    """Returns the time of a call."""
    with way():
        call()
        start = perf_counter()
        for _ in range(CALLS):
            call()
        return (perf_counter() - start) / CALLS * 1e6


def megabytes() -> int:
    """Returns the highest memory use of the process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def measure() -> None:
    """Prints the costs."""
    with watched():  # so that the watch knows the inside of the function
        calls = cases()
        for call in calls.values():
            call()
    for name, call in calls.items():
        best = [
            min(figures)
            for figures in zip(*[[microseconds(call, way) for way in WAYS] for _ in range(ROUNDS)], strict=True)
        ]
        extra = ", ".join(f"{way.__name__} +{each - best[0]:.1f}" for way, each in zip(WAYS[1:], best[1:], strict=True))
        print(f"{name}: alone {best[0]:.1f} µs, {extra}")


def measure_memory() -> None:
    """Prints the memory after each fifth of a million watched ops."""
    a, sizes = tf.ones((64, 64)), list[int]()
    with watched():
        for _ in range(5):
            for _ in range(MILLION // 5):
                tf.add(a, a)
            sizes.append(megabytes())
    print(f"{MILLION:,} watched ops: {', '.join(map(str, sizes))} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", action="store_true", help="run a million watched ops")
    (measure_memory if parser.parse_args().memory else measure)()

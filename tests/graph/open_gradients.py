"""Are gradients right in a function with unknown lengths, whichever function contains the tape?

python -m tests.graph.open_gradients                 # all samples of all ops, in eight ways, with and without ranks
python -m tests.graph.open_gradients --only MatMul
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import nbtf as tf
from tests.ops.arguments import tensors
from tests.ops.samples import Sample, all_samples

Function = Callable[..., Any]

DRAWING = ("RandomUniform", "RandomStandardNormal")
"""Random ops, which every trace runs separately."""


def gradients_of(function: Function, xs: Sequence[Any]) -> list[Any]:
    """Returns the gradients of all results of a function."""
    with tf.GradientTape() as tape:
        for x in xs:
            tape.watch(x)
        results = [y for y in tf.nest.flatten(function(*xs)) if y.dtype.is_floating or y.dtype.is_complex]
    flows = tape.gradient(results, list(xs))
    return [flow if flow is None else tf.convert_to_tensor(flow) for flow in flows]


def ways_of(function: Function, xs: Sequence[Any], knows_rank: bool) -> dict[str, Callable[[], list[Any]]]:
    """Returns the ways to compute a function's gradients: which function contains the tape, with unknown lengths."""
    specs = [tf.TensorSpec([None] * x.shape.rank if knows_rank else None, x.dtype) for x in xs]

    def traced(inner: Function) -> Function:
        return tf.function(lambda *values: inner(*values))

    def opened(inner: Function) -> Function:
        return tf.function(lambda *values: inner(*values), input_signature=specs)

    def with_tape(inner: Function) -> Function:
        return lambda *values: gradients_of(inner, values)

    return {
        "tape inside": lambda: opened(with_tape(function))(*xs),
        "tape outside": lambda: gradients_of(opened(function), xs),
        "tape inside, called by one that knows": lambda: traced(opened(with_tape(function)))(*xs),
        "tape inside, called by an open one": lambda: opened(opened(with_tape(function)))(*xs),
        "tape around a traced one": lambda: opened(with_tape(traced(function)))(*xs),
        "tape around an open one": lambda: traced(with_tape(opened(function)))(*xs),
        "tape around an open one, itself open": lambda: opened(with_tape(opened(function)))(*xs),
        "tape outside of an open one that calls another": lambda: gradients_of(opened(opened(function)), xs),
    }


def cases(samples: Sequence[Sample]) -> Iterator[tuple[Sample, Function, list[Any]]]:
    """Yields the samples that have gradients, as functions of their differentiable arguments."""
    for sample in samples:
        arguments = tensors(list(sample.args))
        numbers = [n for n in sample.differentiable if isinstance(arguments[n], tf.Tensor)]
        if numbers and sample.op not in DRAWING:

            def function(*xs: Any, sample: Sample = sample, arguments: Any = arguments, numbers: Any = numbers) -> Any:
                values = list(arguments)
                for number, x in zip(numbers, xs, strict=True):
                    values[number] = x
                return sample.function(*values, **sample.kwargs)

            yield sample, function, [arguments[n] for n in numbers]


def judged(take: Callable[[], list[Any]], expected: Sequence[Any]) -> str:
    """Returns the outcome of a way: `right`, or a description of the difference."""
    with warnings_heard() as texts:
        try:
            flows = take()
        except Exception as error:
            return f"{type(error).__name__}: {str(error).strip().splitlines()[-1:]}"
    for flow, wanted in zip(flows, expected, strict=True):
        if (flow is None) != (wanted is None):
            return "wrong: None"
        if flow is not None and not np.allclose(flow.numpy(), wanted.numpy(), 1e-4, 1e-5, equal_nan=True):
            return "wrong"
    return "right, but run as Python" if any("is not traced" in text for text in texts) else "right"


@contextmanager
def warnings_heard() -> Generator[list[str]]:
    """Collects log messages instead of showing them."""
    texts: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: texts.append(record.getMessage())
    logger = tf.get_logger()
    before = logger.handlers[:], logger.propagate
    logger.handlers[:], logger.propagate = [handler], False
    try:
        yield texts
    finally:
        logger.handlers[:], logger.propagate = before


def verdicts(samples: Sequence[Sample]) -> Iterator[tuple[str, str]]:
    """Yields each case's name and outcome."""
    for sample, function, xs in cases(samples):
        expected = gradients_of(function, xs)
        for knows_rank in (True, False):
            for way, take in ways_of(function, xs, knows_rank).items():
                name = f"{sample}: {way}, rank {'known' if knows_rank else 'open'}"
                yield name, judged(take, expected)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.graph.open_gradients")
    parser.add_argument("--only", default="", help="only samples whose names contain this")
    chosen = parser.parse_args()
    seen = Counter[str]()
    for name, verdict in verdicts([sample for sample in all_samples() if chosen.only in str(sample)]):
        seen[verdict if verdict.startswith("right") else "wrong"] += 1
        if not verdict.startswith("right"):
            print(f"{name}: {verdict}")
    print(dict(seen))
    return min(1, seen["wrong"])


if __name__ == "__main__":
    sys.exit(main())

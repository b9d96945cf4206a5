"""Does an iterator that several threads share give every element once?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbtf as tf
from tests.threads import in_threads, switching_often

THREADS, TIMES = 8, 50


def _next(elements: Any) -> int:
    return int(next(elements).numpy())


def _get_next(elements: Any) -> int:
    return int(elements.get_next().numpy())


def _optional(elements: Any) -> int:
    return int(elements.get_next_as_optional().get_value().numpy())


@pytest.mark.parametrize("take", [_next, _get_next, _optional])
def test_every_element_is_given_once(take: Callable[[Any], int]) -> None:
    elements, taken = iter(tf.data.Dataset.range(THREADS * TIMES).map(lambda x: x + 1).prefetch(2)), list[int]()

    with switching_often():
        in_threads(lambda number: taken.extend([take(elements) for _ in range(TIMES)]), THREADS)

    assert sorted(taken) == list(range(1, THREADS * TIMES + 1))
    assert elements.position == THREADS * TIMES


def test_an_error_in_one_thread_leaves_the_iterator_to_the_others() -> None:
    elements = iter(tf.data.Dataset.range(2))
    in_threads(lambda number: next(elements), 2)

    def work(number: int) -> None:
        with pytest.raises(tf.errors.OutOfRangeError):
            elements.get_next()

    in_threads(work, 2)

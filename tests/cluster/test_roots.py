"""Which of the things that a process keeps is said to hold which memory?"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import nbtf._cluster.roots as roots_file
from nbtf._cluster.roots import search
from nbtf._frameworks.base import Arrays
from nbtf._runtime.holding import Holding


class Block:
    """An array on a card."""

    def __init__(self, offset: int, nbytes: int) -> None:
        self.offset, self.nbytes = offset, nbytes


class Wrapper:
    """Any object that a program makes."""

    def __init__(self, content: Any) -> None:
        self.content = content


BLOCKS = Arrays(
    "Blocks", Block, lambda block: Holding("cuda:0", 0, block.offset, block.nbytes, 0, 1), lambda _: "block"
)


def wrapped(block: Block, depth: int) -> Any:
    shapes = (lambda x: [x], lambda x: {"x": x}, Wrapper, lambda x: (1, x))
    value: Any = block
    for number in range(depth):
        value = shapes[number % len(shapes)](value)
    return value


@given(st.lists(st.tuples(st.integers(1, 1000), st.integers(0, 9)), max_size=12))
def test_every_byte_behind_a_root_counts_for_it(blocks: list[tuple[int, int]]) -> None:
    roots = {f"key {number}": wrapped(Block(number, nbytes), depth) for number, (nbytes, depth) in enumerate(blocks)}

    owned, is_complete = search(roots, [BLOCKS], 60)

    assert is_complete
    assert {f"key {number}": nbytes for number, (nbytes, _) in enumerate(blocks)} == {
        each.holder: each.nbytes for each in owned
    }


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_shared_memory_counts_once(offsets: list[int]) -> None:
    roots = {f"key {number}": [Block(offset, 10)] for number, offset in enumerate(offsets)}

    owned, _ = search(roots, [BLOCKS], 60)

    assert 10 * len({*offsets}) == sum(each.nbytes for each in owned)


def test_what_another_root_holds_that_root_is_asked_for() -> None:
    inner = [Block(0, 8)]

    owned, _ = search({"outer": [inner], "inner": inner}, [BLOCKS], 60)

    assert [("inner", 8)] == [(each.holder, each.nbytes) for each in owned]


def test_modules_lead_nowhere() -> None:
    owned, _ = search({"module": [roots_file, Block(0, 8)]}, [BLOCKS], 60)

    assert [8] == [each.nbytes for each in owned]


def test_a_search_without_time_says_that_it_is_not_complete() -> None:
    _, is_complete = search({"many": [[number] for number in range(5000)]}, [BLOCKS], -1)

    assert not is_complete

"""Tests the memory by part of a model: what do the rows add up to, and how many are there?"""

from __future__ import annotations

import random

import pytest

from nbtf._frameworks.torch.prediction.module_shares import MOST, OTHERS, module_shares


def tree(choices: random.Random, path: str, depth: int) -> dict[str, int]:
    """Returns the bytes of random modules below a path."""
    sizes = {path: choices.randrange(1, 100)} if path and choices.random() < 0.5 else {}
    names = [str(number) for number in range(choices.randrange(1, 30))] if choices.random() < 0.4 else list("abcde")
    for name in names[: choices.randrange(1, 31)]:
        below = f"{path}.{name}" if path else name
        sizes[below] = choices.randrange(1, 100)
        if depth:
            sizes |= tree(choices, below, depth - 1)
    return sizes


@pytest.mark.parametrize("seed", range(200))
def test_rows_add_up_and_are_few(seed: int) -> None:
    sizes = tree(random.Random(seed), "", depth=seed % 4)
    if seed % 3:
        sizes[""] = seed

    shares = module_shares(sizes)

    assert sum(shares.values()) == sum(sizes.values())
    assert 0 < len(shares) <= MOST
    rows = [nbytes for path, nbytes in shares.items() if path != OTHERS]
    assert rows == sorted(rows, reverse=True)


def test_a_list_of_many_modules_is_one_row_unless_it_is_short() -> None:
    assert {"layers.0…11": 12, "head": 5} == module_shares(
        {f"layers.{number}": 1 for number in range(12)} | {"head": 5}
    )
    assert {"layers.0": 1, "layers.1": 1} == module_shares({"layers.0": 1, "layers.1": 1})


def test_many_parts_at_the_top_end_in_one_row_for_the_smaller_ones() -> None:
    shares = module_shares({f"part{letter}": 100 - number for number, letter in enumerate("abcdefghijkl")})

    assert 100 == shares["parta"]
    assert sum(range(89, 94)) == shares[OTHERS]


def test_a_list_of_modules_is_named_however_many_parts_are_beside_it() -> None:
    parts = {f"part{letter}": 1 for letter in "abcdefghijkl"}
    layers = {f"layers.{number}": 10 + number for number in range(24)}

    assert sum(layers.values()) == module_shares(parts | layers)["layers.0…23"]

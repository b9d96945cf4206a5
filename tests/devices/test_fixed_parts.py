"""Tests what PyTorch takes of a card beside its tensors."""

import pytest

from nbtf._devices.caching.fixed_parts import fixed_parts
from nbtf._devices.catalog import CARDS, find_card

KIB = 1 << 10


@pytest.mark.parametrize(
    ("setting", "nbytes"),
    [
        (":4096:8", 32768 * KIB),
        (":16:8", 128 * KIB),
        (":4096:2:16:8", 8320 * KIB),
        ("", 8320 * KIB),
        ("many", 8320 * KIB),
    ],
    ids=["large", "small", "two", "empty", "no-pair"],
)
def test_the_setting_of_cublas_decides_over_its_workspaces(setting: str, nbytes: int) -> None:
    assert nbytes == fixed_parts(find_card("T4"), {"CUBLAS_WORKSPACE_CONFIG": setting}).workspace


def test_no_card_has_less_than_nvidia_recommends() -> None:
    recommended = {card.name: (32 if card.compute_capability[0] == 9 else 4) << 20 for card in CARDS}

    assert [] == [card.name for card in CARDS if fixed_parts(card, {}).workspace < recommended[card.name]]

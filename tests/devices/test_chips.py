"""Tests that the chip of each card of the catalog is known."""

from __future__ import annotations

import pytest

from nbtf._devices.catalog import CARDS, Card
from nbtf._devices.chips import chip_of


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_block_gets_no_more_than_its_multiprocessor_has(card: Card) -> None:
    chip = chip_of(card)

    assert 0 < chip.shared_of_block <= chip.shared_bytes
    assert 0 == chip.threads % 32
    assert 13 <= chip.multiprocessors <= 144

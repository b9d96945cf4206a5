"""The memory that CUDA reports for each card."""

from __future__ import annotations

import re

import pytest

from nbtf._devices.capacities import CAPACITIES, capacity_of, reported_bytes
from nbtf._devices.catalog import CARDS, Card, find_card
from nbtf._devices.discovery import gpus, simulated_machine
from nbtf._devices.limits import reserve
from nbtf._snapshots.what_if import card_size

REPORTS = {
    "T4": (14.56, 14.58, 14.76),
    "V100-SXM2-16GB": (15.75, 15.78),
    "V100-SXM2-32GB": (31.74, 31.75),
    "P100": (15.90,),
    "A100-40GB": (39.39, 39.50, 39.56, 39.59),
    "A100-80GB": (79.15, 79.25, 79.32, 79.35),
    "RTX 3090": (23.69, 23.70),
    "RTX 4090": (23.52, 23.61, 23.64, 23.65),
    "L4": (22.03,),
    "H100": (79.11, 79.19),
    "H200": (139.80,),
    "K40c": (11.17,),
    "K20m": (4.63,),
}
"""GiB in texts that real cards printed."""


def test_every_card_has_a_capacity_with_a_source() -> None:
    assert {card.name for card in CARDS} == set(CAPACITIES)
    assert len(CARDS) == len(REPORTS)
    assert all(
        re.search(r"github\.com/\S+/issues/\d+|total_memory=|public (log|notes)", c.source) for c in CAPACITIES.values()
    )


@pytest.mark.parametrize(("name", "reports"), REPORTS.items())
def test_a_card_has_a_total_that_was_reported(name: str, reports: tuple[float, ...]) -> None:
    assert f"{capacity_of(find_card(name)) / (1 << 30):.2f}" in [f"{report:.2f}" for report in reports]


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_cuda_reports_less_than_the_card_has_and_more_than_tensorflow_uses(card: Card) -> None:
    """A nominal size counts the memory that error correction uses, which the driver subtracts."""
    limit = card.memory_bytes - reserve(card.memory_bytes, card.compute_capability)

    assert "nominal" in card.source or limit < capacity_of(card)
    assert 0.9 * card.memory_bytes < capacity_of(card) <= card.memory_bytes


def test_a_chosen_size_is_reported_as_it_is() -> None:
    own, chosen = gpus(simulated_machine(1, "T4"), {})[0], gpus(simulated_machine(1, "T4", "2GiB"), {})[0]

    assert [capacity_of(own.card), 2 << 30] == [reported_bytes(own), reported_bytes(chosen)]


def test_a_what_if_for_a_card_uses_what_cuda_reports() -> None:
    assert capacity_of(find_card("H100")) == card_size("H100")

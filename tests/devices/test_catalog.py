"""The cards that can be simulated."""

import re

import pytest

from nbtf._devices.catalog import CARDS, DEFAULT_CARD, Card, bus_ids, find_card, uuid

MIB = 1 << 20


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_figures_are_plausible_and_have_a_source(card: Card) -> None:
    assert 4 << 30 < card.memory_bytes < 200 << 30
    assert 0 == card.memory_bytes % MIB
    assert 100e9 < card.memory_bandwidth < 10e12
    assert 1e12 < card.peak_flops < 1e15
    assert 5e9 < card.pcie_bandwidth < card.memory_bandwidth
    assert "memory:" in card.source


def test_names_are_different() -> None:
    assert len(CARDS) == len({card.name.lower() for card in CARDS})


@pytest.mark.parametrize(
    ("name", "mib", "capability"),
    [
        ("Tesla K20m", 5120, (3, 5)),
        ("Tesla K40c", 12288, (3, 5)),
        ("Tesla P100-PCIE-16GB", 16280, (6, 0)),
        ("Tesla V100-SXM2-16GB", 16384, (7, 0)),
        ("Tesla V100-SXM2-32GB", 32768, (7, 0)),
        ("Tesla T4", 15360, (7, 5)),
        ("NVIDIA A100-SXM4-40GB", 40960, (8, 0)),
        ("NVIDIA A100-SXM4-80GB", 81920, (8, 0)),
        ("NVIDIA L4", 23034, (8, 9)),
        ("NVIDIA GeForce RTX 3090", 24576, (8, 6)),
        ("NVIDIA GeForce RTX 4090", 24564, (8, 9)),
        ("NVIDIA H100 80GB HBM3", 81559, (9, 0)),
        ("NVIDIA H200", 143771, (9, 0)),
    ],
)
def test_card_is_known(name: str, mib: int, capability: tuple[int, int]) -> None:
    card = find_card(name)

    assert (name, mib * MIB, capability) == (card.name, card.memory_bytes, card.compute_capability)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("k20m", "Tesla K20m"),
        ("  TESLA k40C ", "Tesla K40c"),
        ("V100", "Tesla V100-SXM2-16GB"),
        ("V100-32GB", "Tesla V100-SXM2-32GB"),
        ("a100 80", "NVIDIA A100-SXM4-80GB"),
        ("A100-40GB", "NVIDIA A100-SXM4-40GB"),
        ("rtx_4090", "NVIDIA GeForce RTX 4090"),
        ("l4", "NVIDIA L4"),
    ],
)
def test_a_piece_of_the_name_is_enough(text: str, name: str) -> None:
    assert name == find_card(text).name


def test_a_piece_of_two_names_is_not() -> None:
    with pytest.raises(ValueError, match=r"'a100' matches more than one card: .*40GB, .*80GB\. Give more"):
        find_card("a100")


@pytest.mark.parametrize("text", ["GTX 9999", "", " ", 4, ["T4"], b"T4"])
def test_an_unknown_name_lists_the_known(text: object) -> None:
    with pytest.raises(ValueError, match=r"Known cards: Tesla K20m, .*NVIDIA H200"):
        find_card(text)  # pyright: ignore[reportArgumentType]


def test_default_card_is_in_the_catalog() -> None:
    assert DEFAULT_CARD == find_card(DEFAULT_CARD).name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("K40c", ("0000:05:00.0",)),
        ("K20m", ("0000:02:00.0", "0000:03:00.0", "0000:83:00.0", "0000:84:00.0")),
        ("V100", ("0000:00:04.0", "0000:00:05.0", "0000:00:06.0")),
    ],
)
def test_cards_sit_where_the_guides_had_them(name: str, expected: tuple[str, ...]) -> None:
    assert expected == bus_ids(find_card(name), len(expected))


@pytest.mark.parametrize("name", ["K40c", "K20m", "T4"])
def test_many_cards_have_different_addresses_in_order(name: str) -> None:
    addresses = bus_ids(find_card(name), 300)

    assert 300 == len(set(addresses))
    assert sorted(addresses) == list(addresses)
    assert all(re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.0", address) for address in addresses)


def test_eight_digits_tell_cards_apart() -> None:
    uuids = [uuid(number) for number in range(1000)]

    assert 1000 == len({text[:12] for text in uuids})
    assert all(re.fullmatch(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9]{12}", text) for text in uuids)
    assert uuids[7].endswith("-000000000007")

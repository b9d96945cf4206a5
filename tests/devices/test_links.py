"""Over what do bytes go in a cluster, and how long do they take?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtf._devices.catalog import CARDS, find_card
from nbtf._devices.links import NETWORKS, Link, Network, bus_of, find_network, link_inside, slower
from tests.machines import LOCAL, worker

NETWORK = Network(link_inside(find_card("H100")), bus_of(find_card("H100")), find_network("100Gb/s"))
rates = st.floats(0.001, 10_000).map(lambda rate: float(f"{rate:.3f}"))


@given(st.integers(0, 10**12), st.integers(1, 64))
def test_a_message_pays_the_latency_once_and_its_bytes_by_the_bandwidth(nbytes: int, sharers: int) -> None:
    assert 2.0 + nbytes * sharers / 8.0 == Link("", 2.0, 8.0, "").seconds(nbytes, sharers)


@given(rates, st.sampled_from([("Mb/s", 1e6), ("Gb/s", 1e9), ("Tb/s", 1e12), ("Gbps", 1e9), ("gb/s", 1e9)]))
def test_a_rate_is_in_bits(rate: float, unit: tuple[str, float]) -> None:
    name, bits = unit

    assert pytest.approx(rate * bits / 8) == find_network(f"{rate:.3f}{name}").bandwidth


def test_a_capital_b_is_bytes() -> None:
    assert 8 * find_network("12.5Gb/s").bandwidth == find_network("12.5GB/s").bandwidth


def test_a_latency_may_follow() -> None:
    assert [5e-6, 5e-6, 2e-3] == pytest.approx(
        [find_network(f"10Gb/s{text}").latency for text in (" 5us", ", 5µs", " 2 ms")]
    )


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)
def test_a_network_of_the_table_is_known_by_name(network: Link) -> None:
    assert network == find_network(network.name.upper())


@pytest.mark.parametrize(
    "text", ["", "fast", "100", "0Gb/s", "-1Gb/s", "100Gb", "100Gb/s 5", "InfiniBand", "1e3Gb/s", None, 100]
)
def test_what_is_no_network_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r'The link between hosts is .*\. Expected a rate such as "100Gb/s" \(bits\)'):
        find_network(text)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_every_card_has_a_link_to_its_like_with_a_source(card: object) -> None:
    link = link_inside(card)  # pyright: ignore[reportArgumentType]

    assert link.bandwidth >= bus_of(card).bandwidth  # pyright: ignore[reportArgumentType]
    assert "datasheet" in link.source or "catalog.py" in link.source


@pytest.mark.parametrize(
    ("source", "target", "link"),
    [
        (worker(1, "GPU:0"), worker(1, "GPU:1"), NETWORK.cards),
        (worker(1, "CPU:0"), worker(1, "GPU:1"), NETWORK.bus),
        (worker(1, "GPU:0"), worker(2, "GPU:0"), NETWORK.hosts),
        (worker(1, "CPU:0"), worker(2, "CPU:0"), NETWORK.hosts),
        (LOCAL + "CPU:0", worker(2, "GPU:0"), NETWORK.hosts),
        (worker(1, "CPU:0"), worker(1, "CPU:1"), None),
    ],
)
def test_two_devices_are_linked_by_what_is_between_them(source: str, target: str, link: Link | None) -> None:
    assert link == NETWORK.link(source, target) == NETWORK.link(target, source)


def test_a_network_faster_than_the_bus_is_no_faster_than_the_bus() -> None:
    bus, network = bus_of(find_card("K20m")), find_network("400GbE")
    fast = Network(bus, bus, network)

    assert (bus.bandwidth, network.latency) == fast.link(worker(0, "GPU:0"), worker(1, "GPU:0"))[2:0:-1]  # pyright: ignore[reportOptionalSubscript]


def test_of_two_links_in_a_row_the_worse_of_each_counts() -> None:
    assert Link("a", 3.0, 5.0, "") == slower(Link("a", 1.0, 5.0, ""), Link("b", 3.0, 7.0, ""))

"""Which links connect the devices of a cluster, and how long do transfers take? Calculated, not measured.

A link costs a latency per message and a time per byte (Hockney, "The communication challenge for MPP", Parallel
Computing 20(3), 1994). Links in a row have the latency and the bandwidth of the slowest one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from nbtf._devices.catalog import Card
from nbtf._devices.names import task_of

_GB = 1_000_000_000
_US = 1e-6

# Cost of a message apart from its bytes. Source: NVIDIA NCCL 2.18, src/graph/tuning.cc, `hwLat` (ring, Simple).
_NVLINK_LATENCY = 3.4 * _US
_PCIE_LATENCY = 5.7 * _US
_NETWORK_LATENCY = 14.0 * _US


class Link(NamedTuple):
    """A link: seconds per message, bytes per second in one direction, and the source of both figures.

    >>> Link("100Gb/s", 14e-6, 12.5e9, "").seconds(12_500_000)
    0.001014
    """

    name: str
    latency: float
    bandwidth: float
    source: str

    def seconds(self, nbytes: float, sharers: int = 1) -> float:
        """Returns how long a message takes while `sharers` messages use the link in its direction."""
        return self.latency + nbytes * sharers / self.bandwidth


_LATENCY_SOURCE = "latency: NVIDIA NCCL 2.18, tuning.cc"

# Datasheets give both directions together; these are halves.
_NVLINKS = (
    ("V100-SXM2", Link("NVLink 2", _NVLINK_LATENCY, 150 * _GB, f"NVIDIA, V100 datasheet; {_LATENCY_SOURCE}")),
    ("A100-SXM4", Link("NVLink 3", _NVLINK_LATENCY, 300 * _GB, f"NVIDIA, A100 datasheet; {_LATENCY_SOURCE}")),
    ("H100 80GB HBM3", Link("NVLink 4", _NVLINK_LATENCY, 450 * _GB, f"NVIDIA, H100 datasheet; {_LATENCY_SOURCE}")),
    ("H200", Link("NVLink 4", _NVLINK_LATENCY, 450 * _GB, f"NVIDIA, H200 datasheet; {_LATENCY_SOURCE}")),
)

NETWORKS = (
    Link("10GbE", _NETWORK_LATENCY, 1.25 * _GB, f"IEEE 802.3ae, 10 Gb/s; {_LATENCY_SOURCE}"),
    Link("25GbE", _NETWORK_LATENCY, 3.125 * _GB, f"IEEE 802.3by, 25 Gb/s; {_LATENCY_SOURCE}"),
    Link("100GbE", _NETWORK_LATENCY, 12.5 * _GB, f"IEEE 802.3ba, 100 Gb/s; {_LATENCY_SOURCE}"),
    Link("400GbE", _NETWORK_LATENCY, 50 * _GB, f"IEEE 802.3bs, 400 Gb/s; {_LATENCY_SOURCE}"),
    Link("InfiniBand EDR", _NETWORK_LATENCY, 12.5 * _GB, f"InfiniBand Trade Association, 4x EDR; {_LATENCY_SOURCE}"),
    Link("InfiniBand HDR", _NETWORK_LATENCY, 25 * _GB, f"InfiniBand Trade Association, 4x HDR; {_LATENCY_SOURCE}"),
    Link("InfiniBand NDR", _NETWORK_LATENCY, 50 * _GB, f"InfiniBand Trade Association, 4x NDR; {_LATENCY_SOURCE}"),
)
"""Networks with a name; any other network is given as a number and a unit."""

DEFAULT_NETWORK = "100Gb/s"

_BITS = {"mb/s": 1e6, "gb/s": 1e9, "tb/s": 1e12}
_UNITS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3}
_RATE = r"([0-9]+(?:\.[0-9]*)?)\s*([MGTmgt])([bB])/?p?s(?:[\s,]+([0-9]+(?:\.[0-9]*)?)\s*(us|µs|ms))?"


def find_network(text: str) -> Link:
    """Returns the network that a string describes: a name from `NETWORKS`, or a rate and optionally a latency.

    Args:
      text: such as `"100Gb/s"`, `"12.5GB/s"` (bits and bytes differ), `"25Gb/s 50us"` or `"InfiniBand NDR"`.

    Raises:
      ValueError: if the string is neither of these, or the rate is zero.

    >>> find_network("100Gb/s").bandwidth, find_network("10 Gb/s, 2ms").latency, find_network("ndr").bandwidth
    (12500000000.0, 0.002, 50000000000)
    """
    words = str(text).strip()
    named = [link for link in NETWORKS if words.lower() in (link.name.lower(), *link.name.lower().split())]
    if len(named) == 1:
        return named[0]
    match = re.fullmatch(_RATE, words)
    rate = float(match[1]) if match else 0.0
    if match is None or not rate:
        names = ", ".join(link.name for link in NETWORKS)
        raise ValueError(
            f'The link between hosts is {text!r}. Expected a rate such as "100Gb/s" (bits) or "12.5GB/s" (bytes), '
            f'optionally with a latency, such as "100Gb/s 5us", or one of {names}.'
        )
    bytes_per_second = rate * _BITS[f"{match[2].lower()}b/s"] / (8 if match[3] == "b" else 1)
    latency = float(match[4]) * _UNITS[match[5]] if match[4] else _NETWORK_LATENCY
    source = "asked for" if match[4] else f"bandwidth: asked for; {_LATENCY_SOURCE}"
    return Link(words, latency, bytes_per_second, source)


def link_inside(card: Card) -> Link:
    """Returns the link between two cards of one host: NVLink if this kind of card has it, otherwise the bus.

    >>> from nbtf._devices.catalog import find_card
    >>> link_inside(find_card("H100")).name, link_inside(find_card("T4")).name
    ('NVLink 4', 'PCIe')
    """
    return next((link for name, link in _NVLINKS if name in card.name), None) or bus_of(card)


def bus_of(card: Card) -> Link:
    """Returns the link between a card and its host."""
    return Link("PCIe", _PCIE_LATENCY, card.pcie_bandwidth, f"bandwidth: catalog.py; {_LATENCY_SOURCE}")


class Network(NamedTuple):
    """The links in a cluster: between the cards of a host, between a card and its host, and between hosts."""

    cards: Link
    bus: Link
    hosts: Link

    def link(self, source: str, target: str) -> Link | None:
        """Returns the link between two devices, given by full name; None if both are in the memory of one host.

        Between hosts, bytes also cross the bus unless both ends are in host memory. Cards send directly, without a copy
        in the memory of their hosts (GPUDirect RDMA).
        """
        on_card = ":GPU:" in source, ":GPU:" in target
        if task_of(source) != task_of(target):
            return slower(self.hosts, self.bus) if any(on_card) else self.hosts
        return (self.cards if all(on_card) else self.bus) if any(on_card) else None


def slower(link: Link, other: Link) -> Link:
    """Returns two links in a row as one, with the larger latency and the smaller bandwidth."""
    if other.bandwidth >= link.bandwidth and other.latency <= link.latency:
        return link
    return link._replace(latency=max(link.latency, other.latency), bandwidth=min(link.bandwidth, other.bandwidth))

"""The chip of each card: its number of multiprocessors, its cache, and the capacity of each multiprocessor."""

from __future__ import annotations

from typing import NamedTuple

from nbtf._devices.catalog import Card

_KIB, _MIB = 1 << 10, 1 << 20


class Chip(NamedTuple):
    """The chip of a card.

    `multiprocessors` counts those that are enabled; `l2_bytes` is the second-level cache. The other fields describe one
    multiprocessor: resident `threads`, shared memory, and the largest part of it that a block can get.
    """

    multiprocessors: int
    l2_bytes: int
    threads: int
    shared_bytes: int
    shared_of_block: int


# Multiprocessors and second-level cache. Sources: NVIDIA, whitepapers (Kepler GK110/210, Pascal P100, Volta V100,
# Turing with the T4 in its appendix, Ampere A100, Ada, Hopper H100); for L4 and H200 their datasheets.
_OF_CARD = {
    "Tesla K20m": (13, 1280 * _KIB),
    "Tesla K40c": (15, 1536 * _KIB),
    "Tesla P100-PCIE-16GB": (56, 4 * _MIB),
    "Tesla V100-SXM2-16GB": (80, 6 * _MIB),
    "Tesla V100-SXM2-32GB": (80, 6 * _MIB),
    "Tesla T4": (40, 4 * _MIB),
    "NVIDIA A100-SXM4-40GB": (108, 40 * _MIB),
    "NVIDIA A100-SXM4-80GB": (108, 40 * _MIB),
    "NVIDIA L4": (58, 48 * _MIB),
    "NVIDIA GeForce RTX 3090": (82, 6 * _MIB),
    "NVIDIA GeForce RTX 4090": (128, 72 * _MIB),
    "NVIDIA H100 80GB HBM3": (132, 50 * _MIB),
    "NVIDIA H200": (132, 50 * _MIB),
}
# Threads, shared memory, and the largest part for a block. Source: CUDA C++ programming guide, technical specifications
# per compute capability.
_OF_CAPABILITY = {
    (3, 5): (2048, 48 * _KIB, 48 * _KIB),
    (6, 0): (2048, 64 * _KIB, 48 * _KIB),
    (7, 0): (2048, 96 * _KIB, 96 * _KIB),
    (7, 5): (1024, 64 * _KIB, 64 * _KIB),
    (8, 0): (2048, 164 * _KIB, 163 * _KIB),
    (8, 6): (1536, 100 * _KIB, 99 * _KIB),
    (8, 9): (1536, 100 * _KIB, 99 * _KIB),
    (9, 0): (2048, 228 * _KIB, 227 * _KIB),
}


def chip_of(card: Card) -> Chip:
    """Returns the chip of a card from the catalog.

    >>> from nbtf._devices.catalog import find_card
    >>> chip_of(find_card("T4"))
    Chip(multiprocessors=40, l2_bytes=4194304, threads=1024, shared_bytes=65536, shared_of_block=65536)
    """
    return Chip(*_OF_CARD[card.name], *_OF_CAPABILITY[card.compute_capability])


_LANES = {(3, 5): 192, (6, 0): 64, (7, 0): 64, (7, 5): 64, (8, 0): 64, (8, 6): 128, (8, 9): 128, (9, 0): 128}
"""Float32 lanes of a multiprocessor. Source: CUDA C++ programming guide, throughput of arithmetic instructions."""


def clock_rate(card: Card) -> float:
    """Returns the cycles per second at which a card from the catalog reaches its peak rate: two operations per lane.

    >>> from nbtf._devices.catalog import find_card
    >>> round(clock_rate(find_card("A100-40GB")) / 1e6)
    1411
    """
    return card.peak_flops / (2 * _LANES[card.compute_capability] * chip_of(card).multiprocessors)

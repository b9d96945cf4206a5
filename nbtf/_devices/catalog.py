"""Which cards can be simulated? Memory, capability, bandwidth and peak rate of each, with sources."""

from __future__ import annotations

import re
from typing import NamedTuple

_MIB = 1 << 20
_GB = 1_000_000_000
_TFLOPS = 1_000_000_000_000

# One direction of 16 lanes after line coding. Source: PCI Express Base Specification 2.0 (5 GT/s, 8b/10b),
# 3.0 (8 GT/s, 128b/130b), 4.0 (16 GT/s) and 5.0 (32 GT/s).
_PCIE_2 = 8.0 * _GB
_PCIE_3 = 15.75 * _GB
_PCIE_4 = 31.5 * _GB
_PCIE_5 = 63.0 * _GB


class Card(NamedTuple):
    """A kind of GPU.

    `name` is the name that NVIDIA's driver prints. `memory_bytes` is the total that nvidia-smi prints with the driver
    named in `source`; without one, it is the nominal size. `memory_bandwidth` and `pcie_bandwidth` (one direction) are
    in bytes per second, `peak_flops` in float32 operations per second without tensor cores.
    """

    name: str
    memory_bytes: int
    compute_capability: tuple[int, int]
    memory_bandwidth: float
    peak_flops: float
    pcie_bandwidth: float
    source: str


_CAPABILITY = "capability: NVIDIA, CUDA GPUs"

CARDS: tuple[Card, ...] = (
    Card(
        "Tesla K20m",
        5120 * _MIB,
        (3, 5),
        208 * _GB,
        3.52 * _TFLOPS,
        _PCIE_2,
        f"rates: NVIDIA, Tesla K20 GPU accelerator board specification; memory: nominal 5 GiB; {_CAPABILITY}",
    ),
    Card(
        "Tesla K40c",
        12288 * _MIB,
        (3, 5),
        288 * _GB,
        4.29 * _TFLOPS,
        _PCIE_3,
        f"rates: NVIDIA, Tesla K40 GPU accelerator board specification; memory: nominal 12 GiB; {_CAPABILITY}",
    ),
    Card(
        "Tesla P100-PCIE-16GB",
        16280 * _MIB,
        (6, 0),
        732 * _GB,
        9.3 * _TFLOPS,
        _PCIE_3,
        f"rates: NVIDIA, Tesla P100 PCIe datasheet; memory: driver R470; {_CAPABILITY}",
    ),
    Card(
        "Tesla V100-SXM2-16GB",
        16384 * _MIB,
        (7, 0),
        900 * _GB,
        15.7 * _TFLOPS,
        _PCIE_3,
        f"rates: NVIDIA, V100 datasheet; memory: driver R510; {_CAPABILITY}",
    ),
    Card(
        "Tesla V100-SXM2-32GB",
        32768 * _MIB,
        (7, 0),
        900 * _GB,
        15.7 * _TFLOPS,
        _PCIE_3,
        f"rates: NVIDIA, V100 datasheet; memory: driver R510; {_CAPABILITY}",
    ),
    Card(
        "Tesla T4",
        15360 * _MIB,
        (7, 5),
        320 * _GB,
        8.1 * _TFLOPS,
        _PCIE_3,
        f"rates: NVIDIA, T4 datasheet; memory: driver R510; {_CAPABILITY}",
    ),
    Card(
        "NVIDIA A100-SXM4-40GB",
        40960 * _MIB,
        (8, 0),
        1555 * _GB,
        19.5 * _TFLOPS,
        _PCIE_4,
        f"rates: NVIDIA, A100 datasheet; memory: driver R510; {_CAPABILITY}",
    ),
    Card(
        "NVIDIA A100-SXM4-80GB",
        81920 * _MIB,
        (8, 0),
        2039 * _GB,
        19.5 * _TFLOPS,
        _PCIE_4,
        f"rates: NVIDIA, A100 datasheet; memory: driver R510; {_CAPABILITY}",
    ),
    Card(
        "NVIDIA L4",
        23034 * _MIB,
        (8, 9),
        300 * _GB,
        30.3 * _TFLOPS,
        _PCIE_4,
        f"rates: NVIDIA, L4 datasheet; memory: driver R550; {_CAPABILITY}",
    ),
    Card(
        "NVIDIA GeForce RTX 3090",
        24576 * _MIB,
        (8, 6),
        936 * _GB,
        35.6 * _TFLOPS,
        _PCIE_4,
        f"rates: NVIDIA, Ampere GA102 GPU architecture whitepaper; memory: driver R545; {_CAPABILITY}",
    ),
    Card(
        "NVIDIA GeForce RTX 4090",
        24564 * _MIB,
        (8, 9),
        1008 * _GB,
        82.6 * _TFLOPS,
        _PCIE_4,
        f"rates: NVIDIA, Ada GPU architecture whitepaper, appendix A; memory: driver R550; {_CAPABILITY}",
    ),
    Card(
        "NVIDIA H100 80GB HBM3",
        81559 * _MIB,
        (9, 0),
        3350 * _GB,
        67 * _TFLOPS,
        _PCIE_5,
        f"rates: NVIDIA, H100 datasheet (SXM); memory: driver R550; {_CAPABILITY}",
    ),
    Card(
        "NVIDIA H200",
        143771 * _MIB,
        (9, 0),
        4800 * _GB,
        67 * _TFLOPS,
        _PCIE_5,
        f"rates: NVIDIA, H200 datasheet (SXM); memory: driver R550; {_CAPABILITY}",
    ),
)

DEFAULT_CARD = "Tesla V100-SXM2-16GB"

# PCI buses of the cards in TensorFlow's older guides, from their device mapping lines.
_GUIDE_BUSES = {"Tesla K40c": (0x05,), "Tesla K20m": (0x02, 0x03, 0x83, 0x84)}


def find_card(name: str) -> Card:
    """Returns the card with a name, given in full or in part.

    Args:
      name: name as the driver prints it, or parts that only one card has; case does not matter. If several cards match
        and the default card is one of them, that card is returned.

    Raises:
      ValueError: if `name` is not a string, or if no card or several cards match. The message lists them.

    >>> find_card("k20m").name, find_card("V100").name, find_card("a100 80").name
    ('Tesla K20m', 'Tesla V100-SXM2-16GB', 'NVIDIA A100-SXM4-80GB')
    """
    text = str(name).lower()
    is_text = isinstance(name, str)  # pyright: ignore[reportUnnecessaryIsInstance]  # a notebook has no type checker
    pieces = [piece for piece in re.split(r"[\s_-]+", text) if piece and is_text]
    exact_matches = [card for card in CARDS if card.name.lower() == text.strip()]
    matches = exact_matches or [
        card for card in CARDS if pieces and all(piece in card.name.lower() for piece in pieces)
    ]
    if len(matches) == 1:
        return matches[0]
    for card in matches:
        if card.name == DEFAULT_CARD:
            return card
    names = ", ".join(card.name for card in matches or CARDS)
    if matches:
        raise ValueError(f"{name!r} matches more than one card: {names}. Give more of the name.")
    raise ValueError(f"Unknown card {name!r}. Known cards: {names}.")


def bus_ids(card: Card, count: int) -> tuple[str, ...]:
    """Returns the PCI addresses of `count` cards of one kind in a machine, ascending.

    >>> bus_ids(find_card("k40c"), 1), bus_ids(find_card("v100"), 2)
    (('0000:05:00.0',), ('0000:00:04.0', '0000:00:05.0'))
    """
    buses = _GUIDE_BUSES.get(card.name, ())
    if not buses:  # numbered as in a cloud's virtual machine; a bus has 32 slots
        slots = range(4, 4 + count)
        return tuple(f"0000:{slot // 32:02x}:{slot % 32:02x}.0" for slot in slots)
    further_buses = range(buses[-1] + 1, buses[-1] + 1 + count)
    return tuple(f"{bus >> 8:04x}:{bus & 255:02x}:00.0" for bus in (*buses, *further_buses)[:count])


def uuid(number: int) -> str:
    """Returns the identifier of the simulated card with this number in the machine.

    The first eight digits differ for all numbers, so that they suffice in `CUDA_VISIBLE_DEVICES`.

    >>> uuid(0), uuid(1)
    ('GPU-9e3779b1-0000-4000-8000-000000000000', 'GPU-3c6ef362-0000-4000-8000-000000000001')
    """
    # Odd, so no two products are equal modulo 2**32. Source: Knuth, The Art of Computer Programming, vol. 3, 6.4.
    scattered = (number + 1) * 0x9E3779B1 % 2**32
    return f"GPU-{scattered:08x}-0000-4000-8000-{number:012d}"

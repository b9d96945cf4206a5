"""Which of a machine's GPUs a process sees, and in which order: CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

_DIGITS = r"[+-]?[0-9]+"
_PREFIXES = ("GPU-", "MIG-")


def visible(uuids: Sequence[str], environ: Mapping[str, str]) -> list[int]:
    """Returns the numbers of the GPUs that CUDA_VISIBLE_DEVICES leaves, in its order.

    Args:
      uuids: the machine's GPUs, in the enumeration that the numbers of the variable refer to.
      environ: the process's environment.

    >>> visible(["GPU-a1", "GPU-b2", "GPU-c3"], {"CUDA_VISIBLE_DEVICES": "2,0,-1,1"})
    [2, 0]

    Source: NVIDIA, CUDA C++ Programming Guide, section CUDA Environment Variables; for the cases it leaves open,
    PyTorch's emulation of the driver (`torch.cuda._parse_visible_devices`).
    """
    text = environ.get("CUDA_VISIBLE_DEVICES")
    if text is None:
        return list(range(len(uuids)))
    entries = text.split(",")
    # The first entry decides whether the list is one of identifiers or of numbers. -1 stands for an invalid entry.
    if text.startswith(_PREFIXES):
        prefix = text[:4]
        entries_asked = list(takewhile(lambda entry: entry.startswith(prefix), entries))
        numbers = [_with_uuid(entry, uuids) for entry in entries_asked]
    else:
        entries_asked = list(takewhile(lambda number: number >= 0, map(_number, entries)))
        numbers = [number if number < len(uuids) else -1 for number in entries_asked]
    visible_numbers = list(takewhile(lambda number: number >= 0, numbers))
    repeated = len(set(entries_asked)) < len(entries_asked) or len(set(visible_numbers)) < len(visible_numbers)
    return [] if repeated else visible_numbers


def _number(entry: str) -> int:
    """Returns the number an entry begins with, as C's `strtoul` reads it."""
    start = re.match(_DIGITS, entry.strip())
    return int(start[0]) if start else -1


def _with_uuid(start: str, uuids: Sequence[str]) -> int:
    """Returns the number of the one GPU whose identifier begins so."""
    matches = [number for number, uuid in enumerate(uuids) if uuid.startswith(start)]
    return matches[0] if len(matches) == 1 else -1


def enumeration(speeds: Sequence[float], bus_ids: Sequence[str], environ: Mapping[str, str]) -> list[int]:
    """Returns the order in which CUDA numbers a machine's GPUs.

    Args:
      speeds: any measure of speed for each GPU.
      bus_ids: their PCI addresses.
      environ: `CUDA_DEVICE_ORDER` says `PCI_BUS_ID`, or the fastest is first (the default).

    >>> enumeration([1.0, 9.0, 5.0], ["0000:02:00.0", "0000:04:00.0", "0000:03:00.0"], {})
    [1, 0, 2]
    """
    by_bus = sorted(range(len(bus_ids)), key=bus_ids.__getitem__)
    if environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" or not by_bus:
        return by_bus
    # Only the first place is promised to speed; the others keep the order that nvidia-smi shows.
    fastest = max(by_bus, key=speeds.__getitem__)
    return [fastest, *(number for number in by_bus if number != fastest)]

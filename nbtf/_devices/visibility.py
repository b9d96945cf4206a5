"""Which GPUs does a process see, and in which order? The rules of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

_DIGITS = r"[+-]?[0-9]+"
_PREFIXES = ("GPU-", "MIG-")


def visible(uuids: Sequence[str], environ: Mapping[str, str]) -> list[int]:
    """Returns the numbers of the GPUs that CUDA_VISIBLE_DEVICES selects, in its order.

    Args:
      uuids: identifiers of the machine's GPUs, in the order that the variable's numbers refer to.
      environ: environment of the process.

    >>> visible(["GPU-a1", "GPU-b2", "GPU-c3"], {"CUDA_VISIBLE_DEVICES": "2,0,-1,1"})
    [2, 0]

    Source: NVIDIA, CUDA C++ Programming Guide, section CUDA Environment Variables. For cases that it leaves open,
    PyTorch's emulation of the driver (`torch.cuda._parse_visible_devices`).
    """
    text = environ.get("CUDA_VISIBLE_DEVICES")
    if text is None:
        return list(range(len(uuids)))
    entries = text.split(",")
    # The first entry decides whether the list contains identifiers or numbers. -1 marks an invalid entry.
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
    """Returns the number at the start of an entry, as C's `strtoul` reads it."""
    start = re.match(_DIGITS, entry.strip())
    return int(start[0]) if start else -1


def _with_uuid(start: str, uuids: Sequence[str]) -> int:
    """Returns the number of the only GPU whose identifier starts with `start`; -1 if there is not exactly one."""
    matches = [number for number, uuid in enumerate(uuids) if uuid.startswith(start)]
    return matches[0] if len(matches) == 1 else -1


def enumeration(speeds: Sequence[float], bus_ids: Sequence[str], environ: Mapping[str, str]) -> list[int]:
    """Returns the order in which CUDA numbers a machine's GPUs.

    Args:
      speeds: relative speed of each GPU, in any unit.
      bus_ids: PCI addresses of the GPUs.
      environ: `CUDA_DEVICE_ORDER` can be `PCI_BUS_ID`; by default the fastest GPU is first.

    >>> enumeration([1.0, 9.0, 5.0], ["0000:02:00.0", "0000:04:00.0", "0000:03:00.0"], {})
    [1, 0, 2]
    """
    by_bus = sorted(range(len(bus_ids)), key=bus_ids.__getitem__)
    if environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" or not by_bus:
        return by_bus
    # CUDA guarantees only that the fastest is first; the others keep the order that nvidia-smi shows.
    fastest = max(by_bus, key=speeds.__getitem__)
    return [fastest, *(number for number in by_bus if number != fastest)]

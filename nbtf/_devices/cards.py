"""A card that this process sees, real or simulated."""

from __future__ import annotations

from typing import NamedTuple

from nbtf._devices.catalog import Card
from nbtf._devices.names import LOCAL_TASK


class PhysicalGPU(NamedTuple):
    """One card that the process sees.

    `machine_index` is its number in the machine, as nvidia-smi shows it. `memory_bytes` is its total memory. `ordinal`
    is CUDA's number of a real card. `backend` is the row of `backends.py` that builds its devices. `task` is the
    process that owns it.
    """

    card: Card
    machine_index: int
    bus_id: str
    uuid: str
    simulated: bool
    memory_bytes: int
    ordinal: int = -1
    backend: str = "cuda"
    task: str = LOCAL_TASK

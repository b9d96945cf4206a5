"""Which physical GPUs does this machine have, and which of them can the process see?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nbtf._counts import counted
from nbtf._devices import visibility
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.machines import SIMULATED_GPUS as SIMULATED_GPUS
from nbtf._devices.machines import Simulated, SimulatedCluster
from nbtf._devices.machines import SimulatedMachine as SimulatedMachine
from nbtf._devices.machines import machine_from_environment as machine_from_environment
from nbtf._devices.machines import simulated_cluster as simulated_cluster
from nbtf._devices.machines import simulated_machine as simulated_machine
from nbtf._devices.names import LOCAL_TASK
from nbtf._devices.sizes import gib


def gpus(machine: Simulated | None, environ: Mapping[str, str]) -> tuple[PhysicalGPU, ...]:
    """Returns the GPUs that the process sees, in the order of their numbers.

    Args:
      machine: the simulated machine; None for the real one. In a cluster, all GPUs belong to other hosts.
      environ: CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER apply to both; for real cards, CUDA applies them itself.
    """
    if isinstance(machine, SimulatedCluster):
        return ()
    if machine is None or machine.count == 0:
        return real_cards(environ)
    present = machine.cards(LOCAL_TASK)
    order = visibility.enumeration([gpu.card.peak_flops for gpu in present], [gpu.bus_id for gpu in present], environ)
    numbered = [present[number] for number in order]
    return tuple(numbered[number] for number in visibility.visible([gpu.uuid for gpu in numbered], environ))


def real_cards(environ: Mapping[str, str]) -> tuple[PhysicalGPU, ...]:
    """Returns this computer's real GPUs, numbered as CUDA numbers them for this process."""
    from nbtf._devices.backends import find_cards  # imported late: only listing devices needs it

    return find_cards(environ)


def sentence_of(cards: Sequence[PhysicalGPU]) -> str:
    """Returns a sentence that lists the real cards.

    >>> sentence_of(gpus(simulated_machine(2, "K20m"), {})).replace("real", "such")
    '2 such GPUs: GPU:0 is Tesla K20m (5 GiB), GPU:1 is Tesla K20m (5 GiB). Nothing is simulated.'
    """
    each = ", ".join(f"GPU:{i} is {card.card.name} ({gib(card.memory_bytes)})" for i, card in enumerate(cards))
    return f"{counted(len(cards), 'real GPU')}: {each}. Nothing is simulated."

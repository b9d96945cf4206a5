"""Which physical GPUs this machine has, and which of them the process sees."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nbtf._devices import catalog, visibility
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.catalog import Card
from nbtf._devices.sizes import gib

SIMULATED_GPUS = "NBTF_SIMULATED_GPUS"

# No computer has more; a slip of the keyboard must not fill this one's memory with cards.
_MOST = 1024
_MIB = 1 << 20
_UNITS_IN_MIB = {"": 1, "mib": 1, "gib": 1 << 10, "tib": 1 << 20}


class SimulatedMachine(NamedTuple):
    """The machine that was asked for: some cards of one kind, with this many bytes each."""

    count: int  # pyright: ignore[reportIncompatibleMethodOverride]  # tuple.count is not missed
    card: Card
    memory_bytes: int

    def sentence(self) -> str:
        """Says what this machine is, so that nobody takes it for a real one.

        >>> simulated_machine(4, "K20m").sentence()
        "4 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used."
        """
        if self.count == 0:
            return "No simulated GPUs."
        each = f"{self.card.name}, {gib(self.memory_bytes)}"
        gpus = f"1 simulated GPU ({each})" if self.count == 1 else f"{self.count} simulated GPUs ({each} each)"
        return f"{gpus}: NumPy on this computer's CPU. No GPU is used."

    def text(self) -> str:
        """Returns what NBTF_SIMULATED_GPUS says to ask for this machine.

        >>> simulated_machine(2, "K20m").text(), simulated_machine(2, "K20m", "512MiB").text()
        ('2xTesla K20m', '2xTesla K20m@512.0MiB')
        """
        if self.count == 0:
            return "0"
        memory = "" if self.memory_bytes == self.card.memory_bytes else f"@{self.memory_bytes / _MIB}MiB"
        return f"{self.count}x{self.card.name}{memory}"


def simulated_machine(count: int, model: str | None = None, memory: float | str | None = None) -> SimulatedMachine:
    """Returns a machine to simulate.

    Args:
      count: how many cards.
      model: a name for `catalog.find_card`; a V100 when left out.
      memory: of each card, instead of what the model has: a number of MiB, as in `memory_limit`, or a text such as
        "5GiB".

    Raises:
      ValueError: one of them makes no sense; the text says what came and what was expected.

    >>> simulated_machine(2, "k20m", "512MiB").memory_bytes >> 20
    512
    """
    card = catalog.find_card(catalog.DEFAULT_CARD if model is None else model)
    return SimulatedMachine(_count(count), card, card.memory_bytes if memory is None else _memory(memory))


def _count(count: object) -> int:
    try:
        number = -1 if isinstance(count, bool) else operator.index(count)  # pyright: ignore[reportArgumentType]
    except TypeError:
        number = -1
    if number < 0:
        raise ValueError(f"The number of simulated GPUs is {count!r}; expected 0, 1, 2 or more.")
    if number > _MOST:
        raise ValueError(f"The number of simulated GPUs is {number}; expected {_MOST} at most.")
    return number


def _memory(memory: float | str) -> int:
    """Returns bytes."""
    match = re.fullmatch(r"([0-9]+\.?[0-9]*)\s*([a-z]*)", str(memory).strip().lower(), re.ASCII)
    unit = _UNITS_IN_MIB.get(match[2]) if match else None
    nbytes = int(float(match[1]) * unit * _MIB) if match and unit else 0
    if nbytes < _MIB or isinstance(memory, bool):
        raise ValueError(
            f"The memory of a simulated GPU is {memory!r}; expected a number of MiB such as 512, or a text such as "
            '"512MiB" or "5GiB", and 1 MiB at least.'
        )
    return nbytes


def machine_from_environment(environ: Mapping[str, str]) -> SimulatedMachine | None:
    """Returns the machine that NBTF_SIMULATED_GPUS asks for, None where it asks for none.

    Raises:
      ValueError: the variable says something else; the text says what it may say.

    >>> machine_from_environment({"NBTF_SIMULATED_GPUS": "4xTesla K20m"}).sentence()
    "4 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used."
    """
    text = environ.get(SIMULATED_GPUS, "").strip()
    match = re.fullmatch(r"([0-9]+)(?:\s*[xX]\s*([^\s@][^@]*))?(?:@(.*))?", text, re.ASCII)
    if not text or (match and int(match[1]) == 0):
        return None
    if not match:
        raise ValueError(
            f"{SIMULATED_GPUS} is {text!r}; expected a number of GPUs such as 4, a number and a card such as "
            "4xTesla K20m or 4xTesla K20m@512MiB, or 0 or nothing for none."
        )
    try:
        return simulated_machine(int(match[1]), match[2], match[3])
    except ValueError as error:
        raise ValueError(f"{SIMULATED_GPUS} is {text!r}. {error}") from None


def gpus(machine: SimulatedMachine | None, environ: Mapping[str, str]) -> tuple[PhysicalGPU, ...]:
    """Returns the GPUs that the process sees, in the order in which it numbers them.

    Args:
      machine: the simulated machine, or None for the real one.
      environ: CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER are obeyed for both; for real cards by CUDA itself.
    """
    if machine is None or machine.count == 0:
        return real_cards(environ)
    present = _simulated_cards(machine)
    order = visibility.enumeration([gpu.card.peak_flops for gpu in present], [gpu.bus_id for gpu in present], environ)
    numbered = [present[number] for number in order]
    return tuple(numbered[number] for number in visibility.visible([gpu.uuid for gpu in numbered], environ))


def real_cards(environ: Mapping[str, str]) -> tuple[PhysicalGPU, ...]:
    """Returns this computer's own GPUs, as CUDA numbers them for this process."""
    from nbtf._devices.cuda.probe import probe  # late: only who asks for devices pays for it

    return probe(environ).cards


def sentence_of(cards: Sequence[PhysicalGPU]) -> str:
    """Says which real cards there are.

    >>> sentence_of(gpus(simulated_machine(2, "K20m"), {})).replace("real", "such")
    '2 such GPUs: GPU:0 is Tesla K20m (5 GiB), GPU:1 is Tesla K20m (5 GiB). Nothing is simulated.'
    """
    each = ", ".join(f"GPU:{i} is {card.card.name} ({gib(card.memory_bytes)})" for i, card in enumerate(cards))
    return f"{len(cards)} real GPU{'' if len(cards) == 1 else 's'}: {each}. Nothing is simulated."


def _simulated_cards(machine: SimulatedMachine) -> tuple[PhysicalGPU, ...]:
    return tuple(
        PhysicalGPU(machine.card, number, bus_id, catalog.uuid(number), True, machine.memory_bytes, backend="simulated")
        for number, bus_id in enumerate(catalog.bus_ids(machine.card, machine.count))
    )

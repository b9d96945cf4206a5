"""Which machine is simulated: cards in this computer, or hosts with their own cards?"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from nbtf._counts import counted
from nbtf._devices import catalog
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.catalog import Card
from nbtf._devices.links import DEFAULT_NETWORK, Link, Network, bus_of, find_network, link_inside
from nbtf._devices.names import task_name
from nbtf._devices.sizes import gib
from nbtf._own_name import own_name

SIMULATED_GPUS = "NBTF_SIMULATED_GPUS"

# No real machine has more GPUs; a typing error must not fill this computer's memory with cards.
_MOST = 1024
_MIB = 1 << 20
_UNITS_IN_MIB = {"": 1, "mib": 1, "gib": 1 << 10, "tib": 1 << 20}
_HONEST = "NumPy on this computer's CPU. No GPU is used."


class SimulatedMachine(NamedTuple):
    """The requested machine: cards of one kind, with `memory_bytes` each."""

    count: int  # pyright: ignore[reportIncompatibleMethodOverride]  # tuple.count is not missed
    card: Card
    memory_bytes: int

    def sentence(self) -> str:
        """Returns a description of this machine that cannot be mistaken for a real one.

        >>> simulated_machine(4, "K20m").sentence()
        "4 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used."
        """
        return f"{self.gpus()}: {_HONEST}" if self.count else "No simulated GPUs."

    def gpus(self) -> str:
        """Returns the number and kind of the cards as text."""
        each = f"{self.card.name}, {gib(self.memory_bytes)}"
        return f"{counted(self.count, 'simulated GPU')} ({each}{'' if self.count == 1 else ' each'})"

    def text(self) -> str:
        """Returns the value of NBTF_SIMULATED_GPUS that requests this machine.

        >>> simulated_machine(2, "K20m").text(), simulated_machine(2, "K20m", "512MiB").text()
        ('2xTesla K20m', '2xTesla K20m@512.0MiB')
        """
        if self.count == 0:
            return "0"
        memory = "" if self.memory_bytes == self.card.memory_bytes else f"@{self.memory_bytes / _MIB}MiB"
        return f"{self.count}x{self.card.name}{memory}"

    def cards(self, task: str, first: int = 0) -> tuple[PhysicalGPU, ...]:
        """Returns its cards as devices of a task; `first` is the number of identifiers that other hosts use."""
        buses = catalog.bus_ids(self.card, self.count)
        return tuple(
            PhysicalGPU(
                self.card, number, bus, catalog.uuid(first + number), True, self.memory_bytes, -1, "simulated", task
            )
            for number, bus in enumerate(buses)
        )


class SimulatedCluster(NamedTuple):
    """Hosts with identical cards, which are tasks of the job `worker`; this process is not one of them."""

    hosts: int
    host: SimulatedMachine
    link: Link

    def sentence(self) -> str:
        """Returns a description of this cluster.

        >>> simulated_cluster(2, 1, "T4").sentence().partition(": ")[0]
        '2 simulated hosts, 2 simulated GPUs (Tesla T4, 15 GiB each), 100Gb/s between hosts'
        """
        first, last = (f"/job:worker/task:{task}" for task in (0, self.hosts - 1))
        tasks = first if self.hosts == 1 else f"{first} to {last}"
        hosts = counted(self.hosts, "simulated host")
        each = self.host._replace(count=self.hosts * self.host.count).gpus()
        return f"{hosts}, {each}, {self.link.name} between hosts: {tasks}. {_HONEST}"

    def text(self) -> str:
        """Returns the value of NBTF_SIMULATED_GPUS that requests this cluster.

        >>> simulated_cluster(2, 8, "K20m", "25Gb/s").text()
        '2x8xTesla K20m,25Gb/s'
        """
        return f"{self.hosts}x{self.host.text()},{self.link.name}"

    @property
    def tasks(self) -> list[str]:
        """The full names of its tasks."""
        return [task_name("worker", number) for number in range(self.hosts)]

    @property
    def network(self) -> Network:
        """The links between its devices."""
        return Network(link_inside(self.host.card), bus_of(self.host.card), self.link)

    def all_cards(self) -> list[PhysicalGPU]:
        """Returns the cards of all hosts, host by host."""
        count = self.host.count
        return [card for number, task in enumerate(self.tasks) for card in self.host.cards(task, number * count)]


Simulated: TypeAlias = SimulatedMachine | SimulatedCluster
"""A machine or a cluster to simulate."""


def simulated_machine(count: int, model: str | None = None, memory: float | str | None = None) -> SimulatedMachine:
    """Returns a machine to simulate.

    Args:
      count: number of cards.
      model: name of a card, as for `catalog.find_card`; a V100 by default.
      memory: memory of each card, by default that of the model: a number of MiB, as in `memory_limit`, or a string such
        as "5GiB".

    Raises:
      ValueError: if an argument is invalid. The message names the value and the expected one.

    >>> simulated_machine(2, "k20m", "512MiB").memory_bytes >> 20
    512
    """
    card = catalog.find_card(catalog.DEFAULT_CARD if model is None else model)
    number = _number(count, 0, "The number of simulated GPUs is {}; expected 0, 1, 2 or more.")
    if number > _MOST:
        raise ValueError(f"The number of simulated GPUs is {number}; expected at most {_MOST}.")
    return SimulatedMachine(number, card, card.memory_bytes if memory is None else _memory(memory))


def simulated_cluster(
    hosts: int, gpus: int, model: str | None = None, link: str = DEFAULT_NETWORK, memory: float | str | None = None
) -> SimulatedCluster:
    """Returns a cluster to simulate.

    Args:
      hosts: number of hosts.
      gpus: number of cards per host.
      model: as for `simulated_machine`.
      link: network between hosts, as for `links.find_network`.
      memory: as for `simulated_machine`.

    Raises:
      ValueError: if an argument is invalid. The message names the value and the expected one.

    >>> simulated_cluster(16, 8, "H100").host.count
    8
    """
    expected = f"expected 1, 2 or more. {own_name()}.runtime.simulate_gpus(0) removes a cluster."
    tasks = _number(hosts, 1, f"The number of simulated hosts is {{}}; {expected}")
    each = _number(gpus, 1, f"The number of simulated GPUs of a host is {{}}; {expected}")
    if tasks * each > _MOST:
        raise ValueError(f"{tasks} hosts with {each} simulated GPUs are {tasks * each}; expected at most {_MOST}.")
    return SimulatedCluster(tasks, simulated_machine(each, model, memory), find_network(link))


def _number(value: object, lowest: int, text: str) -> int:
    try:
        number = lowest - 1 if isinstance(value, bool) else operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        number = lowest - 1
    if number < lowest:
        raise ValueError(text.format(repr(value)))
    return number


def _memory(memory: float | str) -> int:
    """Returns the number of bytes."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?)\s*([a-z]*)", str(memory).strip().lower(), re.ASCII)
    unit = _UNITS_IN_MIB.get(match[2]) if match else None
    nbytes = int(float(match[1]) * unit * _MIB) if match and unit else 0
    if nbytes < _MIB or isinstance(memory, bool):
        raise ValueError(
            f"The memory of a simulated GPU is {memory!r}; expected a number of MiB such as 512, or a string such as "
            '"512MiB" or "5GiB", and at least 1 MiB.'
        )
    return nbytes


# Hosts x GPUs x card @ memory, link. Only the number of GPUs is required; of two numbers, the first counts hosts.
_TEXT = r"(?:([0-9]+)\s*[xX]\s*(?=[0-9]+\s*[xX]))?([0-9]+)(?:\s*[xX]\s*([^\s@,][^@,]*))?(?:@([^,]*))?(?:,(.*))?"


def machine_from_environment(environ: Mapping[str, str]) -> Simulated | None:
    """Returns the machine that NBTF_SIMULATED_GPUS requests; None if it requests none.

    Raises:
      ValueError: if the variable is invalid. The message lists the valid forms.

    >>> machine_from_environment({"NBTF_SIMULATED_GPUS": "4xTesla K20m"}).sentence()
    "4 simulated GPUs (Tesla K20m, 5 GiB each): NumPy on this computer's CPU. No GPU is used."
    >>> machine_from_environment({"NBTF_SIMULATED_GPUS": "16x8xH100, InfiniBand NDR"}).hosts
    16
    """
    text = environ.get(SIMULATED_GPUS, "").strip()
    match = re.fullmatch(_TEXT, text, re.ASCII)
    if not text or (match and match[1] is None and int(match[2]) == 0):
        return None
    if not match or (match[5] is not None and match[1] is None):
        raise ValueError(
            f"{SIMULATED_GPUS} is {text!r}; expected a number of GPUs such as 4, a number and a card such as "
            "4xTesla K20m or 4xTesla K20m@512MiB, hosts with GPUs such as 16x8xH100 or 16x8xH100,100Gb/s, "
            "or 0 or an empty value for no GPUs."
        )
    hosts, gpus, model, memory, link = match.groups()
    try:
        if hosts is None:
            return simulated_machine(int(gpus), model, memory)
        return simulated_cluster(
            int(hosts), int(gpus), model and model.strip(), DEFAULT_NETWORK if link is None else link, memory
        )
    except ValueError as error:
        raise ValueError(f"{SIMULATED_GPUS} is {text!r}. {error}") from None

"""The names of PyTorch devices, and their counterparts in nbtf."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.names import full_name
from nbtf._frameworks.devices import LibraryDevice, SimulatedCard
from nbtf._runtime.context import CURRENT
from nbtf._runtime.inventory import devices

_HOST = LibraryDevice(full_name("CPU", 0))


class Cards:
    """The devices of PyTorch, by `torch.device`; every op looks one up."""

    def __init__(self) -> None:
        """Creates an empty table."""
        self._machine: object = None
        self._cards: dict[Any, LibraryDevice] = {}

    def of(self, device: Any) -> LibraryDevice:
        """Returns the device of a `torch.device`, whose name may change with nbtf's devices."""
        context = CURRENT.context
        machine = context, context.machine, context.configuration.shares_simulated_gpus
        if machine != self._machine:
            self._machine, self._cards = machine, {}
        card = self._cards.get(device)
        if card is None:
            card = self._cards[device] = _card(device.type, device.index or 0)
        return card


CARDS = Cards()


def _card(device_type: str, index: int) -> LibraryDevice:
    if device_type == "cpu":
        return _HOST
    name, simulated = full_name(*card_name(device_type, index)), _simulated_cards() if device_type == "cuda" else None
    return LibraryDevice(name, "launch") if simulated is None else SimulatedCard(name, simulated[index].card)


def name_of_card(device: Any) -> str:
    """Returns the full name of a PyTorch device, given nbtf's current devices."""
    return full_name(*card_name(device.type, device.index or 0))


def card_name(device_type: str, index: int) -> tuple[str, int]:
    """Returns type and number of a card: `GPU` and nbtf's number if nbtf uses the card, otherwise PyTorch's own."""
    if device_type == "cuda":
        for device in devices():
            if device.cuda == index:
                return "GPU", int(device.name.rpartition(":")[2])
    return device_type, index


def _simulated_cards() -> Sequence[PhysicalGPU] | None:
    """Returns the cards that are simulated for PyTorch, if any; see `tf.runtime.simulate_gpus(frameworks="torch")`."""
    switch = sys.modules.get("nbtf._frameworks.torch.simulation.switch")
    installation = None if switch is None else switch.SWITCH.installation
    return None if installation is None else installation.machine.cards

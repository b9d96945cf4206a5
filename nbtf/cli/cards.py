"""What do the cards of this machine do, and for whom? Real ones as NVML tells of them, then the simulated ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nbtf import runtime
from nbtf.cli.command_error import CommandError

IDLE = 600.0
"""Seconds after which a kernel that holds memory of a card is called idle: long enough to read what it has printed."""

CONTEXT = 64 << 20
"""Bytes of a card on which nobody is: a CUDA context alone takes some hundred MiB."""

_HINT = "NBTF_SIMULATED_GPUS=4 before the command simulates four of them."


class Holding(NamedTuple):
    """What a process has of a card, in bytes; None where the driver does not tell."""

    owner: runtime.ProcessOwner
    nbytes: int | None

    @property
    def is_idle(self) -> bool:
        """Whether it is the user's own kernel, and its main thread has not run for long."""
        return self.owner.kernel and self.owner.idle is not None and self.owner.idle >= IDLE

    @property
    def text(self) -> str:
        """Whose it is; how long a kernel has not run is told once that is long."""
        owner = self.owner
        return (owner if owner.idle is None or self.is_idle else owner._replace(idle=None)).text


class Card(NamedTuple):
    """A card; sizes are in bytes, `utilization` in percent, `temperature` in degrees Celsius, `power` in watts.

    `label` is its number as `nvidia-smi` shows it, or the name of a simulated one. `holdings` is None where the driver
    does not tell who is on it, and `missing` says why, as it does for each figure that is None.
    """

    label: str
    name: str
    simulated: bool = False
    uuid: str = ""
    used: int | None = None
    total: int | None = None
    utilization: int | None = None
    temperature: int | None = None
    power: float | None = None
    holdings: tuple[Holding, ...] | None = ()
    missing: Mapping[str, str] = {}

    @property
    def is_free(self) -> bool:
        """Whether nobody is on it; where processes are not told, whether it does nothing and holds nearly nothing."""
        if self.holdings is not None:
            return not self.holdings
        return self.utilization == 0 and self.used is not None and self.used < CONTEXT


def cards(monitor: runtime.CardMonitor) -> list[Card]:
    """Returns all cards, as they are now.

    Args:
      monitor: reads the real ones.

    Raises:
      CommandError: there are none, or `NBTF_SIMULATED_GPUS` makes no sense.
    """
    all_cards = [*_real(monitor), *_simulated()]
    if not all_cards:
        raise CommandError(f"no card to look at: {monitor.missing or 'NVML lists none'}. {_HINT}")
    return all_cards


def _real(monitor: runtime.CardMonitor) -> Iterator[Card]:
    for index, reading in enumerate(monitor.cards(age=0)):
        holdings = None
        if reading.processes is not None:
            holdings = tuple(
                Holding(runtime.process_owner(process.pid), process.nbytes) for process in reading.processes
            )
        yield Card(
            label=str(index if reading.number is None else reading.number),
            name=reading.name or "a card that does not tell its name",
            uuid=reading.uuid or "",
            used=reading.used,
            total=reading.total,
            utilization=reading.utilization,
            temperature=reading.temperature,
            power=reading.power,
            holdings=holdings,
            missing=reading.missing,
        )


def _simulated() -> Iterator[Card]:
    """Yields those of this process, which nobody else can see: of their temperature there is nothing to tell."""
    try:
        devices = runtime.devices()
    except ValueError as error:  # NBTF_SIMULATED_GPUS makes no sense
        raise CommandError(str(error)) from None
    for device in devices:
        if device.simulated:
            yield Card(device.name, device.model or "", True, used=device.in_use or 0, total=device.memory)

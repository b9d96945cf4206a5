"""What are this machine's GPUs doing, and for whom? Real GPUs as NVML reports them, then the simulated ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nbtf import runtime
from nbtf.cli.command_error import CommandError

IDLE = 600.0
"""Seconds without activity after which a kernel that holds GPU memory is idle: long enough to read its output."""

CONTEXT = 64 << 20
"""Bytes in use below which a GPU counts as free: a CUDA context alone uses some hundred MiB."""

_HINT = "Set NBTF_SIMULATED_GPUS=4 before the command to simulate four."


class Holding(NamedTuple):
    """A process's share of a GPU's memory, in bytes; None if the driver does not report it."""

    owner: runtime.ProcessOwner
    nbytes: int | None

    @property
    def is_idle(self) -> bool:
        """Whether it is the user's own kernel and its main thread has been inactive for a long time."""
        return self.owner.kernel and self.owner.idle is not None and self.owner.idle >= IDLE

    @property
    def text(self) -> str:
        """The process's owner, and how long a kernel has been idle if it has been idle for long."""
        owner = self.owner
        return (owner if owner.idle is None or self.is_idle else owner._replace(idle=None)).text


class Card(NamedTuple):
    """A GPU; sizes are in bytes, `utilization` in percent, `temperature` in degrees Celsius, `power` in watts.

    `label` is its number in `nvidia-smi`, or the name of a simulated GPU. `holdings` is None if the driver does not
    report its processes. `missing` gives the reason for that, and for every figure that is None.
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
        """Whether no process uses it; if processes are not reported, whether it is inactive and nearly empty."""
        if self.holdings is not None:
            return not self.holdings
        return self.utilization == 0 and self.used is not None and self.used < CONTEXT


def cards(monitor: runtime.CardMonitor) -> list[Card]:
    """Returns the current state of all GPUs.

    Args:
      monitor: reads the real GPUs.

    Raises:
      CommandError: if there are no GPUs, or `NBTF_SIMULATED_GPUS` is invalid.
    """
    all_cards = [*_real(monitor), *_simulated()]
    if not all_cards:
        raise CommandError(f"no GPU found: {monitor.missing or 'NVML lists none'}. {_HINT}")
    return all_cards


def _real(monitor: runtime.CardMonitor) -> Iterator[Card]:
    for index, reading in enumerate(monitor.cards(age=0)):
        holdings = None
        if reading.processes is not None:
            holdings = tuple(
                Holding(runtime.process_owner(process.pid), process.nbytes) for process in reading.processes
            )
        facts = {name: value for name, value in reading._asdict().items() if name in Card._fields}
        facts |= {"name": reading.name or "a card without a name", "uuid": reading.uuid or "", "holdings": holdings}
        yield Card(str(index if reading.number is None else reading.number), **facts)


def _simulated() -> Iterator[Card]:
    """Yields the simulated GPUs, which belong to this process alone and have no temperature or power."""
    try:
        devices = runtime.devices()
    except ValueError as error:  # NBTF_SIMULATED_GPUS is invalid
        raise CommandError(str(error)) from None
    for device in devices:
        if device.simulated:
            yield Card(device.name, device.model or "", True, used=device.in_use or 0, total=device.memory)

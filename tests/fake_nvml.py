"""A machine's cards as NVML's Python module tells of them; for tests. It knows nothing that opens a card."""

# ruff: noqa: N802, N815, N818  # the names are NVML's

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

GIB = 1 << 30
MIB = 1 << 20


class NVMLError(Exception):
    """What the module raises; its text is NVML's."""


class NVMLErrorNotSupported(NVMLError):
    """A call that this card does not have."""

    def __init__(self) -> None:
        super().__init__("Not Supported")


class FakeCard:
    """One card, or with `parent` a part of one. A figure set to None is not supported on it."""

    def __init__(self, number: int, **figures: Any) -> None:
        self.number = number
        self.name: Any = "NVIDIA L4"
        self.uuid: Any = f"GPU-0000000{number}-aaaa-bbbb-cccc-dddddddddddd"
        self.bus_id: Any = f"00000000:{0x80 + number:02X}:00.0"
        self.total, self.used, self.reserved = 24 * GIB, 3 * GIB, 512 * MIB
        self.utilization: Any = 34
        self.temperature: Any = 61
        self.milliwatts: Any = 72_300
        self.processes: Any = []
        self.parts: list[FakeCard] = []
        self.__dict__ |= figures


class FakeNVML:
    """The module. `calls` counts what was called; what it does not have raises, as in an old release."""

    nvmlMemory_v2 = 2

    def __init__(self, *cards: FakeCard, broken: Exception | None = None) -> None:
        self.cards, self.broken = cards, broken
        self.calls: dict[str, int] = {}

    def _count(self, name: str) -> None:
        self.calls[name] = self.calls.get(name, 0) + 1

    def nvmlInit(self) -> None:
        self._count("nvmlInit")
        if self.broken is not None:
            raise self.broken

    def nvmlShutdown(self) -> None:
        self._count("nvmlShutdown")

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.65.06"

    def nvmlDeviceGetCount(self) -> int:
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeCard:
        return self.cards[index]

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> FakeCard:
        self._count("nvmlDeviceGetHandleByUUID")
        return self._the(uuid, "uuid")

    def nvmlDeviceGetHandleByPciBusId(self, bus_id: str) -> FakeCard:
        self._count("nvmlDeviceGetHandleByPciBusId")
        return self._the(f"0000{bus_id.upper()}", "bus_id")

    def _the(self, text: str, name: str) -> FakeCard:
        for card in (*self.cards, *(part for whole in self.cards for part in whole.parts)):
            if getattr(card, name) == text:
                return card
        raise NVMLError("Not Found")

    def nvmlDeviceGetMaxMigDeviceCount(self, card: FakeCard) -> int:
        return len(card.parts)

    def nvmlDeviceGetMigDeviceHandleByIndex(self, card: FakeCard, index: int) -> FakeCard:
        return card.parts[index]

    def nvmlDeviceGetIndex(self, card: FakeCard) -> int:
        return _supported(card.number)

    def nvmlDeviceGetName(self, card: FakeCard) -> Any:
        return _supported(card.name)

    def nvmlDeviceGetUUID(self, card: FakeCard) -> Any:
        return _supported(card.uuid)

    def nvmlDeviceGetPciInfo(self, card: FakeCard) -> Any:
        return SimpleNamespace(busId=_supported(card.bus_id))

    def nvmlDeviceGetMemoryInfo(self, card: FakeCard, version: int | None = None) -> Any:
        self._count("nvmlDeviceGetMemoryInfo")
        used, reserved = _supported(card.used), card.reserved
        free = card.total - used - reserved
        if version is None:
            return SimpleNamespace(total=card.total, free=free, used=used + reserved)
        return SimpleNamespace(total=card.total, free=free, used=used, reserved=reserved)

    def nvmlDeviceGetUtilizationRates(self, card: FakeCard) -> Any:
        return SimpleNamespace(gpu=_supported(card.utilization), memory=1)

    def nvmlDeviceGetTemperature(self, card: FakeCard, sensor: int) -> int:
        assert sensor == 0
        return _supported(card.temperature)

    def nvmlDeviceGetPowerUsage(self, card: FakeCard) -> int:
        return _supported(card.milliwatts)

    def nvmlDeviceGetComputeRunningProcesses(self, card: FakeCard) -> Any:
        self._count("nvmlDeviceGetComputeRunningProcesses")
        return [SimpleNamespace(pid=pid, usedGpuMemory=nbytes) for pid, nbytes in _supported(card.processes)]


def _supported(figure: Any) -> Any:
    if figure is None:
        raise NVMLErrorNotSupported
    return figure

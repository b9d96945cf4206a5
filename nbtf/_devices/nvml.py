"""What does NVIDIA's management library (NVML) say of the cards of this machine? It looks, and creates no context.

Every figure may be missing by itself: in containers, on parts of a card, on laptops. Then it is None, and `missing`
says why. Nothing in here raises or prints. A reading takes the driver's lock, so none is made twice within a second.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from nbtf._locks import new_lock

INSTALL = 'pip install "nbtf[nvml]"'

SECOND = 1.0
"""A view that is open reads a card so often at most."""

PROCESSES = 5.0
"""And the processes on it so often: that call takes milliseconds. Source: flightlessmango/MangoHud#2104."""

_NO_PID = 0xFFFF_FFFF
"""What some drivers tell instead of a process that they may not show."""

_OWN_NAMESPACE = "pid:[4026531836]"
"""The name of the outermost pid namespace. Source: PROC_PID_INIT_INO, linux/proc_ns.h."""

T = TypeVar("T")


class CardProcess(NamedTuple):
    """A process on a card; `nbytes` is None where the driver does not tell."""

    pid: int
    nbytes: int | None


class CardReading(NamedTuple):
    """What NVML says of a card. Sizes are in bytes, `temperature` in degrees Celsius, `power` in watts.

    `number` is its number in this machine, as `nvidia-smi` shows it. `used` is what contexts took, without what the
    driver `reserved` for itself. `utilization` is the part of the last moment in which a kernel ran, in percent.
    `missing` says for each figure that is None why it is.
    """

    number: int | None = None
    name: str | None = None
    uuid: str | None = None
    bus_id: str | None = None
    driver: str | None = None
    total: int | None = None
    used: int | None = None
    free: int | None = None
    reserved: int | None = None
    utilization: int | None = None
    temperature: int | None = None
    power: float | None = None
    processes: tuple[CardProcess, ...] | None = None
    missing: Mapping[str, str] = MappingProxyType({})


class CardMonitor:
    """Reads cards, at most once a second each. Any thread may ask."""

    def __init__(
        self, load: Callable[[], Any] = lambda: import_module("pynvml"), clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Loads nothing yet.

        Args:
          load: imports NVML's module.
          clock: tells seconds.
        """
        self._load, self._clock = load, clock
        self._lock = new_lock()
        self._forget()

    def _forget(self) -> None:
        self._nvml: Any = None
        self._why: str | None = None
        self._retry = 0.0
        self._process = os.getpid()
        self._handles: dict[tuple[str | None, str | None], Any] = {}
        self._known: dict[Any, tuple[float, CardReading]] = {}
        self._seen: dict[Any, tuple[float, tuple[tuple[CardProcess, ...] | None, str]]] = {}

    # What is asked

    @property
    def missing(self) -> str | None:
        """Why there is nothing to read; None where there is."""
        with self._lock:
            return self._ready()

    def card(self, uuid: str | None, bus_id: str | None, age: float = SECOND) -> CardReading:
        """Returns what is known of a card, by what it is and not by a number: programs number cards differently.

        Args:
          uuid: as CUDA and `nvidia-smi -L` tell it, `GPU-…` or `MIG-…`.
          bus_id: its PCI address, `0000:8a:00.0`.
          age: a reading that is so many seconds old will do.
        """
        with self._lock:
            why = self._ready()
            if why is not None:
                return _unknown(why)
            handle, why = self._handle(uuid, bus_id)
            return _unknown(why) if handle is None else self._read((uuid, bus_id), handle, age)

    def cards(self, age: float = SECOND) -> list[CardReading]:
        """Returns all cards of this machine, also those that CUDA_VISIBLE_DEVICES hides from this process."""
        with self._lock:
            if self._ready() is not None:
                return []
            count, _ = _asked(self._nvml.nvmlDeviceGetCount)
            found: list[CardReading] = []
            for index in range(count or 0):
                handle, _ = _asked(self._nvml.nvmlDeviceGetHandleByIndex, index)
                if handle is not None:  # a card that fell off the bus
                    found.append(self._read(index, handle, age))
            return found

    def driver(self) -> str | None:
        """Returns the driver's version."""
        with self._lock:
            return None if self._ready() is not None else _text(_asked(self._nvml.nvmlSystemGetDriverVersion)[0])

    def close(self) -> None:
        """Lets go of the library; it is loaded again when somebody asks."""
        with self._lock:
            if self._nvml is not None and self._process == os.getpid():
                _asked(self._nvml.nvmlShutdown)
            self._forget()

    # The library

    def _ready(self) -> str | None:
        if self._process != os.getpid():  # a copy of the process: the handles belong to the other one
            self._forget()
        if self._nvml is not None:
            return None
        if self._why is not None and self._clock() < self._retry:
            return self._why
        self._retry = self._clock() + SECOND
        module, self._why = _asked(self._load)
        if module is None:
            if self._why.startswith(ModuleNotFoundError.__name__):
                self._why = f"NVML's Python module is not installed: {INSTALL}"
            return self._why
        _, why = _asked(module.nvmlInit)
        self._why = why or None
        self._nvml = None if why else module
        return self._why

    def _handle(self, uuid: str | None, bus_id: str | None) -> tuple[Any, str]:
        known = self._handles.get((uuid, bus_id))
        if known is not None:
            return known, ""
        why = "neither its UUID nor its PCI address is known"
        for name in _names(uuid):
            handle, why = _asked(self._nvml.nvmlDeviceGetHandleByUUID, name)
            if handle is not None:
                break
        else:
            handle = None
            if bus_id:
                handle, why = _asked(self._nvml.nvmlDeviceGetHandleByPciBusId, bus_id)
        if handle is not None:
            handle = self._handles[uuid, bus_id] = self._instance(handle)
        return handle, why

    def _instance(self, handle: Any) -> Any:
        """Returns the part of a card that this process was given, where CUDA_VISIBLE_DEVICES names one; else the card.

        CUDA then shows a single device, and the memory of the whole card is not for this process to see.
        """
        wished = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0]
        if not wished.startswith("MIG-"):
            return handle
        count, _ = _asked(self._nvml.nvmlDeviceGetMaxMigDeviceCount, handle)
        for number in range(count or 0):
            part, _ = _asked(self._nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, number)
            name = None if part is None else _text(_asked(self._nvml.nvmlDeviceGetUUID, part)[0])
            if name is not None and name.startswith(wished):
                return part
        return handle

    # Figures

    def _read(self, key: Any, handle: Any, age: float) -> CardReading:
        now = self._clock()
        at, known = self._known.get(key, (float("-inf"), CardReading()))
        if now - at >= age:
            known = self._figures(handle, None if known == CardReading() else known)
            self._known[key] = now, known
        at, (processes, why) = self._seen.get(key, (float("-inf"), (None, "")))
        if now - at >= age * PROCESSES:
            processes, why = self._processes(handle)
            self._seen[key] = now, (processes, why)
        missing = dict(known.missing) | ({"processes": why} if processes is None else {})
        return known._replace(processes=processes, missing=missing)

    def _figures(self, handle: Any, before: CardReading | None) -> CardReading:
        ask = _Fields(self._nvml, handle)
        known = self._fixed(ask) if before is None else before._asdict()
        ask.missing |= {} if before is None else {name: before.missing[name] for name in _FIXED & before.missing.keys()}
        total, used, free, reserved = self._memory(ask)
        rates = ask("utilization", "nvmlDeviceGetUtilizationRates")
        power = ask("power", "nvmlDeviceGetPowerUsage")
        figures: dict[str, Any] = {name: known[name] for name in _FIXED}
        return CardReading(
            **figures,
            total=total,
            used=used,
            free=free,
            reserved=reserved,
            utilization=None if rates is None else int(rates.gpu),
            temperature=ask("temperature", "nvmlDeviceGetTemperature", _TEMPERATURE_OF_GPU),
            power=None if power is None else power / 1000,  # it tells milliwatts
            missing=ask.missing,
        )

    def _fixed(self, ask: _Fields) -> dict[str, Any]:
        pci = ask("bus_id", "nvmlDeviceGetPciInfo")
        driver, why = _asked(self._nvml.nvmlSystemGetDriverVersion)
        if driver is None:
            ask.missing["driver"] = why
        return {
            "number": ask("number", "nvmlDeviceGetIndex"),
            "name": _text(ask("name", "nvmlDeviceGetName")),
            "uuid": _text(ask("uuid", "nvmlDeviceGetUUID")),
            "bus_id": None if pci is None else plain_bus_id(_text(pci.busId) or ""),
            "driver": _text(driver),
        }

    def _memory(self, ask: _Fields) -> tuple[int | None, int | None, int | None, int | None]:
        """Returns total, used, free and reserved bytes.

        The first version of this call counts what the driver reserved as used; nvidia-smi does not since driver 510.
        """
        newer = getattr(self._nvml, "nvmlMemory_v2", None)
        found = None if newer is None else ask("used", "nvmlDeviceGetMemoryInfo", newer)
        if found is not None:
            reserved = int(found.reserved)
            return int(found.total), int(found.total) - int(found.free) - reserved, int(found.free), reserved
        ask.missing.pop("used", None)
        found = ask("used", "nvmlDeviceGetMemoryInfo")
        if found is None:
            ask.missing |= dict.fromkeys(("total", "free", "reserved"), ask.missing["used"])
            return None, None, None, None
        ask.missing["reserved"] = "this driver does not tell it apart from what is used"
        return int(found.total), int(found.used), int(found.free), None

    def _processes(self, handle: Any) -> tuple[tuple[CardProcess, ...] | None, str]:
        why = strange_pids()
        if why:
            return None, why
        found, why = _asked(self._nvml.nvmlDeviceGetComputeRunningProcesses, handle)
        if found is None:
            return None, why
        told = [CardProcess(int(one.pid), one.usedGpuMemory) for one in found if int(one.pid) != _NO_PID]
        return tuple(sorted(dict.fromkeys(told), key=lambda one: (-(one.nbytes or 0), one.pid))), ""


_FIXED = frozenset({"number", "name", "uuid", "bus_id", "driver"})
"""What does not change while a handle lives."""

_TEMPERATURE_OF_GPU = 0
"""The only sensor there is. Source: NVML_TEMPERATURE_GPU, nvml.h."""


class _Fields:
    """Asks for one figure after the other, and takes down why one is missing."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle
        self.missing: dict[str, str] = {}

    def __call__(self, field: str, call: str, *more: Any) -> Any:
        found, why = _asked(lambda: getattr(self._nvml, call)(self._handle, *more))
        if found is None:
            self.missing[field] = why
        return found


def strange_pids(path: str = "/proc/self/ns/pid") -> str:
    """Returns why the driver's process numbers are not those of this process's world; nothing where they are.

    The driver knows the machine's numbers only. In a container the same number may be another process.
    """
    if not sys.platform.startswith("linux"):
        return ""
    try:
        same = os.readlink(path) == _OWN_NAMESPACE
    except OSError:
        same = False
    return "" if same else "this is a container with process numbers of its own"


def plain_bus_id(text: str) -> str:
    """Returns a PCI address as CUDA and TensorFlow write it.

    >>> plain_bus_id("00000000:8A:00.0")
    '0000:8a:00.0'
    """
    domain, _, rest = text.lower().partition(":")
    return f"{domain[-4:]}:{rest}" if rest else text.lower()


def _asked(function: Callable[..., T], *arguments: Any) -> tuple[T | None, str]:
    """Returns what a call answers, or None and the error in words.

    Any error: the library has a class for each of its own, which are known only when it is loaded, and beside them it
    raises what ctypes does. None of it may reach a user who only looks at memory.
    """
    try:
        found = function(*arguments)
    except Exception as error:
        name = type(error).__name__
        return None, str(error) if name.startswith("NVMLError") else f"{name}: {error}"
    return found, ""


def _names(uuid: str | None) -> list[str]:
    """Returns how NVML may call what CUDA calls so: of a part of a card CUDA tells the 16 bytes alone."""
    if not uuid:
        return []
    return [uuid, f"MIG-{uuid.removeprefix('GPU-')}"] if uuid.startswith("GPU-") else [uuid]


def _text(found: Any) -> str | None:
    """Returns a text; older releases of the module tell bytes."""
    return found.decode() if isinstance(found, bytes) else None if found is None else str(found)


def _unknown(why: str) -> CardReading:
    return CardReading(missing=dict.fromkeys((name for name in CardReading._fields if name != "missing"), why))

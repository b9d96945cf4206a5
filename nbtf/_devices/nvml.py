"""What does NVIDIA's management library (NVML) report about this machine's cards? Only reads, without a context.

Any figure may be missing: in containers, on partitions of a card, on laptops. Then it is None, and `missing` gives the
reason. Nothing in this file raises or prints. A reading takes the driver's lock, so it is repeated once per second at
most.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from nbtf._install import pip_install
from nbtf._locks import new_lock

INSTALL = pip_install("nvml")

SECOND = 1.0
"""Minimum seconds between two readings of a card, even with a view open."""

PROCESSES = 5.0
"""Minimum seconds between two readings of processes, which take milliseconds. Source: flightlessmango/MangoHud#2104."""

_NO_PID = 0xFFFF_FFFF
"""Number that some drivers report for a process that they must not show."""

_OWN_NAMESPACE = "pid:[4026531836]"
"""The name of the outermost pid namespace. Source: PROC_PID_INIT_INO, linux/proc_ns.h."""

T = TypeVar("T")


class CardProcess(NamedTuple):
    """A process on a card; `nbytes` is None if the driver does not report it.

    >>> tf.runtime.CardProcess(pid=4711, nbytes=2**30)
    CardProcess(pid=4711, nbytes=1073741824)
    """

    pid: int
    nbytes: int | None


class CardReading(NamedTuple):
    """NVML's figures for a card. Sizes are in bytes, `temperature` in degrees Celsius, `power` in watts.

    `number` is the card's number in this machine, as `nvidia-smi` shows it. `used` is the memory of all contexts,
    without the memory that the driver `reserved` for itself. `utilization` is the percentage of the last sampling
    period in which a kernel ran. `missing` gives the reason for each figure that is None.

    >>> reading = tf.runtime.CardReading(number=0, used=3 * 2**30, missing={"power": "Not Supported"})
    >>> reading.used, reading.power, reading.missing["power"]
    (3221225472, None, 'Not Supported')
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
    """Reads each card at most once per second. All methods can be called from any thread.

    >>> monitor = tf.runtime.CardMonitor()
    >>> [card.name for card in monitor.cards()] == [] or monitor.missing is None
    True
    >>> monitor.close()
    """

    def __init__(
        self, load: Callable[[], Any] = lambda: import_module("pynvml"), clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Does not load the library yet.

        Args:
          load: function that imports NVML's module.
          clock: function that returns the time in seconds.
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

    # Public readings

    @property
    def missing(self) -> str | None:
        """Why no card can be read; None if cards can be read.

        >>> def load():
        ...     raise OSError("no driver")
        >>> tf.runtime.CardMonitor(load).missing
        'OSError: no driver'
        """
        with self._lock:
            return self._open_library()

    def card(self, uuid: str | None, bus_id: str | None, age: float = SECOND) -> CardReading:
        """Returns the reading of a card, identified by UUID or address, because programs number cards differently.

        Args:
          uuid: `GPU-…` or `MIG-…`, as CUDA and `nvidia-smi -L` show it.
          bus_id: PCI address, such as `0000:8a:00.0`.
          age: maximum age in seconds of a reading that may be reused.

        >>> def load():
        ...     raise OSError("no driver")
        >>> reading = tf.runtime.CardMonitor(load).card(None, "0000:8a:00.0")
        >>> reading.used, reading.missing["used"]
        (None, 'OSError: no driver')
        """
        with self._lock:
            problem = self._open_library()
            if problem is not None:
                return _unknown(problem)
            handle, problem = self._handle(uuid, bus_id)
            return _unknown(problem) if handle is None else self._read((uuid, bus_id), handle, age)

    def cards(self, age: float = SECOND) -> list[CardReading]:
        """Returns all cards of this machine, including those that CUDA_VISIBLE_DEVICES hides from this process.

        >>> def load():
        ...     raise OSError("no driver")
        >>> tf.runtime.CardMonitor(load).cards()
        []
        """
        with self._lock:
            if self._open_library() is not None:
                return []
            count, _ = _try_call(self._nvml.nvmlDeviceGetCount)
            readings: list[CardReading] = []
            for index in range(count or 0):
                handle, _ = _try_call(self._nvml.nvmlDeviceGetHandleByIndex, index)
                if handle is not None:  # None if the card is no longer on the bus
                    readings.append(self._read(index, handle, age))
            return readings

    def driver(self) -> str | None:
        """Returns the driver's version; None if it cannot be read.

        >>> def load():
        ...     raise OSError("no driver")
        >>> tf.runtime.CardMonitor(load).driver() is None
        True
        """
        with self._lock:
            return (
                None if self._open_library() is not None else _text(_try_call(self._nvml.nvmlSystemGetDriverVersion)[0])
            )

    def close(self) -> None:
        """Unloads the library; the next reading loads it again.

        >>> monitor = tf.runtime.CardMonitor()
        >>> cards = monitor.cards()
        >>> monitor.close()
        """
        with self._lock:
            if self._nvml is not None and self._process == os.getpid():
                _try_call(self._nvml.nvmlShutdown)
            self._forget()

    # The library

    def _open_library(self) -> str | None:
        if self._process != os.getpid():  # after a fork, the handles belong to the parent process
            self._forget()
        if self._nvml is not None:
            return None
        if self._why is not None and self._clock() < self._retry:
            return self._why
        self._retry = self._clock() + SECOND
        module, self._why = _try_call(self._load)
        if module is None:
            if self._why.startswith(ModuleNotFoundError.__name__):
                self._why = f"NVML's Python module is not installed: {INSTALL}"
            return self._why
        _, problem = _try_call(module.nvmlInit)
        self._why = problem or None
        self._nvml = None if problem else module
        return self._why

    def _handle(self, uuid: str | None, bus_id: str | None) -> tuple[Any, str]:
        handle_before = self._handles.get((uuid, bus_id))
        if handle_before is not None:
            return handle_before, ""
        problem = "neither its UUID nor its PCI address is known"
        for name in _names(uuid):
            handle, problem = _try_call(self._nvml.nvmlDeviceGetHandleByUUID, name)
            if handle is not None:
                break
        else:
            handle = None
            if bus_id:
                handle, problem = _try_call(self._nvml.nvmlDeviceGetHandleByPciBusId, bus_id)
        if handle is not None:
            handle = self._handles[uuid, bus_id] = self._instance(handle)
        return handle, problem

    def _instance(self, handle: Any) -> Any:
        """Returns the partition of a card that CUDA_VISIBLE_DEVICES names; without one, the card.

        CUDA then shows a single device, and this process must not see the memory of the whole card.
        """
        wished = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0]
        if not wished.startswith("MIG-"):
            return handle
        count, _ = _try_call(self._nvml.nvmlDeviceGetMaxMigDeviceCount, handle)
        for number in range(count or 0):
            instance, _ = _try_call(self._nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, number)
            name = None if instance is None else _text(_try_call(self._nvml.nvmlDeviceGetUUID, instance)[0])
            if name is not None and name.startswith(wished):
                return instance
        return handle

    # Figures

    def _read(self, key: Any, handle: Any, age: float) -> CardReading:
        now = self._clock()
        read_at, reading = self._known.get(key, (float("-inf"), CardReading()))
        if now - read_at >= age:
            reading = self._figures(handle, None if reading == CardReading() else reading)
            self._known[key] = now, reading
        read_at, (processes, problem) = self._seen.get(key, (float("-inf"), (None, "")))
        if now - read_at >= age * PROCESSES:
            processes, problem = self._processes(handle)
            self._seen[key] = now, (processes, problem)
        missing = dict(reading.missing) | ({"processes": problem} if processes is None else {})
        return reading._replace(processes=processes, missing=missing)

    def _figures(self, handle: Any, earlier: CardReading | None) -> CardReading:
        ask = _Fields(self._nvml, handle)
        fixed_figures = self._fixed(ask) if earlier is None else earlier._asdict()
        ask.missing |= (
            {} if earlier is None else {name: earlier.missing[name] for name in _FIXED & earlier.missing.keys()}
        )
        total, used, free, reserved = self._memory(ask)
        rates = ask("utilization", "nvmlDeviceGetUtilizationRates")
        power = ask("power", "nvmlDeviceGetPowerUsage")
        figures: dict[str, Any] = {name: fixed_figures[name] for name in _FIXED}
        return CardReading(
            **figures,
            total=total,
            used=used,
            free=free,
            reserved=reserved,
            utilization=None if rates is None else int(rates.gpu),
            temperature=ask("temperature", "nvmlDeviceGetTemperature", _TEMPERATURE_OF_GPU),
            power=None if power is None else power / 1000,  # NVML reports milliwatts
            missing=ask.missing,
        )

    def _fixed(self, ask: _Fields) -> dict[str, Any]:
        pci = ask("bus_id", "nvmlDeviceGetPciInfo")
        driver, problem = _try_call(self._nvml.nvmlSystemGetDriverVersion)
        if driver is None:
            ask.missing["driver"] = problem
        return {
            "number": ask("number", "nvmlDeviceGetIndex"),
            "name": _text(ask("name", "nvmlDeviceGetName")),
            "uuid": _text(ask("uuid", "nvmlDeviceGetUUID")),
            "bus_id": None if pci is None else plain_bus_id(_text(pci.busId) or ""),
            "driver": _text(driver),
        }

    def _memory(self, ask: _Fields) -> tuple[int | None, int | None, int | None, int | None]:
        """Returns total, used, free and reserved bytes.

        The first version of this call counts the driver's reserved memory as used, as nvidia-smi did before driver 510.
        """
        newer = getattr(self._nvml, "nvmlMemory_v2", None)
        memory_info = None if newer is None else ask("used", "nvmlDeviceGetMemoryInfo", newer)
        if memory_info is not None:
            reserved = int(memory_info.reserved)
            return (
                int(memory_info.total),
                int(memory_info.total) - int(memory_info.free) - reserved,
                int(memory_info.free),
                reserved,
            )
        ask.missing.pop("used", None)
        memory_info = ask("used", "nvmlDeviceGetMemoryInfo")
        if memory_info is None:
            ask.missing |= dict.fromkeys(("total", "free", "reserved"), ask.missing["used"])
            return None, None, None, None
        ask.missing["reserved"] = "this driver counts it as used"
        return int(memory_info.total), int(memory_info.used), int(memory_info.free), None

    def _processes(self, handle: Any) -> tuple[tuple[CardProcess, ...] | None, str]:
        problem = strange_pids()
        if problem:
            return None, problem
        running, problem = _try_call(self._nvml.nvmlDeviceGetComputeRunningProcesses, handle)
        if running is None:
            return None, problem
        processes = [
            CardProcess(int(process.pid), process.usedGpuMemory) for process in running if int(process.pid) != _NO_PID
        ]
        return tuple(sorted(dict.fromkeys(processes), key=lambda process: (-(process.nbytes or 0), process.pid))), ""


_FIXED = frozenset({"number", "name", "uuid", "bus_id", "driver"})
"""Fields that do not change while a handle is valid."""

_TEMPERATURE_OF_GPU = 0
"""The only sensor that NVML defines. Source: NVML_TEMPERATURE_GPU, nvml.h."""


class _Fields:
    """Reads one figure after the other, and records why a figure is missing."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle
        self.missing: dict[str, str] = {}

    def __call__(self, field: str, call: str, *arguments: Any) -> Any:
        figure, problem = _try_call(lambda: getattr(self._nvml, call)(self._handle, *arguments))
        if figure is None:
            self.missing[field] = problem
        return figure


def strange_pids(path: str = "/proc/self/ns/pid") -> str:
    """Returns why the driver's process numbers differ from those of this process; an empty string if they agree.

    The driver knows only the host's numbers. In a container, the same number may belong to another process.
    """
    if not sys.platform.startswith("linux"):
        return ""
    try:
        is_host_namespace = os.readlink(path) == _OWN_NAMESPACE
    except OSError:
        is_host_namespace = False
    return "" if is_host_namespace else "this container has its own process numbers"


def plain_bus_id(text: str) -> str:
    """Returns a PCI address as CUDA and TensorFlow write it.

    >>> plain_bus_id("00000000:8A:00.0")
    '0000:8a:00.0'
    """
    domain, _, address = text.lower().partition(":")
    return f"{domain[-4:]}:{address}" if address else text.lower()


def _try_call(function: Callable[..., T], *arguments: Any) -> tuple[T | None, str]:
    """Returns the result of a call and an empty string, or None and the error as text.

    Catches any error. The library has an error class for each code, known only after loading, and ctypes raises its own
    errors. None of them may reach a user who only reads memory figures.
    """
    try:
        answer = function(*arguments)
    except Exception as error:
        name = type(error).__name__
        return None, str(error) if name.startswith("NVMLError") else f"{name}: {error}"
    return answer, ""


def _names(uuid: str | None) -> list[str]:
    """Returns the names that NVML may use for a UUID; for a partition of a card, CUDA gives only the 16 bytes."""
    if not uuid:
        return []
    return [uuid, f"MIG-{uuid.removeprefix('GPU-')}"] if uuid.startswith("GPU-") else [uuid]


def _text(answer: Any) -> str | None:
    """Returns a string; older releases of the module return bytes."""
    return answer.decode() if isinstance(answer, bytes) else None if answer is None else str(answer)


def _unknown(problem: str) -> CardReading:
    return CardReading(missing=dict.fromkeys((name for name in CardReading._fields if name != "missing"), problem))

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

from nbtf._install import pip_install
from nbtf._locks import new_lock

INSTALL = pip_install("nvml")

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
    """A process on a card; `nbytes` is None where the driver does not tell.

    >>> tf.runtime.CardProcess(pid=4711, nbytes=2**30)
    CardProcess(pid=4711, nbytes=1073741824)
    """

    pid: int
    nbytes: int | None


class CardReading(NamedTuple):
    """What NVML says of a card. Sizes are in bytes, `temperature` in degrees Celsius, `power` in watts.

    `number` is its number in this machine, as `nvidia-smi` shows it. `used` is what contexts took, without what the
    driver `reserved` for itself. `utilization` is the part of the last moment in which a kernel ran, in percent.
    `missing` says for each figure that is None why it is.

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
    """Reads cards, at most once a second each. Any thread may ask.

    >>> monitor = tf.runtime.CardMonitor()
    >>> [card.name for card in monitor.cards()] == [] or monitor.missing is None
    True
    >>> monitor.close()
    """

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
        """Why there is nothing to read; None where there is.

        >>> def load():
        ...     raise OSError("no driver")
        >>> tf.runtime.CardMonitor(load).missing
        'OSError: no driver'
        """
        with self._lock:
            return self._open_library()

    def card(self, uuid: str | None, bus_id: str | None, age: float = SECOND) -> CardReading:
        """Returns what is known of a card, by what it is and not by a number: programs number cards differently.

        Args:
          uuid: as CUDA and `nvidia-smi -L` tell it, `GPU-…` or `MIG-…`.
          bus_id: its PCI address, `0000:8a:00.0`.
          age: a reading that is so many seconds old will do.

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
        """Returns all cards of this machine, also those that CUDA_VISIBLE_DEVICES hides from this process.

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
                if handle is not None:  # a card that fell off the bus
                    readings.append(self._read(index, handle, age))
            return readings

    def driver(self) -> str | None:
        """Returns the driver's version.

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
        """Lets go of the library; it is loaded again when somebody asks.

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
        if self._process != os.getpid():  # a copy of the process: the handles belong to the other one
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
        """Returns the part of a card that this process was given, where CUDA_VISIBLE_DEVICES names one; else the card.

        CUDA then shows a single device, and the memory of the whole card is not for this process to see.
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
            power=None if power is None else power / 1000,  # it tells milliwatts
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

        The first version of this call counts what the driver reserved as used; nvidia-smi does not since driver 510.
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
        ask.missing["reserved"] = "this driver does not tell it apart from what is used"
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
"""What does not change while a handle lives."""

_TEMPERATURE_OF_GPU = 0
"""The only sensor there is. Source: NVML_TEMPERATURE_GPU, nvml.h."""


class _Fields:
    """Asks for one figure after the other, and takes down why one is missing."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle
        self.missing: dict[str, str] = {}

    def __call__(self, field: str, call: str, *arguments: Any) -> Any:
        figure, problem = _try_call(lambda: getattr(self._nvml, call)(self._handle, *arguments))
        if figure is None:
            self.missing[field] = problem
        return figure


def strange_pids(path: str = "/proc/self/ns/pid") -> str:
    """Returns why the driver's process numbers are not those of this process's world; nothing where they are.

    The driver knows the machine's numbers only. In a container the same number may be another process.
    """
    if not sys.platform.startswith("linux"):
        return ""
    try:
        is_host_namespace = os.readlink(path) == _OWN_NAMESPACE
    except OSError:
        is_host_namespace = False
    return "" if is_host_namespace else "this is a container with process numbers of its own"


def plain_bus_id(text: str) -> str:
    """Returns a PCI address as CUDA and TensorFlow write it.

    >>> plain_bus_id("00000000:8A:00.0")
    '0000:8a:00.0'
    """
    domain, _, address = text.lower().partition(":")
    return f"{domain[-4:]}:{address}" if address else text.lower()


def _try_call(function: Callable[..., T], *arguments: Any) -> tuple[T | None, str]:
    """Returns what a call answers, or None and the error in words.

    Any error: the library has a class for each of its own, which are known only when it is loaded, and beside them it
    raises what ctypes does. None of it may reach a user who only looks at memory.
    """
    try:
        answer = function(*arguments)
    except Exception as error:
        name = type(error).__name__
        return None, str(error) if name.startswith("NVMLError") else f"{name}: {error}"
    return answer, ""


def _names(uuid: str | None) -> list[str]:
    """Returns how NVML may call what CUDA calls so: of a part of a card CUDA tells the 16 bytes alone."""
    if not uuid:
        return []
    return [uuid, f"MIG-{uuid.removeprefix('GPU-')}"] if uuid.startswith("GPU-") else [uuid]


def _text(answer: Any) -> str | None:
    """Returns a text; older releases of the module tell bytes."""
    return answer.decode() if isinstance(answer, bytes) else None if answer is None else str(answer)


def _unknown(problem: str) -> CardReading:
    return CardReading(missing=dict.fromkeys((name for name in CardReading._fields if name != "missing"), problem))

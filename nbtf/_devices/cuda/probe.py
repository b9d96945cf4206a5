"""Which real GPUs can this process use, and if none, why? Nothing is printed or raised."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

from nbtf._counts import counted
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.catalog import CARDS, Card
from nbtf._devices.cuda.library import load_cupy
from nbtf._locks import new_lock

SWITCH = "NBTF_GPU"
VISIBLE = "CUDA_VISIBLE_DEVICES"
OLDEST_CUPY = 14

# Source: NVIDIA, CUDA C++ Programming Guide, section CUDA Environment Variables; batch systems use the last value.
_HIDES_ALL = frozenset({"", "-1", "NoDevFiles"})
_DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
# Lists every card of the machine, including hidden ones. Source: README of NVIDIA's driver for Linux.
_ALL_CARDS = "/proc/driver/nvidia/gpus"


class Probe(NamedTuple):
    """The result of a probe. `reason` explains why no card was found, or how the cards were found.

    `warnings` are CuPy's warnings during its import, which have not been shown yet.
    """

    cards: tuple[PhysicalGPU, ...]
    reason: str
    warnings: tuple[str, ...] = ()


def find_cards(environ: Mapping[str, str]) -> tuple[PhysicalGPU, ...]:
    """Returns the cards that CuPy can use; see `probe`."""
    return probe(environ).cards


def probe(environ: Mapping[str, str]) -> Probe:
    """Returns the real GPUs that the process sees, in CUDA's order; creates no CUDA context.

    Slow steps run once per process. Switches are read each time: `NBTF_GPU=off`, or a `CUDA_VISIBLE_DEVICES` that hides
    every GPU.
    """
    switched_off = hidden(environ)
    if switched_off:
        return Probe((), switched_off)
    with _LOCK:
        if _FOUND.probe is None:
            _FOUND.probe, _FOUND.process = look(), os.getpid()
    probed = _FOUND.probe
    if probed.cards and _FOUND.process != os.getpid():
        return probed._replace(cards=(), reason=FORKED)
    return probed


FORKED = (
    "CUDA cannot be used here: this process was forked from a process that had used CUDA. "
    'Start it with multiprocessing.get_context("spawn").'
)


class _Found:
    """The cached result of one process."""

    probe: Probe | None = None
    process = 0


_FOUND = _Found()
_LOCK = new_lock()


def forget() -> None:
    """Makes the next probe run again; for tests."""
    _FOUND.probe = None


def hidden(environ: Mapping[str, str]) -> str:
    """Returns a sentence about the setting that hides all real GPUs; an empty string if none does.

    >>> hidden({"CUDA_VISIBLE_DEVICES": "-1"}), hidden({"CUDA_VISIBLE_DEVICES": "0"})
    ("CUDA_VISIBLE_DEVICES is '-1', which hides every GPU.", '')
    """
    switch = environ.get(SWITCH, "auto").strip().lower()
    if switch == "off":
        return f"{SWITCH} is off."
    mask = environ.get(VISIBLE)
    if mask is not None and mask.strip() in _HIDES_ALL:
        return f"{VISIBLE} is {mask!r}, which hides every GPU."
    return ""


def look(load: Callable[[], Any] = load_cupy, driver: Callable[[str], object] = ctypes.CDLL) -> Probe:
    """Runs checks from the cheapest to the most expensive, and stops at the first failure.

    Args:
      load: function that returns CuPy.
      driver: function that loads a library of the system.
    """
    try:
        installed = find_spec("cupy") is not None
    except (ImportError, ValueError):  # a package that is only partly removed
        installed = False
    if not installed:
        return Probe((), "CuPy is not installed.")
    try:
        driver(_DRIVER)  # this check takes a hundredth of the time of importing CuPy
    except OSError:
        return Probe((), f"There is no NVIDIA driver: {_DRIVER} cannot be loaded.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            cupy = load()
        except Exception as error:  # a broken installation must not break a program that needs no GPU
            return Probe((), f"CuPy cannot be imported: {type(error).__name__}: {error}")
        probed = ask(cupy)
    return probed._replace(warnings=tuple(dict.fromkeys(str(warning.message) for warning in caught)))


def ask(cupy: Any) -> Probe:
    """Returns CuPy's view of the cards; uses only calls that need no context."""
    version = str(getattr(cupy, "__version__", "?"))
    number = re.match(r"[0-9]+", version)
    if number and int(number[0]) < OLDEST_CUPY:
        return Probe((), f"CuPy {version} is too old: nbtf needs CuPy {OLDEST_CUPY} or newer.")
    try:
        runtime = cupy.cuda.runtime
        if not cupy.cuda.is_available():
            return Probe((), f"CuPy {version} finds no GPU{_explain_no_card(runtime)}.")
        cards = [_card(runtime, ordinal) for ordinal in range(runtime.getDeviceCount())]
    except Exception as error:
        return Probe((), f"CuPy {version} cannot list the GPUs: {type(error).__name__}: {error}")
    everything = _bus_ids_of_the_machine() or sorted(card.bus_id for card in cards)
    numbers = {bus_id: number for number, bus_id in enumerate(everything)}
    placed = [card._replace(machine_index=numbers.get(card.bus_id, card.ordinal)) for card in cards]
    return Probe(tuple(placed), f"CuPy {version} sees {counted(len(cards), 'GPU')}.")


def _explain_no_card(runtime: Any) -> str:
    try:
        runtime.getDeviceCount()
    except Exception as error:
        return f": {error}"
    return ""


def _card(runtime: Any, ordinal: int) -> PhysicalGPU:
    properties = runtime.getDeviceProperties(ordinal)
    name = properties["name"]
    name = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
    capability, memory = (properties["major"], properties["minor"]), int(properties["totalGlobalMem"])
    unknown = float("nan")
    listed = next((card for card in CARDS if card.name == name), None)
    card = listed or Card(name, memory, capability, unknown, unknown, unknown, "its driver; rates are not known")
    card = card._replace(memory_bytes=memory, compute_capability=capability)
    bus_id = str(runtime.deviceGetPCIBusId(ordinal)).lower()
    return PhysicalGPU(card, ordinal, bus_id, _uuid(properties.get("uuid", b"")), False, memory, ordinal)


def _uuid(raw: bytes) -> str:
    """Returns the identifier in nvidia-smi's format; an empty string if the runtime has none."""
    text = bytes(raw[:16]).hex()
    return f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}" if len(text) == 32 else ""


def _bus_ids_of_the_machine() -> list[str]:
    """Returns the addresses of all cards in the order of nvidia-smi; empty if the system does not list them."""
    try:
        return sorted(name.lower() for name in os.listdir(_ALL_CARDS))
    except OSError:
        return []

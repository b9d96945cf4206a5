"""What a session, or `device_lib`, tells of its devices."""

from __future__ import annotations

import secrets
from typing import NamedTuple
from weakref import WeakKeyDictionary

from nbtf._devices.base import Device
from nbtf._runtime.placement import Machine

# What TensorFlow says of every CPU. Source: ThreadPoolDeviceFactory, threadpool_device_factory.cc.
_CPU_MEMORY = 256 << 20

_INCARNATIONS: WeakKeyDictionary[Device, int] = WeakKeyDictionary()


def memory_limit_of(device: Device) -> int:
    """Returns the bytes that a device may use; a CPU's is a matter of form."""
    return _CPU_MEMORY if device.memory is None else device.memory.stats().limit


def incarnation_of(device: Device) -> int:
    """Returns a random number of 64 bits that a device keeps as long as it lives."""
    return _INCARNATIONS.setdefault(device, secrets.randbits(64))


class DeviceAttributes(NamedTuple):
    """A device of a session: full name, type, bytes of memory, and a random number."""

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int

    def __repr__(self) -> str:
        return f"_DeviceAttributes({', '.join(map(str, self))})"


def devices_of(machine: Machine) -> list[DeviceAttributes]:
    """Returns the devices of a session, CPUs first."""
    return [
        DeviceAttributes(name, device.type, memory_limit_of(device), _signed(incarnation_of(device)))
        for name, device in machine.by_name.items()
    ]


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number

"""TensorFlow's devices under their names in nbtf's events."""

from __future__ import annotations

from functools import lru_cache

from nbtf._devices.names import full_name, parse, short_name
from nbtf._frameworks.devices import LibraryDevice
from nbtf._runtime.context import CURRENT
from nbtf._runtime.inventory import devices


class Devices:
    """The devices of TensorFlow, by their full names there; every op looks one up."""

    def __init__(self) -> None:
        """Creates an empty table."""
        self._machine: object = None
        self._devices: dict[str, LibraryDevice] = {}

    def of(self, name: str) -> LibraryDevice:
        """Returns a device, which has TensorFlow's own name unless one of nbtf's simulated GPUs has that name."""
        context = CURRENT.context
        machine = context, context.machine
        if machine != self._machine:
            self._machine, self._devices = machine, {}
        device = self._devices.get(name)
        if device is None:
            device = self._devices[name] = _device(name)
        return device


DEVICES = Devices()


def _device(name: str) -> LibraryDevice:
    if device_type(name) != "GPU":
        return LibraryDevice(name)
    number = int(name.rpartition(":")[2])
    if any(device.name == short_name(name) and device.cuda != number for device in devices()):
        name = full_name("cuda", number)
    return LibraryDevice(name, "launch")


@lru_cache(1024)
def device_type(name: str) -> str:
    """Returns the type in a full name: `GPU` for `/job:localhost/replica:0/task:0/device:GPU:1`.

    >>> device_type("/job:localhost/replica:0/task:0/device:GPU:1")
    'GPU'
    """
    return parse(name).device_type or ""

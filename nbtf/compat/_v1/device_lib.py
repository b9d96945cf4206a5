"""`tensorflow.python.client.device_lib` for older programs: the list of available devices."""

from __future__ import annotations

from typing import ClassVar

from nbtf._runtime.context import CURRENT
from nbtf._storage.messages.field_types import FIXED64, INT32, INT64, STRING
from nbtf._storage.messages.message import Fields, Message
from nbtf.compat._v1._config.config_proto import ConfigProto
from nbtf.compat._v1._session.log import card_in_words
from nbtf.compat._v1._session.machine import config_of, incarnation_of, machine_of, memory_limit_of

__all__ = ["list_local_devices"]

# Field numbers and types. Source: core/framework/device_attributes.proto of TensorFlow 2.21.


def __dir__() -> list[str]:
    return __all__


class InterconnectLink(Message):
    """A link to another device."""

    FIELDS: ClassVar[Fields] = {"device_id": (1, INT32), "type": (2, STRING), "strength": (3, INT32)}


class LocalLinks(Message):
    """Links to other devices."""

    FIELDS: ClassVar[Fields] = {"link": (1, [InterconnectLink])}


class DeviceLocality(Message):
    """The location of a device in the computer."""

    FIELDS: ClassVar[Fields] = {"bus_id": (1, INT32), "numa_node": (2, INT32), "links": (3, LocalLinks)}


class DeviceAttributes(Message):
    """A device: its name, type and memory in bytes and, for a GPU, a description of the card."""

    FIELDS: ClassVar[Fields] = {
        "name": (1, STRING),
        "device_type": (2, STRING),
        "memory_limit": (4, INT64),
        "locality": (5, DeviceLocality),
        "incarnation": (6, FIXED64),
        "physical_device_desc": (7, STRING),
        "xla_global_id": (8, INT64),
    }


def list_local_devices(session_config: ConfigProto | None = None) -> list[DeviceAttributes]:
    """Returns the devices of this process. Afterwards, the device configuration cannot be changed.

    Args:
      session_config: session configuration; None uses the settings in `tf.config`. GPU options take effect only if no
        session was created before.

    Returns:
      Messages with `name`, `device_type` and `memory_limit` in bytes. GPUs also have `physical_device_desc`, which ends
      in `(simulated)` for simulated GPUs.

    >>> from nbtf.compat._v1 import device_lib
    >>> [device.name for device in device_lib.list_local_devices() if device.device_type == "CPU"]
    ['/device:CPU:0']
    """
    context = CURRENT.context
    machine = machine_of(config_of(context) if session_config is None else session_config, context)
    devices: list[DeviceAttributes] = []
    for device in machine.by_name.values():
        attributes = DeviceAttributes(
            name=f"/device:{device.short_name}",
            device_type=device.type,
            memory_limit=memory_limit_of(device),
            locality=DeviceLocality(),
            incarnation=incarnation_of(device),
        )
        if device.type == "GPU":
            attributes.locality.bus_id = 1
            attributes.locality.links.SetInParent()
            attributes.physical_device_desc = card_in_words(device, context)
        else:
            attributes.xla_global_id = -1
        devices.append(attributes)
    return devices

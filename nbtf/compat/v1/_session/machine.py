"""Which devices a session has: CPUs of its own, and the GPUs of the process as its settings number them."""

from __future__ import annotations

from nbtf._devices.base import Device
from nbtf._runtime.context import Context
from nbtf._runtime.placement import Machine
from nbtf.compat.v1._config.config_proto import ConfigProto


def machine_of(config: ConfigProto, context: Context) -> Machine:
    """Returns the devices of a session with these settings; the first call makes the devices of the process."""
    made = context.devices
    counts = config.device_count
    cpus = context.session_cpus(counts.get("CPU", 1))
    gpus = [device for device in made.by_name.values() if device.type == "GPU"][: counts.get("GPU")]
    devices: list[Device] = [*cpus, *gpus]
    return Machine((*gpus, *cpus), {one.name: one for one in devices}, cpus[0], config.allow_soft_placement)

"""Which device does a string mean, is it available, and how is it written so that simulated ones are labelled?"""

from __future__ import annotations

from collections.abc import Iterable

from nbtf import DeviceSpec, config, errors, runtime

AUTO = "auto"
_TOP = DeviceSpec("localhost", 0, 0, "CPU", 0)
_LISTED_NAMES = 64
"""Number of names that an error lists; a cluster may have a thousand devices."""


def full_name(text: str) -> str | None:
    """Returns the full name of the device that a string means; None for `auto`, the automatic placement.

    Raises:
      ValueError: if the string is not a device.
    """
    if text == AUTO:
        return None
    try:
        return _TOP.make_merged_spec(DeviceSpec.from_string(runtime.without_cuda(text))).to_string()
    except ValueError:
        raise ValueError(
            f"cannot read {text!r} as a device. Try GPU:0, /CPU:0 or /job:localhost/replica:0/task:0/device:GPU:0."
        ) from None


def short(name: str) -> str:
    """Returns a device's type and number, `GPU:0`, with its task if it is not this process."""
    return runtime.short_name(name)


def label(name: str) -> str:
    """Returns the short name, with a mark if the device is simulated: `GPU:0 (simulated)`."""
    simulated = any(device.simulated for device in runtime.devices() if device.name == short(name))
    return f"{short(name)} (simulated)" if simulated else short(name)


def state_of(device: runtime.DeviceInfo) -> str:
    """Returns a device's kind for tables: `simulated`, or `simulated, lost` if its task is gone."""
    return f"{device_kind(device)}, lost" if device.lost else device_kind(device)


def losses(devices: Iterable[runtime.DeviceInfo]) -> list[str]:
    """Returns a sentence for each lost host: since when, and why."""
    hosts = {host_of(device.name): device.lost for device in devices if device.lost}
    return [f"{host} is lost {reason}. Its tensors are lost." for host, reason in hosts.items()]


def device_kind(device: runtime.DeviceInfo) -> str:
    """Returns the kind of a device: `host`, `simulated` or `real`."""
    return "host" if device.device_type == "CPU" else "simulated" if device.simulated else "real"


def require(name: str | None, soft: bool | None, hint: str) -> None:
    """Raises the error that an op would raise if a device is not available; starts no device.

    Args:
      name: the full name; None is always available.
      soft: whether another device may be used instead; None uses the setting in `tf.config`.
      hint: how the user can fall back to another device.

    Raises:
      MissingDeviceError: if the device is not available, and no other may be used instead.
    """
    names = [device.name for device in runtime.devices()]
    if name is None or short(name) in names:
        return
    soft = config.get_soft_device_placement() if soft is None else soft
    is_task_here = host_of(short(name)) in {host_of(device) for device in names}
    if soft and is_task_here:
        return
    hint = hint if is_task_here else "Only the devices of this process, and of simulated hosts, can be used."
    types = sorted({device.device_type for device in runtime.devices()}, reverse=True)
    all_names = [str(full_name(device)) for device in names]
    raise errors.MissingDeviceError(
        f"Could not satisfy device specification '{name}'. enable_soft_placement={int(soft)}. "
        f"Supported device types [{', '.join(types)}]. "
        f"All available devices [{_listed(all_names)}]. "
        f"Available here: {_listed([label(device) for device in names])}. {hint}"
    )


def _listed(names: list[str]) -> str:
    """Returns the names as a list, shortened if there are many."""
    ending = [f"... and {len(names) - _LISTED_NAMES} more of {len(names)}"] if len(names) > _LISTED_NAMES else []
    return ", ".join([*names[:_LISTED_NAMES], *ending])


def host_of(name: str) -> str:
    """Returns the host in a device's short name: `worker/1`, empty for this computer.

    Args:
      name: as `runtime.short_name` returns it.

    >>> from nbtf.notebook.device_names import host_of
    >>> host_of("/job:worker/task:1/GPU:0"), host_of("GPU:0")
    ('worker/1', '')
    """
    spec = DeviceSpec.from_string(name)
    return "" if spec.job in (None, "localhost") else f"{spec.job}/{spec.task or 0}"


def in_order(name: str) -> tuple[str, int, bool, int]:
    """Returns a sort key for short names of devices: this computer first, then by task; CPUs before cards."""
    host, _, task = host_of(name).partition("/")
    prefix, _, number = name.rpartition(":")
    return host, int(task or 0), not prefix.endswith("CPU"), int(number) if number.isdigit() else 0

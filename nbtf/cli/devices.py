"""`nbtf devices`: which devices are available? Prints a table and starts none of them."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from typing import Any

from nbtf import runtime
from nbtf._devices.cuda.probe import probe
from nbtf._devices.sizes import gib
from nbtf.cli.arguments import add_parser
from nbtf.cli.command_error import CommandError
from nbtf.cli.table import table

HEAD = ("device", "model", "memory", "limit", "in use", "card", "bus id", "visible")
NOTHING = "–"
HINT = "To simulate GPUs with NumPy on this computer's CPU: NBTF_SIMULATED_GPUS=4 nbtf devices"


def add_command(commands: Any) -> None:
    """Adds `devices` to the command line."""
    add_parser(commands, "devices", devices)


def devices(chosen: argparse.Namespace) -> int:
    """Prints the table, or the devices as JSON."""
    try:
        infos = runtime.devices()
    except ValueError as error:  # NBTF_SIMULATED_GPUS is invalid
        raise CommandError(str(error)) from None
    monitor = runtime.CardMonitor()
    numbered = [_numbered(device, monitor) for device in infos]
    monitor.close()
    if chosen.json:
        print(json.dumps([device._asdict() for device in numbered], indent=1))
        return 0
    no_gpu_reason = "" if any(device.device_type == "GPU" for device in infos) else probe(os.environ).reason
    print(describe_devices(numbered, no_gpu_reason))
    return 0


def describe_devices(infos: Sequence[runtime.DeviceInfo], no_gpu_reason: str = "") -> str:
    """Returns the table, without empty columns, followed by explanations.

    Args:
      infos: the devices.
      no_gpu_reason: why no real GPU is available.

    Returns:
      The table, then the names of all real GPUs; without any GPU, the reason and how to simulate some.
    """
    columns = zip(HEAD, *map(_row, infos), strict=True)
    text = table(zip(*(column for column in columns if any(cell != NOTHING for cell in column[1:])), strict=True))
    below = [device.naming for device in infos if device.naming is not None]
    if not any(device.device_type == "GPU" for device in infos):
        below = [*([f"No real GPU: {no_gpu_reason} Run `nbtf doctor` for a fix."] if no_gpu_reason else []), HINT]
    return "\n".join([text, "", *below]) if below else text


def _numbered(device: runtime.DeviceInfo, monitor: runtime.CardMonitor) -> runtime.DeviceInfo:
    """Returns a real device with its number in nvidia-smi, if the driver reports it."""
    number = None if device.cuda is None else monitor.card(device.uuid, device.bus_id).number
    return device if number is None else device._replace(card=number)


def _row(device: runtime.DeviceInfo) -> Sequence[str]:
    return (
        device.name,
        f"{device.model} (simulated)" if device.simulated else device.model or NOTHING,
        _size(device.memory),
        _size(device.memory_limit),
        _size(device.in_use),
        NOTHING if device.card is None else str(device.card),
        device.bus_id or NOTHING,
        NOTHING if device.visible else "hidden",
    )


def _size(nbytes: int | None) -> str:
    return NOTHING if nbytes is None else gib(nbytes)

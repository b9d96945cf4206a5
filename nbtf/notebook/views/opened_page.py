"""What does the page of a recording from a file show? Its own devices and memory, whatever this machine has."""

from __future__ import annotations

from typing import Any

from nbtf import runtime
from nbtf._record.opened import OpenedRecording
from nbtf.notebook.code_lines import in_file
from nbtf.notebook.stills.device_facts import map_facts
from nbtf.notebook.stills.device_map import map_data
from nbtf.notebook.stills.device_memory import memory_plane
from nbtf.notebook.stills.marks import Picture
from nbtf.notebook.stills.memory_data import memory_data
from nbtf.notebook.stills.memory_history import MemoryHistory
from nbtf.notebook.stills.schedule import timed
from nbtf.notebook.stills.timeline import timeline
from nbtf.notebook.views.page import Scene, scene_data


def opened_scene(record: OpenedRecording) -> Scene:
    """Returns the data of the views.

    Raises:
      ValueError: if the recording has no ops, no copies and no memory with addresses.
    """
    snapshot = record.snapshot()
    schedule = timed(snapshot)
    memory = [memory_data(history, code_line=in_file) for history in _histories(record)]
    if not schedule.lanes and not memory:
        raise ValueError(f"{record.source} has no ops, no copies and no memory, so a page would be empty.")
    devices = [_device(device.name, device) for device in record.devices]
    views = scene_data(snapshot, schedule, memory, in_file) if schedule.lanes else {"memory": memory}
    return views | {"map": map_data(map_facts(snapshot, devices))}


def opened_still(record: OpenedRecording) -> Picture:
    """Returns the timeline of a recording as a picture; without ops and copies, the memory of its busiest device."""
    schedule = timed(record.snapshot())
    return (
        timeline(schedule, code_line=in_file)
        if schedule.lanes
        else memory_plane(_histories(record)[0], code_line=in_file)
    )


def _histories(record: OpenedRecording) -> list[MemoryHistory]:
    """Returns the history of each device's memory, the busiest first; none if the first events are missing."""
    snapshot = record.snapshot()
    if snapshot.cut:
        return []
    limits = {runtime.short_name(device.name): device.limit for device in record.devices}
    histories: list[MemoryHistory] = []
    for name, changes in sorted(_changes(snapshot).items(), key=lambda entry: -len(entry[1])):
        pools = [getattr(event, "pool", 0) for event in changes]
        failed = [event.limit for event in changes if isinstance(event, runtime.Refused)]
        limit = next((size for size in (*failed, limits.get(runtime.short_name(name), 0)) if size), max(pools))
        histories.append(MemoryHistory(name, limit, changes, record.regions_before(name), lines=snapshot.lines()))
    return histories


def _changes(snapshot: runtime.Snapshot) -> dict[str, list[Any]]:
    """Returns the events about the memory of each device; `Snapshot.memory` has only those that a runtime noted."""
    changes: dict[str, list[Any]] = {}
    for event in snapshot.events:
        if isinstance(event, runtime.Refused) or (
            isinstance(event, runtime.Allocated | runtime.Freed) and event.region >= 0
        ):
            changes.setdefault(event.device, []).append(event)
    return changes


def _device(name: str, device: Any) -> runtime.DeviceInfo:
    """Returns a device of the recording's machine as device maps read it."""
    device_type = "GPU" if "GPU:" in name else "CPU"
    limit = device.limit or None
    return runtime.DeviceInfo(
        runtime.short_name(name), device_type, device.simulated, device.model or None, memory=limit, memory_limit=limit
    )

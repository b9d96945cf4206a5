"""What is an event of a trace: an op, a kernel, a copy, a wait, a note? Decided by category, process and thread.

Sources of the names: `output_json.cpp`, `CuptiActivity.cpp` and `ActivityType.cpp` of Kineto; `trace_events.cc`,
`xplane_schema.cc` and `cupti_collector.cc` of TensorFlow (JAX uses them too); `nbtf/notebook/magics/trace.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

HOST_OP, KERNEL, COPY, RUNTIME, WAIT, ANNOTATION = "op", "kernel", "copy", "runtime", "wait", "annotation"

_ROLES = {
    "cpu_op": HOST_OP,
    "operator": HOST_OP,
    "kernel": KERNEL,
    "gpu_memset": KERNEL,
    "memset": KERNEL,
    "gpu_memcpy": COPY,
    "memcpy": COPY,
    "cuda_runtime": RUNTIME,
    "cuda_driver": RUNTIME,
    "hip_runtime": RUNTIME,
    "runtime": RUNTIME,
    "user_annotation": ANNOTATION,
}
"""Roles of Kineto's categories; older releases write `Operator`, `Kernel`, `Memcpy` and `Runtime`."""

_WAITS = re.compile(
    r"(cuda|hip|cu)(Stream|Device|Event|Ctx)Synchronize|(cuda|hip)Memcpy|SyncAllActivity"
    r"|BlockHostUntil\w+|.*AwaitReady.*|.*BlockUntilReady.*"
)
"""Calls that return only after the device has finished."""

_DEVICE = re.compile(r"/device:(GPU|TPU):(\d{1,9})\b", re.ASCII)
_OWN_DEVICE = re.compile(r"(/job:\w{1,60}(/replica:\d{1,9})?/task:\d{1,9}/)?(device:)?(CPU|GPU):\d{1,9}", re.ASCII)
_COPY = re.compile(r"memcpy\s*(?:(h|d|p|a)(?:to|2)(h|d|p|a))?", re.IGNORECASE)
_DETAILS = re.compile(r"(\w+):(\S+)")
_DERIVED = ("Steps", "XLA Modules", "Framework", "TensorFlow", "Source", "Launch Stats", "XLA TraceMe", "Async")
"""Lines that the profiler computes from others, so that their work would count twice."""


class Track(NamedTuple):
    """The process and the thread of an event, by their names as far as these are known."""

    process: str
    thread: str


class Slice(NamedTuple):
    """The description of a piece of time of a trace.

    Attributes:
      role: one of the six roles; or, if the piece is not shown, an empty text.
      device: type and number of the device that works, such as `GPU:0`.
      track: the stream or the thread.
      source: for a copy, the device that is read.
      target: for a copy, the device that is written.
      nbytes: for a copy, its size.
      is_modelled: whether the times were calculated.
      copy: for a copy, whether it is an `upload`, a `move` or a `read`.
    """

    role: str
    device: str = "CPU:0"
    track: str = ""
    source: str = ""
    target: str = ""
    nbytes: int = 0
    is_modelled: bool = False
    copy: str = "move"


def left_out(reason: str = "") -> Slice:
    """Returns what a piece of time is that is not shown; without a reason, it counts by its category."""
    return Slice("", track=reason)


def dictionary(value: Any) -> Mapping[str, Any]:
    """Returns a JSON object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def slice_of(event: Mapping[str, Any], name: str, category: str, track: Track) -> Slice:
    """Returns what a piece of time is; the role is empty if it is not shown."""
    args = dictionary(event.get("args"))
    if track.process == "nbtf":
        return _of_nbtf(name, track, args)
    device = _DEVICE.search(track.process)
    if device is not None:
        return _of_profiler(name, f"{device[1]}:{device[2]}", track, args)
    if track.process.startswith("/host:"):
        return left_out("Python functions") if name.startswith("$") else _on_host(HOST_OP, name, track.thread)
    return _of_kineto(event, name, category.lower(), track, args)


def _on_host(role: str, name: str, thread: str) -> Slice:
    return Slice(WAIT if _WAITS.fullmatch(_without_arguments(name)) else role, "CPU:0", thread)


@lru_cache(4096)
def _without_arguments(name: str) -> str:
    return name.partition("(")[0].rpartition("::")[2].strip()


def _of_kineto(event: Mapping[str, Any], name: str, category: str, track: Track, args: Mapping[str, Any]) -> Slice:
    role = _ROLES.get(category, "")
    if role in (KERNEL, COPY):
        number = _number(args.get("device", args.get("inDevice", event.get("pid"))))
        device, stream = f"GPU:{number}", f"stream {_number(args.get('stream', event.get('tid')))}"
        if role == KERNEL:
            return Slice(KERNEL, device, stream)
        ends = _ends(name, device, args.get("fromDevice"), args.get("toDevice"))
        return _copy(device, stream, *ends, _number(args.get("bytes", 0)))
    if not role:
        return left_out()
    return _on_host(role, name, track.thread) if role == RUNTIME else Slice(role, "CPU:0", track.thread)


def _of_profiler(name: str, device: str, track: Track, args: Mapping[str, Any]) -> Slice:
    if track.thread.startswith(_DERIVED):
        return left_out("pieces of lines that repeat others")
    if track.thread.startswith("XLA Ops") and device.startswith("GPU"):
        return left_out("pieces of lines that repeat others")  # the same work is on the streams
    if not _COPY.match(name):
        return Slice(KERNEL, device, track.thread)
    details = dict(_DETAILS.findall(str(args.get("memcpy_details", ""))))
    target = details.get("dest") if "p2p" in name.lower() or "ptop" in name.lower() else None
    return _copy(device, track.thread, *_ends(name, device, None, target), _number(details.get("size", 0)))


def _of_nbtf(name: str, track: Track, args: Mapping[str, Any]) -> Slice:
    device = own_device(track.thread)
    if not device:
        return left_out()
    modelled = name.endswith(" (modelled time)")
    if name.startswith("copy from "):
        return left_out("ends of copies")  # the copy is on the track of its source as well
    if name.startswith("copy to ") and "bytes" in args:
        target = own_device(name.removeprefix("copy to "))
        if not target:
            return left_out()
        copy = str(args.get("kind"))
        copy = copy if copy in ("upload", "read") else "move"
        worker = target if device.startswith("CPU") else device
        return Slice(COPY, worker, "", device, target, _number(args["bytes"]), modelled, copy)
    return Slice(HOST_OP if "CPU:" in device else KERNEL, device, "", is_modelled=modelled)


def own_device(label: str) -> str:
    """Returns the device in a label of nbtf's export, `GPU:0 (simulated)`; an empty text for any other label."""
    device = label.partition(" (")[0]
    return device if _OWN_DEVICE.fullmatch(device) else ""


def _copy(device: str, stream: str, source: str, target: str, nbytes: int) -> Slice:
    copy = "upload" if source == "CPU:0" else "read" if target == "CPU:0" else "move"
    return Slice(COPY, device, stream, source, target, nbytes, copy=copy)


def _ends(name: str, device: str, source: Any, target: Any) -> tuple[str, str]:
    """Returns the devices that a copy reads and writes, given its name and the numbers that the trace contains."""
    match = _COPY.match(name)
    letters = ((match[1] or "d").lower(), (match[2] or "d").lower()) if match else ("d", "d")
    device_type = device.partition(":")[0]
    device_names = [device if number is None else f"{device_type}:{_number(number)}" for number in (source, target)]
    first, second = ("CPU:0" if letter == "h" else end for letter, end in zip(letters, device_names, strict=True))
    return first, second


def _number(value: Any) -> int:
    """Returns a whole number of 0 or more; 0 for anything else."""
    if isinstance(value, str):
        digits = value.removeprefix("stream ")
        return min(int(digits), 2**62) if digits.isdecimal() and len(digits) < 20 else 0
    return min(int(value), 2**62) if isinstance(value, int | float) and 0 <= value < 2**62 else 0


def by_number(device: str) -> tuple[str, int, str]:
    """Returns a sort key of devices: by type, then by number."""
    head, _, number = device.rpartition(":")
    return head, int(number) if number.isdecimal() and len(number) < 20 else 0, device

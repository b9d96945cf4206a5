"""Which devices does a name match? Functions that read memory figures parse names more strictly than scopes do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nbtf._devices.names import Fields, parse

_NAME = "[A-Za-z][A-Za-z0-9_]*"
_PIECES = re.compile(
    rf"(/job:(?P<job>{_NAME})|/replica:(?P<replica>\d+)|/task:(?P<task>\d+)"
    rf"|/device:(?P<type>{_NAME})(:(?P<index>\d+|\*))?|/(?P<short>cpu|CPU|gpu|GPU):(?P<number>\d+|\*))*/?"
)
_LOCAL = re.compile(rf"(?P<type>{_NAME}):(?P<index>\d+)")
"""Source: TensorFlow, core/util/device_name_utils.cc, `ParseFullName` and `ParseLocalName`."""


def matching(name: str, names: Iterable[str]) -> list[str] | None:
    """Returns the full names that a name matches; None for a string that is not a device name.

    Args:
      name: such as `GPU:0` or `/job:worker/task:1`; a missing part matches anything.
      names: full names of devices.

    >>> matching("/task:0", ["/job:localhost/replica:0/task:0/device:CPU:0"])
    ['/job:localhost/replica:0/task:0/device:CPU:0']
    >>> matching("banana", []) is None
    True
    """
    fields = _read(name)
    return None if fields is None else [device for device in names if _fits(fields, parse(device))]


def _read(name: str) -> Fields | None:
    local = _LOCAL.fullmatch(name)
    if local is not None:
        return Fields(device_type=local["type"], device_index=int(local["index"]))
    full = None if name[1:].endswith("/") else _PIECES.fullmatch(name)
    if full is None:
        return None
    numbers = [None if full[key] in (None, "*") else int(full[key]) for key in ("replica", "task", "index", "number")]
    replica, task, index, number = numbers
    device_type = full["type"] or (full["short"] and full["short"].upper())
    return Fields(full["job"], replica, task, device_type, number if full["short"] else index)


def _fits(fields: Fields, device: Fields) -> bool:
    return all([expected is None or expected == actual for expected, actual in zip(fields, device, strict=True)])

"""Writes the memory of a snapshot as one HTML file, which opens without a kernel, a server or a network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nbtf._snapshots.lines import without_person
from nbtf._snapshots.snapshot import Frame, MemorySnapshot
from nbtf.notebook import catalogue
from nbtf.notebook.snapshots.grouping import groupings
from nbtf.notebook.snapshots.history import DeviceHistory, Window, devices_of
from nbtf.notebook.snapshots.memory import Naming
from nbtf.notebook.snapshots.scene import snapshot_scene
from nbtf.notebook.snapshots.still import snapshot_still
from nbtf.notebook.stills.marks import Picture
from nbtf.notebook.stills.memory_bands import picture_words
from nbtf.notebook.views.page import html_page


class ViewedDevices(NamedTuple):
    """The devices of a snapshot that a page shows, and how it writes paths."""

    histories: list[DeviceHistory]
    naming: Naming


def devices_to_view(snapshot: MemorySnapshot, device: int | None = None, anonymous: bool = False) -> ViewedDevices:
    """Returns the devices to show.

    Args:
      snapshot: the snapshot.
      device: number of the only device that is shown; None shows all, the one with the longest history first.
      anonymous: whether personal paths are shortened.

    Raises:
      ValueError: if the snapshot does not mention the device, or no device at all.
    """
    devices = devices_of(snapshot)
    if device is not None and device not in devices:
        names = ", ".join(f"GPU:{number}" for number in sorted(devices))
        raise ValueError(f"{snapshot.source} does not contain GPU:{device}. It contains: {names or 'no device'}.")
    if not devices:
        raise ValueError(f"{snapshot.source} contains no memory of a device: neither segments nor a history.")
    chosen = devices if device is None else [device]
    write = partial(frame_in_words, anonymous=anonymous)
    return ViewedDevices([DeviceHistory(snapshot, number) for number in chosen], Naming(snapshot, write))


def snapshot_page(
    snapshot: MemorySnapshot,
    viewed: ViewedDevices,
    windows: Sequence[Window] | None = None,
    what_ifs: Sequence[dict[str, Any]] = (),
) -> str:
    """Returns the text of the file; `scene_of_snapshot` describes the arguments."""
    return html_page(scene_of_snapshot(snapshot, viewed, windows, what_ifs), still_of(viewed), snapshot.source)


def scene_of_snapshot(
    snapshot: MemorySnapshot,
    viewed: ViewedDevices,
    windows: Sequence[Window] | None = None,
    what_ifs: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Returns the data of the views.

    Args:
      snapshot: the snapshot.
      viewed: the devices to show.
      windows: the steps of each device of which every piece is shown; None means those around the peak.
      what_ifs: tables of replays with other settings, for each device.
    """
    windows = windows or [each.window() for each in viewed.histories]
    return snapshot_scene(snapshot, viewed.histories, windows, viewed.naming, what_ifs)


def still_of(viewed: ViewedDevices) -> Picture:
    """Returns the picture of the first device."""
    history, words = viewed.histories[0], {**picture_words(), **catalogue.words("snapshot")}
    pieces = history.pieces
    at_peak = np.flatnonzero((pieces.birth <= history.peak) & (history.peak < pieces.death))
    grouping = groupings(pieces, at_peak, viewed.naming, words)[0]
    return snapshot_still(history, grouping)


def frame_in_words(frame: Frame, anonymous: bool = False) -> str:
    """Returns a frame as a line of text: `/home/ann/train.py, line 57 in forward`."""
    file, line, function = without_person(frame) if anonymous else frame
    return f"{file}, line {line} in {function}" if line else f"{file} {function}".strip()

"""Groups the devices of a timeline with many of them, so that a page can fold a host into one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nbtf.notebook.stills.device_facts import host_of, short_in_cluster
from nbtf.notebook.stills.schedule import PYTHON, is_host

MOST_UNGROUPED = 16
"""Devices up to which a page shows each without a group, and most devices of a still picture."""

MOST_CARDS = 8
"""Cards of a group, as in a row of the device map; a host with more cards has several groups."""


class LaneGroup(NamedTuple):
    """Devices that fold into one row: its title, empty for this computer, and the numbers of their lanes."""

    name: str
    lanes: list[int]


def lane_groups(lanes: Sequence[str]) -> list[LaneGroup]:
    """Returns the groups of a timeline's devices, in order; none if there are few devices.

    The CPU of this computer and the lane of the program belong to no group.

    Args:
      lanes: the short names of the devices, as in `Schedule.lanes`.
    """
    if len(lanes) <= MOST_UNGROUPED:
        return []
    hosts: dict[str, list[int]] = {}
    for number, lane in enumerate(lanes):
        if host_of(lane) or not (is_host(lane) or lane == PYTHON):
            hosts.setdefault(host_of(lane), []).append(number)
    return [group for host, members in hosts.items() for group in _groups_of_host(host, members, lanes)]


def _groups_of_host(host: str, members: list[int], lanes: Sequence[str]) -> list[LaneGroup]:
    if len([number for number in members if not is_host(lanes[number])]) <= MOST_CARDS:
        return [LaneGroup(host, members)]
    map_rows = [members[first : first + MOST_CARDS] for first in range(0, len(members), MOST_CARDS)]
    return [LaneGroup(_range_in_words([lanes[number] for number in row]), row) for row in map_rows]


def _range_in_words(names: Sequence[str]) -> str:
    """Returns the first and the last of some devices of one host: `worker/1 GPU:0–GPU:7`."""
    first, last = short_in_cluster(names[0]), names[-1].rpartition("/")[2]
    return first if len(names) == 1 else f"{first}–{last}"

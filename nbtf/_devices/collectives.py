"""In which messages do many devices add up what each of them has, and how long does that take? A model, never slept.

An algorithm is a list of rounds. In a round all messages go at once; those that leave or enter a host share its link to
the network in that direction. Adding is free: a card adds faster than any link brings. For n devices on equal links, S
bytes, latency a and bandwidth b:

    star             2 (n - 1) (a + S / b)                 each sends to the first, one after another, and gets the sum
    ring             2 (n - 1) a + 2 (n - 1) / n  S / b    parts go round twice
    tree             2 ceil(log2 n) (a + S / b)            halves send to halves, and back
    hierarchical     a tree inside each host, the better of ring and tree between the first devices of the hosts

Ring: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", J. Parallel Distrib.
Comput. 69, 2009. Tree: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
Int. J. High Perform. Comput. Appl. 19(1), 2005.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from nbtf._devices.links import Network
from nbtf._devices.names import task_of

COLLECTIVE = "CollectiveReduceV2"
"""The op that adds up across devices: TensorFlow's name. What it takes is told with its messages."""

STAR, RING, TREE, HIERARCHICAL = ALGORITHMS = ("star", "ring", "tree", "hierarchical")
AUTO = "auto"
"""Chooses the algorithm that takes least time, as NCCL does by a model of its own: `ncclTopoGetAlgoTime`, tuning.cc."""

Message: TypeAlias = tuple[int, int, float]
"""From which device to which, by position, and how many bytes."""


class Round(NamedTuple):
    """Messages that go at once, so many times one after another; `seconds` is how long once takes."""

    times: int
    messages: tuple[Message, ...]
    seconds: float = 0.0


class Plan(NamedTuple):
    """The rounds of an algorithm, timed.

    >>> from nbtf._devices.links import Link, Network
    >>> link = Link("", 1.0, 8.0, "")
    >>> names = [f"/job:worker/replica:0/task:{task}/device:GPU:0" for task in range(4)]
    >>> {algorithm: plan(algorithm, names, 32, Network(link, link, link)).seconds for algorithm in ALGORITHMS}
    {'star': 30.0, 'ring': 12.0, 'tree': 20.0, 'hierarchical': 12.0}
    """

    algorithm: str
    rounds: tuple[Round, ...]

    @property
    def seconds(self) -> float:
        """How long all of it takes."""
        return sum(each.times * each.seconds for each in self.rounds)


def plan(algorithm: str, devices: Sequence[str], nbytes: int, network: Network) -> Plan:
    """Returns what devices send to one another to add up `nbytes` of each.

    Args:
      algorithm: one of `ALGORITHMS`, or `AUTO`, which never chooses the star.
      devices: full names, of cards.
      nbytes: what each device has.
      network: how they are linked.
    """
    return _plan(algorithm, tuple(devices), nbytes, network)


@lru_cache(maxsize=256)
def _plan(algorithm: str, devices: tuple[str, ...], nbytes: int, network: Network) -> Plan:
    if algorithm == AUTO:
        plans = [_plan(candidate, devices, nbytes, network) for candidate in (RING, TREE, HIERARCHICAL)]
        return min(plans, key=lambda candidate: candidate.seconds)
    positions = range(len(devices))
    rounds = (
        _hierarchical(devices, nbytes, network) if algorithm == HIERARCHICAL else _FLAT[algorithm](positions, nbytes)
    )
    return Plan(algorithm, tuple(_timed(rounds, devices, network)))


def _star(devices: Sequence[int], nbytes: int) -> list[Round]:
    first, *members = devices
    to_first = [Round(1, ((device, first, nbytes),)) for device in members]
    return [*to_first, *[Round(1, ((first, device, nbytes),)) for device in members]]


def _ring(devices: Sequence[int], nbytes: int) -> list[Round]:
    count = len(devices)
    if count == 1:
        return []
    share = nbytes / count
    messages = tuple((device, devices[(at + 1) % count], share) for at, device in enumerate(devices))
    return [Round(2 * (count - 1), messages)]


def _tree(devices: Sequence[int], nbytes: int) -> list[Round]:
    upwards = _towards_first(devices, nbytes)
    return [*upwards, *_back(upwards)]


_FLAT = {STAR: _star, RING: _ring, TREE: _tree}


def _towards_first(devices: Sequence[int], nbytes: int) -> list[Round]:
    """Returns rounds in which one half of those that still have something sends to the other half."""
    rounds: list[Round] = []
    distance = 1
    while distance < len(devices):
        senders = range(distance, len(devices), 2 * distance)
        rounds.append(Round(1, tuple((devices[at], devices[at - distance], nbytes) for at in senders)))
        distance *= 2
    return rounds


def _back(rounds: Sequence[Round]) -> list[Round]:
    """Returns rounds that send everything the other way, the last first."""
    return [
        Round(each.times, tuple((target, source, nbytes) for source, target, nbytes in each.messages))
        for each in reversed(rounds)
    ]


def _hierarchical(devices: Sequence[str], nbytes: int, network: Network) -> list[Round]:
    hosts: dict[str, list[int]] = {}
    for position, device in enumerate(devices):
        hosts.setdefault(task_of(device), []).append(position)
    inside = _together([_towards_first(members, nbytes) for members in hosts.values()])
    leaders = [members[0] for members in hosts.values()]
    between = min(
        (_ring(leaders, nbytes), _tree(leaders, nbytes)),
        key=lambda rounds: sum(each.times * each.seconds for each in _timed(rounds, devices, network)),
    )
    return [*inside, *between, *_back(inside)]


def _together(several: Sequence[Sequence[Round]]) -> list[Round]:
    """Returns the rounds of all hosts, which work at the same time."""
    count = max(map(len, several))
    return [
        Round(1, tuple(message for rounds in several if at < len(rounds) for message in rounds[at].messages))
        for at in range(count)
    ]


def _timed(rounds: Sequence[Round], devices: Sequence[str], network: Network) -> list[Round]:
    tasks = [task_of(device) for device in devices]
    return [each._replace(seconds=_seconds(each.messages, devices, tasks, network)) for each in rounds]


def _seconds(messages: Sequence[Message], devices: Sequence[str], tasks: Sequence[str], network: Network) -> float:
    """Returns how long messages take that go at once."""
    leaving: Counter[str] = Counter()
    entering: Counter[str] = Counter()
    for source, target, _ in messages:
        if tasks[source] != tasks[target]:
            leaving[tasks[source]] += 1
            entering[tasks[target]] += 1
    longest = 0.0
    for source, target, nbytes in messages:
        link = network.link(devices[source], devices[target])
        if link is None:
            continue
        is_between = tasks[source] != tasks[target]
        sharers = max(leaving[tasks[source]], entering[tasks[target]]) if is_between else 1
        longest = max(longest, link.seconds(nbytes, sharers))
    return longest

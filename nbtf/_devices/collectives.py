"""Which messages do devices exchange to add up their values, and how long does that take? Calculated, not measured.

An algorithm is a list of rounds. All messages of a round are sent at once, and those that use the same link in the same
direction share it. Adding is free, since a GPU adds faster than any link delivers. For n devices on equal links, S
bytes, latency a and bandwidth b:

    star             2 (n - 1) (a + S / b)                 each sends to the first in turn, which returns the sum
    ring             2 (n - 1) a + 2 (n - 1) / n  S / b    parts go round the ring twice
    tree             2 ceil(log2 n) a + 2 S / b            two pipelined trees, each with half of the bytes
    hierarchical     whole buffers go up a tree inside each host, by the faster of ring and tree between the first
                     devices of the hosts, and back

The tree is NCCL's double binary tree. A device with two children in one tree has fewer in the other, which keeps all
links busy. The data flow in pieces, and only the first piece waits at each level. NCCL links the GPUs of a host in a
chain; here the trees continue inside the host. With two devices, the transfer takes S / b, as in the ring.

Ring: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", J. Parallel Distrib.
Comput. 69, 2009. Tree: Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and
scan", Parallel Computing 35(12), 2009; NVIDIA NCCL since 2.4, src/graph/trees.cc. Hierarchical: Thakur, Rabenseifner
and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19(1), 2005.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from nbtf._devices.links import Network
from nbtf._devices.names import task_of

COLLECTIVE = "CollectiveReduceV2"
"""The op that adds up across devices, by TensorFlow's name. Its time is recorded with its messages."""

STAR, RING, TREE, HIERARCHICAL = ALGORITHMS = ("star", "ring", "tree", "hierarchical")
AUTO = "auto"
"""Chooses the fastest algorithm, as NCCL does with its own model: `ncclTopoGetAlgoTime`, tuning.cc."""

Message: TypeAlias = tuple[int, int, float]
"""Position of the sender, position of the receiver, and number of bytes."""


class Round(NamedTuple):
    """Messages that are sent at once; the round repeats `times` times, and one repetition takes `seconds`.

    `levels` is set if the data flow in pieces through several levels. It is the number of messages that the first piece
    waits for, inside hosts and between them.
    """

    times: int
    messages: tuple[Message, ...]
    seconds: float = 0.0
    levels: tuple[int, int] | None = None


class Plan(NamedTuple):
    """The rounds of an algorithm, timed.

    >>> from nbtf._devices.links import Link, Network
    >>> link = Link("", 1.0, 8.0, "")
    >>> names = [f"/job:worker/replica:0/task:{task}/device:GPU:0" for task in range(4)]
    >>> {algorithm: plan(algorithm, names, 32, Network(link, link, link)).seconds for algorithm in ALGORITHMS}
    {'star': 30.0, 'ring': 12.0, 'tree': 12.0, 'hierarchical': 12.0}
    """

    algorithm: str
    rounds: tuple[Round, ...]

    @property
    def seconds(self) -> float:
        """Total duration in seconds."""
        return sum(each.times * each.seconds for each in self.rounds)


def plan(algorithm: str, devices: Sequence[str], nbytes: int, network: Network) -> Plan:
    """Returns the messages that devices exchange to add up `nbytes` from each of them.

    Args:
      algorithm: one of `ALGORITHMS`, or `AUTO`, which never chooses the star.
      devices: full names of cards.
      nbytes: bytes on each device.
      network: the links between them.
    """
    return _plan(algorithm, tuple(devices), nbytes, network)


@lru_cache(maxsize=256)
def _plan(algorithm: str, devices: tuple[str, ...], nbytes: int, network: Network) -> Plan:
    if algorithm == AUTO:
        plans = [_plan(candidate, devices, nbytes, network) for candidate in (RING, TREE, HIERARCHICAL)]
        return min(plans, key=lambda candidate: candidate.seconds)
    rounds = _rounds(algorithm, devices, nbytes, network)
    return Plan(algorithm, tuple(_timed(rounds, devices, network)))


def _rounds(algorithm: str, devices: tuple[str, ...], nbytes: int, network: Network) -> list[Round]:
    hosts: dict[str, list[int]] = {}
    for position, device in enumerate(devices):
        hosts.setdefault(task_of(device), []).append(position)
    if algorithm == HIERARCHICAL:
        return _hierarchical(list(hosts.values()), devices, nbytes, network)
    if algorithm == TREE:
        return _tree(list(hosts.values()), nbytes)
    return (_star if algorithm == STAR else _ring)(range(len(devices)), nbytes)


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


def _tree(hosts: Sequence[Sequence[int]], nbytes: int) -> list[Round]:
    """Returns a round towards the roots of two trees, each with half of the bytes, and a round back to the leaves."""
    messages: list[Message] = []
    levels_inside = levels_between = 0
    for is_second in (False, True):
        roots: list[int] = []
        for members in hosts:
            parents = _parents(len(members), is_second)
            messages += [(members[at], members[parent], nbytes / 2) for at, parent in parents.items()]
            levels_inside = max(levels_inside, _depth(parents))
            roots.append(next(member for at, member in enumerate(members) if at not in parents))
        parents = _parents(len(roots), is_second)
        messages += [(roots[at], roots[parent], nbytes / 2) for at, parent in parents.items()]
        levels_between = max(levels_between, _depth(parents))
    if not messages:
        return []
    upwards = [Round(1, tuple(messages), levels=(levels_inside, levels_between))]
    return [*upwards, *_back(upwards)]


def _parents(count: int, is_second: bool) -> dict[int, int]:
    """Returns each node's parent in one of two binary trees, except for the root; no node has two children in both.

    In the first tree, a node's level is the number of trailing zeros of its position in binary. The second tree is its
    mirror image or, for an odd number of nodes, the first tree shifted by one.
    """
    parents: dict[int, int] = {}
    for node in range(1, count):
        lowest = node & -node
        parent = (node ^ lowest) | (lowest << 1)
        parents[node] = parent if parent < count else node ^ lowest
    if not is_second:
        return parents

    def moved(node: int) -> int:
        return (node + 1) % count if count % 2 else count - 1 - node

    return {moved(node): moved(parent) for node, parent in parents.items()}


def _depth(parents: dict[int, int]) -> int:
    """Returns the number of messages on the longest path from a node to the root."""

    def height(node: int) -> int:
        return 1 + height(parents[node]) if node in parents else 0

    return max(map(height, parents), default=0)


def _towards_first(devices: Sequence[int], nbytes: int) -> list[Round]:
    """Returns rounds in which one half of the devices that still hold a sum sends to the other half."""
    rounds: list[Round] = []
    distance = 1
    while distance < len(devices):
        senders = range(distance, len(devices), 2 * distance)
        rounds.append(Round(1, tuple((devices[at], devices[at - distance], nbytes) for at in senders)))
        distance *= 2
    return rounds


def _back(rounds: Sequence[Round]) -> list[Round]:
    """Returns the same messages in the opposite direction, the last round first."""
    return [
        each._replace(messages=tuple((target, source, nbytes) for source, target, nbytes in each.messages))
        for each in reversed(rounds)
    ]


def _hierarchical(hosts: Sequence[Sequence[int]], devices: Sequence[str], nbytes: int, network: Network) -> list[Round]:
    inside = _together([_towards_first(members, nbytes) for members in hosts])
    leaders = [members[0] for members in hosts]
    between = min(
        (_ring(leaders, nbytes), _tree([[leader] for leader in leaders], nbytes)),
        key=lambda rounds: sum(each.times * each.seconds for each in _timed(rounds, devices, network)),
    )
    return [*inside, *between, *_back(inside)]


def _together(several: Sequence[Sequence[Round]]) -> list[Round]:
    """Returns the rounds of all hosts merged, because the hosts work at the same time."""
    count = max(map(len, several))
    return [
        Round(1, tuple(message for rounds in several if at < len(rounds) for message in rounds[at].messages))
        for at in range(count)
    ]


def _timed(rounds: Sequence[Round], devices: Sequence[str], network: Network) -> list[Round]:
    tasks = [task_of(device) for device in devices]
    return [each._replace(seconds=_seconds(each, devices, tasks, network)) for each in rounds]


def _seconds(each: Round, devices: Sequence[str], tasks: Sequence[str], network: Network) -> float:
    """Returns the duration of one repetition: that of the slowest message, or of the flow through the slowest link."""
    leaving: defaultdict[tuple[bool, object], float] = defaultdict(float)
    entering: defaultdict[tuple[bool, object], float] = defaultdict(float)
    routes: list[tuple[bool, object, object]] = []
    for source, target, nbytes in each.messages:
        # GPUs of one host have their own links; messages that leave or enter a host share its network link.
        is_between = tasks[source] != tasks[target]
        route = (True, tasks[source], tasks[target]) if is_between else (False, source, target)
        routes.append(route)
        leaving[is_between, route[1]] += nbytes
        entering[is_between, route[2]] += nbytes
    latencies, flow, slowest = [0.0, 0.0], 0.0, 0.0
    for (source, target, _), (is_between, sender, receiver) in zip(each.messages, routes, strict=True):
        link = network.link(devices[source], devices[target])
        if link is not None:
            seconds = max(leaving[is_between, sender], entering[is_between, receiver]) / link.bandwidth
            flow, slowest = max(flow, seconds), max(slowest, link.latency + seconds)
            latencies[is_between] = max(latencies[is_between], link.latency)
    if each.levels is None:
        return slowest
    return sum(levels * latency for levels, latency in zip(each.levels, latencies, strict=True)) + flow

"""How long would the devices of the simulated cluster need to add up their values?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from nbtf._devices.collectives import AUTO, HIERARCHICAL, RING, STAR, TREE, plan
from nbtf._devices.names import full_name
from nbtf._own_name import own_name
from nbtf._runtime.arguments import check_several, check_text, check_whole
from nbtf._runtime.context import CURRENT
from nbtf._runtime.scopes import merged


class AllReduceTimes(NamedTuple):
    """The modelled seconds of an all-reduce of `nbytes` per device, for each algorithm.

    `chosen` is the algorithm that strategies choose by default: the fastest one apart from the star.

    >>> _ = tf.runtime.simulate_cluster(hosts=8, gpus=8, model="H100", link="100Gb/s")
    8 simulated hosts, 64 simulated GPUs (NVIDIA H100 80GB HBM3, 79.6 GiB each), 100Gb/s between hosts: ...
    >>> times = tf.runtime.all_reduce_times(100_000_000)
    >>> times.chosen, times.star > times.ring > times.tree > times.hierarchical
    ('hierarchical', True)
    >>> _ = tf.runtime.simulate_gpus(0)
    No simulated GPUs.
    """

    devices: int
    nbytes: int
    star: float
    ring: float
    tree: float
    hierarchical: float
    chosen: str
    timing: str = "modelled"


def all_reduce_times(nbytes: int, devices: int | Iterable[str] | None = None) -> AllReduceTimes:
    """Returns how long cards of the simulated cluster would need for an all-reduce. Runs nothing and fixes nothing.

    Args:
      nbytes: number of bytes on each card: 4 for each float32 of the gradients.
      devices: names of cards, or the number of cards, counted host by host; None for all.

    Returns:
      The modelled seconds of star, ring, tree and hierarchical, and the algorithm that strategies choose.

    Raises:
      TypeError: if `nbytes` is not an integer, or `devices` is neither a number nor a list of names.
      ValueError: if no cluster is simulated, it does not have these cards, or `nbytes` is negative.

    >>> _ = tf.runtime.simulate_cluster(hosts=128, gpus=8, model="H100", link="100Gb/s")
    128 simulated hosts, 1,024 simulated GPUs (NVIDIA H100 80GB HBM3, 79.6 GiB each), 100Gb/s between hosts: ...
    >>> for count in (8, 64, 1024):
    ...     times = tf.runtime.all_reduce_times(25_000_000, count)
    ...     print(f"{count:4}: star {times.star:.4f} ring {times.ring:.4f} tree {times.tree:.4f} s, {times.chosen}")
       8: star 0.0008 ring 0.0001 tree 0.0001 s, tree
      64: star 0.2264 ring 0.0057 tree 0.0041 s, hierarchical
    1024: star 4.0933 ring 0.0326 tree 0.0042 s, tree
    >>> _ = tf.runtime.simulate_gpus(0)
    No simulated GPUs.
    """
    configuration = CURRENT.context.configuration
    cluster = configuration.cluster if configuration.physical else None
    if cluster is None:
        raise ValueError(f"No cluster is simulated. Call {own_name()}.runtime.simulate_cluster(hosts=2, gpus=8) first.")
    names = [full_name("GPU", number, task) for task in cluster.tasks for number in range(cluster.host.count)]
    if check_whole(nbytes, "nbytes") < 0:
        raise ValueError(f"`nbytes` must be 0 or more. Got {nbytes}.")
    chosen_names = names if devices is None else _chosen(devices, names)
    plans = {name: plan(name, chosen_names, nbytes, cluster.network) for name in (STAR, RING, TREE, HIERARCHICAL, AUTO)}
    chosen = plans.pop(AUTO).algorithm
    star, ring, tree, hierarchical = [each.seconds for each in plans.values()]
    return AllReduceTimes(len(chosen_names), nbytes, star, ring, tree, hierarchical, chosen)


def _chosen(devices: int | Iterable[str], names: list[str]) -> list[str]:
    """Returns the full names of the chosen cards of the cluster."""
    if isinstance(devices, int):
        if not 1 <= devices <= len(names):
            raise ValueError(f"The cluster has {len(names)} simulated GPUs. Expected 1 to {len(names)}, got {devices}.")
        return names[:devices]
    listed = check_several(devices, "devices", "a number of cards, or a list of their names")
    full_names = [str(merged(check_text(name, "devices"), None).name) for name in listed]
    present = set(names)
    unknown = [name for name in full_names if name not in present]
    if unknown or not full_names or len(set(full_names)) != len(full_names):
        raise ValueError(
            f"Expected names of different cards of the simulated cluster, {names[0]} to {names[-1]}. "
            f"Got {unknown or full_names}."
        )
    return full_names

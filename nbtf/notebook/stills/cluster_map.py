"""Draws a cluster: a row for each host and a square for each card, filled by the card's memory in use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtf import runtime
from nbtf.notebook.stills.drawing import drawn
from nbtf.notebook.stills.marks import WIDTH, Picture


def cluster_map(look: runtime.ClusterLook, width: float = WIDTH) -> Picture | None:
    """Returns a picture of a cluster's cards; None if there are none.

    Args:
      look: a snapshot of the cluster.
      width: in px; at least 288 are used.
    """
    hosts = [{"name": host.host, "cards": list(_cards(host))} for host in look]
    if not any(host["cards"] for host in hosts):
        return None
    cluster = {
        "title": look.sentences()[0],
        "hosts": hosts,
        "silent": ", ".join(f"{worker.worker} ({worker.host})" for worker in look.silent),
        "simulated": any(device.simulated for host in look for worker in host.workers for device in worker.devices),
    }
    return drawn("cluster", cluster, width)


def _cards(host: runtime.HostReport) -> Iterator[dict[str, Any]]:
    """Yields the name and the bytes of each card, in the form of `static/cluster_picture.js`."""
    for card in host.cards:
        yield {"name": f"card {card.number}", "inUse": card.used, "total": card.total or 0}
    for worker in host.workers:
        for device in worker.devices:
            if device.simulated or not host.cards:
                total = device.memory_limit or device.memory or 0
                yield {"name": f"{worker.worker} {device.name}", "inUse": device.in_use, "total": total}

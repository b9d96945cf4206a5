"""How is a snapshot of a cluster shown? As a table of its GPUs by host, of what holds their memory, or as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtf import errors, runtime
from nbtf.notebook.memory_table import percent, share_of
from nbtf.notebook.session import Session
from nbtf.notebook.tables import Column, Table, sizes, texts
from nbtf.notebook.usage_error import UsageError

CARDS = (
    *texts("host", "device", "kind", "model"),
    *sizes(in_use="in use"),
    Column("percent", "of all", percent),
    *sizes(memory="memory"),
    Column("utilization", "busy %", number=True),
    Column("processes", "processes", number=True),
)

HOLDERS = (*texts("holder", "host", "device"), *sizes(nbytes="bytes"), *texts("tensor"))


def look_of(magic: str, session: Session, words: str) -> runtime.ClusterLook:
    """Returns a snapshot of the hosts of a cluster.

    Args:
      magic: the calling magic, with its `%`.
      session: the session whose variables may be named.
      words: an address, or the name of a variable.

    Raises:
      UsageError: if there is no such cluster, or it does not answer.
    """
    variables: dict[str, Any] = session.shell.user_ns
    if "://" not in words and words not in variables:
        raise UsageError(
            f"{magic} --cluster: no variable {words!r}. Expected the name of a Dask client or cluster, or the address "
            "of its scheduler, such as tls://10.0.0.1:8786."
        )
    try:
        return runtime.look_at_cluster(words if "://" in words else variables[words])
    except (ImportError, TypeError, ValueError, errors.OpError) as error:
        raise UsageError(f"{magic} --cluster: {error}") from None


def cards(look: runtime.ClusterLook) -> Table:
    """Returns a row for each card, and for each GPU that nbtf uses in a worker."""
    rows = [row for host in look for row in _rows(host)]
    return Table(CARDS, rows, look.sentences())


def holders(look: runtime.ClusterLook) -> Table:
    """Returns what holds memory on all cards, by host, largest first."""
    rows = [
        {"host": host.host, **holder._asdict()}
        for host in look
        for holder in sorted(host.holders, key=lambda holder: -(holder.nbytes or 0))
    ]
    return Table(HOLDERS, rows, [*([] if rows else ["Nothing is known to hold memory."]), *look.sentences()])


def picture(look: runtime.ClusterLook) -> Any:
    """Returns a picture of the cards by host; the table if there are none."""
    from nbtf.notebook.stills.cluster_map import cluster_map  # imported late, as few cells draw
    from nbtf.notebook.stills.memory_pictures import Still

    drawn = cluster_map(look)
    return cards(look) if drawn is None else Still(drawn)


def _rows(host: runtime.HostReport) -> Iterator[dict[str, Any]]:
    for card in host.cards:
        yield {"host": host.host, "device": f"card {card.number}", "kind": "real", "model": card.name} | {
            "in_use": card.used,
            "percent": share_of(card.used, card.total),
            "memory": card.total,
            "utilization": card.utilization,
            "processes": None if card.processes is None else len(card.processes),
        }
    for worker in host.workers:
        for device in worker.devices:
            yield {"host": host.host, "device": f"{worker.worker} {device.name}", "model": device.model} | {
                "kind": "simulated" if device.simulated else "real",
                "in_use": device.in_use,
                "percent": share_of(device.in_use, device.memory_limit),
                "memory": device.memory_limit,
            }

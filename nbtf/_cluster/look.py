"""What do the hosts of a cluster say of their cards, and which of its workers say nothing?"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from nbtf._counts import counted
from nbtf._devices.nvml import CardProcess, CardReading
from nbtf._devices.sizes import gib
from nbtf._install import pip_install
from nbtf._runtime.inventory import DeviceInfo

_LEFT_OUT = ("notebook", "cli", "compat", "keras", "data", "saved_model", "train", "_tutorials")
"""Folders of nbtf that a look never loads."""

_SEARCH = 2.0
"""Seconds that a worker may look for holders: it goes on working meanwhile."""


class CardHolder(NamedTuple):
    """Who holds memory of a card: a Dask key, an actor, a pool, a process; `nbytes` is None where nobody tells.

    `device` is the card, `card 0`, or a worker's own name for it.

    >>> tf.runtime.CardHolder("worker-1: key 'batch'", "card 0", 4096).nbytes
    4096
    """

    holder: str
    device: str
    nbytes: int | None
    tensor: str = ""


class WorkerReport(NamedTuple):
    """What a worker tells of its own process; `problem` says why it tells nothing.

    `nbtf` is the version that it has, empty where it was brought along for the look.

    >>> tf.runtime.WorkerReport("worker-1", "tls://10.0.0.3:40001", "node-7", problem="it has not answered").devices
    ()
    """

    worker: str
    address: str
    host: str
    pid: int | None = None
    nbtf: str = ""
    devices: tuple[DeviceInfo, ...] = ()
    holders: tuple[CardHolder, ...] = ()
    problem: str | None = None


class HostReport(NamedTuple):
    """A host: its cards as the driver tells of them, why it tells of none, and the workers that run there.

    `holders` is who holds memory of them, and of the GPUs that nbtf has in workers.

    >>> tf.runtime.HostReport("node-7", (), (), missing="no driver").cards
    ()
    """

    host: str
    cards: tuple[CardReading, ...]
    workers: tuple[WorkerReport, ...]
    holders: tuple[CardHolder, ...] = ()
    missing: str | None = None


class ClusterLook(tuple[HostReport, ...]):
    """The hosts of a cluster as they were when somebody looked; a notebook with the extension draws them.

    >>> tf.runtime.ClusterLook([])
    0 hosts, 0 workers, 0 cards.
    """

    __slots__ = ()

    @property
    def silent(self) -> list[WorkerReport]:
        """The workers that tell nothing, each with why.

        >>> worker = tf.runtime.WorkerReport("w1", "tls://10.0.0.3:40001", "node-7", problem="it has not answered")
        >>> [each.problem for each in tf.runtime.ClusterLook([tf.runtime.HostReport("node-7", (), (worker,))]).silent]
        ['it has not answered']
        """
        return [worker for host in self for worker in host.workers if worker.problem]

    def sentences(self) -> list[str]:
        """Returns what must be said beside the figures: what there is, and who says nothing.

        >>> tf.runtime.ClusterLook([tf.runtime.HostReport("node-7", (), (), missing="no driver")]).sentences()
        ['1 host, 0 workers, 0 cards.', 'node-7: no card is told of: no driver.']
        """
        workers = sum([len(host.workers) for host in self])
        cards = [card for host in self for card in host.cards]
        sizes = [(card.used, card.total) for card in cards if card.used is not None and card.total is not None]
        used, total = sum([size[0] for size in sizes]), sum([size[1] for size in sizes])
        memory = f", {gib(used)} of {gib(total)} in use" if sizes else ""
        lines = [f"{counted(len(self), 'host')}, {counted(workers, 'worker')}, {counted(len(cards), 'card')}{memory}."]
        devices = [device for host in self for worker in host.workers for device in worker.devices]
        simulated = sum([device.simulated for device in devices])
        if simulated:
            lines.append(f"{counted(simulated, 'GPU')} of workers are simulated by NumPy on their CPUs.")
        lines += [f"{host.host}: no card is told of: {host.missing}." for host in self if host.missing]
        return lines + [
            f"{worker.worker} ({worker.address}) tells nothing: {worker.problem}." for worker in self.silent
        ]

    def __repr__(self) -> str:
        """Returns a line for each host and its cards, and what must be said beside."""
        lines = [line for host in self for line in _lines(host)]
        return "\n".join([*lines, *self.sentences()])


def look_at_cluster(cluster: Any, timeout: float = 10.0, allow_insecure: bool = False) -> ClusterLook:
    """Asks the workers of a Dask cluster what is on the cards of their hosts. They need not have nbtf.

    Each worker tells what the driver (NVML) says of the cards and of the processes on them, what the pools of PyTorch
    and CuPy have there, which keys and actors of Dask hold it, and which devices nbtf has where the worker uses it. A
    look: nothing is imported that a worker's program has not imported, no card is started, and nothing stays behind.

    Args:
      cluster: the address of its scheduler, `"tls://10.0.0.1:8786"`; or Dask's `Client` or cluster, which bring their
        certificates. For an address these are those of Dask's configuration.
      timeout: how many seconds the scheduler and each worker may take; one that does not answer is named.
      allow_insecure: whether an address without TLS is accepted, False by default. Any program that listens at the
        address can then run code in this process.

    Returns:
      A report for each host. Printed it has a line for each card; a notebook with the extension draws it.

    Raises:
      ImportError: Dask's `distributed` is not installed.
      TypeError: `cluster` is no cluster.
      ValueError: if `cluster` is not an address, or is an address without TLS and `allow_insecure` is False.
      UnavailableError: no scheduler answers.
      UnauthenticatedError: a certificate was refused.

    >>> card = tf.runtime.CardReading(number=0, name="NVIDIA L4", used=3 << 30, total=24 << 30)
    >>> tf.runtime.ClusterLook([tf.runtime.HostReport("node-7", (card,), ())])  # as it prints
    node-7: 0 workers, 1 card
      card 0  NVIDIA L4  3 GiB of 24 GiB in use
    1 host, 0 workers, 1 card, 3 GiB of 24 GiB in use.
    """
    engine = dask_engine()
    answers = engine.ask_workers(cluster, _version(), packed, _SEARCH, timeout, allow_insecure)
    return ClusterLook(_hosts([_Answer(*answer) for answer in answers]))


def dask_engine() -> Any:
    """Returns the module that speaks to Dask.

    Raises:
      ImportError: Dask's `distributed` is not installed; the text says how to install it.
    """
    try:
        return import_module("nbtf._cluster.dask_engine")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("distributed", "dask", "cryptography"):
            raise
        raise ImportError(
            f"Clusters need Dask's {error.name}, which is not installed: {pip_install('cluster')}"
        ) from None


@cache
def packed() -> bytes:
    """Returns nbtf's modules, as far as a look loads them, for `courier.borrowed`."""
    root = Path(sys.modules["nbtf"].__path__[0])
    sources: dict[str, tuple[bool, str]] = {}
    for file in sorted(root.rglob("*.py")):
        names = file.relative_to(root).with_suffix("").parts
        if names[0] not in _LEFT_OUT:
            is_package = names[-1] == "__init__"
            sources[".".join(["nbtf", *names[: len(names) - is_package]])] = (
                is_package,
                file.read_text(encoding="utf-8"),
            )
    sources["nbtf"] = True, ""  # the namespace of users would load ten times as much
    return zlib.compress(json.dumps(sources).encode())


def _version() -> str:
    return import_module("nbtf.runtime").version


class _Answer(NamedTuple):
    """What a worker is called, where it is, and what it has answered; `problem` in it where it has not."""

    worker: str
    address: str
    facts: Mapping[str, Any]

    @property
    def host(self) -> str:
        """Its host by name; by address where it has not said its name."""
        return str(self.facts.get("host") or self.address.rpartition("/")[2].rpartition(":")[0])


def _hosts(answers: Sequence[_Answer]) -> list[HostReport]:
    """Returns a report for each host; workers that did not answer stand with their neighbours at the same address."""
    names = {_ip(answer): answer.host for answer in answers if answer.facts.get("host")}
    members: dict[str, list[_Answer]] = {}
    for answer in answers:
        host = answer.host if answer.facts.get("host") else names.get(_ip(answer), answer.host)
        members.setdefault(host, []).append(answer)
    return [_host(host, group) for host, group in sorted(members.items())]


def _ip(answer: _Answer) -> str:
    return answer.address.rpartition("/")[2].rpartition(":")[0]


def _host(host: str, answers: Sequence[_Answer]) -> HostReport:
    rows: dict[Any, dict[str, Any]] = {}
    for answer in answers:
        for card in answer.facts.get("cards", ()):
            rows.setdefault(card["uuid"] or card["number"], card)
    cards = sorted(rows.values(), key=lambda card: (card["number"] is None, card["number"]))
    names = {card["uuid"]: f"card {card['number']}" for card in cards if card["uuid"] and card["number"] is not None}
    workers = [_worker(host, answer, names) for answer in answers]
    reasons = [answer.facts["missing"] for answer in answers if answer.facts.get("missing")]
    holders = [holder for worker in workers for holder in worker.holders]
    holders += _processes(cards, {worker.pid: worker.worker for worker in workers})
    missing = reasons[0] if reasons and not cards else None
    return HostReport(host, tuple(map(_reading, cards)), tuple(workers), tuple(holders), missing)


def _worker(host: str, answer: _Answer, card_names: Mapping[str, str]) -> WorkerReport:
    facts = answer.facts
    holders = [
        CardHolder(
            f"{answer.worker}: {row['holder']}",
            card_names.get(row["uuid"], f"{answer.worker} {row['device']}"),
            row["nbytes"],
            row["tensor"],
        )
        for row in facts.get("holders", ())
    ]
    if not facts.get("complete", True):
        holders.append(CardHolder(f"{answer.worker}: the search stopped after {_SEARCH:g} s; there is more", "", None))
    devices = [DeviceInfo(**_fields(device, DeviceInfo._fields)) for device in facts.get("devices", ())]
    return WorkerReport(
        answer.worker,
        answer.address,
        host,
        facts.get("pid"),
        str(facts.get("nbtf", "")),
        tuple(devices),
        tuple(holders),
        facts.get("problem"),
    )


def _processes(cards: Iterable[Mapping[str, Any]], workers: Mapping[int | None, str]) -> list[CardHolder]:
    """Returns what each process has of each card, all of it: pools and contexts; workers by their names."""
    rows: list[CardHolder] = []
    for card in cards:
        sizes: list[tuple[int, int | None]] = list(card["processes"] or [])
        for (pid, nbytes), owner in zip(sizes, card["owners"], strict=True):
            text = f"worker {workers[pid]}, all of process {pid}" if pid in workers else owner
            rows.append(CardHolder(text, f"card {card['number']}", nbytes))
    return rows


def _reading(card: Mapping[str, Any]) -> CardReading:
    processes = None if card["processes"] is None else tuple(CardProcess(*each) for each in card["processes"])
    facts = _fields(card, CardReading._fields)
    return CardReading(**facts)._replace(processes=processes)


def _fields(facts: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: facts[name] for name in names if name in facts}


def _lines(host: HostReport) -> list[str]:
    """Returns a line for a host, one for each of its cards, and one for each GPU of nbtf's workers."""
    lines = [f"{host.host}: {counted(len(host.workers), 'worker')}, {counted(len(host.cards), 'card')}"]
    for card in host.cards:
        used = "memory not told" if card.used is None else f"{gib(card.used)} of {gib(card.total or 0)} in use"
        lines.append(f"  card {card.number}  {card.name}  {used}")
    for worker in host.workers:
        for device in worker.devices:
            used = "not started" if device.in_use is None else f"{device.in_use:,} B in use"
            lines.append(f"  {worker.worker} {device.label}  {used}")
    return lines

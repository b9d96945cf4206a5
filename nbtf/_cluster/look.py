"""Reports of a Dask cluster's hosts about their cards, and of the workers that gave none."""

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
from nbtf._displayed import Drawn
from nbtf._install import VERSION, pip_install
from nbtf._runtime.inventory import DeviceInfo

_LEFT_OUT = ("notebook", "cli", "compat", "keras", "data", "saved_model", "train", "_tutorials")
"""Folders of nbtf that an inspection never loads."""

_SEARCH = 2.0
"""Longest search for holders on a worker, in seconds; the worker continues its work meanwhile."""


class CardHolder(NamedTuple):
    """A holder of a card's memory: a Dask key, an actor, a pool or a process; `nbytes` is None if unknown.

    `device` is `card 0`, or the worker's own name for a device.

    >>> tf.runtime.CardHolder("worker-1: key 'batch'", "card 0", 4096).nbytes
    4096
    """

    holder: str
    device: str
    nbytes: int | None
    tensor: str = ""


class WorkerReport(NamedTuple):
    """A worker's report about its own process, or, in `problem`, the reason why it sent none.

    `nbtf` is the worker's version of nbtf, or empty if nbtf was sent along for the inspection.

    >>> tf.runtime.WorkerReport("worker-1", "tls://10.0.0.3:40001", "node-7", problem="it did not answer").devices
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
    """A host: its cards as the driver reports them, or why it reports none, and the workers that run on it.

    `holders` lists what holds memory of these cards, and of the GPUs that nbtf has in workers.

    >>> tf.runtime.HostReport("node-7", (), (), missing="no driver").cards
    ()
    """

    host: str
    cards: tuple[CardReading, ...]
    workers: tuple[WorkerReport, ...]
    holders: tuple[CardHolder, ...] = ()
    missing: str | None = None


class ClusterLook(tuple[HostReport, ...], Drawn):
    """The hosts of a cluster at one moment; notebooks draw them.

    >>> tf.runtime.ClusterLook([])
    0 hosts, 0 workers, 0 cards.
    """

    __slots__ = ()

    @property
    def silent(self) -> list[WorkerReport]:
        """The workers without a report, each with the reason.

        >>> worker = tf.runtime.WorkerReport("w1", "tls://10.0.0.3:40001", "node-7", problem="it did not answer")
        >>> [each.problem for each in tf.runtime.ClusterLook([tf.runtime.HostReport("node-7", (), (worker,))]).silent]
        ['it did not answer']
        """
        return [worker for host in self for worker in host.workers if worker.problem]

    def sentences(self) -> list[str]:
        """Returns the sentences that accompany the figures: totals, and workers without a report.

        >>> tf.runtime.ClusterLook([tf.runtime.HostReport("node-7", (), (), missing="no driver")]).sentences()
        ['1 host, 0 workers, 0 cards.', 'node-7: cards unknown: no driver.']
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
        lines += [f"{host.host}: cards unknown: {host.missing}." for host in self if host.missing]
        return lines + [
            f"{worker.worker} ({worker.address}) did not report: {worker.problem}." for worker in self.silent
        ]

    def __repr__(self) -> str:
        """Returns a line for each host and each card, and the accompanying sentences."""
        lines = [line for host in self for line in _lines(host)]
        return "\n".join([*lines, *self.sentences()])


def look_at_cluster(cluster: Any, timeout: float = 10.0, allow_insecure: bool = False) -> ClusterLook:
    """Returns a report about the cards of a Dask cluster, whose workers do not need nbtf.

    Each worker reports its cards and the processes on them (from NVML), the memory pools of PyTorch and CuPy, the Dask
    keys and actors that hold memory, and nbtf's devices if it uses nbtf. The call only inspects: it imports nothing
    that a worker's program has not imported, starts no card, and leaves nothing behind.

    Args:
      cluster: address of the scheduler, such as `"tls://10.0.0.1:8786"`, or a Dask `Client` or cluster, which have
        their certificates. For an address, the certificates come from Dask's configuration.
      timeout: seconds that the scheduler and each worker may take; a worker that does not answer is named.
      allow_insecure: whether an address without TLS is accepted; False by default. Any program that listens at the
        address can then run code in this process.

    Returns:
      A report for each host. It prints one line per card; a notebook with the extension draws it.

    Raises:
      ImportError: if Dask's `distributed` is not installed.
      TypeError: if `cluster` is not a cluster.
      ValueError: if `cluster` is not an address, or is an address without TLS and `allow_insecure` is False.
      UnavailableError: if no scheduler answers.
      UnauthenticatedError: if a certificate was rejected.

    >>> card = tf.runtime.CardReading(number=0, name="NVIDIA L4", used=3 << 30, total=24 << 30)
    >>> tf.runtime.ClusterLook([tf.runtime.HostReport("node-7", (card,), ())])  # as it prints
    node-7: 0 workers, 1 card
      card 0  NVIDIA L4  3 GiB of 24 GiB in use
    1 host, 0 workers, 1 card, 3 GiB of 24 GiB in use.
    """
    engine = dask_engine()
    answers = engine.ask_workers(cluster, VERSION, packed, _SEARCH, timeout, allow_insecure)
    return ClusterLook(_hosts([_Answer(*answer) for answer in answers]))


def dask_engine() -> Any:
    """Returns the module that talks to Dask.

    Raises:
      ImportError: if Dask's `distributed` is not installed; the message shows how to install it.
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
    """Returns the modules of nbtf that an inspection loads, for `courier.borrowed`."""
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
    sources["nbtf"] = True, ""  # an empty module: the public namespace would load ten times as much
    return zlib.compress(json.dumps(sources).encode())


class _Answer(NamedTuple):
    """A worker's name, address and answer; an answer that did not arrive is replaced by its `problem`."""

    worker: str
    address: str
    facts: Mapping[str, Any]

    @property
    def host(self) -> str:
        """The name of its host, or the address if the name is unknown."""
        return str(self.facts.get("host") or self.address.rpartition("/")[2].rpartition(":")[0])


def _hosts(answers: Sequence[_Answer]) -> list[HostReport]:
    """Returns a report for each host; silent workers are listed with others at the same address."""
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
    """Returns the memory of each process on each card, including pools and contexts; workers have their names."""
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
    """Returns a line for a host, one for each of its cards, and one for each GPU of nbtf in its workers."""
    lines = [f"{host.host}: {counted(len(host.workers), 'worker')}, {counted(len(host.cards), 'card')}"]
    for card in host.cards:
        used = "memory unknown" if card.used is None else f"{gib(card.used)} of {gib(card.total or 0)} in use"
        lines.append(f"  card {card.number}  {card.name}  {used}")
    for worker in host.workers:
        for device in worker.devices:
            used = "not started" if device.in_use is None else f"{device.in_use:,} B in use"
            lines.append(f"  {worker.worker} {device.label}  {used}")
    return lines

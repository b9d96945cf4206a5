"""`nbtf metrics`: what the cards do, as Prometheus reads it. Of processes, those of this user alone."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from nbtf import runtime
from nbtf._install import pip_install
from nbtf._locks import new_event
from nbtf.cli.cards import Card, Holding, cards
from nbtf.cli.command_error import CommandError, require
from nbtf.cli.metrics_server import new_server

LOOPBACK = "127.0.0.1"
_OF_CARD = ("card", "uuid", "name", "simulated")
_PROCESS_MEMORY = "Memory of this user's process on a card."
_PROCESS_IDLE = "For how long a kernel's main thread has not run."
_OF_PROCESS = ("card", "pid", "command", "notebook")


GAUGES: Mapping[str, str] = {
    "nbtf_gpu_memory_used_bytes": "Memory that programs have of the card.",
    "nbtf_gpu_memory_total_bytes": "Memory of the card.",
    "nbtf_gpu_utilization_ratio": "Part of the last moment in which a kernel ran.",
    "nbtf_gpu_temperature_celsius": "Temperature of the card.",
    "nbtf_gpu_power_watts": "Power that the card takes.",
    "nbtf_gpu_processes": "Processes of all users on the card.",
    "nbtf_gpu_free": "1 where nobody is on the card, 0 where somebody is.",
}
"""What is told of each card."""


def figures(card: Card) -> Mapping[str, float | None]:
    """Returns what is told of a card, in base units, by the names of `GAUGES`; None is left out.

    Args:
      card: as `nbtf top` shows it. On a simulated one there are no processes.
    """
    return {
        "nbtf_gpu_memory_used_bytes": card.used,
        "nbtf_gpu_memory_total_bytes": card.total,
        "nbtf_gpu_utilization_ratio": None if card.utilization is None else card.utilization / 100,
        "nbtf_gpu_temperature_celsius": card.temperature,
        "nbtf_gpu_power_watts": card.power,
        "nbtf_gpu_processes": None if card.holdings is None or card.simulated else len(card.holdings),
        "nbtf_gpu_free": None if card.simulated else float(card.is_free),
    }


def add_command(commands: Any) -> None:
    """Adds `metrics` to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "metrics",
        help="tell what the cards do in Prometheus' form",
        description="Prints what `nbtf top` shows in the form that Prometheus reads: figures of all cards, and the "
        "memory of this user's own processes with their notebooks. Nothing is told of other people's processes but how "
        "many there are. Starts no device.",
    )
    parser.add_argument(
        "--listen",
        metavar="[ADDRESS:]PORT",
        type=_address,
        help=f"answer at http://ADDRESS:PORT/metrics until it is stopped; at {LOOPBACK} when no ADDRESS is said",
    )
    parser.set_defaults(command=metrics)


def metrics(chosen: argparse.Namespace) -> int:
    """Prints the figures, or answers who asks for them."""
    require(["prometheus_client"], "nbtf metrics", pip_install("metrics"))
    prometheus: Any = import_module("prometheus_client")
    monitor = runtime.CardMonitor()
    cards(monitor)  # says what is wrong before anybody asks
    registry = prometheus.CollectorRegistry()
    registry.register(Collector(monitor))
    try:
        if chosen.listen is None:
            print(prometheus.generate_latest(registry).decode(), end="")
        else:
            _serve(prometheus, registry, *chosen.listen)
    finally:
        monitor.close()
    return 0


class Collector:
    """Reads the cards whenever Prometheus asks."""

    def __init__(self, monitor: runtime.CardMonitor) -> None:
        """Reads nothing yet."""
        self._monitor = monitor

    def describe(self) -> Sequence[Any]:
        """Returns nothing: what there is says `collect`."""
        return ()

    def collect(self) -> Iterator[Any]:
        """Yields one family of figures after the other."""
        families: Any = import_module("prometheus_client.core").GaugeMetricFamily
        listed_cards = self._cards()
        for name, meaning in GAUGES.items():
            family = families(name, meaning, labels=_OF_CARD)
            for card in listed_cards:
                figure = figures(card)[name]
                if figure is not None:
                    family.add_metric(_card_labels(card), figure)
            yield family
        memory = families("nbtf_gpu_process_memory_bytes", _PROCESS_MEMORY, labels=_OF_PROCESS)
        idle = families("nbtf_gpu_process_idle_seconds", _PROCESS_IDLE, labels=_OF_PROCESS)
        for card, holding in _own_holdings(listed_cards):
            labels = _process_labels(card, holding)
            if holding.nbytes is not None:
                memory.add_metric(labels, holding.nbytes)
            if holding.owner.idle is not None:
                idle.add_metric(labels, holding.owner.idle)
        yield from (memory, idle)

    def _cards(self) -> Sequence[Card]:
        """Returns the cards; none where the driver has gone, which the next question may find again."""
        try:
            return cards(self._monitor)
        except CommandError:
            return ()


def _own_holdings(listed_cards: Sequence[Card]) -> Iterator[tuple[Card, Holding]]:
    """Yields what this user's processes hold."""
    return ((card, holding) for card in listed_cards for holding in card.holdings or () if holding.owner.is_self)


def _card_labels(card: Card) -> list[str]:
    return [card.label, card.uuid, card.name, str(int(card.simulated))]


def _process_labels(card: Card, holding: Holding) -> list[str]:
    owner = holding.owner
    return [card.label, str(owner.pid), owner.command or "", owner.notebook or ""]


def _serve(prometheus: Any, registry: Any, address: str, port: int) -> None:
    """Answers until the process is told to end."""
    try:
        server = new_server(address, port, prometheus.make_wsgi_app(registry))
    except OSError as error:
        raise CommandError(f"cannot listen at {address}:{port}: {error.strerror or error}") from error
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    stopped = new_event()

    def stop(*_: object) -> None:
        stopped.set()

    previous = signal.signal(signal.SIGTERM, stop)
    print(f"http://{address}:{server.server_port}/metrics", flush=True)
    try:
        stopped.wait()
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, previous)
        server.shutdown()
        server.server_close()
        thread.join()


def _address(text: str) -> tuple[str, int]:
    """Returns an address and a port.

    >>> _address("9400"), _address("0.0.0.0:9400"), _address("[::1]:9400")
    (('127.0.0.1', 9400), ('0.0.0.0', 9400), ('::1', 9400))
    """
    address, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is no [ADDRESS:]PORT such as 9400 or 0.0.0.0:9400")
    return address.strip("[]") or LOOPBACK, int(port)

"""`nbtf metrics`: GPU metrics in Prometheus' format, including this user's own processes."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from nbtf import runtime
from nbtf._install import pip_install
from nbtf._locks import new_event
from nbtf.cli.arguments import add_parser, worded
from nbtf.cli.cards import Card, Holding, cards
from nbtf.cli.command_error import CommandError, require
from nbtf.cli.metrics_server import new_server

LOOPBACK = "127.0.0.1"
_OF_CARD = ("card", "uuid", "name", "simulated")
_PROCESS_MEMORY = "GPU memory used by this user's process."
_PROCESS_IDLE = "Time since the kernel's main thread last ran."
_OF_PROCESS = ("card", "pid", "command", "notebook")


Figure = Callable[[Card], float | None]
GAUGES: Mapping[str, tuple[str, Figure]] = {
    "nbtf_gpu_memory_used_bytes": ("GPU memory in use by all programs.", lambda card: card.used),
    "nbtf_gpu_memory_total_bytes": ("Total GPU memory.", lambda card: card.total),
    "nbtf_gpu_utilization_ratio": (
        "Share of the last sampling interval in which a kernel ran.",
        lambda card: None if card.utilization is None else card.utilization / 100,
    ),
    "nbtf_gpu_temperature_celsius": ("GPU temperature.", lambda card: card.temperature),
    "nbtf_gpu_power_watts": ("Power draw of the GPU.", lambda card: card.power),
    "nbtf_gpu_processes": (
        "Number of processes of all users on the GPU.",
        lambda card: None if card.holdings is None or card.simulated else len(card.holdings),
    ),
    "nbtf_gpu_free": (
        "1 if no process uses the GPU, otherwise 0.",
        lambda card: None if card.simulated else float(card.is_free),
    ),
}
"""The gauges of each GPU: their help texts, and their figures in base units; None is not exported."""


def add_command(commands: Any) -> None:
    """Adds `metrics` to the command line."""
    add_parser(commands, "metrics", metrics, listen=worded(_address))


def metrics(chosen: argparse.Namespace) -> int:
    """Prints the metrics, or serves them over HTTP."""
    require(["prometheus_client"], "nbtf metrics", pip_install("metrics"))
    prometheus: Any = import_module("prometheus_client")
    monitor = runtime.CardMonitor()
    cards(monitor)  # reports a problem now rather than at the first request
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
    """Reads the GPUs whenever Prometheus sends a request."""

    def __init__(self, monitor: runtime.CardMonitor) -> None:
        """Reads nothing yet."""
        self._monitor = monitor

    def describe(self) -> Sequence[Any]:
        """Returns nothing: `collect` describes the metrics."""
        return ()

    def collect(self) -> Iterator[Any]:
        """Yields the metric families."""
        families: Any = import_module("prometheus_client.core").GaugeMetricFamily
        listed_cards = self._cards()
        for name, (meaning, figure_of) in GAUGES.items():
            family = families(name, meaning, labels=_OF_CARD)
            for card in listed_cards:
                figure = figure_of(card)
                if figure is not None:
                    family.add_metric([card.label, card.uuid, card.name, str(int(card.simulated))], figure)
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
        """Returns the GPUs; empty if the driver is unavailable, which may be restored by the next request."""
        try:
            return cards(self._monitor)
        except CommandError:
            return ()


def _own_holdings(listed_cards: Sequence[Card]) -> Iterator[tuple[Card, Holding]]:
    """Yields the GPU memory that this user's processes hold."""
    return ((card, holding) for card in listed_cards for holding in card.holdings or () if holding.owner.is_self)


def _process_labels(card: Card, holding: Holding) -> list[str]:
    owner = holding.owner
    return [card.label, str(owner.pid), owner.command or "", owner.notebook or ""]


def _serve(prometheus: Any, registry: Any, address: str, port: int) -> None:
    """Serves requests until the process receives a signal to end."""
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
    """Returns the address and the port that a string contains.

    >>> _address("9400"), _address("0.0.0.0:9400"), _address("[::1]:9400")
    (('127.0.0.1', 9400), ('0.0.0.0', 9400), ('::1', 9400))
    """
    address, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65_535:
        raise ValueError(f"expected [ADDRESS:]PORT, such as 9400 or 0.0.0.0:9400; got {text!r}")
    return address.strip("[]") or LOOPBACK, int(port)

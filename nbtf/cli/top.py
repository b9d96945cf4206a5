"""`nbtf top`: what is each GPU doing, and for whom? Updates every second in a terminal."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nbtf import runtime
from nbtf._devices.sizes import gib
from nbtf.cli.arguments import add_parser
from nbtf.cli.cards import Card, Holding, cards
from nbtf.cli.keys import pressed_keys
from nbtf.cli.printable import printable
from nbtf.cli.table import table

SECOND = 1.0
NOTHING = "–"
HEAD = ("card", "name", "memory", "busy", "°C", "W", "whose")

# Switch to a separate screen without a cursor, and back; go to its start; clear the rest of the line, of the screen.
_OPEN, _CLOSE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_BEGIN, _END_LINE, _END_PAGE = "\x1b[H", "\x1b[K", "\x1b[J"


def add_command(commands: Any) -> None:
    """Adds `top` to the command line."""
    add_parser(commands, "top", top)


def top(chosen: argparse.Namespace) -> int:
    """Prints the GPUs, once or until stopped."""
    monitor = runtime.CardMonitor()
    try:
        if chosen.json:
            print(json.dumps([_plain(card) for card in cards(monitor)], indent=1))
        elif chosen.once or not sys.stdout.isatty():
            print(page(cards(monitor)))
        else:
            _follow(monitor)
    finally:
        monitor.close()
    return 0


def page(listed_cards: Sequence[Card], width: int | None = None) -> str:
    """Returns the GPUs as text.

    Args:
      listed_cards: the GPUs.
      width: width of the terminal in characters; longer lines are cut. None cuts nothing.

    Returns:
      A line for each process on a GPU, and one for a GPU without any; below, idle notebooks and free GPUs.
    """
    rows = [HEAD, *(row for card in listed_cards for row in _rows(card))]
    columns = [column for column in zip(*rows, strict=True) if any(cell not in ("", NOTHING) for cell in column[1:])]
    lines = [*table(zip(*columns, strict=True)).splitlines(), "", *_summary(listed_cards)]
    return "\n".join(_cut(printable(line), width) for line in lines)


def _follow(monitor: runtime.CardMonitor) -> None:
    """Updates the list every second, in a terminal."""
    first = cards(monitor)  # raises an error while the shell's own screen is still shown
    sys.stdout.write(_OPEN)
    try:
        with pressed_keys() as wait:
            listed_cards = first
            while True:
                _draw(listed_cards)
                if wait(SECOND) in ("q", "Q"):
                    return
                listed_cards = cards(monitor)
    except KeyboardInterrupt:
        return
    finally:
        sys.stdout.write(_CLOSE)
        sys.stdout.flush()


def _draw(listed_cards: Sequence[Card]) -> None:
    size = shutil.get_terminal_size()
    lines = [f"nbtf top · {time.strftime('%H:%M:%S')} · q to quit", "", *page(listed_cards).splitlines()]
    if len(lines) > size.lines:
        hidden = len(lines) - size.lines + 1
        lines[size.lines - 1 :] = [f"… {hidden} more lines: enlarge the terminal, or use nbtf top --once"]
    text = "\n".join(_cut(line, size.columns) + _END_LINE for line in lines)
    sys.stdout.write(f"{_BEGIN}{text}{_END_PAGE}")
    sys.stdout.flush()


def _rows(card: Card) -> Iterator[Sequence[str]]:
    """Yields the GPU with its first process, then its other processes."""
    owners = [_holder(holding) for holding in card.holdings or ()]
    if card.holdings is None:
        owners = [f"unknown: {card.missing.get('processes', 'the driver gives no reason')}"]
    elif card.simulated:
        owners = [NOTHING]
    elif not owners:
        owners = ["free"]
    used = NOTHING if card.used is None or card.total is None else f"{gib(card.used)} of {gib(card.total)}"
    yield (
        card.label,
        f"{card.name} (simulated)" if card.simulated else card.name,
        used,
        NOTHING if card.utilization is None else f"{card.utilization} %",
        NOTHING if card.temperature is None else str(card.temperature),
        NOTHING if card.power is None else f"{card.power:.0f}",
        owners[0],
    )
    for text in owners[1:]:
        yield ("", "", "", "", "", "", text)


def _holder(holding: Holding) -> str:
    size = "" if holding.nbytes is None else f": {gib(holding.nbytes)}"
    return f"{holding.text}{size}"


def _summary(listed_cards: Sequence[Card]) -> Iterator[str]:
    idle = [holding for card in listed_cards for holding in card.holdings or () if holding.is_idle]
    if idle:
        idle_size = gib(sum([holding.nbytes or 0 for holding in idle]))
        names = ", ".join(dict.fromkeys(holding.owner.notebook or f"process {holding.owner.pid}" for holding in idle))
        yield f"idle notebooks hold {idle_size}: {names}"
    silent = [card.label for card in listed_cards if card.holdings is None]
    if silent:
        yield f"free, judging by memory only because processes are unknown: {', '.join(silent)}"
    real = [card for card in listed_cards if not card.simulated]
    if real:
        yield f"free: {', '.join(card.label for card in real if card.is_free) or 'none'}"
    if len(real) < len(listed_cards):
        yield "Simulated GPUs belong to this process: NumPy on this computer's CPU. No GPU is used."


def _cut(line: str, width: int | None) -> str:
    return line if width is None or len(line) <= width else f"{line[: width - 1]}…"


def _plain(card: Card) -> dict[str, Any]:
    """Returns a GPU as JSON-compatible values."""
    holdings: Iterable[Holding] | None = card.holdings
    processes = None
    if holdings is not None:
        processes = [
            {"nbytes": holding.nbytes, "is_idle": holding.is_idle, **holding.owner._asdict()} for holding in holdings
        ]
    figures = {name: value for name, value in card._asdict().items() if name not in ("holdings", "missing")}
    return figures | {"is_free": card.is_free, "processes": processes, "missing": dict(card.missing)}

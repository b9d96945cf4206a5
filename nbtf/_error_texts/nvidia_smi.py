"""Who holds the cards in an output of `nvidia-smi`? Tables of all drivers since 390, and its CSV form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from nbtf._error_texts import actions
from nbtf._error_texts.cleaning import Text
from nbtf._error_texts.finding import Action, Figure, Finding, Nbytes, Statement, Value

_MIB = 1 << 20
_MOST_CARDS, _MOST_PROCESSES, _MOST_COLUMNS = 64, 1024, 64
_HEAD = re.compile(r"NVIDIA-SMI (\d[\d.]{0,15})")
_DRIVER = re.compile(r"(?:Driver|KMD) Version: (\d[\d.]{0,15})")
_CUDA = re.compile(r"CUDA (?:UMD )?Version: ([\d.]{1,8}|N/A|ERR!)")
_CARD = re.compile(
    r"^[|│] {1,6}(\d{1,3})  ?(\S[^|│]{0,60}?) {1,40}(?:On|Off|N/A|WDDM|TCC|MCDM|Disabled|Enabled) {0,4}[|│]"
    r" {1,6}[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:"
)
_MEMORY = re.compile(r"[|│] {0,12}(\d{1,8})MiB {0,4}/ {0,8}(\d{1,8})MiB {0,4}[|│] {0,12}(\d{1,3}%|N/A|ERR!|-)?")
_PROCESSES = re.compile(r"^[|│] Processes:")
_PROCESS = re.compile(
    r"^[|│] {1,8}(\d{1,3}) {1,8}(?:(?:N/A|\d{1,3}) {1,8}(?:N/A|\d{1,3}) {1,16})?(\d{1,10}) {1,10}(C\+G|M\+C|C|G|M)"
    r" {1,8}(\S(?:[^|│]{0,200}?\S)?) {1,80}(\d{1,8})?(?:MiB|N/A) {0,8}[|│]"
)
_CSV_UNIT = re.compile(r"(-?\d{1,9}) ?(?:MiB|%)?$")
_ORDINARY = 600 * _MIB
"""Bytes of a card that no process accounts for at most: the driver, the console, and rounding."""
_SHARE = 0.05


@dataclass(slots=True)
class Card:
    """A card in an output; `processes` is None if the output has no list of processes."""

    number: int
    name: str
    index: int
    used: int | None = None
    total: int | None = None
    busy: int | None = None
    processes: list[Process] | None = None


@dataclass(slots=True)
class Process:
    """A process on a card; `nbytes` is None if the driver does not report its memory."""

    pid: str
    name: str
    nbytes: int | None


@dataclass(slots=True)
class Output:
    """One output of the program."""

    first: int
    last: int = 0
    driver: str = ""
    cuda: str = ""
    cards: list[Card] = field(default_factory=list[Card])
    has_list: bool = False
    process_count: int = 0


def outputs(text: Text) -> Iterator[Output]:
    """Yields the outputs in a text."""
    current: Output | None = None
    for index, raw in enumerate(text.lines):
        if "|" not in raw and "│" not in raw:
            continue
        line = raw[max(raw.find("|"), raw.find("│"), 0) if "|" not in raw else raw.find("|") :]
        if head := _HEAD.search(line):
            if current is not None and current.cards:
                yield current
            driver, cuda = _DRIVER.search(line), _CUDA.search(line)
            current = Output(index, index, driver[1] if driver else head[1], cuda[1] if cuda else "")
        elif current is not None:
            _take(current, index, line)
    if current is not None and current.cards:
        yield current


def _take(output: Output, index: int, line: str) -> None:
    """Reads a line of the table."""
    cards = output.cards
    if not output.has_list and (match := _CARD.match(line)):
        if len(cards) < _MOST_CARDS:
            cards.append(Card(int(match[1]), match[2].strip(), index))
            output.last = index
    elif not output.has_list and cards and cards[-1].total is None and (match := _MEMORY.search(line)):
        card = cards[-1]
        card.used, card.total = int(match[1]) * _MIB, int(match[2]) * _MIB
        card.busy = int(match[3][:-1]) if match[3] and match[3].endswith("%") else None
        output.last = index
    elif _PROCESSES.match(line):
        output.has_list, output.last = True, index
        for card in cards:
            card.processes = []
    elif output.has_list and (match := _PROCESS.match(line)):
        output.process_count += 1
        if output.process_count <= _MOST_PROCESSES:
            nbytes = int(match[5]) * _MIB if match[5] else None
            for card in cards:
                if card.number == int(match[1]) and card.processes is not None:
                    card.processes.append(Process(match[2], match[4].strip(), nbytes))
            output.last = index


def tables(text: Text) -> Iterator[Output]:
    """Yields the CSV forms of `--query-gpu`, whose first line names the columns."""
    columns: list[str] = []
    current = Output(0)
    for index, line in enumerate(text.lines):
        if "," not in line:
            continue
        cells = [cell.strip() for cell in line.split(",", _MOST_COLUMNS)[:_MOST_COLUMNS]]
        names = [cell.partition(" [")[0] for cell in cells]
        if "memory.used" in names and {"memory.total", "name"} & set(names):
            if current.cards:
                yield current
            columns, current = names, Output(index)
        elif len(cells) == len(columns) and len(current.cards) < _MOST_CARDS:
            row = dict(zip(columns, cells, strict=True))
            current.cards.append(_csv_card(row, len(current.cards), index))
            current.driver = current.driver or row.get("driver_version", "")
    if current.cards:
        yield current


def _csv_card(row: dict[str, str], count: int, index: int) -> Card:
    def number(name: str) -> int | None:
        match = _CSV_UNIT.match(row.get(name, ""))
        return int(match[1]) if match else None

    used, total, own_number = number("memory.used"), number("memory.total"), number("index")
    card = Card(count if own_number is None else own_number, row.get("name", ""), index)
    card.used = None if used is None else used * _MIB
    card.total = None if total is None else total * _MIB
    card.busy = number("utilization.gpu")
    return card


def findings(text: Text) -> Iterator[Finding]:
    """Yields a finding for each card of each output."""
    for output in [*outputs(text), *tables(text)]:
        for card in output.cards:
            if card.used is not None:
                yield _finding(text, output, card)


def _finding(text: Text, output: Output, card: Card) -> Finding:
    listed = [process for process in card.processes or () if process.nbytes is not None]
    listed_bytes = sum([process.nbytes or 0 for process in listed])
    used = card.used or 0
    values: dict[str, Value] = {"card": str(card.number), "used": Nbytes(used), "listed": Nbytes(listed_bytes)}
    values |= {"unexplained": Nbytes(max(used - listed_bytes, 0)), "busy": -1 if card.busy is None else card.busy}
    if card.total is not None:
        values |= {"total": Nbytes(card.total), "free": Nbytes(max(card.total - used, 0))}
    largest = max(listed, key=lambda process: process.nbytes or 0, default=None)
    if largest is not None:
        values |= {"pid": largest.pid, "process": largest.name, "held": Nbytes(largest.nbytes or 0)}
    name, chosen = _cause(card, used, listed_bytes, largest)
    if name == "smiInUse":
        chosen = [*_freer_card(output.cards, card), *chosen]
    sums = [
        Statement("smiHolder", {"pid": each.pid, "process": each.name, "held": Nbytes(each.nbytes or 0)})
        for each in sorted(listed, key=lambda process: -(process.nbytes or 0))[:8]
    ]
    if listed:
        sums.append(Statement("sumListedOnCard"))
    if card.processes and len(listed) < len(card.processes):
        sums.append(Statement("smiNotReported", {"n": len(card.processes) - len(listed)}))
    figures = [Figure("smiCard", str(card.number), f"{card.number}: {card.name}" if card.name else str(card.number))]
    figures.append(Figure("smiUsed", Nbytes(used), f"{used // _MIB} MiB"))
    if card.total is not None:
        figures.append(Figure("cardTotal", Nbytes(card.total), f"{card.total // _MIB} MiB"))
    if card.busy is not None:
        figures.append(Figure("smiBusy", card.busy, f"{card.busy}%"))
    figures += [Figure("smiDriver", output.driver, output.driver)] if output.driver else []
    figures += [Figure("smiCuda", output.cuda, output.cuda)] if output.cuda else []
    quote = " ".join(
        " ".join(text.lines[card.index : card.index + (2 if output.has_list or output.cuda else 1)]).split()
    )
    return Finding(
        "smi",
        "nvidia-smi",
        quote[:400],
        text.number_of(card.index),
        figures,
        sums,
        [Statement(name)],
        (),
        chosen,
        values,
    )


def _cause(card: Card, used: int, listed_bytes: int, largest: Process | None) -> tuple[str, Sequence[Action]]:
    total = card.total or 0
    if used <= max(_ORDINARY, _SHARE * total) and largest is None:
        return "smiFree", []
    if card.processes is None:
        idle = card.busy == 0
        return ("smiNoListIdle" if idle else "smiNoList"), [actions.PROCESSES]
    if largest is None:
        if card.processes:
            return "smiNotReportedCause", [actions.PROCESSES]
        hidden = [Action("hostProcesses", f"sudo fuser -v /dev/nvidia{card.number}")]
        hidden.append(Action("pidHost", "docker run --pid=host --gpus all IMAGE nvidia-smi"))
        return ("smiHiddenIdle" if card.busy == 0 else "smiHidden"), hidden
    if used - listed_bytes > max(_ORDINARY, _SHARE * total):
        return "smiUnexplained", [Action("hostProcesses", f"sudo fuser -v /dev/nvidia{card.number}")]
    end = [Action("psProcess", f"ps -o pid,etime,user,args -p {largest.pid}"), actions.kill(largest.pid)]
    if card.busy == 0 and (largest.nbytes or 0) > max(_ORDINARY, _SHARE * total):
        return "smiLeftover", end
    if used <= max(_ORDINARY, _SHARE * total):
        return "smiFree", []
    return "smiInUse", end


def _freer_card(cards: Sequence[Card], card: Card) -> list[Action]:
    """Returns the line that uses the card with the most free memory, if it has more than this one."""
    free = {each.number: each.total - each.used for each in cards if each.total is not None and each.used is not None}
    largest = max(free, key=lambda number: (free[number], -number), default=card.number)
    return [actions.choose_card(largest)] if free.get(largest, 0) > free.get(card.number, 0) else []

"""`%gpu_memory --who`: who holds the memory of the GPUs, and which line frees it?"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from nbtf import errors, runtime
from nbtf.notebook.device_names import label
from nbtf.notebook.holders import last_error
from nbtf.notebook.holders.card_rows import Cards, on_cards, others, real_cards
from nbtf.notebook.holders.containers import Entry, Gather, gather, list_all
from nbtf.notebook.holders.freeing import COLLECT
from nbtf.notebook.holders.garbage import Piece
from nbtf.notebook.holders.holders import Held, Holders
from nbtf.notebook.holders.names import WEIGHTS
from nbtf.notebook.session import Session, say
from nbtf.notebook.tables import MOST_ROWS, NOTHING, Column, Table, size

SECONDS = 1.0
"""How long a search may take."""

GARBAGE = "nothing but a reference cycle, until Python's garbage collector comes by"

_LATE = "not found in time"

_NAMES = 6
"""Names that are shown of one holder."""


def _joined(lines: list[str] | None) -> str:
    return ", then ".join(lines or ()) or NOTHING


COLUMNS = (
    Column("holder", "holder"),
    Column("device", "device"),
    Column("nbytes", "bytes", size, number=True),
    Column("tensor", "tensor"),
    Column("op", "made by"),
    Column("code", "code line"),
    Column("frees", "frees it", _joined),
)


class _Part(NamedTuple):
    """A piece in use, as the memory map has it."""

    piece: Piece
    nbytes: int
    label: Any


def add_hint(session: Session) -> None:
    """Has cells that ran out of GPU memory end with a line that says where to look."""

    def hint(result: Any) -> None:
        error = None if result is None else result.error_in_exec
        gpu = None if error is None else _full_gpu(error)
        if gpu is not None:
            say(f"%gpu_memory --who lists what holds the memory of {gpu}.")

    session.shell.events.register("post_run_cell", hint)
    session.on_stop(lambda: session.shell.events.unregister("post_run_cell", hint))


def _full_gpu(error: Any) -> str | None:
    """Returns the GPU whose memory an error says is full, of nbtf or of another library; None for other errors."""
    if issubclass(type(error), errors.ResourceExhaustedError):
        match = re.search(r"\bGPU:\d+", error.message)
        return match[0] if match else None
    return next(filter(None, [library.full_card(error) for library in runtime.frameworks()]), None)


def forget(session: Session) -> None:
    """Forgets the last uncaught error, and prints what that has freed."""
    before = _in_use()
    if not last_error.forget(session.shell):
        say("There is no error to forget.")
        return
    freed = [
        f"{runtime.exact(before[device] - nbytes)} of {device}"
        for device, nbytes in _in_use().items()
        if before.get(device, 0) > nbytes
    ]
    say(f"The last error is forgotten: {' and '.join(freed) + ' freed' if freed else 'it held no GPU memory'}.")


def _in_use() -> dict[str, int]:
    """Returns what is in use of each GPU, and by each other library on its cards."""
    own = {label(device.name): device.in_use for device in runtime.devices() if device.in_use is not None}
    pools = [(library.name, pool) for library in runtime.frameworks() for pool in library.pools()]
    return own | {f"{pool.device} ({name})": pool.in_use for name, pool in pools}


def who(session: Session, devices: Collection[str], seconds: float | None = None, each: bool = False) -> Table:
    """Returns a table of who holds the memory of GPUs, the most bytes first.

    Of real cards also what other libraries of this process hold, and below that the processes on them; of all cards of
    this machine where nbtf has no GPU.

    Args:
      session: whose shell's variables are looked at.
      devices: short names of the GPUs.
      seconds: how long the search may take; `SECONDS` when None.
      each: lists each tensor of a list, a model or an optimizer, not all together in one row.
    """
    gpus = [gpu for gpu in runtime.devices() if gpu.name in devices]
    cards = real_cards(session, gpus)
    if not gpus and not cards:
        return Table(COLUMNS, [], ["Only GPUs keep an account of their memory; none to show here."])
    if not any(gpu.in_use for gpu in gpus) and not cards:
        return Table(COLUMNS, [], ["Nothing is in use."])
    rows, notes = _held(session, gpus, cards, SECONDS if seconds is None else seconds, list_all if each else gather)
    beside, remarks = on_cards(session, cards, rows)
    rows += beside
    return Table(COLUMNS, rows, notes + remarks, len(rows) if each else MOST_ROWS, "`%gpu_memory --who --all`")


def _held(
    session: Session, gpus: list[runtime.DeviceInfo], cards: Cards, seconds: float, gather: Gather
) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns rows for what tensors and other libraries' arrays hold, and notes about them."""
    arrays = _arrays() if any(card[0].cuda is not None for card in cards) else []
    if not arrays and not any(gpu.in_use for gpu in gpus):
        return [], []
    holders = Holders(session, seconds, [(each.type, each.holding) for each in arrays])
    rows = _rows(session, gpus, holders, gather)
    notes = _notes(gpus, rows)
    rows += others(holders, arrays, cards, gather)
    if not holders.finished or holders.late:  # asked last: also the lines of other libraries' arrays take time
        notes.append(f"The search stopped after {seconds:g} s and {holders.looked:,} objects; there are more.")
    return sorted(rows, key=lambda row: -row["nbytes"]), notes


def _arrays() -> list[runtime.Arrays]:
    """Returns what the arrays of the imported libraries are."""
    return [arrays for library in runtime.frameworks() if (arrays := library.arrays()) is not None]


def _rows(session: Session, gpus: list[runtime.DeviceInfo], holders: Holders, gather: Gather) -> list[dict[str, Any]]:
    """Returns rows for what nbtf's tensors hold."""
    parts = sorted((part for gpu in gpus if gpu.in_use for part in _parts(gpu)), key=lambda part: -part.nbytes)
    held = {part.piece: None if holders.late else holders.of(part.piece) for part in parts}
    dead = holders.garbage([part.piece for part in parts if held[part.piece] is None and not _is_scratch(part)])
    late = holders.late or not holders.finished
    lines: dict[Any, str] = {}
    entries: list[Entry] = []
    for part in parts:
        owner = held[part.piece]
        site = None if part.label is None else part.label.site
        if site not in lines:
            lines[site] = "" if site is None else session.code_line(site)
        nobody = "" if owner is not None else GARBAGE if part.piece in dead else _nobody(part, late)
        container = nobody if owner is None else _container(owner, holders.are_variables(part.piece))
        entries.append(Entry(part.piece, container, _row(part, owner, nobody, lines[site])))

    def frees(pieces: Sequence[Piece]) -> list[str] | None:
        if pieces[0] in dead:
            return [COLLECT]
        return None if held[pieces[0]] is None else holders.lines(pieces)

    return gather(entries, frees)


def _parts(gpu: runtime.DeviceInfo) -> list[_Part]:
    pieces = runtime.memory_pieces(gpu.name)
    return [_Part((gpu.name, piece.region, piece.offset), piece.nbytes, label) for piece, label in pieces]


def _is_scratch(part: _Part) -> bool:
    return part.label is not None and part.label.op == "scratch"


def _row(part: _Part, held: Held | None, nobody: str, code: str) -> dict[str, Any]:
    label = part.label
    return {
        "device": part.piece[0],
        "tensor": "" if label is None else f"[{', '.join(map(str, label.shape))}] {label.dtype}",
        "op": "" if label is None else label.op,
        "code": code,
        "holder": nobody if held is None else _holder(held, [place.text for place in held.names]),
        "nbytes": part.nbytes,
        "pieces": 1,
        "names": [] if held is None else [place.text for place in held.names],
        "views": [] if held is None else [place.text for place in held.views],
    }


def _container(held: Held, are_variables: bool) -> str:
    """Returns what holds a tensor with others, and as what: `held`, `model: weights`."""
    nouns = {place.noun for place in held.names} - ({""} if are_variables else {"", WEIGHTS})
    names = _holder(held, [place.container for place in held.names], [place.container for place in held.views])
    return f"{names}: {nouns.pop()}" if len(nouns) == 1 else names


def _holder(held: Held, names: list[str], views: list[str] | None = None) -> str:
    holder = _named(names) or "something without a name"
    if held.views:
        same = [place.text for place in held.views] if views is None else views
        holder += f"; the same memory: {_named(same)}"
    return f"{holder}; and something the search did not reach" if held.unknown else holder


def _nobody(part: _Part, late: bool) -> str:
    """Returns what is said of a piece that nobody was found to hold."""
    if _is_scratch(part):
        return "nbtf itself, as TensorFlow does, from the first op on"
    return _LATE if late else "not found: held by something the search did not reach"


def _named(names: list[str]) -> str:
    names = list(dict.fromkeys(names))
    return ", ".join(names[:_NAMES]) + (f" and {len(names) - _NAMES} more" if len(names) > _NAMES else "")


def _notes(gpus: list[runtime.DeviceInfo], rows: list[dict[str, Any]]) -> list[str]:
    notes: list[str] = []
    for gpu in gpus:
        pieces = sum(row["pieces"] for row in rows if row["device"] == gpu.name)
        if gpu.in_use:
            in_use = f"{runtime.exact(gpu.in_use)} in use in {pieces:,} {'piece' if pieces == 1 else 'pieces'}"
            notes.append(f"{gpu.label}: {in_use}.")
    if any(not part["code"] and part["op"] != "scratch" for row in rows for part in row.get("parts", [row])):
        notes.append("Code lines are known of what was made while a recorder was on, as it is from %load_ext nbtf on.")
    return notes

"""`%gpu_memory --who`: what holds the memory of the GPUs, and which line frees it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from nbtf import runtime
from nbtf._counts import counted
from nbtf._garbage import collector_paused
from nbtf.notebook.device_names import label
from nbtf.notebook.holders import last_error
from nbtf.notebook.holders.card_rows import Cards, foreign_rows, on_cards, real_cards
from nbtf.notebook.holders.containers import Entry, Gather, Row, gather, list_all
from nbtf.notebook.holders.freeing import COLLECT
from nbtf.notebook.holders.garbage import HELD_BY_CYCLES, Piece
from nbtf.notebook.holders.holders import Held, Holders, Item
from nbtf.notebook.holders.names import WEIGHTS
from nbtf.notebook.session import Session, say
from nbtf.notebook.tables import MOST_ROWS, NOTHING, Column, Table, sizes, texts

SECONDS = 10.0
"""Maximum duration of a search. For 100,000 tensors, finding holders and the lines that free them takes six seconds."""

_LATE = "not found in time"

_GPUS = 8
"""GPUs that get a note of their own below the table; the others share one."""

_NAMES = 6
"""Maximum number of a holder's names to show."""


def _joined(lines: list[str] | None) -> str:
    return ", then ".join(lines or ()) or NOTHING


COLUMNS = (
    *texts("holder", "device"),
    *sizes(nbytes="bytes"),
    *texts("tensor"),
    Column("op", "made by"),
    Column("code", "code line"),
    Column("frees", "frees it", _joined),
)


class _Block(NamedTuple):
    """A piece of memory in use, as the memory map lists it."""

    piece: Piece
    nbytes: int
    label: Any


def forget(session: Session) -> None:
    """Forgets the last uncaught error, and prints how much memory that has freed."""
    used_before = _in_use()
    if not last_error.forget(session.shell):
        say("No error to forget.")
        return
    freed = [
        f"{runtime.exact(used_before[device] - nbytes)} of {device}"
        for device, nbytes in _in_use().items()
        if used_before.get(device, 0) > nbytes
    ]
    say(f"The last error is forgotten: {' and '.join(freed) + ' freed' if freed else 'it held no GPU memory'}.")


def _in_use() -> dict[str, int]:
    """Returns the memory in use of each GPU, and of each other library on its cards."""
    own_use = {label(device.name): device.in_use for device in runtime.devices() if device.in_use is not None}
    pools = [(library.name, pool) for library in runtime.frameworks() for pool in library.pools()]
    return own_use | {f"{pool.device} ({name})": pool.in_use for name, pool in pools}


def build_table(session: Session, devices: Collection[str], seconds: float | None = None, each: bool = False) -> Table:
    """Returns a table of what holds the memory of GPUs, largest first.

    For real cards, it also lists what other libraries of this process hold and, below that, the processes on the cards.
    If nbtf has no GPU, it lists this for all cards of the machine.

    Args:
      session: the session whose shell's variables are searched.
      devices: short names of the GPUs.
      seconds: maximum duration of the search; `SECONDS` if None.
      each: whether each tensor of a list, a model or an optimizer gets its own row, instead of all sharing one.
    """
    gpus = [gpu for gpu in runtime.devices() if gpu.name in devices]
    cards = real_cards(session, gpus)
    if not gpus and not cards:
        return Table(COLUMNS, [], ["No GPU is available. Memory is tracked only for GPUs."])
    if not any(gpu.in_use for gpu in gpus) and not cards:
        return Table(COLUMNS, [], ["Nothing is in use."])
    rows, notes = _holder_rows(
        session, gpus, cards, SECONDS if seconds is None else seconds, list_all if each else gather
    )
    beside, remarks = on_cards(session, cards, rows)
    rows += beside
    return Table(COLUMNS, rows, notes + remarks, len(rows) if each else MOST_ROWS, "`%gpu_memory --who --all`")


def _holder_rows(
    session: Session, gpus: list[runtime.DeviceInfo], cards: Cards, seconds: float, gather: Gather
) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns rows for what tensors and other libraries' arrays hold, and notes about them."""
    arrays = _arrays() if any(card[0].cuda is not None for card in cards) else []
    if not arrays and not any(gpu.in_use for gpu in gpus):
        return [], []
    with collector_paused():
        blocks = [block for gpu in gpus if gpu.in_use for block in _blocks(gpu)]
        blocks.sort(key=lambda block: -block.nbytes)
        holders = Holders(session, seconds, [(each.type, each.pieces) for each in arrays])
        rows = _rows(session, blocks, holders, gather)
        are_lines_missing = any(
            not _is_scratch(block) and (block.label is None or block.label.site is None) for block in blocks
        )
        notes = _notes(gpus, blocks, len(gpus) if gather is list_all else _GPUS, are_lines_missing)
        rows += foreign_rows(holders, arrays, cards, gather)
        rows.sort(key=lambda row: -row["nbytes"])
    if not holders.finished or holders.is_late:  # checked last, because other libraries' lines take time as well
        notes.append(f"The search stopped after {seconds:g} s and {holders.looked:,} objects, and is incomplete.")
    return rows, notes


def _arrays() -> list[runtime.Arrays]:
    """Returns how to recognize the arrays of each imported library."""
    return [arrays for library in runtime.frameworks() if (arrays := library.arrays()) is not None]


def _rows(session: Session, blocks: list[_Block], holders: Holders, gather: Gather) -> list[dict[str, Any]]:
    """Returns rows for what nbtf's tensors hold, the largest first."""
    owners = {block.piece: None if holders.is_late else holders.owner(block.piece) for block in blocks}
    dead = holders.garbage([block.piece for block in blocks if owners[block.piece] is None and not _is_scratch(block)])
    is_late = holders.is_late or not holders.finished
    labels, containers = _Labels(session), dict[tuple[int, bool], str]()
    entries: list[Entry] = []
    for block in blocks:
        owner = owners[block.piece]
        nobody = "" if owner is not None else HELD_BY_CYCLES if block.piece in dead else _nobody(block, is_late)
        if isinstance(owner, Item):
            key = owner.outermost, owner.is_variable
            if key not in containers:
                containers[key] = _container(owner.with_names, owner.is_variable)
            container = containers[key]
        else:
            container = nobody if owner is None else _container(owner, holders.are_variables(block.piece))
        facts = labels.facts(block)
        entries.append(
            Entry(
                block.piece,
                container,
                block.nbytes,
                facts,
                _holder_facts,
                nobody if owner is None else owner,
                isinstance(owner, Held),
            )
        )

    def frees(pieces: Sequence[Piece]) -> list[str] | None:
        if pieces[0] in dead:
            return [COLLECT]
        return None if owners[pieces[0]] is None else holders.lines(pieces)

    return gather(entries, frees)


def _blocks(gpu: runtime.DeviceInfo) -> list[_Block]:
    pieces = runtime.memory_pieces(gpu.name)
    return [_Block((gpu.name, piece.region, piece.offset), piece.nbytes, label) for piece, label in pieces]


def _is_scratch(block: _Block) -> bool:
    return block.label is not None and block.label.op == "scratch"


class _Labels:
    """Columns that depend only on a piece's device and label: the same for everything that a line creates in a loop."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._facts: dict[tuple[str, Any], Row] = {}
        self._lines: dict[Any, str] = {}

    def facts(self, block: _Block) -> Row:
        key = block.piece[0], block.label
        if key not in self._facts:
            self._facts[key] = self._new_facts(*key)
        return self._facts[key]

    def _new_facts(self, device: str, label: Any) -> Row:
        if label is None:
            return {"device": device, "tensor": "", "op": "", "code": ""}
        tensor = f"[{', '.join(map(str, label.shape))}] {label.dtype}"
        return {"device": device, "tensor": tensor, "op": label.op, "code": self._line(label.site)}

    def _line(self, site: Any) -> str:
        if site not in self._lines:
            self._lines[site] = "" if site is None else self._session.code_line(site)
        return self._lines[site]


def _holder_facts(entry: Entry) -> Row:
    """Returns the other columns of a piece: its owner or, without one, an explanation."""
    owner: Held | Item | str = entry.owner
    names, views = list[str](), list[str]()
    if isinstance(owner, str):
        holder = owner
    else:
        named_owner = owner.with_names if isinstance(owner, Item) else owner
        names, views = ([path.text for path in paths] for paths in (named_owner.names, named_owner.views))
        holder = _holder(named_owner, names)
    return {"holder": holder, "nbytes": entry.nbytes, "pieces": 1, "names": names, "views": views}


def _container(owner: Held, are_variables: bool) -> str:
    """Returns the container of a tensor and its role there: `owner`, `model: weights`."""
    nouns = {path.noun for path in owner.names} - ({""} if are_variables else {"", WEIGHTS})
    names = _holder(owner, [path.container for path in owner.names], [path.container for path in owner.views])
    return f"{names}: {nouns.pop()}" if len(nouns) == 1 else names


def _holder(owner: Held, names: list[str], views: list[str] | None = None) -> str:
    holder = _join_names(names) or "something unnamed"
    if owner.views:
        same_memory = [path.text for path in owner.views] if views is None else views
        holder += f"; the same memory: {_join_names(same_memory)}"
    return f"{holder}; and an object that the search did not reach" if owner.unknown else holder


def _nobody(block: _Block, is_late: bool) -> str:
    """Returns the explanation for a piece without a known holder."""
    if _is_scratch(block):
        return "nbtf itself, since the first op, as in TensorFlow"
    return _LATE if is_late else "not found: held by an object that the search did not reach"


def _join_names(names: list[str]) -> str:
    names = list(dict.fromkeys(names))
    return ", ".join(names[:_NAMES]) + (f" and {len(names) - _NAMES} more" if len(names) > _NAMES else "")


def _notes(gpus: list[runtime.DeviceInfo], blocks: list[_Block], limit: int, are_lines_missing: bool) -> list[str]:
    pieces = Counter(block.piece[0] for block in blocks)
    used = sorted([gpu for gpu in gpus if gpu.in_use], key=lambda gpu: -(gpu.in_use or 0))
    first = {gpu.name for gpu in used[:limit]}
    notes = [f"{gpu.label}: {_in_words([gpu], pieces)}." for gpu in gpus if gpu.name in first]
    if used[limit:]:
        notes.append(f"{len(used) - limit:,} more of {len(used):,} GPUs: {_in_words(used[limit:], pieces)}.")
    if are_lines_missing:
        notes.append("Code lines are known only for tensors created while recording, which starts at %load_ext nbtf.")
    return notes


def _in_words(gpus: Sequence[runtime.DeviceInfo], pieces: Counter[str]) -> str:
    count = sum([pieces[gpu.name] for gpu in gpus])
    nbytes = sum([gpu.in_use or 0 for gpu in gpus])
    return f"{runtime.exact(nbytes)} in use in {counted(count, 'piece')}"

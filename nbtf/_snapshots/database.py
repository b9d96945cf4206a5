"""How is a snapshot read from an SQLite database? As a copy in memory, with nothing allowed but reading three tables.

Source of the tables: pytorch/pytorch#178670, `_dump_snapshot_sqlite`. Columns are named as in PyTorch's
dictionary.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from nbtf._snapshots.contents import SnapshotBuilder
from nbtf._snapshots.damage import damaged, whole_number
from nbtf._storage.databases import open_copy
from nbtf._storage.refusal import RefusedFileError, refusing

_TABLES = ("device_traces", "segments", "blocks")
_OTHER_NAMES = {
    "address": ("addr",),
    "addr": ("address",),
    "total_size": ("size",),
    "device": ("device_id", "device_index"),
}


def read_database(content: bytes, source: str, builder: SnapshotBuilder) -> None:
    """Adds a snapshot in an SQLite database to a builder.

    Args:
      content: the database.
      source: the file that errors name.
      builder: collects the parts.

    Raises:
      RefusedFileError: if it is damaged, or its tables are not those of a snapshot.
    """
    with refusing(source, "is not a readable SQLite database"), closing(open_copy(content)) as connection:
        columns = _columns(connection, source)
        _add_segments(connection, columns, source, builder)
        _add_events(connection, columns, source, builder)


def _columns(connection: sqlite3.Connection, source: str) -> dict[str, set[str]]:
    """Returns the columns of the three tables; refuses views, virtual tables and computed columns."""
    rows = connection.execute("SELECT name, type, rootpage FROM sqlite_schema").fetchmany(1000)
    tables = {name for name, form, page in rows if form == "table" and type(page) is int and page > 0}
    if not {"segments", "blocks"} <= tables and "device_traces" not in tables:
        names = ", ".join(f"{name!s:.30}" for name, *_ in rows[:5])
        raise RefusedFileError(
            f"{source} is an SQLite database without a memory snapshot: it has {names or 'no table'}. Expected the "
            f"tables device_traces, segments and blocks, as `torch.cuda.memory._dump_snapshot_sqlite` writes them."
        )
    columns: dict[str, set[str]] = {}
    for table in _TABLES:
        if table in tables:
            described = connection.execute(f"PRAGMA table_xinfo({table})").fetchall()
            if any(hidden for *_, hidden in described):
                raise RefusedFileError(f"{source} is damaged: the table {table} has computed columns; expected none.")
            columns[table] = {str(name) for _, name, *_ in described}
    return columns


def _rows(
    connection: sqlite3.Connection, columns: dict[str, set[str]], table: str, names: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    """Yields the rows of a table in order, with those of the named columns that it has."""
    present: dict[str, str] = {}
    for name in names:
        stored = next(
            (alternative for alternative in (name, *_OTHER_NAMES.get(name, ())) if alternative in columns[table]), None
        )
        if stored is not None and stored not in present.values():
            present[name] = stored
    listed = ", ".join(f'"{stored}"' for stored in present.values())
    order = "id" if "id" in columns[table] else "rowid"
    if not present:
        return
    for row in connection.execute(f'SELECT {listed} FROM "{table}" ORDER BY "{order}"'):
        yield {name: value for name, value in zip(present, row, strict=True) if value is not None}


def _add_segments(
    connection: sqlite3.Connection, columns: dict[str, set[str]], source: str, builder: SnapshotBuilder
) -> None:
    """Adds the segments with their blocks."""
    if not {"segments", "blocks"} <= columns.keys():
        return
    blocks: dict[Any, list[Any]] = {}
    names = ("segment_id", "address", "size", "requested_size", "state", "frames")
    for number, block in enumerate(_rows(connection, columns, "blocks", names)):
        segment = block.get("segment_id")
        if type(segment) is not int:
            raise damaged(source, f"blocks[{number}].segment_id", segment, "the number of a segment")
        block["frames"] = _frames(block.get("frames"), source, f"blocks[{number}].frames")
        blocks.setdefault(segment, []).append(block)
    names = ("id", "device", "address", "total_size", "stream", "segment_type", "is_expandable")
    for number, segment in enumerate(_rows(connection, columns, "segments", names), 1):
        segment_blocks = blocks.pop(segment.get("id", segment.get("segment_id", number)), [])
        segment["is_expandable"] = segment.get("is_expandable") in (1, True)
        builder.add_segment({**segment, "blocks": sorted(segment_blocks, key=lambda block: _address(block))})
    if blocks:
        raise damaged(source, "blocks.segment_id", next(iter(blocks)), "the number of a segment in the table segments")


def _address(block: dict[str, Any]) -> int:
    address = block.get("address", 0)
    return address if type(address) is int else 0


def _add_events(
    connection: sqlite3.Connection, columns: dict[str, set[str]], source: str, builder: SnapshotBuilder
) -> None:
    """Adds the histories of all devices."""
    if "device_traces" not in columns:
        return
    names = ("device", "action", "addr", "device_free", "size", "stream", "time_us", "frames")
    stacks: dict[Any, Any] = {}
    for number, event in enumerate(_rows(connection, columns, "device_traces", names)):
        device = whole_number(source, f"device_traces[{number}].device", event.pop("device", 0))
        if device > 1023:
            raise damaged(source, f"device_traces[{number}].device", device, "a number below 1024")
        while len(builder.traces) <= device:
            builder.new_trace()
        text = event.get("frames")
        if type(text) is str and len(stacks) < 10_000:
            if text not in stacks:
                stacks[text] = _frames(text, source, f"device_traces[{number}].frames")
            event["frames"] = stacks[text]
        else:
            event["frames"] = _frames(text, source, f"device_traces[{number}].frames")
        builder.traces[device].add(event)


def _frames(text: Any, source: str, location: str) -> Any:
    """Returns the frames that a column has as JSON; None if it is empty."""
    if text is None or text == "":
        return None
    if type(text) is not str:
        raise damaged(source, location, text, "a list of frames as JSON")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RefusedFileError(f"{source} is damaged: {location} is not valid JSON: {error}.") from None

"""`python -m tests.snapshots.hostile --runs 100000`: does opening a hostile snapshot do nothing but refuse it?

Files come from a grammar of opcodes, or from samples with other bytes, opcodes, fields or rows. For each file,
an audit hook records what must not happen, `RefusedFileError` is the only error, and the size of the file bounds calls
and memory. The exit status is 1 after any violation.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import pickle
import sqlite3
import struct
import sys
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from nbtf._snapshots.reading import open_snapshot
from nbtf._storage.refusal import RefusedFileError
from tests.hostile_files.grammar import damaged, mutated
from tests.hostile_files.watch import HangError, Watch
from tests.snapshots.made import MIB, files, snapshot

CALLS = 100_000
"""Calls that reading any file may take, of Python or C functions; each further byte may take `CALLS_PER_BYTE`."""

CALLS_PER_BYTE = 100
FREE_MEMORY = 4 * MIB
MEMORY_PER_BYTE = 400
"""Bytes of memory for each byte of the file, as decompressed; `}` takes 1 byte and makes a dictionary of 64."""

_WARM = 100

# ---- pickles from a grammar


def _sized(opcode: bytes, form: str, random: Random, content: bytes) -> bytes:
    """Returns an opcode with a length that may be wrong."""
    limit = 256 ** struct.calcsize(form) - 1
    length = random.choice((len(content),) * 8 + (0, 1, limit, limit // 2, len(content) + 1))
    return opcode + struct.pack(form, min(length, limit)) + content


def _index(random: Random) -> bytes:
    return random.choice((b"h%c" % random.randrange(12), b"j" + struct.pack("<I", random.choice((0, 3, 9, 2**32 - 1)))))


def _store(random: Random) -> bytes:
    far = b"r" + struct.pack("<I", random.choice((0, 5, 2**31, 2**32 - 1)))
    return random.choice((b"\x94",) * 6 + (b"q%c" % random.randrange(12), far, b"p-1\n", b"p99999999999\n"))


def _atom(random: Random) -> bytes:
    text = random.choice(
        (b"action", b"device_traces", b"segments", b"frames", b"addr", b"os", b"system", b"\xff", b"x" * 80)
    )
    number = random.randbytes(random.randrange(9))
    return random.choice(
        (
            b"N",
            b"\x88",
            b")",
            b"K%c" % random.randrange(256),
            b"M" + random.randbytes(2),
            b"J" + random.randbytes(4),
            b"G" + random.randbytes(8),
            b"I%d\n" % random.choice((0, 1, -1, 10**30)),
            b"F1e999\n",
            b"V" + text[:9] + b"\n",
            b"S'" + text[:9] + b"'\n",
            _sized(b"\x8a", "<B", random, number),
            _sized(b"\x8b", "<I", random, number) if random.random() < 0.7 else b"\x8b" + struct.pack("<i", -5),
            _sized(b"\x8c", "<B", random, text),
            _sized(b"X", "<I", random, text),
            _sized(b"\x8d", "<Q", random, text),
            _sized(b"C", "<B", random, text),
            _sized(b"\x8e", "<Q", random, text),
            _index(random),
        )
    )


_FORBIDDEN = (
    b"cos\nsystem\n",
    b"(S'true'\nios\nsystem\n",
    b"\x8c\x02os\x8c\x06system\x93",
    b"cposix\nsystem\nX\x04\0\0\0true\x85R",
    b"cbuiltins\neval\n\x8c\x011\x85R",
    *(b"R", b"b", b"o", b"Q", b"Pname\n", b"\x81", b"\x92", b"\x82\1", b"\x83\1\1", b"\x84\1\1\1\1"),
    *(b"\x8f", b"\x90", b"\x91", b"\x97", b"\x98", b"\x96" + bytes(8), b"\xff", b"0", b"1", b"2", b"."),
)


def _value(random: Random, depth: int = 0) -> bytes:
    """Returns opcodes that build a value, most of the time."""
    choice = random.random()
    if choice < 0.03:
        return random.choice(_FORBIDDEN)
    if choice < 0.5 or depth > 5:
        return _atom(random) + (_store(random) if random.random() < 0.2 else b"")
    parts = [_value(random, depth + 1) for _ in range(random.randrange(5))]
    if random.random() < 0.05:
        parts *= random.choice((2, 50))
    return random.choice(
        (
            b"]" + _store(random) + b"(" + b"".join(parts) + b"e",
            b"](" + b"".join(parts) + random.choice((b"e", b"", b"u")),
            b"}" + _store(random) + b"(" + b"".join(_atom(random) + part for part in parts) + b"u",
            b"(" + b"".join(parts) + random.choice((b"t", b"l", b"d")),
            b"".join(parts[:3]) + random.choice((b"\x85", b"\x86", b"\x87", b"a", b"s")),
        )
    )


def _bomb(random: Random) -> bytes:
    """Returns a pickle that would need much memory, time or stack."""
    count = random.choice((10, 300, 2000))
    laughs = b"]\x94" + b"".join(b"](" + b"h%c" % (level % 256) * 10 + b"e\x94" for level in range(40))
    return random.choice(
        (
            b"]" * count + b"a" * (count - 1),
            b"(" * count,
            b")" + b"\x85" * count,
            b"}" * count,
            b"]\x94" + b"".join(b"]j" + struct.pack("<I", level) + b"a\x94" for level in range(count)),
            laughs,
            b"]\x94h\0a",
            b"}(" + b"".join(_long(k * (2**61 - 1)) + b"N" for k in range(count)) + b"u",
            b"r\xff\xff\xff\xff" * count,
            b"\x95" + b"\xff" * 8,
            b"\x8e" + b"\xff" * 8,
            b"}(\x8c\x08segments]" + b"(" + b"\x8c\x01a" * count + b"eu",
        )
    )


def _long(number: int) -> bytes:
    data = number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a%c" % len(data) + data


def grammar_pickle(random: Random) -> bytes:
    """Returns a pickle made of opcodes."""
    body = _bomb(random) if random.random() < 0.2 else _value(random)
    if random.random() < 0.3:
        body = b"}(\x8c\x08segments](e\x8c\rdevice_traces]](" + body + b"eau"
    return b"\x80%c" % random.choice((2, 4, 4, 5, 9)) + body + b"."


# ---- changed samples


@cache
def _samples() -> list[Any]:
    return [snapshot(seed, steps=3 + 2 * seed, devices=1 + seed % 2, total=64 * MIB) for seed in range(4)]


@cache
def _files() -> list[dict[str, bytes]]:
    return [files(contents) for contents in _samples()]


@cache
def _long_histories() -> list[bytes]:
    """Returns pickles with enough events to be read as arrays."""
    contents: list[bytes] = []
    for sample in _samples()[:2]:
        events = [dict(event) for _ in range(12) for event in sample["device_traces"][0]]
        contents.append(pickle.dumps({**sample, "device_traces": [events]}, 4))
    return contents


def changed_pickle(random: Random) -> bytes:
    """Returns a pickle of a snapshot with other bytes, or opcodes between its own."""
    content = random.choice((*_long_histories(), *random.choice(_files()).values()))
    choice = random.random()
    if choice < 0.3:
        return damaged(content, random)
    changed = bytearray(content)
    if choice < 0.6:
        for _ in range(random.randrange(1, 3)):
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
        return bytes(changed)
    for _ in range(random.randrange(1, 4)):
        at = random.randrange(len(changed))
        changed[at : at + random.choice((0, 0, 1, 5))] = random.choice(
            (_value(random), random.choice(_FORBIDDEN), _index(random))
        )
    return bytes(changed)


def changed_contents(random: Random) -> bytes:
    """Returns a snapshot whose fields were changed, as a pickle or JSON."""
    contents = mutated(random.choice(_samples()), random)
    try:
        text = json.dumps(contents).encode()
    except (TypeError, ValueError):
        text = b"[]"
    if random.random() < 0.5:
        return damaged(text, random) if random.random() < 0.3 else text
    try:
        return pickle.dumps(contents, random.randrange(6))
    except (RecursionError, pickle.PicklingError):
        return text


_STATEMENTS = (
    "UPDATE {table} SET {column} = {value}",
    "UPDATE {table} SET {column} = {value} WHERE id = 1",
    "DELETE FROM {table}",
    "DROP TABLE {table}",
    "ALTER TABLE {table} RENAME COLUMN {column} TO other",
    "ALTER TABLE {table} ADD COLUMN extra AS (hex(zeroblob(100000000)))",
    "DROP TABLE {table}; CREATE VIEW {table} AS "
    "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id FROM n) SELECT id FROM n",
    "CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END",
    "CREATE INDEX i ON {table}({column})",
)
_VALUES = (
    "NULL",
    "-1",
    "9223372036854775807",
    "'x'",
    "1.5",
    "x'00'",
    "'[]'",
    "'[1]'",
    "'" + "[" * 3000 + "'",
    "'{{}}'",
)


def changed_database(random: Random) -> bytes:
    """Returns a database with other statements, or other bytes."""
    content = random.choice(_files())["snapshot.db"]
    if random.random() < 0.5:
        changed = bytearray(content)
        for _ in range(random.choice((1, 3, 20))):
            changed[random.choice((random.randrange(100), random.randrange(len(changed))))] = random.randrange(256)
        return bytes(changed)
    connection = sqlite3.connect(":memory:")
    connection.deserialize(content)
    for _ in range(random.randrange(1, 3)):
        table = random.choice(("device_traces", "segments", "blocks"))
        column = random.choice(("size", "action", "frames", "address", "addr", "state", "segment_id", "device", "id"))
        statement = random.choice(_STATEMENTS).format(table=table, column=column, value=random.choice(_VALUES))
        try:
            connection.executescript(statement)
        except sqlite3.Error:
            continue
    content = connection.serialize()
    connection.close()
    return content


@cache
def _zeros() -> bytes:
    return gzip.compress(bytes(3 * MIB), mtime=0)


def changed_gzip(random: Random) -> bytes:
    """Returns a compressed file that may be damaged or swell."""
    choice = random.random()
    make = grammar_pickle if choice < 0.5 else changed_contents
    compressed = _zeros() if choice > 0.95 else gzip.compress(make(random), 1, mtime=0)
    return damaged(compressed, random) if random.random() < 0.4 else compressed


KINDS: dict[str, Callable[[Random], bytes]] = {
    "grammar": grammar_pickle,
    "pickle": changed_pickle,
    "contents": changed_contents,
    "database": changed_database,
    "gzip": changed_gzip,
}


# ---- reading them


class Reader:
    """Opens files and checks what opening does."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "file"
        self.folder = folder
        self.watch = Watch()
        self.peak = 0.0  # the largest share of the permitted memory
        self.steps = 0.0  # the largest share of the permitted calls

    def outcome(self, content: bytes) -> str:
        """Returns `loaded`, `refused`, or a violation."""
        self.path.write_bytes(content)
        size = len(content) + (MIB if content[:2] == b"\x1f\x8b" else 0)
        calls, most = [0], CALLS + CALLS_PER_BYTE * size

        def count(frame: FrameType, event: str, argument: Any) -> None:
            calls[0] += 1
            if calls[0] > most:
                raise HangError

        tracemalloc.start()
        sys.setprofile(count)
        try:
            with self.watch.over(self.folder):
                open_snapshot(self.path)
            outcome = "loaded"
        except RefusedFileError as error:
            outcome = "refused" if str(self.path) in str(error) else f"the file is not named: {error!s:.200}"
        except HangError:
            outcome = f"more than {most:,} calls"
        except Exception as error:
            outcome = f"{type(error).__name__}: {error!s:.200}"
        finally:
            sys.setprofile(None)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        share = peak / (FREE_MEMORY + MEMORY_PER_BYTE * size)
        self.peak, self.steps = max(self.peak, share), max(self.steps, calls[0] / most)
        events, self.watch.events = self.watch.events, []
        if events:
            return f"event: {events[0]}"
        return outcome if share <= 1 else f"{share:.1f} times the permitted memory"


def main() -> int:
    """Reads hostile files; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000, help="files of all kinds together")
    parser.add_argument("--seed", type=int, default=0, help="number of the first file")
    chosen = parser.parse_args()
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    outcomes: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    failures: list[str] = []
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        reader = Reader(Path(folder))
        kinds = [*KINDS]
        for number in range(chosen.seed - _WARM, chosen.seed + chosen.runs):
            kind = kinds[number % len(kinds)]
            outcome = reader.outcome(KINDS[kind](Random(f"{kind} {number}")))
            if number < chosen.seed:
                continue
            outcomes[kind][outcome if outcome in ("loaded", "refused") else "failed"] += 1
            if outcome not in ("loaded", "refused"):
                failures.append(f"{kind} {number}: {outcome}")
    for kind, counts in outcomes.items():
        loaded, refused, failed = (counts[outcome] for outcome in ("loaded", "refused", "failed"))
        print(f"{kind}: {counts.total()} files, {loaded} loaded, {refused} refused, {failed} failed")
    print(f"largest share of the permitted memory: {reader.peak:.0%}, of the permitted calls: {reader.steps:.0%}")
    print(f"{len(failures)} failures")
    for failure in failures[:20]:
        print(f"  {failure}")
    return 1 if failures or not chosen.runs else 0


if __name__ == "__main__":
    raise SystemExit(main())

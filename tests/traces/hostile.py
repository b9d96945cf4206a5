"""`python -m tests.traces.hostile`: does a hostile trace cause one class of error at most? Reads grammar-fuzzed traces.

Each trace is a valid one with changed values, fields, structure or bytes. The exit status is 1 if another error is
raised, if reading takes longer than `--seconds`, or if the process grows by more than 300 MB.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from nbtf._storage.refusal import RefusedFileError
from nbtf._traces.reading import TracedRecording, read_trace
from nbtf.notebook.stills.schedule import timed
from nbtf.notebook.views.file_head import trace_in_words
from tests.traces.writing import kineto, tensorflow

VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    10**400,
    -(10**30),
    0.5,
    -0.0,
    1e-300,
    1e300,
    float("inf"),
    float("nan"),
    "",
    "7",
    "1e5",
    "stream 99",
    "\x00",
    "é" * 50,
    "GPU:0",
    "{0.__class__}",
    "/device:GPU:99999999999999999999",
    [],
    {},
    [[]],
    {"a": {}},
    "X",
    "B",
    "E",
    "M",
    "C",
    "[memory]",
    "GPU:0 in use",
    "nbtf",
    "copy to GPU:9",
    "Memcpy2",
    "MemcpyP2P",
]
KEYS = ["ph", "cat", "name", "ts", "dur", "pid", "tid", "args", "device", "stream", "bytes", "Bytes", "traceEvents"]


def hostile(random: Random) -> bytes:
    """Returns the bytes of a hostile trace."""
    trace: Any = random.choice([kineto(1, random.randrange(9)), tensorflow()])
    if random.random() < 0.3:
        trace = trace["traceEvents"]
    for _ in range(random.choice([1, 1, 2, 8, 40])):
        trace = changed(trace, random)
    content = json.dumps(trace).encode()
    for _ in range(random.choice([0, 0, 0, 1, 5])):
        content = damaged(content, random)
    if random.random() < 0.1:
        content = damaged(gzip.compress(content, 1), random) if random.random() < 0.5 else gzip.compress(content, 1)
    return content


def changed(value: Any, random: Random) -> Any:
    """Returns a trace in which something is different."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        name = random.choice([*value])
        match random.randrange(8):
            case 0:
                return {key: each for key, each in value.items() if key != name}
            case 1:
                return value | {random.choice(KEYS): random.choice(VALUES)}
            case _:
                return value | {name: changed(value[name], random)}
    if isinstance(value, list) and value and random.random() < 0.95:
        at = random.randrange(len(value))
        if random.random() < 0.1:
            return value[:at] + [value[at]] * random.randrange(4) + value[at:]
        return [*value[:at], changed(value[at], random), *value[at + 1 :]]
    return random.choice(VALUES)


def damaged(content: bytes, random: Random) -> bytes:
    """Returns bytes of which some are missing, repeated or different."""
    at = random.randrange(len(content) + 1)
    match random.randrange(5):
        case 0:
            return content[:at]
        case 1:
            return content[:at] + bytes([random.randrange(256)]) + content[at + 1 :]
        case 2:
            return content[:at] + random.choice([b"[", b"{", b'{"a":']) * random.choice([1, 5000]) + content[at:]
        case 3:
            return content[:at] + random.choice([b",", b"]", b"}", b'"', b"\\", b"9" * 5000, b"\xff"]) + content[at:]
        case _:
            return content[at : at + random.randrange(200)]


def outcome(path: Path, content: bytes) -> str:
    """Reads a trace; returns `read` or `rejected`."""
    path.write_bytes(content)
    try:
        record: TracedRecording = read_trace(path)
    except RefusedFileError:
        return "rejected"
    list(record.events)
    timed(record.snapshot())
    json.dumps(record.figures.as_data())
    trace_in_words(record.figures)
    return "read"


def main() -> int:
    """Reads hostile traces; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20.0)
    chosen = parser.parse_args()
    outcomes: Counter[str] = Counter()
    before, failures = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(chosen.seed, chosen.seed + chosen.count):
            began = time.monotonic()
            try:
                outcomes[outcome(Path(folder, "t.json"), hostile(Random(seed)))] += 1
            except Exception as error:  # any other class is a failure
                print(f"seed {seed}: {type(error).__name__}: {error}", file=sys.stderr)
                failures += 1
            if time.monotonic() - began > chosen.seconds:
                print(f"seed {seed}: took longer than {chosen.seconds} s", file=sys.stderr)
                failures += 1
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{dict(outcomes)}, {failures} failures; the process grew by {grown:.0f} MB")
    return int(bool(failures) or grown > 300)


if __name__ == "__main__":
    sys.exit(main())

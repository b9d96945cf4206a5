"""How long does opening a large memory snapshot take, and how much memory? Makes the files in a temporary folder.

    python tests/benchmarks/bench_snapshots.py                 # files of 1 GB
    python tests/benchmarks/bench_snapshots.py --megabytes 50 --protocol 2

Each file repeats a history of 20,000 events with new addresses and times. In `shared`, events refer to the same lists
of frames, as in PyTorch's files. In `lists`, each event has its own list of shared frames. In `copied`, each event has
its own frames, as after `copy.deepcopy`. Each file is opened in a new process.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

EVENTS = 20_000
KINDS = ("shared", "lists", "copied")
_START = 1_700_000_000_000_000


def history(depth: int) -> list[dict[str, Any]]:
    """Returns 20,000 events with stacks of a depth."""
    random = Random(depth)
    files = [f"/home/user/project/model/file_{number}.py" for number in range(60)]
    frames = [
        {"name": f"function_{number % 300}", "filename": random.choice(files), "line": random.randrange(1, 900)}
        for number in range(1500)
    ]
    stacks = [[random.choice(frames) for _ in range(depth)] for _ in range(800)]
    events: list[dict[str, Any]] = []
    live: list[tuple[int, int]] = []
    now, address = _START, 0x7F12_0000_0000
    while len(events) < EVENTS:
        now += random.randrange(1, 200)
        stack = [*random.choice(stacks)]
        if live and random.random() < 0.5:
            done = live.pop(random.randrange(len(live)))
            events += [event(name, *done, now, stack) for name in ("free_requested", "free_completed")]
        else:
            live.append((address, random.choice((4, 512, 1024, 40_000, 1 << 20, 20 << 20, 3 << 30))))
            address += -(-live[-1][1] // 512) * 512
            events.append(event("alloc", *live[-1], now, stack))
    return events


def event(action: str, address: int, size: int, now: int, stack: list[Any]) -> dict[str, Any]:
    """Returns an event as PyTorch writes it."""
    rest = {"compile_context": "N/A", "user_metadata": "", "frames": stack}
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": now, **rest}


def repeats(events: list[dict[str, Any]], kind: str) -> Iterator[list[dict[str, Any]]]:
    """Yields the history with new addresses and times, again and again."""
    span = events[-1]["time_us"] - events[0]["time_us"] + 1000
    number = 0
    while True:
        copies = [{**each, "addr": each["addr"] + (number << 24)} for each in events]
        for each in copies:
            each["time_us"] += number * span
            if kind == "lists":
                each["frames"] = [*each["frames"]]
            if kind == "copied":
                each["frames"] = [{**frame} for frame in each["frames"]]
        yield copies
        number += 1


def write(path: Path, kind: str, depth: int, nbytes: int, protocol: int = 4) -> int:
    """Writes a file; returns the number of its events."""
    events = history(depth)
    two, three = (len(pickle.dumps([*_taken(repeats(events, kind), count)], protocol)) for count in (2, 3))
    count = max(1, nbytes // (three - two))
    trace = [each for part in _taken(repeats(events, kind), count) for each in part]
    with path.open("wb") as file:
        pickle.dump({"segments": [], "device_traces": [trace]}, file, protocol)
    return len(trace)


def _taken(parts: Iterator[Any], count: int) -> Iterator[Any]:
    return (part for _, part in zip(range(count), parts, strict=False))


def open_file(path: str) -> None:
    """Prints the seconds, the peak of resident memory in bytes, and the number of events."""
    from nbtf._snapshots.reading import open_snapshot

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, cpu = time.perf_counter(), time.process_time()
    snapshot = open_snapshot(path)
    seconds, processor = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(seconds, processor, (peak - before) * 1024, sum(map(len, snapshot.traces)))


def main() -> None:
    """Writes and opens each file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    parser.add_argument("--depths", nargs="*", type=int, default=(8, 60))
    parser.add_argument("--protocol", type=int, default=4, choices=range(6))
    parser.add_argument("--open", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.open:
        open_file(chosen.open)
        return
    with tempfile.TemporaryDirectory() as folder:
        for kind in chosen.kinds:
            for depth in chosen.depths:
                path = Path(folder) / "snapshot.pickle"
                writer = os.fork()  # the events need much memory, which ends with the process
                if writer == 0:
                    write(path, kind, depth, chosen.megabytes * 1_000_000, chosen.protocol)
                    os._exit(0)
                os.waitpid(writer, 0)
                command = [sys.executable, __file__, "--open", str(path)]
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                seconds, processor, peak, events = map(float, output.split())
                size = path.stat().st_size
                print(
                    f"{kind:7} {depth:3} frames {size / 1e6:6.0f} MB {events:11,.0f} events: {seconds:5.1f} s "
                    f"({processor:.1f} s of processor time), {peak / size:.2f} times its size in memory",
                    flush=True,
                )
                path.unlink()


if __name__ == "__main__":
    main()

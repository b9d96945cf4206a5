"""Replays recorded traces of TensorFlow's BFC allocator: `python tests/devices/replay_bfc_traces.py FILE.json`.

The format of the file is described in the file, under "format".
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from nbtf._devices.bfc.allocator import BFCAllocator, Chunk, Driver

_CONFIG = {
    "memory_limit",
    "allow_growth",
    "garbage_collection",
    "fragmentation_fraction",
    "device_free_bytes",
    "coalesce_regions",
}


def allocator_of(config: dict[str, Any]) -> BFCAllocator:
    """Returns the allocator of a trace's configuration."""
    if unknown := set(config) - _CONFIG:
        raise ValueError(f"unknown settings {sorted(unknown)}; known are {sorted(_CONFIG)}")
    # `coalesce_regions` joins regions that touch. In this format they never do.
    free = config.get("device_free_bytes")
    return BFCAllocator(
        config["memory_limit"],
        growth=config.get("allow_growth", False),
        garbage_collection=config.get("garbage_collection", True),
        fragmentation_fraction=config.get("fragmentation_fraction", 0),
        driver=None if free is None else Driver(free),
    )


class Replay:
    """An allocator, and who holds what."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.allocator = allocator_of(config)
        self.chunks: dict[str, Chunk] = {}
        self.kept: list[Chunk] = []  # a chunk that nobody holds is freed

    def do(self, step: dict[str, Any]) -> dict[str, Any]:
        """Does a step and returns what came of it."""
        result: dict[str, Any] = {}
        if step["op"] == "alloc":
            chunk = self.allocator.allocate(step["bytes"], step["name"])
            result["ok"] = chunk is not None
            if chunk is not None:
                self.kept.append(chunk)
                self.chunks[step["name"]] = chunk
                result |= {"size": chunk.size, "region": chunk.region, "offset": chunk.offset}
        elif step["op"] == "free":
            self.allocator.free(self.chunks.pop(step["name"]))
        elif step["op"] == "clear_stats":
            self.allocator.clear_stats()
        else:
            raise ValueError(f"unknown step {step['op']!r}")
        stats = self.allocator.stats()
        return result | {"bytes_in_use": stats.bytes_in_use, "pool_bytes": stats.pool_bytes}


def differences(trace: dict[str, Any]) -> Iterator[str]:
    """Yields a line for each figure that is not as recorded."""
    replay = Replay(trace["config"])
    for number, step in enumerate(trace["steps"]):
        yield from _compare(f"step {number}", step.get("expect", {}), replay.do(step))
    yield from _compare("final", trace.get("final", {}), _final(replay.allocator))


def _final(allocator: BFCAllocator) -> dict[str, Any]:
    stats = allocator.stats()
    fragmentation = allocator.fragmentation()
    return {
        "regions": [
            {"region": region.region, "size": region.size, "chunks": [_chunk(chunk) for chunk in region.chunks]}
            for region in allocator.snapshot()
        ],
        "bins": {str(number): list(sizes) for number, sizes in allocator.bins().items()},
        "stats": stats._asdict(),
        "largest_free_chunk": stats.largest_free_chunk,
        "fragmentation": None if fragmentation is None else round(fragmentation, 9),
        "next_region_bytes": allocator.next_region,
        "occupancy": allocator.occupancy(),
    }


def _chunk(chunk: Any) -> dict[str, Any]:
    seen = {"offset": chunk.offset, "size": chunk.size, "in_use": chunk.in_use}
    return seen | ({"name": chunk.label, "requested": chunk.requested} if chunk.in_use else {"bin": chunk.bin})


def _compare(where: str, expected: dict[str, Any], actual: dict[str, Any]) -> Iterator[str]:
    for key, value in expected.items():
        if key == "stats":
            yield from _compare(f"{where} stats", value, actual["stats"])
        elif key not in actual:
            yield f"{where}: {key} is not known"
        elif value != actual[key]:
            yield f"{where}: {key} is {actual[key]}, recorded {value}"


def main(path: str) -> int:
    """Prints what differs and how many traces passed; returns the exit status."""
    logging.getLogger("tensorflow").setLevel(logging.ERROR)  # the allocator warns when it collects
    traces = json.loads(Path(path).read_text(encoding="utf-8"))["traces"]
    failed = 0
    for trace in traces:
        try:
            found = list(differences(trace))
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        failed += bool(found)
        for line in found:
            print(f"{trace['id']} {line}")
    print(f"{len(traces) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else f"usage: {sys.argv[0]} FILE.json")

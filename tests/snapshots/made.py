"""Makes memory snapshots in every form that PyTorch writes, from programs that `CachingAllocator` runs.

    python -m tests.snapshots.made          # writes the samples again

A program allocates and frees at random, in functions that call one another. The allocator decides on addresses and
segments, so a history and its end agree. The dictionary is that of `torch.cuda.memory._snapshot()`.
"""

from __future__ import annotations

import gzip
import json
import pickle
import sqlite3
from pathlib import Path
from random import Random
from typing import Any

from nbtf._devices.caching.allocator import CachingAllocator
from nbtf._devices.caching.blocks import Allocation
from nbtf._devices.caching.report import OutOfDeviceMemory
from nbtf._devices.caching.settings import AllocatorSettings

SAMPLES = Path(__file__).parent / "samples"
EXPANDABLE = "expandable_segments:True"
MIB = 1 << 20
_SIZES = (4, 512, 1000, 40_000, MIB // 2, MIB, 3 * MIB, 12 * MIB, 30 * MIB)
_MODULES = ("train", "model", "layers", "optimizer")
_START = 1_700_000_000_000_000


class Program:
    """A run of one device, whose history is recorded."""

    def __init__(self, device: int, seed: int, total: int, settings: str) -> None:
        self.random = Random(seed)
        self.allocator = CachingAllocator(total, AllocatorSettings.parse(settings), device=device)
        self.trace: list[dict[str, Any]] = []
        self.frames: dict[tuple[str, int], dict[str, Any]] = {}
        self.live: list[tuple[Allocation, list[Any]]] = []
        self.owner: dict[int, list[Any]] = {}
        self.now = _START

    def stack(self) -> list[dict[str, Any]]:
        """Returns a new list of shared frames, as PyTorch writes them."""
        depth = self.random.randrange(2, 6)
        calls = [(self.random.choice(_MODULES), self.random.randrange(1, 12)) for _ in range(depth)]
        return [self.frames.setdefault(call, _frame(*call)) for call in calls]

    def step(self) -> None:
        """Allocates or frees, and records what happened."""
        before, stack = self._segments(), self.stack()
        if self.live and self.random.random() < 0.45:
            allocation, _ = self.live.pop(self.random.randrange(len(self.live)))
            for action in ("free_requested", "free_completed"):
                self._record(action, allocation.address, allocation.requested, allocation.stream, stack)
            self.owner.pop(allocation.address)
            self.allocator.free(allocation)
            self._compare(before, stack)
            return
        size, stream = self.random.choice(_SIZES) * self.random.randrange(1, 4), self.random.choice((0, 0, 0, 7))
        try:
            allocation = self.allocator.allocate(size, stream)
        except OutOfDeviceMemory as error:
            self._compare(before, stack)
            self._record("oom", error.figures.free, size, stream, stack)
            return
        assert allocation is not None
        self._compare(before, stack)
        self._record("alloc", allocation.address, size, stream, stack)
        self.live.append((allocation, stack))
        self.owner[allocation.address] = stack

    def segments(self) -> list[dict[str, Any]]:
        """Returns the segments at the end."""
        segments = self.allocator.snapshot()
        for segment in segments:
            for block in segment["blocks"]:
                block["frames"] = self.owner.get(block["address"], [])
        return segments

    def _segments(self) -> dict[int, dict[str, Any]]:
        return {segment["address"]: segment for segment in self.allocator.snapshot()}

    def _compare(self, before: dict[int, Any], stack: list[Any]) -> None:
        """Records the segments that came and went."""
        after = self._segments()
        for address, segment in before.items():
            removed = segment["total_size"] - after.get(address, {"total_size": 0})["total_size"]
            if removed > 0:
                name = "segment_unmap" if segment["is_expandable"] else "segment_free"
                at = address + segment["total_size"] - removed
                self._record(name, at, removed, segment["stream"], stack)
        for address, segment in after.items():
            added = segment["total_size"] - before.get(address, {"total_size": 0})["total_size"]
            if added > 0:
                name = "segment_map" if segment["is_expandable"] else "segment_alloc"
                at = address + segment["total_size"] - added
                self._record(name, at, added, segment["stream"], stack)

    def _record(self, action: str, address: int, size: int, stream: int, stack: list[Any]) -> None:
        self.now += self.random.randrange(1, 300)
        name = "device_free" if action == "oom" else "addr"
        self.trace.append(
            {
                "action": action,
                name: address,
                "size": size,
                "stream": stream,
                "time_us": self.now,
                "compile_context": "N/A",
                "user_metadata": "",
                "pool_id": (0, 0),
                "frames": stack,
            }
        )


def snapshot(seed: int = 0, steps: int = 40, devices: int = 1, total: int = 256 * MIB, settings: str = "") -> Any:
    """Returns the dictionary of a snapshot.

    Args:
      seed: chooses the program.
      steps: number of allocations and frees on each device.
      devices: number of devices; each has a program of its own.
      total: memory of each card in bytes.
      settings: settings of the allocator, as in `PYTORCH_CUDA_ALLOC_CONF`.
    """
    programs = [Program(device, seed * 16 + device, total, settings) for device in range(devices)]
    for program in programs:
        for _ in range(steps):
            program.step()
    return {
        "segments": [segment for program in programs for segment in program.segments()],
        "device_traces": [program.trace for program in programs],
        "allocator_settings": {
            "PYTORCH_CUDA_ALLOC_CONF": settings,
            "max_split_size": -1,
            "garbage_collection_threshold": 0.0,
            "expandable_segments": EXPANDABLE in settings,
            "roundup_power2_divisions": {"1": 0, "2": 0},
        },
        "external_annotations": [],
    }


def old_snapshot(contents: Any) -> Any:
    """Returns a snapshot as PyTorch 1.13 wrote it: blocks without addresses but with a history, and no traces."""
    segments = [
        {**segment, "blocks": [_old_block(block) for block in segment["blocks"]]} for segment in contents["segments"]
    ]
    return {"segments": segments}


def database(contents: Any) -> bytes:
    """Returns a snapshot as an SQLite database, with the tables of pytorch/pytorch#178670."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        """
        CREATE TABLE segments (id INTEGER PRIMARY KEY, device INTEGER, address INTEGER, total_size INTEGER,
            stream INTEGER, segment_type TEXT, is_expandable INTEGER);
        CREATE TABLE blocks (id INTEGER PRIMARY KEY, segment_id INTEGER, address INTEGER, size INTEGER,
            requested_size INTEGER, state TEXT, frames TEXT);
        CREATE TABLE device_traces (id INTEGER PRIMARY KEY, device INTEGER, action TEXT, addr INTEGER, size INTEGER,
            stream INTEGER, time_us INTEGER, frames TEXT);
        """
    )
    for number, segment in enumerate(contents["segments"], 1):
        names = ("device", "address", "total_size", "stream", "segment_type", "is_expandable")
        _insert(connection, "segments", number, *(segment[name] for name in names))
        for block in segment["blocks"]:
            names = ("address", "size", "requested_size", "state")
            _insert(connection, "blocks", None, number, *(block[name] for name in names), json.dumps(block["frames"]))
    for device, trace in enumerate(contents["device_traces"]):
        for event in trace:
            address = event.get("addr", event.get("device_free"))
            rest = (event["size"], event["stream"], event["time_us"], json.dumps(event["frames"]))
            _insert(connection, "device_traces", None, device, event["action"], address, *rest)
    connection.commit()
    content = connection.serialize()
    connection.close()
    return content


def files(contents: Any) -> dict[str, bytes]:
    """Returns the snapshot in every form, by file name."""
    text = json.dumps(contents).encode()
    forms = {f"protocol_{protocol}.pickle": pickle.dumps(contents, protocol) for protocol in range(6)}
    compressed = {
        "pickle.gz": gzip.compress(forms["protocol_4.pickle"], mtime=0),
        "json.gz": gzip.compress(text, mtime=0),
    }
    return {**forms, **compressed, "snapshot.json": text, "snapshot.db": database(contents)}


def _insert(connection: sqlite3.Connection, table: str, *values: Any) -> None:
    connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)


def _frame(module: str, function: int) -> dict[str, Any]:
    return {"name": f"step_{function}", "filename": f"/home/user/project/{module}.py", "line": 10 * function}


def _old_block(block: dict[str, Any]) -> dict[str, Any]:
    entry = {"addr": block["address"], "real_size": block["requested_size"], "frames": block["frames"]}
    old = {"size": block["size"], "state": block["state"]}
    return old if block["state"] == "inactive" else {**old, "history": [entry]}


def main() -> None:
    """Writes the samples."""
    contents = snapshot(seed=3, steps=12, devices=2, total=64 * MIB)
    for name, content in files(contents).items():
        (SAMPLES / name).write_bytes(content)
    expandable = snapshot(seed=5, steps=14, total=128 * MIB, settings=EXPANDABLE)
    (SAMPLES / "expandable.pickle").write_bytes(pickle.dumps(expandable, 4))
    (SAMPLES / "version_1_13.pickle").write_bytes(pickle.dumps(old_snapshot(contents), 4))
    (SAMPLES / "segments.json").write_text(json.dumps(contents["segments"]))


if __name__ == "__main__":
    main()

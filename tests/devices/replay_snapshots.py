"""Compares nbtf's copy of PyTorch's allocator with real cards: replays every memory snapshot in a folder.

    python -m tests.devices.replay_snapshots FOLDER

A file is one of `torch.cuda.memory._dump_snapshot` in any form that `nbtf view` opens, or a reduced one without names
and lines: JSON, usually in gzip, with

    settings   text of `PYTORCH_ALLOC_CONF`
    segments   at the end: {"address", "total_size", "stream", "segment_type", "blocks": [[size, requested, state]]}
    traces     for each device: [[action, address, size, stream]]

Every address, every segment and the bytes at the end are compared. Each device prints a line. If the file does not tell
the exact size of allocations from before its first event, a difference may come from them: the line says `ambiguous
start`. The exit status is 1 if a device without an ambiguous start differs, a file cannot be read, or no history was
found.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from nbtf._snapshots.account import DeviceAccount
from nbtf._snapshots.contents import SnapshotBuilder, add_contents
from nbtf._snapshots.reading import open_snapshot
from nbtf._snapshots.replay import Comparison, ContradictoryHistoryError, compared_with_card
from nbtf._snapshots.snapshot import MemorySnapshot
from nbtf._storage.refusal import RefusedFileError


class Totals(NamedTuple):
    """What the replays of a folder found."""

    histories: int
    addresses: int
    differing: int
    unreadable: int

    @property
    def is_equal(self) -> bool:
        return self.histories > 0 and not self.differing and not self.unreadable


def replay_folder(folder: Path) -> tuple[list[str], Totals]:
    """Returns a line for each device of each file, and the totals."""
    lines: list[str] = []
    histories = addresses = differing = unreadable = 0
    for path in sorted(each for each in folder.iterdir() if each.is_file()):
        try:
            snapshot = read(path)
        except (RefusedFileError, OSError) as error:
            lines.append(f"{path.name}: not read. {error}")
            unreadable += 1
            continue
        traces = [trace for trace in snapshot.traces if len(trace)]
        if not traces:
            lines.append(f"{path.name}: no history")
        for trace in traces:
            try:
                comparison = compared_with_card(DeviceAccount(snapshot, trace.device))
            except ContradictoryHistoryError as error:
                lines.append(f"{path.name}: {error}")
                unreadable += 1
                continue
            lines.append(f"{path.name} GPU:{trace.device}: {described(comparison)}")
            histories, addresses = histories + 1, addresses + comparison.addresses
            differing += bool(comparison.differences and not comparison.ambiguous)
    return lines, Totals(histories, addresses, differing, unreadable)


def described(comparison: Comparison) -> str:
    """Returns how a replay agrees with the card."""
    counts = (
        f"{comparison.addresses:,} addresses, {comparison.segments:,} segments requested and "
        f"{comparison.releases:,} released as by the card"
    )
    if not comparison.differences:
        return f"equal: {counts}"
    start = " (ambiguous start)" if comparison.ambiguous else ""
    return f"{comparison.differences:,} differences{start}: {counts}. First: {comparison.described[0]}"


def read(path: Path) -> MemorySnapshot:
    """Returns the snapshot in a file, which may have the reduced form."""
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    if content.lstrip()[:1] == b"{":
        fields = json.loads(content)
        if "traces" in fields and "segments" in fields:
            return reduced(path.name, fields)
    return open_snapshot(path)


def reduced(source: str, fields: dict[str, Any]) -> MemorySnapshot:
    """Returns the snapshot in a file of the reduced form."""
    segments = [
        {
            **segment,
            "blocks": [
                {"size": size, "requested_size": requested, "state": state}
                for size, requested, state in segment["blocks"]
            ],
        }
        for segment in fields["segments"]
    ]
    traces = [
        [
            {
                "action": action,
                "device_free" if action == "oom" else "addr": address or 0,
                "size": size,
                "stream": stream,
                "frames": [],
            }
            for action, address, size, stream in trace
        ]
        for trace in fields["traces"]
    ]
    builder = SnapshotBuilder(source, is_shared=False)
    settings = {"PYTORCH_CUDA_ALLOC_CONF": fields.get("settings") or ""}
    contents = {"segments": segments, "device_traces": traces, "allocator_settings": settings}
    return builder.snapshot("reduced JSON", add_contents(builder, contents))


def main(arguments: list[str]) -> int:
    """Prints the lines of a folder; returns the exit status."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("Usage: python -m tests.devices.replay_snapshots FOLDER", file=sys.stderr)
        return 2
    lines, totals = replay_folder(Path(arguments[0]))
    for line in lines:
        print(line)
    print(
        f"{totals.histories:,} histories, {totals.addresses:,} addresses equal; "
        f"{totals.differing:,} differ without an ambiguous start, {totals.unreadable:,} files not read"
    )
    return 0 if totals.is_equal else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

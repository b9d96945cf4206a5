"""Accounts of memory snapshots have the totals that PyTorch's own tool, `torch.cuda._memory_viz`, has."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any

import pytest

from nbtf._snapshots.account import DeviceAccount
from nbtf._snapshots.holders import NO_STACK
from nbtf._snapshots.opened import OpenedSnapshot
from tests.snapshots.histories import TEXTS, dictionary, history, snapshot_of

tool: Any = pytest.importorskip("torch.cuda._memory_viz", reason="needs PyTorch; one step of .ci/run has it")

FILES = [(seed, text) for seed in range(6) for text in TEXTS]
"""30 snapshots of two devices each: with streams, pending frees, expandable segments, failures, and lost beginnings."""


@cache
def _contents(seed: int, text: str) -> dict[str, Any]:
    histories = [history(seed, device=device, text=text) for device in range(2)]
    return dictionary(histories, lost=seed % 3 * 40)


def _written(text: str, name: str) -> str:
    match = re.search(rf"^{name}: (\S+)", text, re.MULTILINE)
    assert match is not None
    return match[1]


@pytest.mark.parametrize(("seed", "text"), FILES)
def test_totals_and_streams_are_those_of_pytorchs_tool(seed: int, text: str) -> None:
    contents = _contents(seed, text)
    snapshot = OpenedSnapshot.of(snapshot_of(contents))
    for device in (0, 1):
        segments = [each for each in contents["segments"] if each["device"] == device]
        account = snapshot.account(device)
        summary = tool.segsum({"segments": segments})
        assert sum(map(tool.calc_active, segments)) == account.end.allocated
        assert _written(summary, "total_reserved") == str(tool.Bytes(account.end.reserved))
        held = account.pieces.at(account.rows_at(account.states - 1))
        assert _written(summary, "total_allocated") == str(tool.Bytes(int(held.requested.sum())))
        assert _written(summary, "total_free") == str(tool.Bytes(account.end.reserved - int(held.requested.sum())))

        totals: Counter[tuple[int, str]] = Counter()
        for line in tool.memory({"segments": segments}, format_flamegraph=str).splitlines():
            stream, state = line.split(";")[:2]
            totals[int(stream.removeprefix("stream_")), state] += int(line.rpartition(" ")[2])
        assert {stream for stream, _ in totals} <= {*account.streams}
        for stream in account.streams:
            allocated, active, reserved = (int(levels[-1]) for levels in account.of_stream(stream))
            assert totals[stream, "active_allocated"] == allocated
            assert totals[stream, "active_pending_free"] == active - allocated
            assert totals[stream, "inactive"] == reserved - active


@pytest.mark.parametrize(("seed", "text"), FILES)
def test_holders_at_the_end_are_those_of_pytorchs_tool(seed: int, text: str) -> None:
    contents = _contents(seed, text)
    snapshot = OpenedSnapshot.of(snapshot_of(contents))
    for device in (0, 1):
        segments = [each for each in contents["segments"] if each["device"] == device]
        requested: Counter[str] = Counter()
        for line in tool.memory({"segments": segments}, format_flamegraph=str).splitlines():
            frames, _, nbytes = line.rpartition(" ")
            _, state, *stack = frames.split(";")
            own = next((frame for frame in reversed(stack) if frame.startswith("model_")), "")
            if state == "active_allocated" and stack != ["<gaps>"]:
                requested[own] += int(nbytes)
        rows: Counter[str] = Counter()
        for holder in snapshot.holders(device, at="end"):
            name, _, function = holder.name.partition(" in ")
            rows[f"{name}:{function}" if holder.line else ""] += holder.requested
        assert rows == requested
        assert len(rows) > 2
        assert NO_STACK not in rows


@pytest.mark.parametrize(("seed", "text"), FILES)
def test_the_history_is_that_of_pytorchs_tool(seed: int, text: str) -> None:
    contents = _contents(seed, text)
    for device in (0, 1):
        # The tool cannot write mapped parts of expandable segments, and counts its names across devices.
        data = {
            "segments": [each for each in contents["segments"] if each["device"] == device],
            "device_traces": [contents["device_traces"][device]],
        }
        lines = tool.trace(data).splitlines()
        account = DeviceAccount(snapshot_of(contents), device)
        failures = [
            f"raise OutOfMemoryError # {tool.Bytes(each.requested)} requested, "
            f"{tool.Bytes(each.free_on_card)} free in CUDA"
            for each in account.failures
        ]
        assert [line for line in lines if line.startswith("raise")] == failures
        assert sum("[" in line and " = " in line for line in lines) == account.allocations
        completed = [line for line in lines if line.startswith("# free completed")]
        freed = account.pieces.death <= len(account.trace)
        assert len(completed) == int(freed.sum())

"""Tests the memory history of simulated GPUs: PyTorch's own viewer and nbtf open it, with the allocator's totals."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")

RELEASE = tuple(map(int, torch.__version__.split(".")[:2]))

MIB = 1 << 20


@pytest.fixture(autouse=True)
def machine(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    tf.runtime.simulate_gpus(2, model="T4", memory="64MiB", frameworks="torch")
    yield
    torch.cuda.memory._record_memory_history(None)
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


def use(seed: int) -> list[Any]:
    """Allocates and frees memory of random sizes, and runs out of memory; returns what is left."""
    chance, kept = random.Random(seed), list[Any]()
    for _ in range(60):
        if kept and chance.random() < 0.45:
            del kept[chance.randrange(len(kept))]
        size, number = int(2 ** chance.uniform(4, 24)), chance.randrange(2)
        try:
            kept.append(torch.empty(size, dtype=torch.uint8, device=f"cuda:{number}"))
        except torch.OutOfMemoryError:
            kept.clear()
        if chance.random() < 0.05:
            torch.cuda.empty_cache()
    return kept


@pytest.mark.parametrize("seed", range(3))
def test_the_events_of_a_history_add_up_to_the_statistics(seed: int) -> None:
    torch.cuda.memory._record_memory_history()
    kept = use(seed)
    snapshot = torch.cuda.memory._snapshot()

    assert kept
    for number, trace in enumerate(snapshot["device_traces"]):
        stats = torch.cuda.memory_stats(number)
        sums = {action: [e["size"] for e in trace if e["action"] == action] for action in {e["action"] for e in trace}}
        living = {}
        for entry in trace:
            if entry["action"] == "alloc":
                living[entry["addr"]] = entry["size"]
            elif entry["action"] == "free_completed":
                assert living.pop(entry["addr"]) == entry["size"]
        segments = [segment for segment in snapshot["segments"] if segment["device"] == number]
        assert stats["requested_bytes.all.current"] == sum(living.values())
        assert stats["reserved_bytes.all.current"] == sum(sums["segment_alloc"]) - sum(sums.get("segment_free", []))
        assert stats["reserved_bytes.all.current"] == sum(segment["total_size"] for segment in segments)
        assert stats["allocation.all.allocated"] == len(sums["alloc"])
        assert stats["num_ooms"] == len(sums.get("oom", []))


def test_pytorchs_viewer_and_nbtf_open_a_snapshot(tmp_path: Path) -> None:
    torch.cuda.memory._record_memory_history()
    kept = use(7)
    file = tmp_path / "snapshot.pickle"
    torch.cuda.memory._dump_snapshot(str(file))
    viewer, snapshot = import_module("torch.cuda._memory_viz"), pickle.loads(file.read_bytes())

    page = viewer.trace_plot(snapshot)
    opened = tf.runtime.read_snapshot(file)

    assert "MemoryViz" in page
    assert "alloc" in viewer.trace(snapshot)
    assert len(viewer.segsum(snapshot)) > 0
    for number in opened.devices:
        stats = torch.cuda.memory_stats(number)
        assert stats["allocated_bytes.all.peak"] == opened.peak(number).allocated
        assert stats["reserved_bytes.all.peak"] == opened.peak_reserved(number).reserved
        end = opened.end(number)
        assert (stats["allocated_bytes.all.current"], stats["reserved_bytes.all.current"]) == (
            end.allocated,
            end.reserved,
        )
    assert [0, 1] == [*opened.devices]
    assert kept


def test_frames_are_those_of_the_program() -> None:
    torch.cuda.memory._record_memory_history(context="alloc", max_entries=4)
    x = torch.ones(1000, device="cuda")
    y = x + 1
    del x
    snapshot = torch.cuda.memory._snapshot()
    entries = snapshot["device_traces"][0]
    blocks = [block for segment in snapshot["segments"] for block in segment["blocks"] if block["frames"]]

    assert ["alloc", "alloc", "free_requested", "free_completed"] == [entry["action"] for entry in entries]
    assert [True, True, False, False] == [bool(entry["frames"]) for entry in entries]
    assert (__file__, "test_frames_are_those_of_the_program") == (
        entries[1]["frames"][0]["filename"],
        entries[1]["frames"][0]["name"],
    )
    assert [entries[1]["frames"]] == [block["frames"] for block in blocks]
    assert y.numel()


def test_recording_stops_and_starts_and_refuses_unknown_settings() -> None:
    record = torch.cuda.memory._record_memory_history
    has_skipped = RELEASE >= (2, 11)
    record(**({"skip_actions": ["free_requested", "segment_alloc"]} if has_skipped else {}))
    torch.ones(1000, device="cuda")
    record(None)
    torch.ones(1000, device="cuda")
    stopped = [entry["action"] for entry in torch.cuda.memory._snapshot()["device_traces"][0]]
    record("state", clear_history=True)
    kept = torch.ones(1000, device="cuda")
    snapshot = torch.cuda.memory._snapshot()

    others = [] if has_skipped else ["segment_alloc", "free_requested"]
    assert ["alloc", "free_completed"] == [action for action in stopped if action not in others]
    assert [] == snapshot["device_traces"][0]
    assert 1 == sum(bool(block["frames"]) for segment in snapshot["segments"] for block in segment["blocks"])
    assert torch._C._cuda_isHistoryEnabled()
    assert kept.numel()
    with pytest.raises(RuntimeError, match="expected state to be"):
        record("everything")

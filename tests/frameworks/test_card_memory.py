"""Do the blocks of PyTorch's own history become events of memory? With a stub of its allocator."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

from nbtf import runtime
from nbtf._frameworks.torch.card_memory import CardMemory
from nbtf.runtime import Allocated, Freed, Refused

MIB = 1 << 20


class Device(NamedTuple):
    type: str
    index: int


def stub() -> Any:
    """PyTorch with a card whose allocator has one segment of 20 MiB, 2 MiB of it in use."""
    segments = [{"device": 0, "address": 4096, "total_size": 20 * MIB, "allocated_size": 2 * MIB}]
    trace: list[dict[str, Any]] = [{"action": "alloc", "addr": 4096, "size": 2 * MIB, "frames": [], "time_us": 1}]
    torch: Any = SimpleNamespace(trace=trace, asked=[])
    torch._C = SimpleNamespace(_cuda_isHistoryEnabled=lambda: False)
    torch.device = Device
    memory = SimpleNamespace(
        _record_memory_history=lambda enabled, **options: torch.asked.append(enabled),
        _snapshot=lambda: {"device_traces": [list(trace)], "segments": segments},
    )
    torch.cuda = SimpleNamespace(is_initialized=lambda: True, memory=memory)
    return torch


def event(action: str, address: int, size: int) -> dict[str, Any]:
    frames = [
        {"name": "linear", "filename": "<eval_with_key>.1", "line": 3},
        {"name": "step", "filename": "train.py", "line": 7},
    ]
    return {"action": action, "addr": address, "size": size, "frames": frames, "time_us": 2, "device_free": MIB}


def test_blocks_are_told_with_their_segment_their_line_and_what_is_in_use() -> None:
    torch = stub()
    with runtime.recording() as record:
        stop = CardMemory(torch).start()
        torch.trace += [event("alloc", 4096 + 2 * MIB, MIB), event("free_requested", 4096 + 2 * MIB, MIB)]
        torch.trace += [event("segment_alloc", 99 * MIB, 4 * MIB), event("free_completed", 4096 + 2 * MIB, MIB)]
        torch.trace += [event("oom", 0, 64 * MIB)]
        stop()

    granted, freed, refused = [each for each in record.events if isinstance(each, Allocated | Freed | Refused)]
    assert isinstance(granted, Allocated)
    assert isinstance(freed, Freed)
    assert isinstance(refused, Refused)
    assert ("cuda:0", MIB, 3 * MIB, 20 * MIB) == (runtime.short_name(granted.device), *granted[1:4])
    assert (0, 2 * MIB, MIB, 20 * MIB) == (granted.region, granted.offset, granted.size, granted.region_size)
    assert (("train.py", 7), "linear") == (granted.site, granted.label and granted.label.op)
    assert (2 * MIB, 24 * MIB) == (freed.in_use, freed.pool)
    assert (64 * MIB, MIB) == (refused.nbytes, refused.largest_free)
    assert ["all", None] == torch.asked


def test_history_that_somebody_else_keeps_is_left_alone() -> None:
    torch = stub()
    torch._C._cuda_isHistoryEnabled = lambda: True
    with runtime.recording():
        CardMemory(torch).start()()

    assert [] == torch.asked

"""Stage 16: does PyTorch's allocator on a card agree with nbtf's copy, and what else uses memory besides tensors?"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from nbtf._devices.caching.allocator import CachingAllocator
from nbtf._devices.caching.blocks import Allocation
from nbtf._devices.caching.fixed_parts import fixed_parts
from nbtf._devices.caching.report import OutOfDeviceMemory
from nbtf._devices.catalog import find_card
from tests.gpu.stages.record import Record
from tests.gpu.stages.torch_library import torch_with_gpu

_LAYERS = "nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)"
_TRAIN = """
optimizer = torch.optim.{optimizer}
for step in range(4):
    loss = model(torch.randn({batch}, 512, device='cuda')).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
PROGRAMS = {
    "small tensors": "held = [torch.empty(n, device='cuda') for n in range(1, 4000, 7)]; del held[::3]",
    "large tensors": "held = [torch.empty(n << 20, device='cuda') for n in (1, 3, 9, 2, 30, 4)]; del held[1::2]",
    "growing": "x = torch.ones(1, device='cuda')\nfor n in range(22): x = torch.cat([x, x])",
    "perceptron, Adam": f"model = nn.Sequential({_LAYERS}).cuda()"
    + _TRAIN.format(optimizer="Adam(model.parameters())", batch=64),
    "perceptron, SGD": f"model = nn.Sequential({_LAYERS}).cuda()"
    + _TRAIN.format(optimizer="SGD(model.parameters(), 0.1)", batch=4096),
    "one by one": f"model = nn.Sequential({_LAYERS}).cuda()"
    + _TRAIN.format(optimizer="AdamW(model.parameters(), foreach=False)", batch=512),
    "convolutions": "model = nn.Sequential(nn.Conv2d(3, 64, 3), nn.BatchNorm2d(64), nn.ReLU()).cuda()\n"
    "for n in (8, 16, 12): model(torch.randn(n, 3, 64, 64, device='cuda')).sum().backward()",
    "attention": "layer = nn.TransformerEncoderLayer(256, 4, batch_first=True).cuda()\n"
    "for n in (32, 64): layer(torch.randn(8, n, 256, device='cuda')).sum().backward()",
    "sorting": "for n in (1 << 10, 1 << 16, 1 << 20): torch.randn(n, device='cuda').sort()",
    "emptied": "a = torch.empty(50 << 20, device='cuda'); del a; torch.cuda.empty_cache()\n"
    "b = torch.empty(9 << 20, device='cuda')",
}
"""Ten programs; each runs in its own process."""

_RECORDED = """
import json, torch, torch.nn as nn
torch.cuda.memory._record_memory_history(max_entries=1_000_000, context=None, stacks="python")
{program}
torch.cuda.synchronize()
events = torch.cuda.memory._snapshot()["device_traces"][0]
figures = torch.cuda.memory_stats()
free, total = torch.cuda.mem_get_info()
print(json.dumps({{
    "events": [[e["action"], e["addr"], e["size"], e["stream"]] for e in events],
    "allocated": figures["allocated_bytes.all.peak"], "reserved": figures["reserved_bytes.all.peak"],
    "beside": total - free - figures["reserved_bytes.all.current"],
}}))
"""


def run(record: Record) -> None:
    """Runs the stage."""
    torch = torch_with_gpu(record, "its allocator was not compared with nbtf's copy")
    if torch is None:
        return
    properties = torch.cuda.get_device_properties(0)
    beside = [_compare(record, name, program, properties.total_memory) for name, program in PROGRAMS.items()]
    record.figure("CUDA's context and libraries, at most", max(beside) / (1 << 20), "MiB")
    try:
        modelled = fixed_parts(find_card(properties.name))
    except ValueError as error:
        record.note(f"PyTorch's memory besides tensors was not compared: {error}")
        return
    record.check(
        "PyTorch's memory besides tensors is within the modelled amount",
        modelled.at_least <= max(beside) <= modelled.at_most,
        (modelled, max(beside)),
    )


def _compare(record: Record, name: str, program: str, total: int) -> int:
    """Replays a program's allocations on the card; returns the memory used besides PyTorch's segments."""
    process = subprocess.run(
        [sys.executable, "-c", _RECORDED.format(program=program)], capture_output=True, text=True, check=False
    )
    if process.returncode:
        record.check(f"{name}: runs", False, process.stderr[-500:])
        return 0
    recorded = json.loads(process.stdout)
    allocator, held = replay(recorded["events"], total)
    stats = allocator.stats()
    replayed = stats["allocated_bytes.all.peak"], stats["reserved_bytes.all.peak"]
    record.check(
        f"{name}: peaks agree with the copy",
        replayed == (recorded["allocated"], recorded["reserved"]),
        (replayed, recorded["allocated"], recorded["reserved"]),
    )
    segments = Counter(_segments(recorded["events"]))
    record.check(
        f"{name}: segments agree with the copy",
        segments == Counter(segment["total_size"] for segment in allocator.snapshot()),
        dict(segments),
    )
    held.clear()
    return recorded["beside"]


def replay(events: Sequence[Sequence[Any]], total: int) -> tuple[CachingAllocator, dict[int, Allocation | None]]:
    """Returns an allocator after replaying a trace, and the allocations that are still live.

    Args:
      events: action, address, bytes and stream of each event, as in `torch.cuda.memory._snapshot()`.
      total: memory of the card in bytes.
    """
    allocator, held = CachingAllocator(total), dict[int, Allocation | None]()
    streams: dict[int, int] = {}
    is_releasing = False
    for action, address, nbytes, stream in events:
        if action == "alloc":
            try:
                held[address] = allocator.allocate(nbytes, streams.setdefault(stream, len(streams)))
            except OutOfDeviceMemory:
                continue
        elif action == "free_completed":
            allocator.free(held.pop(address, None))
        if action == "segment_free" and not is_releasing:
            allocator.empty_cache()
        is_releasing = action == "segment_free"
    return allocator, held


def _segments(events: Sequence[Sequence[Any]]) -> Iterator[int]:
    """Yields the sizes of the segments that are left at the end."""
    sizes: dict[int, int] = {}
    for action, address, nbytes, _ in events:
        if action == "segment_alloc":
            sizes[address] = nbytes
        elif action == "segment_free":
            sizes.pop(address, None)
    yield from sizes.values()

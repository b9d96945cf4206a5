"""Memory snapshots as a card writes them, made by running cells on simulated GPUs.

The dictionary is that of `torch.cuda.memory._snapshot()`. Cells are named as ipykernel names them, and backward passes
run in a thread without Python calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import Any

from ipykernel.compiler import get_tmp_hash_seed, murmur2_x86

from nbtf._frameworks.torch.prediction.ledger import Ledger, WatchedAllocator
from nbtf.notebook.prediction.program import Cell, Program, number_of

Frames = list[dict[str, Any]]

ENGINE: Frames = [
    {"filename": "??", "line": 0, "name": "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc"},
    {"filename": "??", "line": 0, "name": "torch::autograd::Engine::evaluate_function(...)"},
    {"filename": "??", "line": 0, "name": "torch::autograd::Engine::thread_main(...)"},
]
WORKSPACE: Frames = [
    {"filename": "??", "line": 0, "name": "at::cuda::getCurrentCUDABlasHandle()"},
    {"filename": "??", "line": 0, "name": "at::native::addmm_out_cuda_impl(at::Tensor&, at::Tensor const&)"},
]


class CardAllocator(WatchedAllocator):
    """An allocator that records its history as PyTorch does."""

    def record(self, frames: Callable[[], Frames]) -> None:
        self._frames, self.entries, self._owners = frames, list[dict[str, Any]](), dict[int, Frames]()

    def allocate(self, nbytes: int, stream: int = 0, label: Any = None) -> Any:
        before = self._segments()
        allocation = super().allocate(nbytes, stream, label)
        frames = self._frames()
        after = self._segments()
        for address in before.keys() - after.keys():
            self._add_entry("segment_free", address, before[address]["total_size"], frames)
        for address in after.keys() - before.keys():
            self._add_entry("segment_alloc", address, after[address]["total_size"], frames)
        if allocation is not None:
            self._add_entry("alloc", allocation.address, nbytes, frames)
            self._owners[allocation.address] = frames
        return allocation

    def _end_use(self, death: Any, block: Any) -> None:
        for action in ("free_requested", "free_completed"):
            self._add_entry(action, block.address, block.requested, [])
        super()._end_use(death, block)

    def segments(self) -> list[dict[str, Any]]:
        """Returns the segments at the end."""
        segments = self.snapshot()
        for block in [block for segment in segments for block in segment["blocks"]]:
            block["frames"] = self._owners.get(block["address"], [])
        return segments

    def _segments(self) -> dict[int, dict[str, Any]]:
        return {segment["address"]: segment for segment in self.snapshot()}

    def _add_entry(self, action: str, address: int, size: int, frames: Frames) -> None:
        time = 1_700_000_000_000_000 + len(self.entries)
        self.entries.append(
            {"action": action, "addr": address, "size": size, "stream": 0, "time_us": time, "frames": frames}
        )


class CardProgram(Program):
    """Cells that run on a card, with the history of its memory."""

    def __init__(self, torch: Any, machine: Any, cells: Sequence[Cell], is_kernel: bool = True) -> None:
        """`is_kernel`: whether cells are named as by ipykernel, not as by IPython in a terminal."""
        super().__init__(torch, machine, cells, 600)
        self._names = {cell.number: (_kernel_name if is_kernel else _terminal_name)(cell) for cell in cells}

    def snapshot(self) -> dict[str, Any]:
        """Runs the cells, and returns the snapshot at the end."""
        self._written: dict[str, Any] = {}
        self.run()
        return self._written

    def _fresh_allocators(self, ledger: Ledger, total: int | None) -> list[WatchedAllocator]:
        plain = super()._fresh_allocators(ledger, total)
        allocators = [CardAllocator(each.total, each.settings, device=each.device) for each in plain]
        for allocator in allocators:
            allocator.watch(ledger)
            allocator.record(self._card_frames)
        self._machine.allocators[:] = allocators
        return [*allocators]

    def _run_cells(self, *arguments: Any) -> Any:
        ends = super()._run_cells(*arguments)
        allocators: Any = self._machine.allocators
        self._written = {
            "segments": [segment for allocator in allocators for segment in allocator.segments()],
            "device_traces": [allocator.entries for allocator in allocators],
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": False},
        }
        return ends

    def _card_frames(self) -> Frames:
        frames: Frames = []
        frame = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if code.co_name == "_engine_run_backward":
                return [*frames, *ENGINE]
            file = self._names.get(number_of(code.co_filename), code.co_filename)
            if "/tests/" not in file and "/nbtf/" not in file:
                frames.append({"filename": file, "line": frame.f_lineno, "name": code.co_name})
            frame = frame.f_back
        return frames


def _kernel_name(cell: Cell) -> str:
    return str(PurePosixPath("/tmp/ipykernel_17", f"{murmur2_x86(cell.source, get_tmp_hash_seed())}.py"))


def _terminal_name(cell: Cell) -> str:
    from IPython.core.compilerop import code_name
    from IPython.core.inputtransformer2 import TransformerManager

    return code_name(TransformerManager().transform_cell(cell.source), 40 + cell.number)

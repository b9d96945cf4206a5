"""Which lines may help? The lines that several messages suggest; a line is valid as it is, or names what to replace."""

from __future__ import annotations

import math

from nbtf._error_texts.finding import Action

_MIB = 1 << 20

HALVE = Action("halve", "batch_size = batch_size // 2")
AUTOCAST = Action("autocast", 'with torch.autocast("cuda", dtype=torch.bfloat16): loss = model(inputs)')
CHECKPOINT = Action("checkpoint", "torch.utils.checkpoint.checkpoint(block, inputs, use_reentrant=False)")
DELETE = Action("delete", "del model, optimizer; gc.collect(); torch.cuda.empty_cache()")
SNAPSHOT = Action(
    "snapshot", 'torch.cuda.memory._record_memory_history(); ...; torch.cuda.memory._dump_snapshot("snapshot.pickle")'
)
SMALLER = Action("smallerRequest", "print(tensor.shape, tensor.dtype)")
PROCESSES = Action("processes", "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv")
SMI = Action("smi", "nvidia-smi")
RESTART = Action("restart")
TRACE = Action("trace", "CUDA_LAUNCH_BLOCKING=1 python program.py")
SANITIZE = Action("sanitize", "compute-sanitizer python program.py")
FILES = Action("hostFiles", "free -h")


def kill(pid: str) -> Action:
    """Returns the line that ends a process."""
    return Action("kill", f"kill {pid}", {"pid": pid})


def choose_card(device: int) -> Action:
    """Returns the line that uses only one card."""
    return Action("otherCard", f"CUDA_VISIBLE_DEVICES={device} python program.py")


def expandable(variable: str) -> Action:
    """Returns the line that lets PyTorch map memory in pieces."""
    return Action("expandable", f"export {variable}=expandable_segments:True")


def max_split(variable: str, request: int) -> Action:
    """Returns the line that keeps blocks as large as a failed request in one piece.

    >>> max_split("PYTORCH_CUDA_ALLOC_CONF", 300 << 20).line
    'export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128'
    """
    half = max(request // _MIB // 2, 1)
    return Action("maxSplit", f"export {variable}=max_split_size_mb:{min(max(1 << half.bit_length() - 1, 32), 512)}")


def fraction(needed: int, total: int) -> Action:
    """Returns the line that allows a process as much of a card as it needs, in hundredths.

    >>> fraction(14 << 30, 24 << 30).line
    'torch.cuda.set_per_process_memory_fraction(0.59)'
    """
    share = min(math.ceil(needed * 100 / max(total, 1)) / 100, 1.0)
    return Action("fraction", f"torch.cuda.set_per_process_memory_fraction({share})")

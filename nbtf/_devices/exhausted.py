"""Out-of-memory errors of GPUs: TensorFlow's sentence, then the figures, a fix, and what holds the memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nbtf._devices.base import Label, MemoryStats, describe_label
from nbtf._devices.bfc.allocator import AllocatorStats, BFCAllocator
from nbtf._devices.bfc.chunks import rounded
from nbtf._devices.sites import WORDING
from nbtf._devices.sizes import gib, mib, part_of, told_apart

_ROWS = 8


class Request(NamedTuple):
    """A failed request. `copied` means that it was for a copy to the device, not for the result of an op."""

    nbytes: int
    shape: tuple[int, ...]
    c_name: str
    device: str
    copied: bool = False


def in_tensorflows_words(request: Request, allocator: str) -> str:
    """Returns TensorFlow's sentence.

    >>> in_tensorflows_words(Request(24, (2, 3), "float", "/device:GPU:0"), "GPU_0_bfc")
    'OOM when allocating tensor with shape[2,3] and type float on /device:GPU:0 by allocator GPU_0_bfc'
    """
    shape = f"[{','.join(map(str, request.shape))}]"
    if request.copied:
        return f"OOM when allocating tensor of shape {shape} and type {request.c_name}"
    return (
        f"OOM when allocating tensor with shape{shape} and type {request.c_name} on {request.device} "
        f"by allocator {allocator}"
    )


def card_is_full(request: Request, device_text: str, allocator: BFCAllocator, card_bytes: int) -> str:
    """Returns the whole message for a simulated GPU that is out of memory.

    Args:
      request: the failed request.
      device_text: the device as shown to users, such as `simulated GPU:0 (Tesla K20m)`.
      allocator: the allocator that ran out of memory.
      card_bytes: total memory of the card, of which the allocator may have only a part.
    """
    stats, need = allocator.stats(), rounded(request.nbytes)
    figures = stats.bytes_limit, stats.bytes_in_use, stats.pool_bytes, stats.largest_free_chunk
    short = shortage(request.nbytes, *figures)
    sentences = f"{ASKED} {SHORTAGES[short.reason]}".rstrip().format(**short.sizes)
    owners = sorted({pool.owner for pool in allocator.card.pools if pool.owner and pool.mapped})
    for owner in owners:
        sentences += f" {owner} uses {gib(allocator.card.mapped_by(owner))} of the card."
    return "\n".join(
        (
            in_tensorflows_words(request, allocator.name),
            f"{device_text}: {sentences} {_advice(need, stats, card_bytes, owners)}",
            *_holders(allocator),
        )
    )


def real_card_is_full(
    request: Request,
    device_text: str,
    allocator: str,
    stats: MemoryStats,
    free: int | None,
    holders: Iterable[tuple[object, int]],
) -> str:
    """Returns the whole message for a real GPU that is out of memory.

    Args:
      request: the failed request; 0 bytes if only the kernel knows the size.
      device_text: the device as shown to users, such as `GPU:0 (NVIDIA H200)`.
      allocator: name of the allocator that manages its memory.
      stats: memory statistics of the device.
      free: free bytes on the card; None if the card does not report them.
      holders: labels of the memory in use, each with its bytes.
    """
    size, inside = gib(request.nbytes), stats.limit - stats.in_use
    if request.nbytes > stats.limit:
        size, limit = told_apart(request.nbytes, stats.limit)
        cause, do = f" Its limit is {limit}.", "Use a smaller tensor, or raise the limit"
    elif free is not None and free < request.nbytes and stats.limit - stats.pool >= request.nbytes:
        size, left_on_card = told_apart(request.nbytes, free)
        cause = f" The card has {left_on_card} left: other programs also use memory (see nvidia-smi)."
        do = "Free a tensor"
    elif request.nbytes and inside >= request.nbytes:
        cause, do = (
            f" {gib(inside)} are free but not contiguous, or a kernel needed more in the meantime.",
            "Free a tensor",
        )
    else:
        cause, do = "", "Free a tensor"
    request_text = f"{size} requested, " if request.nbytes else ""
    return "\n".join(
        (
            in_tensorflows_words(request, allocator),
            f"{device_text}: {request_text}{part_of(stats.in_use, stats.limit)} in use.{cause} {do}, or use a smaller "
            "batch.",
            *_table(holders),
        )
    )


ASKED = "{asked} requested, {used} in use."
SHORTAGES = {
    "sum": "",
    "too large": "Its limit is {limit}; this needs {need}.",
    "mapped": "{pool} are mapped; other programs use the rest of the card.",
    "in pieces": "{free} are free but not contiguous: the largest block has {largest}.",
}
"""Why a request does not fit; empty if the figure in use explains it."""


class Shortage(NamedTuple):
    """Why a request does not fit: a key of `SHORTAGES`, and the sizes for `ASKED` and that sentence."""

    reason: str
    sizes: dict[str, str]


def shortage(nbytes: int, limit: int, in_use: int, pool: int, largest_free: int) -> Shortage:
    """Returns why a request does not fit; all arguments are in bytes.

    >>> shortage(8 << 20, 64 << 20, 48 << 20, 64 << 20, 4 << 20).reason
    'in pieces'
    """
    need, free, asked_text = rounded(nbytes), limit - in_use, gib(nbytes)
    sizes = {"used": part_of(in_use, limit)}
    if need > limit:
        reason = "too large"
        sizes["limit"], sizes["need"] = told_apart(limit, need, write=mib)
    elif need > free:
        reason = "sum"
    elif need <= limit - pool:
        reason, sizes["pool"] = "mapped", gib(pool)
    else:
        reason, sizes["free"] = "in pieces", gib(free)
        asked_text, sizes["largest"] = told_apart(nbytes, largest_free)
    return Shortage(reason, {"asked": asked_text, **sizes})


def _advice(need: int, stats: AllocatorStats, card_bytes: int, owners: Sequence[str]) -> str:
    start = "Free a tensor" if need <= stats.bytes_limit else "Use a smaller tensor"
    if owners:
        return f"{start}, or use less memory in {' and '.join(owners)} before the first op: the limit is what is left."
    # By default TensorFlow reserves more than three quarters of any card.
    if stats.bytes_limit < card_bytes * 3 // 4:
        return f"{start}, or raise memory_limit in tf.config.set_logical_device_configuration (or the memory fraction)."
    return f"{start}, or use a card with more memory."


def _holders(allocator: BFCAllocator) -> list[str]:
    """Returns a table of the memory in use in an allocator."""
    chunks = [chunk for region in allocator.snapshot() for chunk in region.chunks if chunk.in_use]
    return _table([(describe_label(chunk.label), chunk.size) for chunk in chunks])


def _table(pieces: Iterable[tuple[object, int]]) -> list[str]:
    """Returns a table of labels and sizes, the largest first, with equal labels combined."""
    counts: dict[object, list[int]] = {}
    for label, size in pieces:
        counts.setdefault(label, []).append(size)
    if not counts:
        return ["Nothing is in use."]
    ranked = sorted(counts.items(), key=lambda item: -sum(item[1]))
    rows = [(gib(sum(sizes)), f"{len(sizes)} x" if len(sizes) > 1 else "", *_words(label)) for label, sizes in ranked]
    listed = rows[:_ROWS]
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    lines = ["What holds it:"]
    for size, *cells in listed:
        padded = [size.rjust(widths[0]), *(cell.ljust(width) for cell, width in zip(cells, widths[1:], strict=True))]
        lines.append(("  " + "  ".join(padded)).rstrip())
    if len(rows) > len(listed):
        everything = sum(sum(sizes) for _, sizes in ranked)
        unlisted = everything - sum(sum(sizes) for _, sizes in ranked[:_ROWS])
        lines.append(f"  and {len(rows) - len(listed)} more with {gib(unlisted)}; {gib(everything)} in total")
    return lines


def _words(label: object) -> tuple[str, str, str]:
    if not isinstance(label, Label):
        return ("", "", "")
    site = label.site if label.site is not None and len(label.site) == 2 else None
    return (f"{label.dtype} [{', '.join(map(str, label.shape))}]", label.op, WORDING.describe(site))


def computer_is_too_small(request: Request, device_text: str, free: int, computer: int | None, allocator: str) -> str:
    """Returns the whole message if the card had room but this computer does not.

    Args:
      request: the failed request.
      device_text: the device, such as `simulated GPU:0`.
      free: free bytes of the simulated GPU.
      computer: free bytes of this computer; None if only a failed attempt showed the shortage.
      allocator: its name, for TensorFlow's sentence.
    """
    asked_text, free_text = gib(request.nbytes, from_gib=0.1), gib(free, from_gib=0.1)
    computer_text = "less than that" if computer is None else gib(computer, from_gib=0.1)
    return (
        f"{in_tensorflows_words(request, allocator)}\n"
        f"{asked_text} requested: {device_text} has {free_text} free, this computer {computer_text}. "
        "A simulated GPU keeps its tensors in this computer's memory: use a smaller tensor, or a "
        "computer with more memory."
    )

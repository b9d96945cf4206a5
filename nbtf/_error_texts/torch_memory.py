"""Which figures does an out-of-memory error of PyTorch contain? All wordings since 1.0, on CUDA, ROCm and XPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from nbtf._error_texts.cleaning import Text, pattern
from nbtf._error_texts.finding import Figure
from nbtf._error_texts.sizes import SIZE, Size, exact, size_of

# Source of the wordings: c10/cuda/CUDACachingAllocator.cpp, CUDAMallocAsyncAllocator.cpp and
# c10/xpu/XPUCachingAllocator.cpp of PyTorch 1.0 to 2.13.
_S = f"({SIZE})"
_BEFORE = re.compile(r"(?:(CUDA|HIP|XPU)outofmemory\.|memoryblockwithsizelargerthan4GB!)$")
"""The words before the request; a title may leave them out."""
_HEAD = pattern(rf"Tried to allocate (?:{_S}|more than 1EB memory)\.?")
_OLD = pattern(
    rf"\(GPU (\d{{1,5}}); {_S} total capacity; {_S} already allocated; (?:{_S} free; )?(?:{_S} allowed; )?"
    rf"{_S} (reserved in total by PyTorch|cached)(?:; {_S} inactive)?\)"
)
_CAPACITY = pattern(rf"GPU (\d{{1,5}}) has a total capac(?:i)?ty of {_S}(?: of which {_S} is free)?\.")
_OTHER = pattern(rf"Process (\d{{1,10}}) has {_S} memory in use\.")
_PROCESS = pattern(rf"(?:Including non-PyTorch memory, )?this process has {_S} memory in use\.")
_ALLOWED = pattern(rf"{_S} allowed;")
_ALLOCATED = pattern(
    rf"Of the allocated memory {_S} is allocated by PyTorch, (?:with {_S} allocated in private pools "
    rf"\(e\.g\., CUDA Graphs\), )?and {_S} is reserved by PyTorch but unallocated\."
)
_ASYNC = pattern(
    rf"Allocation on device (\d{{1,5}}) would exceed allowed memory\. \(out of memory\) Currently allocated : {_S} "
    rf"Requested : {_S} Device limit : {_S} Free \(according to CUDA\) : {_S} "
    rf"PyTorch limit \(set by user-supplied memory fraction\) : {_S}"
)
_VARIABLE = re.compile(r"PYTORCH_(?:[A-Z]{2,5}_)?ALLOC_CONF")
_HINT = 700
"""Characters after the figures in which a hint about the allocator's settings is searched."""
_GIB = 1 << 30
_MOST_OTHERS = 64
_ABSURD = 1 << 56
"""Bytes; PyTorch prints larger sizes for an unset limit, or if the driver does not report a process."""


class TorchMemory(NamedTuple):
    """The figures of a message; None for those that it does not contain.

    Attributes:
      backend: `CUDA`, `HIP` or `XPU`.
      device: number of the card.
      request: size of the segment that PyTorch requested from the driver.
      total: memory of the card.
      free: free memory of the card.
      process: memory of this process, including what PyTorch does not manage.
      other_processes: other processes by number, each with its memory.
      allowed: limit that a memory fraction sets for this process.
      allocated: memory of tensors.
      pools: the part of `allocated` in private pools.
      unallocated: memory that PyTorch keeps without using it.
      variable: the environment variable for the allocator's settings.
      is_old: whether the wording is from before PyTorch 2.1, which had no expandable segments.
      pid: number of this process, if the message lists it like other processes, as in a container.
      is_async: whether CUDA's pool allocated the memory (`backend:cudaMallocAsync`).
    """

    backend: str
    device: int
    request: Size
    total: Size
    free: Size | None
    process: Size | None
    other_processes: tuple[tuple[str, Size], ...]
    allowed: Size | None
    allocated: Size
    pools: Size | None
    unallocated: Size | None
    variable: str
    is_old: bool = False
    is_async: bool = False
    pid: str = ""

    @property
    def reserved(self) -> int:
        """Bytes of all memory that PyTorch has from the driver."""
        return self.allocated.nbytes + (self.unallocated.nbytes if self.unallocated else 0)

    def figures(self) -> list[Figure]:
        """Returns the figures in the order of the message."""
        figures = [self.request.figure("request"), self.total.figure("cardTotal")]
        figures += [self.free.figure("cardFree")] if self.free else []
        figures += [
            size.figure("otherProcess")._replace(written=f"{size.written} ({pid})")
            for pid, size in self.other_processes
        ]
        if self.process:
            this_process = self.process.figure("thisProcess")
            figures.append(
                this_process._replace(written=f"{this_process.written} ({self.pid})") if self.pid else this_process
            )
        figures += [self.allowed.figure("allowed")] if self.allowed else []
        figures += [self.allocated.figure("allocated")]
        figures += [self.pools.figure("privatePools")] if self.pools else []
        figures += [self.unallocated.figure("unallocated")] if self.unallocated else []
        return figures


class Extent(NamedTuple):
    """Where a message is in the squeezed text."""

    start: int
    end: int


def torch_messages(text: Text) -> Iterator[tuple[Extent, TorchMemory | None]]:
    """Yields the messages in a text, each with its figures; None if it has none."""
    squeezed, position = text.squeezed, 0
    while (start := squeezed.find("Triedtoallocate", position)) >= 0:
        position = start + 1
        head = _HEAD.match(squeezed, start)
        opening = _BEFORE.search(squeezed[max(start - 40, 0) : start])
        if head is None:
            continue
        backend = (opening[1] or "XPU") if opening else "CUDA"
        end, memory = _read(squeezed, head, backend)
        if opening is not None or memory is not None:
            start -= len(opening[0]) if opening else 0
            position = end
            yield Extent(start, end), memory
    position = 0
    while (start := squeezed.find("Allocationondevice", position)) >= 0:
        position = start + 1
        match = _ASYNC.match(squeezed, start)
        if match is not None:
            yield Extent(start, match.end()), _read_async(match)


def _read(squeezed: str, head: re.Match[str], backend: str) -> tuple[int, TorchMemory | None]:
    request = size_of(head[1]) if head[1] else exact(1 << 60)._replace(written="1 EB")
    old = _OLD.match(squeezed, head.end())
    if old is not None:
        return _with_hint(squeezed, old.end(), _read_old(backend, request, old))
    capacity = _CAPACITY.match(squeezed, head.end())
    if capacity is None:
        return head.end(), None
    other_processes: list[tuple[str, Size]] = []
    process = allowed = allocated = pools = unallocated = None
    end = capacity.end()
    while len(other_processes) < _MOST_OTHERS:
        if match := _OTHER.match(squeezed, end):
            other_processes.append((match[1], size_of(match[2])))
        elif match := _PROCESS.match(squeezed, end):
            process = size_of(match[1])
        elif match := _ALLOWED.match(squeezed, end):
            allowed = size_of(match[1])
        elif match := _ALLOCATED.match(squeezed, end):
            allocated, unallocated = size_of(match[1]), size_of(match[3])
            pools = size_of(match[2]) if match[2] else None
        else:
            break
        end = match.end()
    if allocated is None:
        return end, None
    free = size_of(capacity[3]) if capacity[3] else None
    listed = [(pid, size) for pid, size in other_processes if size.nbytes < _ABSURD]
    process, pid = _own_process(
        _sensible(process), listed, allocated.nbytes + (unallocated.nbytes if unallocated else 0)
    )
    memory = TorchMemory(
        backend,
        int(capacity[1]),
        request,
        size_of(capacity[2]),
        free,
        process,
        tuple(listed),
        _sensible(allowed),
        allocated,
        pools,
        unallocated,
        "",
        pid=pid,
    )
    return _with_hint(squeezed, end, memory)


def _own_process(size: Size | None, listed: list[tuple[str, Size]], reserved: int) -> tuple[Size | None, str]:
    """Returns the memory of this process, and its number if the message lists it as one of several.

    In a container, PyTorch does not find its number among those that the driver reports. It then lists its process
    like any other. It is the smallest one that is as large as what PyTorch has reserved; it is removed from `listed`.
    """
    if size is not None:
        return size, ""
    possible = [entry for entry in listed if entry[1].nbytes + _GIB // 16 >= reserved > 0]
    if not possible:
        return None, ""
    this_process = min(possible, key=lambda entry: entry[1].nbytes)
    listed.remove(this_process)
    return this_process[1], this_process[0]


def _read_old(backend: str, request: Size, match: re.Match[str]) -> TorchMemory:
    _, total, allocated, free, allowed, reserved, meaning, _ = match.groups()
    used, cached = size_of(allocated), size_of(reserved)
    if meaning != "cached":  # before PyTorch 1.4, `cached` did not include allocated memory
        cached = Size(max(cached.nbytes - used.nbytes, 0), cached.margin + used.margin, "")
        cached = cached._replace(written=f"{reserved_less(reserved, allocated)}")
    return TorchMemory(
        backend,
        int(match[1]),
        request,
        size_of(total),
        size_of(free) if free else None,
        None,
        (),
        _sensible(size_of(allowed)) if allowed else None,
        used,
        None,
        cached,
        "",
        is_old=True,
    )


def reserved_less(reserved: str, allocated: str) -> str:
    """Returns how an older message's figure for unallocated memory is computed."""
    return f"{size_of(reserved).written} \N{MINUS SIGN} {size_of(allocated).written}"


def _read_async(match: re.Match[str]) -> TorchMemory:
    device, allocated, request, total, free, limit = match.groups()
    return TorchMemory(
        "CUDA",
        int(device),
        size_of(request),
        size_of(total),
        size_of(free),
        None,
        (),
        _sensible(size_of(limit)),
        size_of(allocated),
        None,
        None,
        "PYTORCH_CUDA_ALLOC_CONF",
        is_async=True,
    )


def _with_hint(squeezed: str, end: int, memory: TorchMemory) -> tuple[int, TorchMemory]:
    """Returns the end of a message with its hint, and the message with the variable that the hint names."""
    named = _VARIABLE.search(squeezed, end, end + _HINT)
    default = "PYTORCH_HIP_ALLOC_CONF" if memory.backend == "HIP" else "PYTORCH_CUDA_ALLOC_CONF"
    return end, memory._replace(variable=named[0] if named else default)


def _sensible(size: Size | None) -> Size | None:
    return None if size is None or size.nbytes >= _ABSURD else size

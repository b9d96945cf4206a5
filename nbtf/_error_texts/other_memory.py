"""Which figures do out-of-memory errors of other allocators contain? MPS, the host, TensorFlow, JAX, CuPy and nbtf."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from nbtf._error_texts import actions
from nbtf._error_texts.cleaning import pattern
from nbtf._error_texts.finding import Action, Figure, Nbytes, Statement, Value
from nbtf._error_texts.sizes import SIZE, Size, exact, size_of
from nbtf._error_texts.torch_causes import Reasons

_S = f"({SIZE})"
_SHAPE = r"((?:\d{1,12},){0,11}\d{0,12})"
_NUMBER = r"(\d{1,9}(?:\.\d{1,3})?)"


class Message(NamedTuple):
    """A message with figures.

    Attributes:
      name: name of the message.
      library: what wrote it.
      anchors: each such text has one of these parts.
      pattern: the message in a squeezed text.
      read: returns the figures of a match, and the reasons.
      reach: how many characters before the anchor the message may begin.
    """

    name: str
    library: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], tuple[list[Figure], Reasons]]
    reach: int = 0


def _sized(values: dict[str, Size | None]) -> dict[str, Nbytes]:
    return {name: Nbytes(size.nbytes) for name, size in values.items() if size is not None}


def _mps(match: re.Match[str]) -> tuple[list[Figure], Reasons]:
    used, other_memory, allowed, request = (size_of(text) for text in match.groups()[:4])
    values = _sized({"allocated": used, "others": other_memory, "allowed": allowed, "request": request})
    together = Nbytes(used.nbytes + other_memory.nbytes + request.nbytes)
    figures = [request.figure("request"), used.figure("mpsAllocated"), other_memory.figure("mpsOther")]
    figures.append(allowed.figure("mpsAllowed"))
    sums = [Statement("sumMps", values | {"wanted": together})]
    if request.nbytes > allowed.nbytes:
        names, chosen = ["requestExceedsAllowed"], [actions.SMALLER, actions.HALVE]
    elif other_memory.nbytes > used.nbytes and used.nbytes + request.nbytes <= allowed.nbytes:
        names, chosen = ["mpsOtherUse"], [Action("mpsEmpty", "torch.mps.empty_cache()"), actions.HALVE]
    else:
        names, chosen = ["mpsLimit"], [actions.HALVE, Action("mpsEmpty", "torch.mps.empty_cache()")]
    chosen.append(Action("mpsRatio", "export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0"))
    return figures, Reasons(sums, [Statement(name, values) for name in names], [], chosen)


def _metal(match: re.Match[str]) -> tuple[list[Figure], Reasons]:
    request = size_of(match[1])
    values = _sized({"request": request})
    return [request.figure("request")], Reasons([], [Statement("metalBuffer", values)], [], [actions.SMALLER])


def _host(match: re.Match[str]) -> tuple[list[Figure], Reasons]:
    request = exact(int(match[1]))
    values = _sized({"request": request})
    figures = [request.figure("hostRequest")]
    cause = Statement("hostMemory", values)
    chosen = [actions.FILES, actions.SMALLER, actions.HALVE, _WORKERS]
    return figures, Reasons([], [cause], [], chosen)


def _tensor(match: re.Match[str]) -> tuple[list[Figure], Reasons]:
    """Reads TensorFlow's sentence; its figures are a shape and a type."""
    shape, dtype, device, allocator = match[1], match[2], match[3] or "", match[4] or ""
    bytes_each = _BYTES.get(dtype)
    lengths = [int(length) for length in shape.split(",") if length]
    figures = [Figure("shape", f"[{', '.join(map(str, lengths))}]", f"[{shape}] {dtype}")]
    values: dict[str, Value] = {"device": device or "?", "allocator": allocator or "?"}
    sums: list[Statement] = []
    if bytes_each is not None:
        nbytes = bytes_each
        for length in lengths:
            nbytes *= length
        values["request"] = Nbytes(nbytes)
        product = " × ".join(map(str, [*lengths, bytes_each]))
        sums.append(Statement("sumOfShape", {"product": product, "request": Nbytes(nbytes)}))
    is_host = "cpu" in allocator.lower() or "CPU" in device or allocator in ("mklcpu", "host_bfc", "gpu_host_bfc")
    if is_host:
        chosen = [actions.FILES, actions.SMALLER, actions.HALVE]
        return figures, Reasons(sums, [Statement("hostMemory" if sums else "hostMemoryNoSize", values)], [], chosen)
    chosen = [actions.HALVE, actions.SMALLER, actions.PROCESSES]
    chosen.append(Action("growth", "export TF_FORCE_GPU_ALLOW_GROWTH=true"))
    causes = [Statement("tensorFlowPool", values), Statement("tensorFlowOther", values)]
    return figures, Reasons(sums, causes, [], chosen)


_BYTES = {
    **{"float": 4, "float32": 4, "double": 8, "half": 2, "bfloat16": 2, "bool": 1, "complex64": 8, "complex128": 16},
    **{"int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8},
}
"""Bytes of an element, by the name of its type."""


def _driver(match: re.Match[str]) -> tuple[list[Figure], Reasons]:
    """Reads `failed to allocate 8.41G (9029127168 bytes) from device`."""
    request = exact(int(match[2]))
    values = _sized({"request": request})
    chosen = [actions.PROCESSES, actions.kill("PID"), Action("growth", "export TF_FORCE_GPU_ALLOW_GROWTH=true")]
    figures = [request.figure("poolRequest")]
    return figures, Reasons([], [Statement("poolNotMapped", values)], [], chosen)


def _jax(match: re.Match[str]) -> tuple[list[Figure], Reasons]:
    """Reads the request, and the sizes of XLA's plan if the message has them."""
    request = exact(int(match[1].replace(",", ""))) if match[1] else size_of(match[2])
    return _xla_plan(match, request) if match[7] and any(match.groups()[2:6]) else _jax_request(request)


def _jax_device(match: re.Match[str]) -> tuple[list[Figure], Reasons]:
    return _jax_request(exact(int(match[2])))


def _jax_request(request: Size) -> tuple[list[Figure], Reasons]:
    values = _sized({"request": request})
    figures = [request.figure("request")]
    causes = [Statement("xlaPool", values), Statement("xlaOther", values)]
    chosen = [actions.HALVE, actions.PROCESSES]
    chosen.append(Action("xlaFraction", "export XLA_PYTHON_CLIENT_MEM_FRACTION=0.95"))
    return figures, Reasons([], causes, [], chosen)


def _xla_plan(match: re.Match[str], request: Size) -> tuple[list[Figure], Reasons]:
    names = ("xlaParameters", "xlaConstants", "xlaResults", "xlaTemporary")
    sizes = [size_of(text) if text else None for text in match.groups()[2:6]]
    total = size_of(match[7])
    figures = [request.figure("request")]
    figures += [size.figure(name) for name, size in zip(names, sizes, strict=True) if size]
    figures.append(total.figure("xlaTotal"))
    planned = {name: size for name, size in zip(names, sizes, strict=True) if size}
    largest = max(planned, key=lambda name: planned[name].nbytes)
    added = Nbytes(sum(size.nbytes for size in planned.values()))
    values: dict[str, Value] = {**_sized({"request": request, "total": total}), "added": added}
    margin = total.margin + sum(size.margin for size in planned.values())
    agrees = abs(added - total.nbytes) <= max(margin, total.nbytes // 50)
    sums = [Statement("sumXla" if agrees else "sumXlaDiffers", values)]
    names_of_causes = {
        "xlaTemporary": "xlaActivations",
        "xlaParameters": "xlaArguments",
        "xlaResults": "xlaLargeResults",
        "xlaConstants": "xlaLargeConstants",
    }
    cause = Statement(names_of_causes[largest], values | {"part": Nbytes(planned[largest].nbytes)})
    chosen = [Action("remat", "f = jax.checkpoint(f)")] if largest == "xlaTemporary" else []
    chosen += [Action("donate", "f = jax.jit(f, donate_argnums=(0,))")] if largest != "xlaTemporary" else []
    chosen += [actions.HALVE, Action("xlaFraction", "export XLA_PYTHON_CLIENT_MEM_FRACTION=0.95"), actions.PROCESSES]
    return figures, Reasons(sums, [cause], [], chosen)


def _cupy(match: re.Match[str]) -> tuple[list[Figure], Reasons]:
    numbers = [exact(int(text.replace(",", ""))) if text else None for text in match.groups()]
    request, used, limit = numbers
    assert request is not None
    assert used is not None
    earlier = exact(used.nbytes - request.nbytes) if "total" in match[0] and used.nbytes >= request.nbytes else used
    values = _sized({"request": request, "allocated": earlier, "limit": limit})
    total_wanted = Nbytes(request.nbytes + earlier.nbytes)
    figures = [request.figure("request"), earlier.figure("cupyAllocated")]
    blocks = Action("freeBlocks", "cupy.get_default_memory_pool().free_all_blocks()")
    sums: list[Statement] = []
    if limit is not None:
        figures.append(limit.figure("cupyLimit"))
        sums.append(Statement("sumCupy", values | {"wanted": total_wanted}))
        name = "requestExceedsLimit" if request.nbytes > limit.nbytes else "cupyLimitReached"
        name = name if total_wanted > limit.nbytes else "cupyCardFull"
        raise_it = Action("setLimit", f"cupy.get_default_memory_pool().set_limit(size={total_wanted})")
        return figures, Reasons(sums, [Statement(name, values)], [], [blocks, raise_it, actions.SMALLER])
    causes = [Statement("cupyCardFull", values), Statement("cupyOther", values)]
    return figures, Reasons(sums, causes, [], [blocks, actions.PROCESSES, actions.SMALLER])


def _nbtf_computer(match: re.Match[str]) -> tuple[list[Figure], Reasons]:
    request, free = size_of(match[1]), size_of(match[2])
    computer = size_of(match[3]) if match[3] else None
    figures = [request.figure("request"), free.figure("simulatedFree")]
    figures += [computer.figure("computerFree")] if computer else []
    cause = Statement("simulatedComputer", _sized({"request": request, "free": free}))
    return figures, Reasons([], [cause], [], [actions.SMALLER, actions.FILES])


def _nbtf_card(match: re.Match[str]) -> tuple[list[Figure], Reasons]:
    request, limit = size_of(match[1]), size_of(match[4] + match[5])
    used = size_of(match[2] + (match[3] or match[5]))
    figures = [request.figure("request"), used.figure("bfcInUse"), limit.figure("bfcLimit")]
    values = _sized({"request": request, "used": used, "limit": limit, "need": request})
    remainder, sums = match[6], list[Statement]()
    values |= {"wanted": Nbytes(used.nbytes + request.nbytes), "unused": Nbytes(limit.nbytes - used.nbytes)}
    if pieces := _PIECES.match(remainder):
        free, largest = size_of(pieces[1]), size_of(pieces[2]) if pieces[2] else None
        figures += [free.figure("bfcFree"), *([largest.figure("bfcLargestFree")] if largest else [])]
        values |= _sized({"unused": free, "largest": largest})
        cause = "bfcFragmentation" if largest else "bfcFragmentationNoList"
        chosen = [actions.HALVE, actions.DELETE]
    elif remainder.startswith("Itslimitis"):
        cause, chosen = "bfcRequestExceedsLimit", [actions.SMALLER]
    elif _MAPPED.match(remainder):
        cause, chosen = "bfcUnmappedHere", [actions.PROCESSES, actions.HALVE]
    else:
        cause, chosen = "bfcFull", [actions.HALVE, actions.SMALLER]
        sums = [Statement("sumLimitExceeded", values)]
    return figures, Reasons(sums, [Statement(cause, values)], [], chosen)


_PIECES = pattern(rf"{_S} are free but not contiguous(?:: the largest block has {_S}|, or)")
_MAPPED = pattern(rf"{_S} are mapped; other programs|The card has {_S} left: other programs")
_XLA_BYTES = rf"(?:(\d[\d,]{{0,29}}) bytes|{_S})"
_XLA = pattern(
    rf"(?:RESOURCE_EXHAUSTED|Resource exhausted): Out of memory (?:while trying to allocate|allocating) {_XLA_BYTES}\.?"
    r"(?:BufferAssignment OOM Debugging\. BufferAssignment stats: "
    rf"(?:parameter allocation: {_S})? (?:constant allocation: {_S})? (?:maybe_live_out allocation: {_S})? "
    rf"(?:preallocated temp allocation: {_S})? "
    rf"(?:preallocated temp fragmentation: {SIZE} \([\d.]{{1,6}}%\))? total allocation: {_S})?"
)
_TYPES = "|".join(sorted([*_BYTES, "resource", "string", "variant"], key=len, reverse=True))
_CUPY = r"\(allocated so far: (\d[\d,]{0,29}) bytes (?:, limit set to: (\d[\d,]{0,29}) bytes)?\)"


def _hbm(match: re.Match[str]) -> tuple[list[Figure], Reasons]:
    used, limit, excess = (size_of(text) for text in match.groups())
    figures = [used.figure("hbmUsed"), limit.figure("hbmLimit"), excess.figure("hbmExcess")]
    values = _sized({"used": used, "limit": limit, "excess": excess})
    chosen = [actions.HALVE, Action("remat", "f = jax.checkpoint(f)")]
    return figures, Reasons([Statement("sumHbm", values)], [Statement("hbmFull", values)], [], chosen)


def _array(match: re.Match[str]) -> tuple[list[Figure], Reasons]:
    request = size_of(match[1])
    shape = [int(length) for length in match[2].split(",") if length]
    figures = [request.figure("hostRequest"), Figure("shape", f"[{', '.join(map(str, shape))}]", f"({match[2]})")]
    causes = [Statement("hostMemory", _sized({"request": request}))]
    return figures, Reasons([], causes, [], [actions.FILES, actions.SMALLER])


def _killed(match: re.Match[str]) -> tuple[list[Figure], Reasons]:
    resident = Size(int(match[3]) << 10, 0, f"{int(match[3]):,} kB")
    figures = [Figure("processNumber", match[1], match[1]), resident.figure("resident")]
    causes = [Statement("hostKilled", {"process": match[2]})]
    return figures, Reasons([], causes, [], [actions.FILES, actions.HALVE, _WORKERS])


_WORKERS = Action("workers", "DataLoader(dataset, num_workers=0)")

MESSAGES: Sequence[Message] = (
    Message(
        "mps",
        "PyTorch",
        ("MPSbackendoutofmemory",),
        pattern(
            rf"MPS backend out of memory \(MPS allocated: {_S}, other allocations: {_S}, max allowed: {_S}\)\. "
            rf"Tried to allocate {_S} on (?:private|shared) pool\.?"
        ),
        _mps,
    ),
    Message(
        "metal",
        "PyTorch",
        ("RuntimeError:Invalidbuffersize:",),
        pattern(rf"RuntimeError: Invalid buffer size: {_S}"),
        _metal,
    ),
    Message(
        "host",
        "PyTorch",
        ("DefaultCPUAllocator:",),
        pattern(
            r"DefaultCPUAllocator: (?:can't allocate memory|not enough memory): you tried to allocate (\d{1,25}) bytes"
            r"\.?(?: Error code 12 \(Cannot allocate memory\))?"
        ),
        _host,
    ),
    Message(
        "tensor",
        "TensorFlow",
        ("OOMwhenallocatingtensor",),
        pattern(
            rf"OOM when allocating tensor (?:with shape|of shape) \[{_SHAPE}\] and type ({_TYPES})"
            r"(?: on (/[\w:/]{1,120}?) by allocator ([A-Za-z]{3}_\d{1,4}_bfc|\w{0,40}?(?:bfc|cpu|async)))?"
        ),
        _tensor,
    ),
    Message(
        "driver",
        "TensorFlow",
        ("failedtoallocate",),
        pattern(
            r"failed to allocate (\d{1,9}(?:\.\d{1,3})?[KMGT]?i?B?) \((\d{1,20}) bytes\) from device: "
            r"(?:CUDA_ERROR_OUT_OF_MEMORY(?:: out of memory)?|RESOURCE_EXHAUSTED)"
        ),
        _driver,
    ),
    Message("xla", "XLA", ("RESOURCE_EXHAUSTED:Outof", "Resourceexhausted:Outof"), _XLA, _jax),
    Message(
        "xla device",
        "XLA",
        ("Failedtoallocaterequestfor",),
        pattern(r"Failed to allocate request for ([\d.]{1,9}[KMGT]?i?B) \((\d{1,20})B\) on device ordinal"),
        _jax_device,
    ),
    Message(
        "hbm",
        "XLA",
        ("Ranoutofmemoryinmemoryspace",),
        pattern(
            rf"Ran out of memory in memory space \w{{1,9}}\. Used {_S} of {_S} \w{{1,9}}\. "
            rf"Exceeded \w{{1,9}} capacity by {_S}"
        ),
        _hbm,
    ),
    Message(
        "cupy",
        "CuPy",
        ("Outofmemoryallocating",),
        pattern(rf"Out of memory allocating (\d[\d,]{{0,29}}) bytes {_CUPY}"),
        _cupy,
    ),
    Message(
        "cupy",
        "CuPy",
        ("outofmemorytoallocate",),
        pattern(
            r"out of memory to allocate (\d{1,20}) bytes \(total (\d{1,20}) bytes(?:, limit set to (\d{1,20}) bytes)?\)"
        ),
        _cupy,
    ),
    Message(
        "array",
        "NumPy",
        ("Unabletoallocate",),
        pattern(rf"Unable to allocate {_S} for an array with shape \({_SHAPE}\) and data type \w{{1,12}}"),
        _array,
    ),
    Message(
        "killed",
        "Linux",
        ("Outofmemory:Killedprocess", "outofmemory:Killedprocess", "Memorycgroupoutofmemory:Killedprocess"),
        pattern(
            r"(?:Memory cgroup )?[Oo]ut of memory: Killed process (\d{1,10}) \(([^()]{1,30})\)"
            r" total-vm:\d{1,20}kB, anon-rss:(\d{1,20})kB"
        ),
        _killed,
    ),
    Message(
        "nbtf computer",
        "nbtf",
        ("requested:simulatedGPU",),
        pattern(
            rf"{_S} requested: simulated GPU:\d{{1,5}}(?:\([^()]{{1,60}}\))? has {_S} free, "
            rf"this computer (?:{_S}|less than that)\."
        ),
        _nbtf_computer,
        12,
    ),
    Message(
        "nbtf card",
        "nbtf",
        ("requested,",),
        pattern(rf"(?<=\):) {_S} requested, {_NUMBER}([KM]iB|bytes)? of {_NUMBER}([KMG]iB) in use\.(.{{0,200}})"),
        _nbtf_card,
        12,
    ),
)
"""All messages with figures but PyTorch's on cards."""

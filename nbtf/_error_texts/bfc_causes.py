"""Why did TensorFlow's allocator have no chunk for a request? Rules on the figures of its dump."""

from __future__ import annotations

from nbtf._devices.bfc.chunks import rounded
from nbtf._error_texts import actions
from nbtf._error_texts.bfc_dump import Dump
from nbtf._error_texts.finding import Action, Figure, Nbytes, Statement
from nbtf._error_texts.torch_causes import Reasons

_ASYNC = Action("mallocAsync", "export TF_GPU_ALLOCATOR=cuda_malloc_async")
_GROWTH = Action("growth", "export TF_FORCE_GPU_ALLOW_GROWTH=true")


def raise_limit(need: int) -> Action:
    """Returns the line that gives TensorFlow a higher limit, in MiB."""
    limit = f"tf.config.LogicalDeviceConfiguration(memory_limit={-(-need // (1 << 20))})"
    return Action("memoryLimit", f"tf.config.set_logical_device_configuration(gpu, [{limit}])")


def reasons_of(dump: Dump) -> Reasons:
    """Returns why the request failed."""
    limit, in_use, pool, free, largest = _account(dump)
    figures = {
        "request": dump.request.nbytes,
        "need": dump.need,
        "limit": limit,
        "used": in_use,
        "pool": pool,
        "unused": free,
        "largest": largest,
        "unmapped": None if limit is None or pool is None else limit - pool,
        "wanted": None if limit is None else in_use + dump.need,
        "allocated": in_use,
        "total": limit,
    }
    values = {name: Nbytes(nbytes) for name, nbytes in figures.items() if nbytes is not None}
    sums: list[Statement] = []
    if dump.chunks:
        agree = not dump.mismatches() and not dump.cut and dump.stated_sum is not None
        count = sum(chunk.in_use for chunk in dump.chunks)
        sums.append(Statement("sumOfChunks", {"n": count}))
        holes = len(dump.chunks) - count
        sums += [Statement("sumOfFree", {"n": holes})] if holes and not dump.cut else []
        sums += [Statement("sumOfChunksAgrees")] if agree else []
        sums += [
            Statement(name, {"chunks": Nbytes(lines), "stated": Nbytes(stated)})
            for name, lines, stated in dump.mismatches()
        ]
    if dump.cut:
        sums.append(Statement("chunksNotRead", {"n": dump.cut}))
    if limit is not None:
        sums.append(Statement("sumLimitExceeded" if values["wanted"] > limit else "sumLimitFits"))
    names = _causes(dump, limit, in_use, pool, free, largest)
    causes = [Statement(name) for name in names]
    chosen: list[Action] = []
    for name in names:
        if name.startswith("bfcFragmentation"):
            chosen.append(_ASYNC)
        elif name.startswith("bfcUnmapped"):
            chosen += [actions.PROCESSES, actions.kill("PID"), _GROWTH]
        elif name == "bfcRequestExceedsLimit":
            chosen.append(actions.SMALLER)
    chosen.append(actions.HALVE)
    if "bfcFull" in names or "bfcRequestExceedsLimit" in names:
        chosen.append(raise_limit(in_use + dump.need if "bfcFull" in names else dump.need))
    return Reasons(sums, causes, [], chosen, values)


def figures_of(dump: Dump) -> list[Figure]:
    """Returns the figures of a dump that sentences explain."""
    figures = [dump.request.figure("request")] if dump.request.nbytes else []
    if dump.need != dump.request.nbytes:
        figures.append(Figure("roundedRequest", Nbytes(dump.need), f"{dump.need:,} bytes"))
    texts = {"Limit": "bfcLimit", "InUse": "bfcInUse", "MaxInUse": "bfcPeak", "MaxAllocSize": "bfcLargestRequest"}
    texts |= {"Reserved": "bfcReserved", "PeakReserved": "bfcPeakReserved", "LargestFreeBlock": "bfcLargestFreeBlock"}
    figures += [dump.stats[name].figure(text) for name, text in texts.items() if name in dump.stats]
    if "NumAllocs" in dump.stats:
        count = dump.stats["NumAllocs"].nbytes
        figures.append(Figure("bfcRequests", count, f"{count:,}"))
    return figures


def _account(dump: Dump) -> tuple[int | None, int, int | None, int | None, int | None]:
    """Returns limit, bytes in use, mapped bytes, free bytes in the pool, and the largest free chunk."""
    stats = {name: size.nbytes for name, size in dump.stats.items()}
    limit = stats.get("Limit") or stats.get("MemoryLimit")
    in_use = dump.in_use if dump.chunks else stats.get("InUse", dump.stated_sum.nbytes if dump.stated_sum else 0)
    if dump.chunks and not dump.cut:
        pool = sum(dump.region_sizes) or dump.in_use + dump.free
        return limit, in_use, pool, dump.free, dump.largest_free
    pool = stats.get("Pool")
    return limit, in_use, pool, None if pool is None else pool - in_use, None


def _causes(
    dump: Dump, limit: int | None, in_use: int, pool: int | None, free: int | None, largest: int | None
) -> list[str]:
    need = dump.need or rounded(dump.request.nbytes)
    if not need:
        return ["bfcNoRequest" if limit is not None else "bfcNoRequestNoLimit"]
    in_pieces = "bfcFragmentation" if largest is not None else "bfcFragmentationNoList"
    if limit is None:
        if free is None:
            return ["bfcFullNoLimit", in_pieces]
        return [in_pieces if free >= need else "bfcFullNoLimit"]
    if need > limit:
        return ["bfcRequestExceedsLimit"]
    if in_use + need > limit:
        return ["bfcFull"]
    if pool is None:
        return [in_pieces, "bfcUnmappedNoList"]
    return ["bfcUnmapped"] if limit - pool >= need else [in_pieces]

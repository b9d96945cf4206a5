"""Are all chunks of a dump read, do they add up, and is the cause right? Dumps of the simulated allocator."""

from __future__ import annotations

from itertools import groupby
from random import Random

import pytest

from nbtf._devices.bfc.allocator import BFCAllocator
from nbtf._error_texts.bfc_dump import Dump, dumps
from nbtf._error_texts.cleaning import Text
from nbtf._error_texts.recognition import explain
from nbtf.notebook.error_reports.address_map import COLUMNS, FREE, MOST_ROWS, USED
from nbtf.notebook.error_reports.notebook_report import ErrorReport, picture_of
from nbtf.notebook.error_reports.text import report
from tests.rings import seeds

MIB = 1 << 20
TIME = "2024-05-06 07:08:09.101112: I tensorflow/tsl/framework/bfc_allocator.cc:1110] "


def filled(random: Random, limit: int, growth: bool = False) -> tuple[BFCAllocator, list[object]]:
    """An allocator in which random chunks are in use."""
    allocator = BFCAllocator(limit, growth=growth)
    held = [allocator.allocate(random.randrange(1, limit // 20)) for _ in range(60)]
    chunks = [chunk for chunk in held if chunk is not None]
    random.shuffle(chunks)
    for chunk in chunks[: len(chunks) // 2]:
        allocator.free(chunk)
    return allocator, [*chunks[len(chunks) // 2 :]]


def read(text: str) -> Dump:
    ((_, _, dump),) = dumps(Text(text))
    return dump


def causes(text: str) -> list[str]:
    (finding,) = explain(text).findings
    return [cause.name for cause in finding.causes]


@pytest.mark.parametrize("seed", seeds(200))
def test_a_dump_is_read_back_to_the_same_chunks(seed: int) -> None:
    random = Random(seed)
    allocator, _ = filled(random, random.randrange(4, 300) * MIB, growth=seed % 3 == 0)
    dump = read(allocator.report(random.randrange(1, 64 * MIB), "MatMul"))

    regions = [
        [(chunk.size, chunk.in_use) for chunk in region.chunks] for region in allocator.snapshot() if region.chunks
    ]
    assert regions == [[(chunk.size, chunk.in_use) for chunk in region] for region in dump.regions_of_chunks()]
    assert [] == dump.mismatches()
    assert allocator.stats().bytes_in_use == dump.in_use
    assert "MatMul" == dump.op
    assert dump.stated_sum is not None
    assert 21 == len(dump.bins)
    assert sum(chunks for chunks, _ in dump.bins.values()) == len(dump.chunks)


@pytest.mark.parametrize("seed", seeds(100))
def test_prefixes_of_a_log_change_nothing(seed: int) -> None:
    random = Random(seed)
    allocator, _ = filled(random, 64 * MIB)
    text = allocator.report(40 * MIB, "Add")
    inside = "\r\n".join(f"[rank0]: {TIME}{line}" for line in text.split("\n"))

    assert read(text).chunks == read(inside).chunks
    assert causes(text) == causes(inside)


def test_older_wordings_of_chunks_are_read() -> None:
    rows = (
        ("InUse at 7f3bdf000b00 next 5 of size 256", (0x7F3BDF000B00, 256, True)),
        ("Chunk at 0x10216400000 of size 1280", (0x10216400000, 1280, True)),
        ("Free at 0x3a60e2a00 of size 135274496", (0x3A60E2A00, 135274496, False)),
        ("Free  at 7f00 next 18446744073709551615 of size 512", (0x7F00, 512, False)),
        ("InUse at 000000081C56C700 next 1151 of size 2048", (0x81C56C700, 2048, True)),
    )
    dump = read("\n".join(f"I tensorflow/core/common_runtime/bfc_allocator.cc:905] {line}" for line, _ in rows))

    assert [chunk for _, chunk in rows] == [tuple(chunk) for chunk in dump.chunks]


def test_a_missing_line_is_reported() -> None:
    allocator, _ = filled(Random(3), 64 * MIB)
    lines = allocator.report(40 * MIB, "Add").split("\n")
    largest = max((line for line in lines if line.startswith("InUse at")), key=lambda line: int(line.split()[5]))
    text = "\n".join(line for line in lines if line != largest)
    (finding,) = explain(text).findings
    names = [statement.name for statement in finding.arithmetic]

    assert {"sumOfChunksDiffers", "sumBySizeDiffers", "sumOfRegionsDiffers"} <= set(names)
    assert "sumOfChunksAgrees" not in names
    assert "lines are missing or were changed" in " ".join(report(explain(text), "en").split())


def test_causes_of_simulated_refusals() -> None:
    allocator = BFCAllocator(16 * MIB)
    chunks = [allocator.allocate(MIB) for _ in range(16)]
    full = allocator.report(2 * MIB, "Add")
    for chunk in chunks[::2]:
        assert chunk is not None
        allocator.free(chunk)
    allocator.snapshot()

    assert ["bfcFull"] == causes(full)
    assert ["bfcFragmentation"] == causes(allocator.report(2 * MIB, "Add"))
    assert ["bfcRequestExceedsLimit"] == causes(allocator.report(17 * MIB, "Add"))
    assert ["bfcUnmapped"] == causes(BFCAllocator(64 * MIB, growth=True).report(2 * MIB, "Add"))


def test_the_sentence_beside_a_dump_has_the_cause_of_the_dump() -> None:
    allocator = BFCAllocator(16 * MIB)
    held = allocator.allocate(15 * MIB)
    sentence = (
        "OOM when allocating tensor with shape[1024,1024] and type float on "
        "/job:localhost/replica:0/task:0/device:GPU:0 "
        "by allocator GPU_0_bfc"
    )
    findings = explain(f"{allocator.report(4 * MIB, 'Add')}\n{sentence}").findings

    assert held is not None
    assert [["bfcFull"], ["bfcFull"]] == [[cause.name for cause in finding.causes] for finding in findings]


def map_of(text: str) -> list[str]:
    lines = report(explain(text), "en").split("\n")
    start = next(index for index, line in enumerate(lines) if line.startswith("Addresses of"))
    rows = [line.split() for line in lines[start + 1 :]]
    return [row[1] for row in rows[: next(index for index, row in enumerate(rows) if row[:1] == ["Each"])]]


def test_the_map_shows_where_the_holes_are() -> None:
    allocator = BFCAllocator(64 * MIB)
    chunks = [allocator.allocate(16 * MIB) for _ in range(4)]
    assert chunks[1] is not None
    allocator.free(chunks[1])
    marks = "".join(map_of(allocator.report(32 * MIB, "Add")))

    runs = [(mark, len([*group]) / len(marks)) for mark, group in groupby(marks)]
    assert [USED, FREE, USED] == [mark for mark, _ in runs]
    assert [0.25, 0.25, 0.5] == pytest.approx([share for _, share in runs], abs=0.01)


@pytest.mark.parametrize("seed", seeds(60))
def test_the_map_is_bounded_and_has_the_right_share(seed: int) -> None:
    allocator, _ = filled(Random(seed), 256 * MIB, growth=seed % 2 == 0)
    text = allocator.report(200 * MIB, "Add")
    rows = map_of(text)
    dump = read(text)

    assert len(rows) <= MOST_ROWS + 1
    assert max(map(len, rows)) <= COLUMNS
    marks = "".join(row for row in rows if set(row) <= {USED, FREE})
    share = dump.in_use / (dump.in_use + dump.free)
    assert abs(marks.count(USED) / len(marks) - share) < 0.12


def test_a_notebook_shows_a_dump_as_a_picture_and_other_texts_as_text() -> None:
    allocator, _ = filled(Random(1), 64 * MIB)
    text = allocator.report(40 * MIB, "Add")
    shown = ErrorReport(explain(text))

    html = shown._repr_html_()
    assert html is not None
    assert "<pre>" in html
    assert "GPU:0" in picture_of(read(text)).title
    assert None is ErrorReport(explain("CUDA error: out of memory"))._repr_html_()


def test_a_picture_of_many_chunks_stays_small() -> None:
    head = "Allocator (GPU_1_bfc) ran out of memory trying to allocate 4.00GiB (rounded to 4294967296)requested by op X"
    lines = [f"{'Free ' if i % 7 == 0 else 'InUse'} at {i * 512:x} of size 512 next {i + 1}" for i in range(20_000)]
    dump = read("\n".join([head, *lines]))

    assert 20_000 == len(dump.chunks)
    assert len(picture_of(dump).marks) < 25_000

"""Batches of records: what is written is what is read, in few bytes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nbtf._cluster.records import (
    DRAWS,
    Copy,
    Draw,
    Drop,
    Free,
    Get,
    Listen,
    Look,
    Put,
    Reader,
    Record,
    Run,
    Template,
    Writer,
)

WORDS = st.integers(0, 2**64 - 1)
SITES = st.sampled_from(["", "3 train.py", "12 train.py"])


@st.composite
def batches(draw: Any) -> list[list[Record]]:
    """Batches whose results are numbered in order, with numbers left out here and there."""
    following = 0
    result: list[list[Record]] = []
    for _ in range(draw(st.integers(1, 4))):
        records: list[Record] = []
        for _ in range(draw(st.integers(0, 12))):
            following += draw(st.sampled_from([0, 0, 0, 1, 70_000]))
            earlier = st.integers(0, max(0, following - 1))
            match draw(st.integers(0, 7)):
                case 0:
                    attrs = draw(
                        st.sampled_from(['{"dict":[]}', '{"dict":[["axis",0]]}', f'{{"dict":[["s",{DRAWS}]]}}'])
                    )
                    lists = tuple(draw(st.lists(st.integers(-1, 3), max_size=3))) if following else ()
                    template = Template("AddV2", draw(st.integers(0, 3)), lists, attrs, draw(st.integers(1, 3)), False)
                    count = sum(1 if length < 0 else length for length in lists)
                    inputs = tuple(draw(st.lists(earlier, min_size=count, max_size=count)))
                    stream = Draw(draw(WORDS), draw(WORDS), draw(WORDS)) if DRAWS in attrs else None
                    records.append(Run(template, inputs, following, stream, draw(SITES)))
                    following += template.results
                case 1:
                    content = bytes(draw(st.sampled_from([0, 4, 65536, 65537])))
                    records.append(Put(1, following, 1, (len(content),), content, "_EagerConst", draw(SITES)))
                    following += 1
                case 2:
                    records.append(Copy(0, following, draw(earlier), draw(st.sampled_from(["", "peer"])), draw(SITES)))
                    following += 1
                case 3:
                    records.append(Free(draw(earlier)))
                case 4:
                    records.append(Get(draw(earlier)))
                case 5:
                    records.append(Listen(2, draw(st.booleans())))
                case 6:
                    count = draw(st.integers(1, 3))
                    records.append(Drop(1, following, count, draw(st.sampled_from(["copy", "AddV2"])), draw(SITES)))
                    following += count
                case _:
                    records.append(Look(2, draw(st.sampled_from(["map", "trim"]))))
        result.append(records)
    return result


@given(batches())
def test_what_is_written_is_read(sent: list[list[Record]]) -> None:
    writer, reader = Writer(), Reader()

    for number, records in enumerate(sent):
        message = writer.batch(number, records)

        assert number == reader.number(message)
        assert records == list(reader.records(message))


def test_an_op_of_a_chain_takes_a_few_bytes() -> None:
    writer = Writer()
    template = Template("MatMul", 1, (-1, -1), '{"dict":[["transpose_a",false],["transpose_b",true]]}', 1, False)
    chain = [Run(template, (number - 1, 0), number) for number in range(1, 1001)]
    writer.batch(0, chain[:1])

    message = writer.batch(1, chain[1:])

    assert len(message.head) < 5 * 999


def test_large_arrays_are_frames_that_nobody_copies() -> None:
    content = memoryview(bytes(1 << 20))

    message = Writer().batch(0, [Put(0, 0, 4, (1 << 20,), content)])

    assert message.frames[0] is content
    assert len(message.head) < 64

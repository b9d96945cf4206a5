"""Are event files what TensorBoard reads, whole or not at all?"""

from __future__ import annotations

import gc
import struct
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from nbtf._storage import event_files, files, summaries
from nbtf._storage.checksums import crc32c
from nbtf._storage.event_files import EventFile
from tests.storage.events import events_in, fields_in, masked, records_in, values_in


@pytest.mark.parametrize(
    ("data", "checksum"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
    ],
    ids=["empty", "digits", "zeros", "ones", "rising"],
)
def test_checksums_are_those_of_the_standard(data: bytes, checksum: int) -> None:
    assert checksum == crc32c(data)  # Source: RFC 3720, appendix B.4


@pytest.mark.parametrize("size", [0, 1, 7, 300])
def test_a_record_is_read_back(size: int) -> None:
    data = np.random.default_rng(size).bytes(size)

    assert [data, data] == list(records_in(event_files.record(data) * 2))
    assert struct.unpack("<I", event_files.record(data)[-4:]) == (masked(data),)


def test_messages_wait_until_there_are_enough(tmp_path: Path) -> None:
    file = EventFile(tmp_path, queue=2)
    counts = list[int]()
    for step in range(4):
        file.add(step, summaries.SUMMARY, summaries.number("a", step))
        counts.append(len(events_in(Path(file.path))))
    file.flush()

    assert [1, 1, 4, 4] == counts
    assert [(0, "a", 0.0), (1, "a", 1.0), (2, "a", 2.0), (3, "a", 3.0)] == values_in(tmp_path)


def test_what_waits_is_written_when_nobody_holds_the_file(tmp_path: Path) -> None:
    file = EventFile(tmp_path)
    file.add(5, summaries.SUMMARY, summaries.number("a", 1.0))
    del file
    gc.collect()

    assert [(5, "a", 1.0)] == values_in(tmp_path)


def test_what_a_full_disk_refuses_waits_for_the_next_try(tmp_path: Path) -> None:
    file = EventFile(tmp_path)
    file.add(5, summaries.SUMMARY, summaries.number("a", 1.0))
    with patch.object(files, "append", side_effect=OSError("full")), pytest.raises(OSError, match="full"):
        file.flush()
    file.flush()

    assert [(5, "a", 1.0)] == values_in(tmp_path)


def test_two_files_of_a_folder_have_names_of_their_own(tmp_path: Path) -> None:
    assert EventFile(tmp_path).path != EventFile(tmp_path).path


def test_a_histogram_has_bins_that_grow_and_joins_the_empty_ones(tmp_path: Path) -> None:
    (_, content), *_ = fields_in(summaries.histogram("h", [1.0, 2.0, -3.0, 0.0, 5e9]))
    fields = dict(fields_in(dict(fields_in(content))[5]))
    limits, counts = (np.frombuffer(fields[number]) for number in (6, 7))

    assert [-3.0, 5e9, 5.0, 5e9, 2.5e19] == [fields[number] for number in range(1, 6)]
    assert [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0] == counts.tolist()
    ends = [-3.1665833053880363, -2.8787120958073054, 0.0, 1e-12, 0.917246389039776, 1.0089710279437536]
    ends += [1.9661990955585713, 2.1628190051144287, 4895161481.903759, 5384677630.0941353, sys.float_info.max]
    assert pytest.approx(ends) == limits.tolist()  # as TensorFlow 2.21 writes them


def test_a_histogram_of_nothing_is_one_empty_bin() -> None:
    (_, content), *_ = fields_in(summaries.histogram("h", []))
    fields = dict(fields_in(dict(fields_in(content))[5]))

    assert (0.0, [sys.float_info.max], [0.0]) == (fields[3], *(np.frombuffer(fields[n]).tolist() for n in (6, 7)))

"""Does every form of a snapshot file give the same snapshot, and is every other file named?"""

from __future__ import annotations

import gzip
import json
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtf._snapshots.reading import open_snapshot
from nbtf._snapshots.snapshot import ACTIONS, OOM, MemorySnapshot
from nbtf._storage.refusal import RefusedFileError
from tests.snapshots.made import EXPANDABLE, MIB, SAMPLES, database, files, old_snapshot, snapshot

CONTENTS = snapshot(seed=1, steps=150, devices=2, total=64 * MIB)
FORMS = files(CONTENTS)


def opened(folder: Path, content: bytes, name: str = "file") -> MemorySnapshot:
    (folder / name).write_bytes(content)
    return open_snapshot(folder / name)


def refusal(folder: Path, content: bytes) -> str:
    with pytest.raises(RefusedFileError) as caught:
        opened(folder, content)
    assert str(folder / "file") in str(caught.value)
    return str(caught.value)


def events(snapshot: MemorySnapshot) -> list[list[tuple[Any, ...]]]:
    """Returns the events of each device with their stacks."""
    histories: list[list[tuple[Any, ...]]] = []
    for trace in snapshot.traces:
        columns = (trace.action, trace.address, trace.size, trace.stream, trace.microseconds)
        stacks = [snapshot.stacks[number] if number >= 0 else None for number in trace.stack.tolist()]
        histories.append(list(zip(*(column.tolist() for column in columns), stacks, strict=True)))
    return histories


def segments(snapshot: MemorySnapshot) -> list[Any]:
    """Returns the segments, with stacks instead of their numbers, which may differ."""
    return [
        segment._replace(blocks=tuple((*block[:-1], snapshot.stacks[block.stack]) for block in segment.blocks))
        for segment in snapshot.segments
    ]


def expected_events(contents: Any) -> list[list[tuple[Any, ...]]]:
    """Returns the same from PyTorch's dictionary."""
    return [
        [
            (
                ACTIONS.index(event["action"]),
                event.get("addr", event.get("device_free")),
                *(event[name] for name in ("size", "stream", "time_us")),
                tuple((frame["filename"], frame["line"], frame["name"]) for frame in event["frames"]),
            )
            for event in trace
        ]
        for trace in contents["device_traces"]
    ]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_same_events_and_segments(form: str, tmp_path: Path) -> None:
    read = opened(tmp_path, FORMS[form])

    assert expected_events(CONTENTS) == events(read)
    assert [segment["address"] for segment in CONTENTS["segments"]] == [segment.address for segment in read.segments]
    for segment, fields in zip(read.segments, CONTENTS["segments"], strict=True):
        assert (fields["device"], fields["total_size"], fields["stream"]) == segment[:1] + segment[2:4]
        assert fields["segment_type"] == ("small" if segment.is_small else "large")
        assert [block["address"] for block in fields["blocks"]] == [block.address for block in segment.blocks]
        assert [block["state"] for block in fields["blocks"]] == [block.state for block in segment.blocks]
        assert [block["requested_size"] for block in fields["blocks"]] == [block.requested for block in segment.blocks]


def test_the_program_of_the_test_has_every_kind_of_event() -> None:
    contents = snapshot(seed=1, steps=150, total=64 * MIB)
    mapped = snapshot(seed=2, steps=80, total=96 * MIB, settings=EXPANDABLE)
    actions = {event["action"] for each in (contents, mapped) for trace in each["device_traces"] for event in trace}

    assert actions == {*ACTIONS} - {"snapshot"}


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("protocol_4.pickle", "pickle"),
        ("pickle.gz", "gzip pickle"),
        ("snapshot.json", "JSON"),
        ("json.gz", "gzip JSON"),
        ("snapshot.db", "SQLite"),
    ],
)
def test_a_form_is_recognised_by_its_content(name: str, form: str, tmp_path: Path) -> None:
    read = opened(tmp_path, FORMS[name], "renamed.txt")

    assert ("renamed.txt", form) == (read.source, read.form)


def test_the_samples_are_what_the_command_writes() -> None:
    contents = snapshot(seed=3, steps=12, devices=2, total=64 * MIB)
    assert len(list(SAMPLES.iterdir())) == 13
    for name in files(contents):
        assert expected_events(contents) == events(open_snapshot(SAMPLES / name)), name
    assert {"segment_map"} <= {ACTIONS[code] for code in open_snapshot(SAMPLES / "expandable.pickle").traces[0].action}
    assert len(open_snapshot(SAMPLES / "segments.json").segments) == len(contents["segments"])


def test_a_file_of_pytorch_1_13_has_blocks_with_a_history(tmp_path: Path) -> None:
    read = opened(tmp_path, pickle.dumps(old_snapshot(CONTENTS)))
    blocks = [block for segment in read.segments for block in segment.blocks]
    expected = [block for segment in CONTENTS["segments"] for block in segment["blocks"]]

    assert [block["address"] for block in expected] == [block.address for block in blocks]
    for block, fields in zip(blocks, expected, strict=True):
        if fields["state"] != "inactive":
            assert fields["requested_size"] == block.requested
            assert [frame["line"] for frame in fields["frames"]] == [frame.line for frame in read.stacks[block.stack]]


def test_unknown_keys_are_ignored_and_unknown_actions_counted(tmp_path: Path) -> None:
    trace = [*CONTENTS["device_traces"][0]]
    contents = {**CONTENTS, "new_key": {"a": [1]}, "device_traces": [trace]}
    trace[3:3] = [{"action": "annotate", "frames": []}, {"action": "annotate"}, {"action": "workspace", "addr": 1}]
    for content in (pickle.dumps(contents), json.dumps(contents).encode()):
        read = opened(tmp_path, content)
        assert {"annotate": 2, "workspace": 1} == dict(read.traces[0].left_out)
        assert expected_events(CONTENTS)[:1] == events(read)


def test_an_oom_has_the_free_bytes_of_the_card(tmp_path: Path) -> None:
    ooms = [event for event in CONTENTS["device_traces"][0] if event["action"] == "oom"]
    trace = opened(tmp_path, FORMS["protocol_4.pickle"]).traces[0]

    assert ooms
    assert [event["device_free"] for event in ooms] == trace.address[trace.action == OOM].tolist()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda s: s["device_traces"][0][2].pop("size"), "device_traces[0][2].size is missing"),
        (lambda s: s["device_traces"][0][2].update(size="x"), "device_traces[0][2].size is 'x'; expected an integer"),
        (lambda s: s["device_traces"][0][2].update(addr=-1), "device_traces[0][2].addr is -1"),
        (lambda s: s["device_traces"][0][2].update(addr=1 << 63), "device_traces[0][2].addr is 9223372036854775808"),
        (lambda s: s["device_traces"][0][2].update(action=1), "device_traces[0][2].action is 1"),
        (lambda s: s["device_traces"][0][2].update(frames=[3]), "device_traces[0][2].frames is 3"),
        (lambda s: s["device_traces"][0][2].update(frames=[{"line": 1}]), "`filename`, `line` and `name`"),
        (lambda s: s["segments"][0].pop("address"), "segments[0].address is missing"),
        (lambda s: s["segments"][0].update(address=True), "segments[0].address is True"),
        (lambda s: s["segments"][0].update(blocks=None), "segments[0].blocks is missing"),
        (lambda s: s["segments"][0]["blocks"][0].update(size=1 << 60), "inside its segment"),
        (lambda s: s["segments"][0]["blocks"][0].update(state="lost"), "expected one of active_allocated"),
        (lambda s: s["segments"].append(json.loads(json.dumps(s["segments"][0]))), "after the segment before it"),
        (lambda s: [s.pop("segments"), s.pop("device_traces")], "expected a memory snapshot of PyTorch"),
    ],
)
def test_a_wrong_field_is_named_with_its_place(change: Callable[[Any], object], text: str, tmp_path: Path) -> None:
    contents = json.loads(json.dumps(snapshot(seed=2, steps=20)))
    change(contents)

    messages = [refusal(tmp_path, pickle.dumps(contents)), refusal(tmp_path, json.dumps(contents).encode())]

    assert [text in message for message in messages] == [True, True], messages


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"PK\x03\x04....archive/data.pkl", "a checkpoint of PyTorch"),
        (b'{"schemaVersion": 1, "traceEvents": []}', "`nbtf view "),
        (b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 MiB", "`nbtf explain "),
        (b'{"cells": [], "nbformat": 4}', "a notebook"),
        (b"\x89PNG\r\n", "a picture"),
        (b"", "an empty file"),
        (b"\0\1\2", "not a memory snapshot"),
        (b"{", "not valid JSON"),
        (b"[" * 100_000, "segments[0] is"),
        (b'{"segments": [], "segments": []}', "two entries"),
        (b'{"a": ' + b"[" * 100_000, "not valid JSON"),
        (b"\x80\x04cos\nsystem\n(S'true'\ntR.", "os.system (opcode GLOBAL at byte 2)"),
    ],
)
def test_another_file_is_named(content: bytes, text: str, tmp_path: Path) -> None:
    message = refusal(tmp_path, content)

    assert text in message or (b"[" * 1000 in content and "not valid JSON" in message), message


def test_a_small_file_cannot_fill_the_memory(tmp_path: Path) -> None:
    assert "become more than" in refusal(tmp_path, gzip.compress(bytes(1 << 24)))


def test_a_database_with_a_view_or_computed_columns_is_refused(tmp_path: Path) -> None:
    for statement in (
        "CREATE VIEW device_traces AS SELECT 1 AS id",
        "CREATE TABLE device_traces (id INTEGER, action TEXT AS (hex(zeroblob(1000000))))",
        "CREATE TABLE other (id INTEGER)",
    ):
        connection = sqlite3.connect(":memory:")
        connection.execute(statement)
        refusal(tmp_path, connection.serialize())


def test_a_shared_segment_is_not_read_again_and_again(tmp_path: Path) -> None:
    segment = snapshot(steps=30)["segments"][0]

    assert "an object of its own" in refusal(tmp_path, pickle.dumps({"segments": [segment] * 1000}))


def test_a_database_without_numbers_of_segments_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(":memory:")
    connection.deserialize(database(snapshot(steps=10)))
    connection.execute("UPDATE blocks SET segment_id = 99")
    connection.commit()

    assert "blocks.segment_id" in refusal(tmp_path, connection.serialize())

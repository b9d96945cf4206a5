"""Does a pickle that is read as arrays give what its opcodes alone give? Searches among intact and damaged pickles."""

from __future__ import annotations

import io
import pickle
import pickletools
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest

from nbtf._snapshots import excerpts, repeated_events
from nbtf._snapshots.contents import SnapshotBuilder
from nbtf._snapshots.pickled import read_pickled
from nbtf._snapshots.rows import TraceRows
from nbtf._snapshots.snapshot import MemorySnapshot
from nbtf._storage.refusal import RefusedFileError
from tests.hostile_files.grammar import damaged
from tests.rings import seeds
from tests.snapshots.made import snapshot
from tests.snapshots.test_reading import events, expected_events, segments


def read(content: bytes, is_fast: bool) -> MemorySnapshot:
    builder = SnapshotBuilder("file", is_shared=True)
    return builder.snapshot("pickle", read_pickled(content, "file", builder, is_fast))


def outcome(content: bytes, is_fast: bool) -> Any:
    try:
        read_snapshot = read(content, is_fast)
    except RefusedFileError:
        return "refused"
    return events(read_snapshot), segments(read_snapshot)


def repeated(contents: Any, times: int, variant: int) -> Any:
    """Returns a long history: that of a snapshot again and again, with events that share lists or do not."""
    traces: list[list[Any]] = []
    for trace in contents["device_traces"]:
        events: list[Any] = []
        for number in range(times):
            for event in trace:
                changed = {**event, "time_us": event["time_us"] + number * 1_000_003}
                if "addr" in event:
                    changed["addr"] += number << (20 + variant)
                if variant % 3 == 1:
                    changed["frames"] = [dict(frame) for frame in event["frames"]]
                if variant % 3 == 2:
                    changed = {"frames": list(event["frames"]), **changed}  # as in PyTorch 2.0
                if variant > 3 and number % 7 == 3:
                    changed["stream"] = -5 if variant == 4 else 1 << 40
                events.append(changed)
        traces.append(events)
    if variant % 2:  # the blocks then refer to stacks of the history
        return {"device_traces": traces, **{name: value for name, value in contents.items() if name != "device_traces"}}
    return {**contents, "device_traces": traces}


def pickled(contents: Any, random: Random) -> bytes:
    """Returns a pickle of a random protocol, with frames of random lengths from protocol 4 on."""
    protocol = random.choice((1, 2, 3, 4, 4, 4, 5, 5))
    content = pickle.dumps(contents, protocol)
    if random.random() < 0.2:
        content = pickletools.optimize(content)
    if protocol == 4 and random.random() < 0.2:
        content = with_indices(content, random)
    if protocol > 3 and random.random() < 0.8:
        content = framed(content, random, random.choice((100, 1000, 70_000)), random.random() < 0.3)
    return content


def opcodes(content: bytes) -> list[tuple[str, bytes]]:
    """Returns the opcodes of a pickle with their bytes, without headers of frames."""
    found = [(opcode.name, at) for opcode, _, at in pickletools.genops(content)]
    ends = [at for _, at in found[1:]] + [len(content)]
    return [(name, content[at:end]) for (name, at), end in zip(found, ends, strict=True) if name != "FRAME"]


def with_indices(content: bytes, random: Random) -> bytes:
    """Returns a pickle that stores some or all objects under an index, which is wrong at times."""
    share, wrong = random.choice((1, 1, 0.999, 0.3)), random.choice((0, 0, 0.0001))
    stored = 0
    changed = io.BytesIO()
    for name, data in opcodes(content):
        if name == "MEMOIZE":
            if random.random() < share:
                data = b"r" + (random.randrange(400) if random.random() < wrong else stored).to_bytes(4, "little")
            stored += 1
        changed.write(data)
    return changed.getvalue()


def framed(content: bytes, random: Random, size: int, is_misplaced: bool = False) -> bytes:
    """Returns a pickle with frames of about `size` bytes; if `is_misplaced`, a late one begins within an opcode."""
    parts = [data for _, data in opcodes(content)]
    body = b"".join(parts[1:])
    bounds, at = [0], 0
    misplaced_at = random.uniform(0.5, 1) * len(body) if is_misplaced else len(body)
    for part in parts[1:]:
        at += len(part)
        if at - bounds[-1] > size and random.random() < 0.5:
            bounds.append(at)
        if at > misplaced_at and len(part) > 1:
            bounds.append(at - random.randrange(1, len(part)))
            misplaced_at = len(body)
    frames = [body[begin:end] for begin, end in pairwise([*bounds, len(body)])]
    return parts[0] + b"".join(b"\x95" + len(frame).to_bytes(8, "little") + frame for frame in frames)


def with_index_in_a_number(content: bytes, random: Random) -> bytes:
    """Returns a pickle of protocol 2, in which a time looks like an opcode that stores an object; its index is free."""
    parts = opcodes(content)
    numbers = [at for at, (name, data) in enumerate(parts) if name == "LONG1" and len(data) == 9]
    chosen = numbers[random.randrange(len(numbers) // 2, len(numbers))]
    stored = sum(name in ("BINPUT", "LONG_BINPUT") for name, _ in parts[:chosen])
    changed = io.BytesIO()
    for at, (name, data) in enumerate(parts):
        if name in ("LONG_BINPUT", "LONG_BINGET") and (index := int.from_bytes(data[1:], "little")) >= stored:
            data = data[:1] + (index + 1).to_bytes(4, "little")
        changed.write(data[:2] + b"r" + stored.to_bytes(4, "little") + data[7:] if at == chosen else data)
    return changed.getvalue()


@pytest.fixture(autouse=True)
def _many_frames_and_windows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets short pickles have many frames and windows."""
    seed = request.node.callspec.params.get("seed", 0) if hasattr(request.node, "callspec") else 0
    monkeypatch.setattr(excerpts, "_FULL_FRAME", 50)
    monkeypatch.setattr(repeated_events, "_SMALLEST_WINDOW", (1 << 17, 3000)[seed % 2])


@pytest.mark.parametrize("seed", seeds(120))
def test_reading_runs_of_events_as_arrays_changes_nothing(seed: int) -> None:
    contents = repeated(snapshot(seed, steps=30, devices=1 + seed % 2), 60, seed % 6)
    content = pickle.dumps(contents, 2 + seed % 4)
    if seed % 4 > 1:
        content = framed(content, Random(seed), 1000)
    fast, slow = read(content, True), read(content, False)

    assert events(slow) == events(fast)
    assert expected_events(contents) == events(fast)
    assert segments(slow) == segments(fast)
    assert [trace.action.dtype for trace in fast.traces] == [np.uint8] * len(fast.traces)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("variant", range(3))
def test_most_events_of_a_long_history_are_read_as_arrays(
    protocol: int, variant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    add = TraceRows.add
    monkeypatch.setattr(TraceRows, "add", lambda self, event: (calls.append(1), add(self, event)))
    contents = repeated(snapshot(4, steps=60), 200, variant)
    content = pickle.dumps(contents, protocol)
    read(framed(content, Random(3), 1500) if protocol > 3 else content, True)

    assert len(calls) < 0.2 * len(contents["device_traces"][0])


@pytest.mark.parametrize("seed", seeds(400))
def test_other_opcodes_and_frames_are_read_as_without_arrays(seed: int) -> None:
    random = Random(seed)
    content = pickled(repeated(snapshot(seed % 5, steps=20), 30, seed % 6), random)

    assert outcome(content, True) == outcome(content, False)


@pytest.mark.parametrize("seed", seeds(40))
def test_a_number_that_looks_like_an_opcode_is_a_number(seed: int) -> None:
    contents = repeated(snapshot(seed % 5, steps=20), 30, seed % 3)
    content = with_index_in_a_number(pickle.dumps(contents, 2), Random(seed))

    assert outcome(content, False) != "refused"
    assert outcome(content, True) == outcome(content, False)


@pytest.mark.parametrize("seed", seeds(400))
def test_damaged_repeats_are_read_as_without_arrays(seed: int) -> None:
    random = Random(seed)
    content = pickled(repeated(snapshot(seed % 5, steps=20), 30, seed % 3), random)
    if seed % 2:
        content = damaged(content, random)
    else:
        changed = bytearray(content)
        for _ in range(random.randrange(1, 4)):
            changed[random.randrange(len(changed) // 3, len(changed))] = random.choice(
                (random.randrange(256), 0x94, 0x75, 0x68, 0x72, 0x95)
            )
        content = bytes(changed)

    assert outcome(content, True) == outcome(content, False)

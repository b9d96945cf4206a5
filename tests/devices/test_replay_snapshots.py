"""What does `python -m tests.devices.replay_snapshots FOLDER` say about files of every form, equal and different?"""

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from nbtf._snapshots.snapshot import ACTIONS, ALLOC
from tests.devices.replay_snapshots import main, replay_folder
from tests.snapshots.made import SAMPLES, files, snapshot
from tests.snapshots.recorded_programs import Program, run


def _reduced(program: Program) -> dict[str, Any]:
    """Returns a recorded program in the reduced form."""
    (trace,) = program.snapshot.traces
    columns = (column.tolist() for column in (trace.action, trace.address, trace.size, trace.stream))
    events = [[ACTIONS[action], *rest] for action, *rest in zip(*columns, strict=True)]
    segments = [
        {
            "address": segment.address,
            "total_size": segment.size,
            "stream": segment.stream,
            "segment_type": "small" if segment.is_small else "large",
            "blocks": [[block.size, block.requested, block.state] for block in segment.blocks],
        }
        for segment in program.snapshot.segments
    ]
    return {"settings": program.settings, "segments": segments, "traces": [events]}


def test_samples_of_every_form_are_equal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(SAMPLES)]) == 0

    *lines, last = capsys.readouterr().out.splitlines()
    assert sum(": equal: " in line for line in lines) == 21
    assert last == ("21 histories, 148 addresses equal; 0 differ without an ambiguous start, 0 files not read")


def test_the_reduced_form_is_equal(tmp_path: Path) -> None:
    program = run(4, steps=60)
    (tmp_path / "run.json.gz").write_bytes(gzip.compress(json.dumps(_reduced(program)).encode()))

    (line,), totals = replay_folder(tmp_path)

    count = int((program.snapshot.traces[0].action == ALLOC).sum())
    assert count > 20
    assert line.startswith(f"run.json.gz GPU:0: equal: {count} addresses, ")
    assert (totals.addresses, totals.is_equal) == (count, True)


@pytest.mark.parametrize("field", ["address", "size of a segment", "end"])
def test_a_difference_is_found(tmp_path: Path, field: str, capsys: pytest.CaptureFixture[str]) -> None:
    contents = _reduced(run(4, steps=60, empties=False))
    (events,) = contents["traces"]
    if field == "address":
        event = [event for event in events if event[0] == "alloc"][-1]
        event[1] += 512
    elif field == "size of a segment":
        next(event for event in events if event[0] == "segment_alloc")[2] += 2 << 20
    else:
        block = next(
            block for segment in contents["segments"] for block in segment["blocks"] if block[2] == "active_allocated"
        )
        block[2] = "inactive"
    (tmp_path / "run.json").write_text(json.dumps(contents))

    assert main([str(tmp_path)]) == 1

    assert " differences: " in capsys.readouterr().out


def test_nothing_to_compare_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    (tmp_path / "segments.pickle").write_bytes(pickle.dumps(snapshot()["segments"]))
    assert main([str(tmp_path)]) == 1
    assert "segments.pickle: no history" in capsys.readouterr().out


def test_a_file_that_is_no_snapshot_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.pickle").write_bytes(files(snapshot())["protocol_4.pickle"])
    assert main([str(tmp_path)]) == 0
    (tmp_path / "other.pickle").write_bytes(b"no pickle")

    assert main([str(tmp_path)]) == 1

    assert "other.pickle: not read. " in capsys.readouterr().out


def test_it_needs_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main([str(tmp_path / "missing")]) == 2
    assert "Usage: " in capsys.readouterr().err

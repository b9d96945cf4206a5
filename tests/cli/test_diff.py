"""`nbtf diff`: exit statuses, words and JSON; files that cannot be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf import cli
from nbtf.notebook.magics.export import exported


def program(device: str, numbers: int = 100) -> Any:
    tf.runtime.restart()
    tf.runtime.simulate_gpus(2, memory="1GiB")
    with tf.runtime.recording() as record:
        x = tf.ones([numbers, 100])
        with tf.device(device):
            (x + 1.0).numpy()
    return record


def in_cell(site: tf.runtime.Site) -> str:
    return f"cell 1, line {site[1]}" if site else ""


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    for name, device in (("a", "GPU:0"), ("b", "GPU:1")):
        record = program(device)
        record.save(tmp_path / f"{name}.nbtf")
        text = exported(
            record.snapshot(), "json", tf.runtime.devices(), lambda site: f"cell 1, line {site[1]}" if site else ""
        )
        (tmp_path / f"{name}.json").write_text(text)
    capsys.readouterr()
    return tmp_path


def test_equal_recordings_give_status_0(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for suffix in ("nbtf", "json"):
        assert cli.main(["diff", str(folder / f"a.{suffix}"), str(folder / f"a.{suffix}")]) == 0
        assert "no difference in placement, copies and memory" in capsys.readouterr().out


def test_an_op_that_moved_gives_status_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diff", str(folder / "a.nbtf"), str(folder / "b.nbtf")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any("AddV2 moved from GPU:0" in line and "to GPU:1" in line for line in lines)
    assert any("move from GPU:0 to GPU:1: 0 copies, 0 B → 1 copy, 40,000 B" in line for line in lines)
    assert any(line.startswith("GPU:1: peak") for line in lines)


def test_exports_are_compared_by_their_words_for_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diff", str(folder / "a.json"), str(folder / "b.json"), "--only", "placement"]) == 1
    assert "cell 1, line" in capsys.readouterr().out


def test_json_has_both_reasons(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diff", str(folder / "a.nbtf"), str(folder / "b.nbtf"), "--json", "--only", "placement"]) == 1
    data = json.loads(capsys.readouterr().out)
    [moved] = [change for change in data["ops"] if change["op"] == "AddV2"]
    assert (moved["old"]["reason"], moved["new"]["device"]) == ("explicit scope", "GPU:1")
    assert (data["equal"], data["copies"], data["memory"]) == (False, [], [])


def test_a_tolerance_applies_to_peaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, numbers in (("a", 1000), ("b", 1010)):
        program("GPU:0", numbers).save(tmp_path / f"{name}.nbtf")
    words = ["diff", str(tmp_path / "a.nbtf"), str(tmp_path / "b.nbtf"), "--only", "memory"]
    capsys.readouterr()

    assert cli.main(words) == 1
    assert "peak" in capsys.readouterr().out
    status = cli.main([*words, "--peak", "5%"])
    assert "peak" not in capsys.readouterr().out
    assert status in (0, 1)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "damaged"),
        (b"PK\x03\x04", "damaged"),
        (b"{}", "is not a recording"),
        (b'{"schema": "nbtf-events/1"}', "has no"),
        (b'{"schema": "nbtf-events/1", "devices": [], "cut": 3, "events": []}', "lacks its first 3 events"),
        (b'{"schema": "nbtf-events/1", "devices": [], "cut": 0, "events": []}', "has no ops"),
        (b"[" * 5000, "damaged"),
    ],
)
def test_other_files_give_status_2(content: bytes, text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "other").write_bytes(content)

    assert cli.main(["diff", str(folder / "a.nbtf"), str(folder / "other")]) == 2
    assert text in capsys.readouterr().err


def test_a_missing_file_gives_status_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diff", str(folder / "a.nbtf"), str(folder / "missing")]) == 2
    assert "cannot read" in capsys.readouterr().err


def test_a_recording_that_lost_events_is_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tf.runtime.recording(capacity=10) as record:
        for _ in range(3000):
            tf.add(1.0, 2.0)
    record.save(tmp_path / "cut.nbtf")

    assert cli.main(["diff", str(tmp_path / "cut.nbtf"), str(tmp_path / "cut.nbtf")]) == 2
    assert "larger capacity" in capsys.readouterr().err

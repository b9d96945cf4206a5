"""Does `nbtf view` recognise files by their content, print their figures, and write the page that it announces?"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nbtf as tf
from nbtf import cli
from nbtf._record.opened import RecordedDevice
from nbtf._storage.refusal import RefusedFileError
from nbtf.notebook import opened_files
from nbtf.notebook.magics.export import exported
from nbtf.notebook.opened_files import EXPORT, RECORDING, SNAPSHOT, TRACE, content_of
from nbtf.runtime import Allocated
from tests.machines import machine
from tests.notebook.snapshots.samples import sample

CONTENTS = {
    SNAPSHOT: [
        b"\x80\x04}",
        b"SQLite format 3\x00",
        b'{"segments": [], "device_traces": []}',
        b' {"device_traces": []}',
    ],
    TRACE: [b'{"traceEvents": []}', b'[{"ph": "X"}]', b'{"schemaVersion": 1, "deviceProperties": []}'],
    RECORDING: [b"PK\x03\x04"],
    EXPORT: [b'{\n "schema": "nbtf-events/1"}'],
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(("form", "content"), [(form, content) for form in CONTENTS for content in CONTENTS[form]])
def test_content_decides_what_a_file_is(form: str, content: bytes, packed: bool, tmp_path: Path) -> None:
    file = tmp_path / "file.txt"
    file.write_bytes(gzip.compress(content) if packed else content)

    assert form == content_of(file)


@pytest.mark.parametrize("content", [b"", b"hello", b"{}", b'say "traceEvents"', b"\x1f\x8bno"])
def test_other_files_are_refused_with_what_is_expected(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file.txt"
    file.write_bytes(content)

    with pytest.raises(RefusedFileError, match=r"file\.txt"):
        content_of(file)


@pytest.fixture
def snapshot_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file whose reader returns a sample."""
    reader: Any = ModuleType("nbtf._snapshots.reading")
    reader.open_snapshot = lambda path: sample()
    monkeypatch.setitem(sys.modules, reader.__name__, reader)
    file = tmp_path / "run.pickle"
    file.write_bytes(b"\x80\x04}.")
    return file


def test_page_and_figures_of_a_snapshot(snapshot_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = snapshot_file.with_suffix(".html")

    status = cli.main(["view", str(snapshot_file), "-o", str(page), "--language", "en"])

    said = capsys.readouterr().out
    assert 0 == status
    assert "run.pickle: memory snapshot of PyTorch (pickle), measured" in said
    assert "5 MiB requested, 3 MiB free on the card" in said
    assert f"Page: {page}" in said
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_json_has_the_figures_in_bytes(snapshot_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == cli.main(["view", str(snapshot_file), "--json"])

    (device,) = json.loads(capsys.readouterr().out)["devices"]
    assert device["peak_allocated"] == sum(row["bytes"] for row in device["holders"])
    assert [(5 << 20, 3 << 20)] == [(each["requested"], each["free_on_card"]) for each in device["out_of_memory"]]


def test_other_settings_are_replayed(snapshot_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--what-if", "expandable_segments:True", "--what-if", "", "--card", "1GiB"]
    assert 0 == cli.main(["view", str(snapshot_file), "--json", *words])

    (device,) = json.loads(capsys.readouterr().out)["devices"]
    results = device["what_if"]
    assert ["expandable_segments:True", ""] == [each["settings"] for each in results]
    assert [("nbtf-what-if/1", 1 << 30)] * 2 == [(each["schema"], each["card"]) for each in results]

    page = snapshot_file.with_suffix(".html")
    words = ["--without", "model_3.py:13", "--language", "en"]
    assert 0 == cli.main(["view", str(snapshot_file), "-o", str(page), *words])
    said = capsys.readouterr().out
    assert re.search(r"GPU:0: default settings · .*without model_3\.py:13\n  peak in use +\d", said)
    text = page.read_text(encoding="utf-8")
    assert "GPU:0: the same program with other settings" in text
    assert "without model_3.py:13" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--device", "GPU:3"], "does not contain GPU:3"),
        (["--from", "3"], "--from needs --to"),
        (["--what-if", "fast:True"], "Unrecognized key 'fast'"),
        (["--card", "much"], "is neither a size such as 24GiB nor the name of a card"),
        (["--without", "none.py:1"], "No memory was allocated by 'none.py:1'"),
        (["--from", "3", "--to", "999999"], "do not exist"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(
    words: list[str], says: str, snapshot_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 2 == cli.main(["view", str(snapshot_file), "--no-browser", *words])

    assert says in capsys.readouterr().err


def test_missing_file_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == cli.main(["view", str(tmp_path / "none.pickle")])

    assert "No such file" in capsys.readouterr().err


def test_recording_that_was_opened_has_the_devices_of_its_machine() -> None:
    with machine(1, memory="64MiB"), tf.runtime.recording() as record:
        kept = tf.zeros([2**20])
        del kept
        events = record.events
    opened = tf.runtime.OpenedRecording("run.nbtf", events, [RecordedDevice("GPU:0", 64 << 20, True, "Tesla K20m")])

    file = opened_files.RecordingFile(opened, RECORDING)
    scene = file.scene()

    assert ["GPU:0"] == [history["name"] for history in scene["memory"]]
    assert 64 << 20 == scene["memory"][0]["limit"]
    assert scene["map"]["simulated"]
    assert "modelled" == file.figures()["clock"]
    assert file.page().startswith("<!doctype html>")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A recording of two GPUs, the second of which works for one line only."""
    file = tmp_path / "run.nbtf"
    with machine(2, memory="256MiB"):
        with tf.runtime.recording() as record:
            first = tf.zeros([1 << 20])
            with tf.device("GPU:1"):
                second = tf.zeros([2 << 20])
            del first, second
        record.save(file)
    return file


def test_recordings_are_replayed_too(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--what-if", "allow_growth:True", "--card", "6MiB"]
    assert 0 == cli.main(["view", str(recorded), "--json", *words])

    devices = {each["device"]: each for each in json.loads(capsys.readouterr().out)["devices"]}
    results = {name: each["what_if"][0] for name, each in devices.items() if each["what_if"]}
    assert {"GPU:0": False, "GPU:1": True} == {name: each["stopped"] for name, each in results.items()}
    assert {("allow_growth:True", 6 << 20)} == {(each["settings"], each["card"]) for each in results.values()}
    assert devices["GPU:1"]["peak_allocated"] > 8 << 20

    page = recorded.with_suffix(".html")
    assert 0 == cli.main(["view", str(recorded), "-o", str(page), "--language", "en", "--device", "GPU:1", *words])
    said = capsys.readouterr().out
    assert "GPU:1: allow_growth:True · card of 6 MiB\n  peak in use " in said
    assert "GPU:0" not in said
    assert "GPU:1: the same program with other settings" in page.read_text(encoding="utf-8")


def test_a_device_without_an_answer_does_not_hide_the_others(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sites = [event.site for event in tf.runtime.read_recording(recorded).events if isinstance(event, Allocated)]
    lines = [f"{Path(site[0]).name}:{site[1]}" for site in sites if site]
    for line in (lines[0], lines[-1]):
        assert 0 == cli.main(["view", str(recorded), "-o", str(recorded.with_suffix(".html")), "--without", line])
        said = capsys.readouterr().out
        assert 1 == len(re.findall(rf"^GPU:\d: .*without {re.escape(line)}$", said, re.MULTILINE))
        assert 1 == said.count(f"No memory was allocated by '{line}' on GPU:")


def _trace(folder: Path) -> Path:
    kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 5.0, "dur": 2.0, "args": {"stream": 7, "device": 0}}
    file = folder / "trace.json"
    file.write_text(json.dumps({"traceEvents": [kernel]}))
    return file


def _export(folder: Path, recorded: Path) -> Path:
    record = tf.runtime.read_recording(recorded)
    file = folder / "export.json"
    devices = [tf.runtime.DeviceInfo("GPU:0", "GPU", True)]
    file.write_text(exported(record.snapshot(), "json", devices, str))
    return file


@pytest.mark.parametrize(
    ("form", "words", "says"),
    [
        (TRACE, ["--card", "1GiB"], r"trace\.json is a profiler's trace\. It does not contain allocations"),
        (TRACE, ["--around", "3"], r"trace\.json is a trace, whose page shows all events"),
        (EXPORT, ["--card", "1GiB"], r"export\.json has no addresses of memory"),
        (RECORDING, ["--from", "1", "--to", "3"], r"run\.nbtf is a recording, whose page shows all events"),
        (RECORDING, ["--device", "GPU:7"], r"run\.nbtf does not contain GPU:7\. It contains: GPU:0, GPU:1\."),
        (RECORDING, ["--what-if", "expandable_segments:True"], r"GPU:0 has memory of TensorFlow, whose only settings"),
        (RECORDING, ["--without", "none.py:3"], r"No memory was allocated by 'none\.py:3' on GPU:0"),
    ],
)
def test_options_that_a_file_cannot_answer_are_one_sentence(
    form: str, words: list[str], says: str, recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = recorded.parent
    file = {TRACE: _trace, EXPORT: lambda folder: _export(folder, recorded), RECORDING: lambda _: recorded}[form](
        folder
    )

    assert 2 == cli.main(["view", str(file), "--no-browser", *words])

    assert re.search(says, capsys.readouterr().err)


def test_an_opened_file_saves_the_page_of_the_command(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorded.parent
    samples = Path(__file__).parents[1] / "snapshots" / "samples"
    opened = {recorded: tf.runtime.read_recording, _trace(folder): tf.runtime.read_trace}
    opened |= dict.fromkeys(
        [samples / name for name in ("expandable.pickle", "snapshot.json")], tf.runtime.read_snapshot
    )
    for file, read in opened.items():
        read(file).to_html(folder / "own.html")
        assert 0 == cli.main(["view", str(file), "-o", str(folder / "page.html")])

        assert (folder / "own.html").read_text(encoding="utf-8") == (folder / "page.html").read_text(encoding="utf-8")
    assert capsys.readouterr().out


def test_a_recording_with_memory_only_has_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with machine(1, memory="64MiB"), tf.runtime.recording() as record:
        kept = tf.zeros([1 << 20])
        del kept
        events = [event for event in record.events if isinstance(event, Allocated | tf.runtime.Freed)]
    opened = tf.runtime.OpenedRecording("run.nbtf", events, [RecordedDevice("GPU:0", 64 << 20, True)])
    page = tmp_path / "run.html"

    opened.to_html(page)

    file = opened_files.RecordingFile(opened, RECORDING)
    assert {"file", "memory", "map"} == set(file.scene())
    assert re.search(r"  GPU:0: peak [\d.]+ MiB$", "\n".join(file.summary()), re.MULTILINE)
    assert page.read_text(encoding="utf-8") == file.page()
    with pytest.raises(ValueError, match=r"empty\.nbtf has no ops, no copies and no memory"):
        tf.runtime.OpenedRecording("empty.nbtf", []).to_html(page)
    assert not capsys.readouterr().err

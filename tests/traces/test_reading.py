"""Traces of profilers as recordings: events, measured times, figures, and what is not shown."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf._traces import json_stream
from nbtf.notebook.magics.trace import trace_events
from nbtf.notebook.stills.schedule import timed
from nbtf.notebook.views.file_head import trace_in_words
from tests.traces.writing import kineto, named, piece, tensorflow


def opened(folder: Path, trace: Any, name: str = "trace.json") -> Any:
    text = trace if isinstance(trace, bytes) else json.dumps(trace).encode()
    (folder / name).write_bytes(text)
    return tf.runtime.read_trace(folder / name)


def test_kernels_copies_and_outermost_ops_become_events(tmp_path: Path) -> None:
    record = opened(tmp_path, kineto(steps=1))

    ran = [
        (e.op, tf.runtime.short_name(e.device), e.node) for e in record.events if isinstance(e, tf.runtime.OpExecuted)
    ]
    assert ran == [
        ("aten::to", "CPU:0", "thread 9 (python)"),
        ("aten::linear", "CPU:0", "thread 9 (python)"),
        ("gemm", "GPU:0", "stream 7"),
        ("nccl", "GPU:0", "stream 20"),
        ("aten::item", "CPU:0", "thread 9 (python)"),
        ("Memset (Device)", "GPU:0", "stream 7"),
        ("relu", "GPU:1", "stream 7"),
    ]
    assert record.copies == [("CPU:0", "GPU:0", 4096), ("GPU:0", "GPU:1", 8), ("GPU:0", "CPU:0", 4)]
    kinds = [event.kind for event in record.events if isinstance(event, tf.runtime.Copied)]
    assert kinds == ["upload", "move", "read"]


def test_times_are_measured_and_absolute(tmp_path: Path) -> None:
    record = opened(tmp_path, kineto(steps=1))

    [gemm] = [event for event in record.events if getattr(event, "op", "") == "gemm"]
    assert (gemm.timing, gemm.seconds) == ("finished", pytest.approx(300e-6))
    assert gemm.start == pytest.approx(200e-6)
    assert gemm.time == pytest.approx(1_700_000_000 + 500e-6, abs=1e-6)
    assert [event.layer for event in record.events if getattr(event, "op", "") in ("aten::linear", "aten::item")] == [
        "forward",
        "",
    ]


def test_the_timeline_draws_overlapping_kernels_where_they_ran(tmp_path: Path) -> None:
    schedule = timed(opened(tmp_path, kineto(steps=1)).snapshot())

    assert (schedule.clock, schedule.lanes) == ("measured", ("CPU:0", "GPU:0", "GPU:1"))
    starts = {work.op: work.start for work in schedule.ops_on("GPU:0")}
    assert starts["nccl"] - starts["gemm"] == pytest.approx(100e-6)  # they overlap
    assert schedule.unclocked == 0


def test_figures_add_up(tmp_path: Path) -> None:
    figures = opened(tmp_path, kineto(steps=2)).figures

    shares = {share.device: share for share in figures.shares}
    assert shares["GPU:0"].compute == pytest.approx(2 * 410e-6)
    assert shares["GPU:0"].copies == pytest.approx(2 * 155e-6)
    for share in figures.shares:
        assert share.compute + share.copies + share.idle == pytest.approx(figures.seconds)
    assert [step.name for step in figures.steps] == ["ProfilerStep#0", "ProfilerStep#1"]
    step = next(share for share in figures.steps[1].shares if share.device == "GPU:0")
    assert (step.seconds, step.compute) == (pytest.approx(1e-3), pytest.approx(410e-6))
    [wait] = figures.waits
    assert (wait.call, wait.op, wait.calls) == ("cudaStreamSynchronize", "aten::item", 2)
    assert wait.seconds == pytest.approx(700e-6)
    streams = {(use.device, use.track): use.seconds for use in figures.tracks}
    assert streams["GPU:0", "stream 20"] == pytest.approx(600e-6)


def test_gaps_name_what_ran_before_and_after(tmp_path: Path) -> None:
    trace = {
        "traceEvents": [
            piece("kernel", "a", 0, 500, device=0, stream=1),
            piece("kernel", "b", 10, 20, device=0, stream=2),
            piece("kernel", "c", 800, 10, device=0, stream=1),
        ]
    }
    [gap] = opened(tmp_path, trace).figures.gaps

    assert (gap.preceding, gap.following, gap.start) == ("a", "c", pytest.approx(500e-6))
    assert gap.seconds == pytest.approx(300e-6)


def test_what_is_not_shown_is_counted(tmp_path: Path) -> None:
    figures = opened(tmp_path, kineto(steps=3)).figures

    assert figures.left_out == {
        "python_function": 3,
        "ac2g": 3,
        "nested ops": 9,
        "calls of the runtime": 6,
    }
    assert any(line.startswith("not shown: 3") for line in trace_in_words(figures))
    assert json.loads(json.dumps(figures.as_data()))["left_out"] == dict(figures.left_out)


def test_memory_of_cards_becomes_levels(tmp_path: Path) -> None:
    record = opened(tmp_path, kineto(steps=3))

    grown = [event for event in record.events if isinstance(event, tf.runtime.Allocated)]
    assert [(event.nbytes, event.in_use, event.pool, event.library) for event in grown] == [
        (512, 512, 2 << 20, "PyTorch"),
        (512, 1024, 2 << 20, "PyTorch"),
        (512, 1536, 2 << 20, "PyTorch"),
    ]
    assert grown[1].time == pytest.approx(1_700_000_000 + 1100e-6, abs=1e-6)
    assert record.snapshot().library_peaks == {("PyTorch", grown[0].device): 1536}
    assert [(device.name, device.model, device.limit) for device in record.devices] == [
        ("CPU:0", "", 0),
        ("GPU:0", "NVIDIA T4", 15 << 30),
        ("GPU:1", "NVIDIA T4", 0),
    ]


def test_tensorflow_traces_have_streams_and_no_repeated_lines(tmp_path: Path) -> None:
    record = opened(tmp_path, gzip.compress(json.dumps(tensorflow()).encode()), "trace.json.gz")

    ops = [(event.op, event.node) for event in record.events if isinstance(event, tf.runtime.OpExecuted)]
    assert ops == [("EagerExecute: MatMul", "python"), ("volta_sgemm_128x64_nn", "Stream #14(Compute)")]
    assert record.copies == [("CPU:0", "GPU:0", 65536), ("GPU:0", "CPU:0", 4)]
    assert record.figures.left_out == {"pieces of lines that repeat others": 1, "Python functions": 1}


@pytest.mark.parametrize("trace", [kineto(), tensorflow()])
def test_ops_are_those_that_the_recording_counts(tmp_path: Path, trace: Any) -> None:
    record = opened(tmp_path, trace)

    ops = [event for event in record.events if isinstance(event, tf.runtime.OpExecuted)]
    assert record.ops == [(event.op, tf.runtime.short_name(event.device)) for event in ops]
    assert f": {len(record.ops)} ops, " in repr(record)


def test_own_exports_are_read_with_modelled_times(tmp_path: Path) -> None:
    tf.runtime.simulate_gpus(2, memory="1GiB")
    with tf.runtime.recording() as record:
        x = tf.ones([100, 100])
        with tf.device("GPU:1"):
            (x + 1.0).numpy()
    again = opened(tmp_path, {"traceEvents": trace_events(record.events, tf.runtime.devices(), str)})

    executed = [event for event in record.events if isinstance(event, tf.runtime.OpExecuted)]
    ops = [event for event in again.events if isinstance(event, tf.runtime.OpExecuted)]
    assert sorted(event.op for event in ops) == sorted(event.op for event in executed)
    assert sorted(again.copies) == sorted(record.copies)
    assert timed(again.snapshot()).clock == "modelled"
    assert again.snapshot().peaks == record.snapshot().peaks


def test_an_opened_trace_can_be_saved_and_read(tmp_path: Path) -> None:
    from nbtf._record.saved import Surroundings, save_recording

    record = opened(tmp_path, kineto(steps=2))
    save_recording(tmp_path / "t.nbtf", record.recorder, Surroundings(record.devices, {}, None, {}, {}))
    again = tf.runtime.read_recording(tmp_path / "t.nbtf")

    assert list(again.events) == list(record.events)


def test_a_bare_list_may_lack_its_end(tmp_path: Path) -> None:
    events = [piece("kernel", f"k{number}", number, 1, device=0, stream=1) for number in range(100)]
    text = json.dumps(events).encode()
    for end in (len(text) - 1, len(text) - 40, len(text) // 2):
        record = opened(tmp_path, text[:end])
        assert record.figures.is_cut
        assert 0 < record.snapshot().executed <= 100
    assert not opened(tmp_path, text).figures.is_cut
    assert opened(tmp_path, text[:-1] + b",").snapshot().executed == 100


def test_a_begin_and_an_end_are_one_piece(tmp_path: Path) -> None:
    begin = piece("cpu_op", "aten::mm", 5, 0)
    begin |= {"ph": "B"}
    trace = [*named(9, 9, "python", "main"), begin, {"ph": "E", "pid": 9, "tid": 9, "ts": 25}]

    [event] = opened(tmp_path, trace).events

    assert (event.op, event.seconds) == ("aten::mm", pytest.approx(20e-6))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"[1, 2",
        b'{"traceEvents": []}',
        b'{"traceEvents": [{"ph": "X", "name": "x", "ts": 1, "dur": 1}]}',
        b'{"traceEvents": [{"ph": "X"',
        b'{"traceEvents": ' + b"[" * 100_000,
        b"[" * 100_000,
        b'[{"ph": "X", "cat": "kernel", "ts": 1e999, "dur": NaN, "name": "x"}]',
        b"\x1f\x8b broken",
        b'[{"a": ' + b"9" * 5000 + b"}]",
        bytes(range(256)),
    ],
    ids=lambda content: content[:20].hex(),
)
def test_files_that_are_no_traces_raise_one_error(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(tf.errors.DataLossError, match="trace"):
        opened(tmp_path, content)


def test_the_text_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = kineto(steps=2)
    trace["note"] = {"text": "é" * 50, "numbers": [1, 2.5, -3e2]}
    expected = [*opened(tmp_path, trace).events]
    for size in (1, 2, 7, 64):
        monkeypatch.setattr(json_stream, "_CHUNK", size)
        assert [*opened(tmp_path, json.dumps(trace, ensure_ascii=False).encode()).events] == expected

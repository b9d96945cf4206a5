"""Traces that PyTorch's profiler writes on this machine: the ops, their times, and the annotations around them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")  # of older releases
def test_a_trace_of_the_profiler_is_read(tmp_path: Path) -> None:
    layer, data = torch.nn.Linear(8, 8), torch.randn(4, 8)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        with torch.profiler.record_function("my step"):
            layer(data).sum().backward()
        data.sum().item()
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))

    record = tf.runtime.read_trace(tmp_path / "trace.json")

    executed = [event for event in record.events if isinstance(event, tf.runtime.OpExecuted)]
    names = [event.op for event in executed]
    assert {"aten::linear", "aten::sum", "aten::item"} <= {*names}
    assert "aten::addmm" not in names  # it is inside aten::linear
    written = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    [linear] = [event for event in executed if event.op == "aten::linear"]
    [own] = [event for event in written if event.get("name") == "aten::linear"]
    assert linear.seconds == pytest.approx(own["dur"] * 1e-6)
    assert linear.layer == "my step"
    assert record.figures is not None
    assert record.figures.left_out["nested ops"] > 0

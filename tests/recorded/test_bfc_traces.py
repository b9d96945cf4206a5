"""Does the allocator do what TensorFlow's did, step by step?"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.devices import replay_bfc_traces
from tests.devices.replay_bfc_traces import Replay, differences

_RECORDED = Path(__file__).with_name("bfc_traces.json")
_DUMPS: list[dict[str, Any]] = json.loads(_RECORDED.with_name("bfc_dumps.json").read_text(encoding="utf-8"))["dumps"]
_TRACES: list[dict[str, Any]] = json.loads(_RECORDED.read_text(encoding="utf-8"))["traces"]


@pytest.mark.parametrize("trace", _TRACES, ids=lambda trace: trace["id"])
def test_trace_is_as_recorded(trace: dict[str, Any]) -> None:
    assert [] == list(differences(trace))


@pytest.mark.parametrize("dump", _DUMPS, ids=lambda dump: dump["id"])
def test_out_of_memory_dump_is_as_recorded(dump: dict[str, Any]) -> None:
    replay = Replay(dump["config"])
    for step in dump["steps"]:
        replay.do(step)

    assert replay.allocator.allocate(dump["failing_bytes"]) is None
    assert dump["report"] == replay.allocator.report(dump["failing_bytes"]).split("\n")


def test_all_ten_traces_are_there() -> None:
    assert [f"B{number:02}" for number in range(1, 11)] == [trace["id"][:3] for trace in _TRACES]


def _changed(**step: Any) -> dict[str, Any]:
    trace = json.loads(json.dumps(_TRACES[0]))
    trace["steps"][2]["expect"] |= step
    return trace


def test_a_wrong_figure_in_a_step_is_found() -> None:
    assert ["step 2: offset is 512, recorded 256"] == list(differences(_changed(offset=256)))


@pytest.mark.parametrize("key", ["bins", "largest_free_chunk", "fragmentation", "next_region_bytes", "occupancy"])
def test_a_wrong_final_figure_is_found(key: str) -> None:
    trace = _changed()
    trace["final"][key] = "wrong"

    (difference,) = differences(trace)

    assert difference.startswith(f"final: {key} is ")


def test_a_wrong_statistic_is_found() -> None:
    trace = _changed()
    trace["final"]["stats"]["num_allocs"] += 1

    assert ["final stats: num_allocs is 7, recorded 8"] == list(differences(trace))


def test_a_wrong_chunk_is_found() -> None:
    trace = _changed()
    trace["final"]["regions"][0]["chunks"][0]["requested"] += 1

    assert 1 == len(list(differences(trace)))


def test_unknown_settings_are_refused() -> None:
    trace = _changed()
    trace["config"]["colour"] = "red"

    with pytest.raises(ValueError, match="unknown settings"):
        list(differences(trace))


def test_command_counts_what_passed(tmp_path: Path) -> None:
    file = tmp_path / "traces.json"
    file.write_text(json.dumps({"traces": [_TRACES[0], _changed(size=1)]}), encoding="utf-8")

    run = subprocess.run(
        [sys.executable, replay_bfc_traces.__file__, str(file)], capture_output=True, text=True, check=False
    )

    assert (1, "1 passed, 1 failed") == (run.returncode, run.stdout.splitlines()[-1])

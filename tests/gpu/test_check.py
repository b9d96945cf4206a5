"""Does the program that checks a GPU work? Tested on a fake GPU and with made-up results."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from nbtf._devices.cuda.probe import Probe
from tests.gpu import check
from tests.gpu.stages import STAGES, Stage
from tests.gpu.stages.record import Record
from tests.gpu.stages.timing import finished, per_call
from tests.gpu.summary import summary


def results(**more: Any) -> dict[str, Any]:
    stage = {
        "number": 8,
        "name": "cost of an op",
        "seconds": 1.0,
        "passed": True,
        "error": "",
        "checks": [],
        "targets": [],
    }
    return {"card": "X", "date": "2026-01-02", "quick": False, "fake": False, "seconds": 2.0, "stages": [stage | more]}


def test_without_a_gpu_it_says_why_and_changes_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(check, "probe", lambda environ: Probe((), "There is no NVIDIA driver."))

    assert 2 == check.main(["--out", str(tmp_path / "out")])

    assert (
        "No GPU to check: There is no NVIDIA driver. Run `nbtf doctor` to find out how to fix this.\n"
        == capsys.readouterr().out
    )
    assert not (tmp_path / "out").exists()


def test_all_stages_run_on_a_fake_gpu(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(check, "SLACK", 100)  # the machine may be busy, and this test measures nothing

    status = check.main(["--fake", "--quick", "--out", str(tmp_path)])

    told = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [] == [one["error"] or one["checks"] for one in told["stages"] if not one["passed"]]
    assert (0, len(STAGES)) == (status, len(told["stages"]))
    assert "all figures are meaningless" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert len(STAGES) + 2 == len(capsys.readouterr().out.splitlines())


def test_one_stage_can_be_chosen(tmp_path: Path) -> None:
    assert 0 == check.main(["--fake", "--quick", "--stage", "13", "--out", str(tmp_path)])

    told = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [13] == [one["number"] for one in told["stages"]]


def test_stages_are_numbered_as_in_the_plan() -> None:
    assert list(range(19)) == [one.number for one in STAGES]
    assert sum(one.seconds for one in STAGES) <= 840


def test_a_stage_that_crashes_costs_that_stage(tmp_path: Path) -> None:
    told = check.run(Stage(99, "none", "none", 60), tmp_path, quick=True, fake=True)

    assert (False, "IndexError") == (told["passed"], told["error"].strip().splitlines()[-1].partition(":")[0])


def test_a_stage_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    told = check.run(STAGES[0]._replace(seconds=0), tmp_path, quick=True, fake=True)

    assert (False, "stopped after 0 s") == (told["passed"], told["error"])


@pytest.mark.parametrize(("measured", "passed"), [(7.9, True), (8, True), (8.1, False), (math.nan, False)])
def test_a_target_is_the_most_that_may_be(measured: float, passed: bool) -> None:
    record = Record()

    record.target("an op", measured, 8, 4, "µs")

    assert [passed] == [one["passed"] for one in record.targets]


def test_the_error_of_the_model_is_of_what_was_measured() -> None:
    record = Record()

    record.model("a copy", modelled=3.0, measured=4.0, unit="ms")

    assert [-0.25] == [one["error"] for one in record.models]


def test_results_survive_being_written(tmp_path: Path) -> None:
    record = Record()
    record.fact("card", object)
    record.check("right", False, ValueError("no"))

    record.write(tmp_path / "1.json")

    told = json.loads((tmp_path / "1.json").read_text(encoding="utf-8"))
    assert ["no"] == [one["detail"] for one in told["checks"]]


def test_the_summary_shows_targets_that_are_missed() -> None:
    target = {"what": "an op", "measured": 9.0, "must": 8, "goal": 4, "unit": "µs", "passed": False}

    assert "| an op | 9 µs | ≤ 8 µs | ≤ 4 µs | **fail** |" in summary(results(targets=[target], passed=False))


def test_the_summary_shows_what_failed_and_where() -> None:
    check = {"what": "values | all", "passed": False, "detail": "3 are\nwrong"}

    text = summary(results(checks=[check], error="Traceback\nKeyError: 1", passed=False))

    assert "| cost of an op | values \\| all | 3 are wrong |" in text
    assert "| cost of an op | the process | KeyError: 1 |" in text


def test_the_summary_states_the_error_of_the_model() -> None:
    model = {"what": "1 GiB in", "modelled": 17.0, "measured": 25.0, "unit": "ms", "error": -0.32}

    assert "| 1 GiB in | 17 ms | 25 ms | -32% |" in summary(results(models=[model]))


def test_the_summary_says_what_one_card_cannot_show() -> None:
    assert "One card is not enough to test" in summary(results())


def test_the_garbage_collector_is_on_again_after_a_measurement() -> None:
    import gc

    rounds: list[int] = []

    timed = per_call(lambda: rounds.append(1), count=3, rounds=2)

    assert (9, True) == (len(rounds), gc.isenabled())
    assert 0 < timed.least <= timed.middle


def test_what_takes_time_on_the_card_is_waited_for() -> None:
    steps: list[str] = []

    finished(lambda: steps.append("work"), lambda: steps.append("wait"), rounds=1, warm=1)

    assert ["wait", "work", "wait"] * 2 == steps


def test_a_trace_of_pytorchs_is_replayed() -> None:
    from tests.gpu.stages.torch_memory import replay

    mib = 1 << 20
    events = [
        ["segment_alloc", 0, 20 * mib, 0],
        ["alloc", 0, 3 * mib, 0],
        ["alloc", 3 * mib, 2 * mib, 0],
        ["free_requested", 0, 3 * mib, 0],
        ["free_completed", 0, 3 * mib, 0],
        ["segment_alloc", 64 * mib, 50 * mib, 0],
        ["alloc", 64 * mib, 50 * mib, 0],
        ["free_completed", 64 * mib, 50 * mib, 0],
        ["segment_free", 64 * mib, 50 * mib, 0],
    ]

    allocator, held = replay(events, 1 << 30)

    assert allocator.level() == (2 * mib, 20 * mib)
    assert allocator.stats()["reserved_bytes.all.peak"] == 70 * mib
    assert [*held] == [3 * mib]


def test_predictions_are_compared_but_for_workspaces() -> None:
    from tests.gpu.stages.torch_predicted import compare

    record = Record()
    compare(record, "growing", [100, 200], [100, 200], 8)
    compare(record, "sorting", [100, 200], [108, 200], 8)
    compare(record, "emptied", [100, 200], [101, 200], 8)
    compare(record, "LSTM", [100, 200], [3 << 20, 4 << 20], 8)

    assert [check["passed"] for check in record.checks] == [True, True, False]
    assert [*record.figures] == ["LSTM: workspaces and modelled memory"]
    assert len(record.models) == 8


@pytest.mark.parametrize("name", ["growing", "LSTM"])
def test_what_was_predicted_is_still_predicted(name: str) -> None:
    pytest.importorskip("torch")
    from tests.gpu.stages.torch_predicted import PREDICTED, PROGRAMS, predict

    predicted = json.loads(PREDICTED.read_text(encoding="utf-8"))

    assert {*PROGRAMS} == {*predicted}
    assert predict(name) == predicted[name]

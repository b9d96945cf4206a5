"""Do the log and the checks of a cell say where ops ran, why, and from which line?"""

from __future__ import annotations

import csv
import json
import random
import re
from itertools import pairwise
from pathlib import Path

import pytest

import nbtf as tf
from nbtf.notebook.magics.placement_log import grouped
from tests.machines import LOCAL, machine
from tests.notebook.conftest import Shell

MIXED = ("a = tf.constant([1.0])", "with tf.device('GPU:1'):", "    b = a + a")


def test_log_has_device_reason_and_code_line_of_each_op(shell: Shell) -> None:
    number = shell.ip.execution_count
    shell.run(*MIXED)

    rows = shell.run("%placement_log").result.to_dict()["rows"]

    assert [
        {
            "op": "_EagerConst",
            "device": "GPU:0 (simulated)",
            "why": "lowest-numbered GPU",
            "code": f"cell {number}, line 1: a = tf.constant([1.0])",
        },
        {
            "op": "AddV2",
            "device": "GPU:1 (simulated)",
            "why": "asked for by tf.device",
            "code": f"cell {number}, line 3: b = a + a",
        },
    ] == rows


def test_log_of_some_ops_says_how_many_there_are(shell: Shell) -> None:
    shell.run("for _ in range(5): c = tf.constant(1.0) + 1.0")

    log = shell.run("%placement_log show -n 2 --op Add* --device GPU:0").result

    assert (2, "5 ops, the last 2 shown") == (len(log.rows), repr(log).splitlines()[-1])


def test_table_counts_ops_and_copies(shell: Shell) -> None:
    shell.run(*MIXED)

    assert """\
op           device                                 count  bytes out  why
AddV2        GPU:1 (simulated)                          1        4 B  asked for by tf.device
_EagerConst  GPU:0 (simulated)                          1        4 B  lowest-numbered GPU
(copy)       GPU:0 (simulated) → GPU:1 (simulated)      2        8 B  input elsewhere
2 ops, 2 copies of tensors""" == repr(shell.run("%placement_log table --all").result)


def test_constants_and_small_copies_are_folded(shell: Shell) -> None:
    shell.run(*MIXED)

    assert """\
op     device             count  bytes out  why
AddV2  GPU:1 (simulated)      1        4 B  asked for by tf.device
2 ops, 2 copies of tensors
folded: 1 constant, 2 copies < 4 KiB (`--all` shows them)""" == repr(shell.run("%placement_log table").result)
    assert """\
op     device             why                     code
AddV2  GPU:1 (simulated)  asked for by tf.device  cell 1, line 3: b = a + a
2 ops
folded: 1 constant (`--all` shows them)""" == repr(shell.run("%placement_log").result)


@pytest.mark.parametrize(("length", "folded"), [(1023, 1), (1024, 0)])
def test_copies_from_4_kib_on_are_not_folded(shell: Shell, length: int, folded: int) -> None:
    shell.run(f"a = tf.ones([{length}])", "with tf.device('GPU:1'): b = tf.negative(a)")

    shown = repr(shell.run("%placement_log table").result)

    assert (bool(folded), not folded) == ("1 copy < 4 KiB" in shown, "(copy)" in shown)


@pytest.mark.parametrize("seed", range(6))
def test_folded_and_shown_add_up_to_everything(shell: Shell, seed: int) -> None:
    order = random.Random(seed)
    for _ in range(20):
        length, gpu = order.choice([1, 700, 1023, 1024, 5000]), order.randrange(2)
        shell.run(f"a = tf.ones([{length}])", f"with tf.device('GPU:{gpu}'): b = tf.negative(a) + 1.0")

    log, whole = (shell.run(f"%placement_log table {option}").result for option in ("", "--all"))

    copies = [row for row in log.rows if row["op"] == "(copy)"]
    small, constants = (
        sum(row["count"] for row in log.rows if "small" in row),
        sum(row["count"] for row in log.rows if row["op"] == "_EagerConst"),
    )
    for name in ("count", "nbytes"):
        assert sum(row[name] for row in log.rows) == sum(row[name] for row in whole.rows)
    assert all((row["nbytes"] < 4096 * row["count"]) == ("small" in row) for row in copies)
    assert log.notes[1:] == [
        f"folded: {constants} constants, {small} {'copy' if small == 1 else 'copies'} < 4 KiB (`--all` shows them)"
    ]


def test_constants_that_are_asked_for_are_not_folded(shell: Shell) -> None:
    shell.run("c = tf.constant(1.0)")

    for action in ("show", "table"):
        shown = repr(shell.run(f"%placement_log {action} --op _Eager*").result)
        assert ("_EagerConst", False) == (shown.splitlines()[1].split()[0], "folded" in shown)


def test_folded_constants_and_copies_are_checked(shell: Shell) -> None:
    error = shell.run("%%placement --expect _EagerConst=GPU:1 --no-copies", *MIXED).error

    assert {"_EagerConst", "copies"} <= set(" ".join(getattr(error, "lines", ())).replace(":", " ").split())


def test_copies_are_seen_though_rows_are_cut(shell: Shell) -> None:
    shell.run(
        "v = tf.ones([2000])",
        "for i in range(70):",
        "    with tf.device(f'GPU:{i + 1}'):",
        "        w = tf.identity(v)",
    )
    shown = repr(shell.run("%placement_log table").result)

    assert "(copy)" in shown.partition("more rows")[0]
    assert "more rows: to_dict() has all" in shown


FUNCTION = """
@tf.function
def double(x):
    return x + x
for length in (2, 3, 3):
    double(tf.ones([length]))
"""


def test_log_and_table_say_when_functions_were_traced_and_why_again(shell: Shell) -> None:
    shell.run(FUNCTION)
    log, counts = (repr(shell.run(f"%placement_log {action}").result) for action in ("show -n 100", "table"))

    assert 2 == log.count("(trace)")
    assert "double(x: float32[2])" in log
    assert "double again, trace 2: x is float32[3] and was float32[2]" in log
    assert log.index("trace 2") < log.rindex("AddV2")
    assert "traced: double 2 times" in log
    assert "traced: double 2 times" in counts
    assert "(trace)" not in repr(shell.run("%placement_log --op AddV2").result)


def test_traces_before_the_ops_that_are_shown_are_left_out(shell: Shell) -> None:
    shell.run(FUNCTION)
    text = repr(shell.run("%placement_log -n 1").result)

    assert "(trace)" not in text
    assert "traced" not in text


def test_table_is_exact_though_the_events_are_no_longer_kept() -> None:
    with machine(2):
        with tf.runtime.recording(capacity=1) as record:
            a = tf.zeros([4])
            for _ in range(3):
                with tf.device("GPU:1"):
                    tf.negative(a)

        rows = [(row["op"], row["count"], row["nbytes"]) for row in grouped(record.snapshot()).rows]
    assert [("Fill", 1, 16), ("Neg", 3, 48), ("_EagerConst", 2, 4), ("(copy)", 3, 48)] == rows


def test_clearing_says_how_much_was_forgotten(shell: Shell) -> None:
    shell.run("c = tf.constant(1.0)")

    assert "cleared 6 events\n" == shell.run("%placement_log clear").out
    assert "0 ops" == repr(shell.run("%placement_log").result)


@pytest.mark.parametrize("view", ["plane", "stacked", "treemap"])
def test_after_clearing_pictures_of_memory_begin_with_what_is_there(shell: Shell, view: str) -> None:
    shell.run("tf.runtime.simulate_gpus(1)", "a = tf.zeros([2**18])", "b = tf.zeros([2**18])")
    shell.run("%placement_log clear", "del a")

    assert re.search(r"\b1 MiB (of .* )?in use", repr(shell.run(f"%gpu_memory --{view}").result))


def test_printing_is_cut_after_200_lines_of_a_cell(shell: Shell) -> None:
    shell.run("%placement_log on", "c = tf.constant(1.0)")
    lines = shell.run("for _ in range(1500): d = c * c").out.splitlines()
    shell.run("%placement_log off")

    assert (201, "… 1,300 more in this cell: %placement_log table") == (len(lines), lines[-1])
    assert "" == shell.run("d = c * c").out


def test_line_is_printed_once_when_both_logs_are_on(shell: Shell) -> None:
    tf.debugging.set_log_device_placement(True)
    shell.run("%placement_log on")

    assert 1 == shell.run("c = tf.constant(1.0)").out.count("Executing op")


@pytest.mark.parametrize("line", ["wrong", "show extra", "-n 0", "-n x", "export", "export file.txt", "--format png"])
def test_malformed_log_options_are_a_usage_error_of_one_line(shell: Shell, line: str) -> None:
    out = shell.run(f"%placement_log {line}").out

    assert (True, 1) == (out.startswith("UsageError: %placement_log"), out.count("\n"))


# %%placement


def test_placement_of_a_cell_is_shown(shell: Shell) -> None:
    shell.run("c = tf.constant(1.0)")
    number = shell.ip.execution_count

    shown = shell.run("%%placement", "d = c * c").out

    assert (
        f"""\
op   device             why                  code
Mul  GPU:0 (simulated)  lowest-numbered GPU  cell {number}, line 2: d = c * c
1 op
"""
        == shown
    )


def test_difference_to_the_run_before_is_shown(shell: Shell) -> None:
    body = ("c = tf.constant(1.0)", "with tf.device(where): d = c * c")
    said: list[str] = []
    for where in ("GPU:1", "GPU:1", "GPU:7"):
        shell.ip.user_ns["where"] = where
        said.append(shell.run("%%placement --diff", *body, cell_id="one").out)

    assert [
        "First run of this cell: the next run will be compared with it.\n",
        "No change since the last run of this cell.\n",
        "- Mul on GPU:1 (simulated): asked for by tf.device\n"
        "+ Mul on GPU:0 (simulated): asked for GPU:7, soft placement\n",
    ] == said


@pytest.mark.parametrize(
    "ids", [("one", "one"), ("one", "two"), (None, "two"), ("one", None), (None, None)], ids=lambda ids: f"{ids}"
)
def test_a_run_is_compared_with_the_one_before_of_the_same_id_or_text(
    shell: Shell, ids: tuple[str | None, str | None]
) -> None:
    for at, cell_id in enumerate((*ids, "other")):
        where = "with tf.device('GPU:1'): d = c * c" if cell_id == "other" else "d = c * c"
        ran = shell.run("%%placement --diff", f"c = tf.constant({float(cell_id == 'other')})", where, cell_id=cell_id)

        assert (at == 1) == (ran.out == "No change since the last run of this cell.\n")


def test_a_device_of_a_machine_that_is_gone_is_still_told_as_simulated(shell: Shell) -> None:
    for gpus in (3, 1):
        tf.runtime.restart()
        tf.runtime.simulate_gpus(gpus)
        ran = shell.run("%%placement --diff", "with tf.device('GPU:2'): c = tf.eye(2) @ tf.eye(2)", cell_id="one")

    assert "- MatMul on GPU:2 (simulated): asked for by tf.device\n" in ran.out


def test_cell_as_expected_says_nothing(shell: Shell) -> None:
    ran = shell.run(
        "%%device GPU:1", "%%placement --expect AddV2=GPU:1 _Eager*=GPU:1 --no-copies", "c = 1.0 + tf.constant(1.0)"
    )

    assert ("", None) == (ran.out, ran.error)


def test_cell_not_as_expected_fails(shell: Shell) -> None:
    number = shell.ip.execution_count
    ran = shell.run("%%placement --expect AddV2=GPU:0 --no-copies", *MIXED)

    assert isinstance(ran.error, tf.runtime.ExpectationError)
    assert (
        "- AddV2 on GPU:0",
        "+ AddV2 on GPU:1 (simulated): asked for by tf.device",
        f"    cell {number}, line 4: b = a + a",
        "- no copies",
        "+ 2 copies from GPU:0 (simulated) to GPU:1 (simulated), 8 B",
        f"    cell {number}, line 4: b = a + a",
    ) == ran.error.lines
    assert 1 == ran.out.count("ExpectationError: placement is")


def test_rules_of_several_options_all_hold(shell: Shell) -> None:
    error = shell.run("%%placement --expect AddV2=GPU:1 --expect _EagerConst=GPU:0", "c = tf.add(1.0, 2.0)").error

    assert ("- AddV2 on GPU:1", "+ AddV2 on GPU:0 (simulated): lowest-numbered GPU") == getattr(error, "lines", ())[:2]


def test_check_does_not_hide_the_error_of_a_cell(shell: Shell) -> None:
    assert isinstance(shell.run("%%placement --expect MatMul=GPU:0", "1/0").error, ZeroDivisionError)


# Exports


def test_csv_has_a_line_for_each_event_and_names_its_schema(shell: Shell) -> None:
    shell.run(*MIXED)
    said = shell.run("%placement_log export 'my log.csv'").out

    rows = list(csv.DictReader(Path("my log.csv").read_text(encoding="utf-8").splitlines()))

    assert f"wrote {len(rows)} events to my log.csv\n" == said
    assert {"nbtf-events/1"} == {row["schema"] for row in rows}
    assert ["_EagerConst", "AddV2"] == [row["op"] for row in rows if row["kind"] == "placed"]
    assert ["upload", "move", "move"] == [row["copy"] for row in rows if row["kind"] == "copied"]
    pools = {str(device.pool) for device in tf.runtime.devices() if device.device_type == "GPU"}
    assert pools == {row["pool"] for row in rows if row["kind"] == "allocated"}


def test_file_may_be_in_the_home_folder(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    shell.run("%placement_log export ~/log.csv")

    assert (tmp_path / "log.csv").is_file()


def test_json_says_which_devices_are_simulated_and_which_times_modelled(shell: Shell) -> None:
    shell.run(*MIXED)
    shell.run("%placement_log export json")

    told = json.loads(Path("placement_log.json").read_text(encoding="utf-8"))

    assert ("nbtf-events/1", [False, True, True]) == (told["schema"], [one["simulated"] for one in told["devices"]])
    assert {"modelled"} == {event["timing"] for event in told["events"] if "timing" in event}
    assert (told["heard"], 0) == (len(told["events"]), told["cut"])


def test_trace_is_valid_and_names_what_is_simulated_and_modelled(shell: Shell) -> None:
    shell.run(*MIXED, "for _ in range(20): c = b * b")
    shell.run("%placement_log export chrome")

    events = json.loads(Path("placement_trace.json").read_text(encoding="utf-8"))["traceEvents"]

    tracks = {one["tid"]: one["args"]["name"] for one in events if one["name"] == "thread_name"}
    assert {"CPU:0", "GPU:0 (simulated Tesla V100-SXM2-16GB)", "GPU:1 (simulated Tesla V100-SXM2-16GB)"} == set(
        tracks.values()
    )
    slices = [one for one in events if one["ph"] == "X"]
    assert all(one["name"].endswith("(modelled time)") for one in slices)
    assert [] == [one for one in events if one["ph"] != "M" and not (one["ts"] >= 0 and one["tid"] in tracks)]
    for track in tracks:
        ordered = sorted((one["ts"], one["ts"] + one["dur"]) for one in slices if one["tid"] == track)
        assert all(before[1] <= after[0] for before, after in pairwise(ordered)), track
    starts = {one["id"]: one for one in events if one["ph"] == "s"}
    ends = {one["id"]: one for one in events if one["ph"] == "f"}
    assert starts.keys() == ends.keys()
    assert {"e"} == {one["bp"] for one in ends.values()}


def test_exports_have_the_traces_of_functions(shell: Shell, tmp_path: Path) -> None:
    shell.run(FUNCTION)
    for form in ("csv", "json", "chrome"):
        shell.run(f"%placement_log export {tmp_path / form} --format {form}")
    events = json.loads((tmp_path / "json").read_text())["events"]
    traces = [event for event in events if event["kind"] == "traced"]
    rows = [row for row in csv.DictReader((tmp_path / "csv").read_text().splitlines()) if row["kind"] == "traced"]
    marks = [mark for mark in json.loads((tmp_path / "chrome").read_text())["traceEvents"] if mark["ph"] == "i"]

    assert [("double", 1, "x: float32[2]"), ("double", 2, "x: float32[3]")] == [
        (trace["function"], trace["trace"], trace["arguments"]) for trace in traces
    ]
    assert ["", "x: float32[3], before float32[2]"] == [row["differences"] for row in rows]
    assert ["trace 1 of double", "trace 2 of double"] == [mark["name"] for mark in marks]


def test_trace_marks_ops_that_did_not_finish(shell: Shell) -> None:
    shell.run("a = tf.zeros([2, 3])", "tf.zeros([1 << 33])")
    shell.run("%placement_log export chrome")

    events = json.loads(Path("placement_trace.json").read_text(encoding="utf-8"))["traceEvents"]

    assert ["Fill did not finish"] == [one["name"] for one in events if one["ph"] == "i"]


def test_device_names_are_short(shell: Shell) -> None:
    assert LOCAL not in repr(shell.run("%devices").result)

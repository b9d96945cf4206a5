"""Are devices and memory shown as text, HTML and data, and are names only ever text?"""

from __future__ import annotations

import sys
from typing import Any

import pytest

import nbtf as tf
from nbtf.notebook.tables import LONGEST, Column, Table, size, sizes
from tests.machines import machine
from tests.notebook.conftest import Shell


def test_devices_show_card_bus_and_whether_they_are_simulated(shell: Shell) -> None:
    assert """\
device  kind       model                 card  bus id        ops
CPU:0   host       –                        –  –               0
GPU:0   simulated  Tesla V100-SXM2-16GB     0  0000:00:04.0    0
GPU:1   simulated  Tesla V100-SXM2-16GB     1  0000:00:05.0    0
Automatic placement prefers GPU:0.
2 of 2 GPUs are simulated by NumPy on the CPU.""" == repr(shell.run("%devices").result)


def test_devices_show_memory_and_ops_once_they_are_used(shell: Shell) -> None:
    shell.run("a = tf.constant([1.0, 2.0])")

    row = shell.run("%devices").result.to_dict()["rows"][1]

    assert (1536, 1536, 1) == (row["in_use"], row["peak"], row["ops"])


def test_machine_without_a_gpu_says_so(shell: Shell) -> None:
    with machine(0):
        assert ["No GPU is available: ops run on CPU:0."] == shell.run("%devices").result.notes
        assert "No GPU is available. Memory is tracked only for GPUs." == repr(shell.run("%gpu_memory").result)


def test_cards_are_shown_with_the_devices_made_of_them(shell: Shell) -> None:
    cards = tf.config.list_physical_devices("GPU")
    half = tf.config.LogicalDeviceConfiguration(memory_limit=512)
    tf.config.set_logical_device_configuration(cards[1], [half, half])
    tf.config.set_visible_devices(cards[1], "GPU")

    rows = shell.run("%devices --physical").result.rows

    assert [("CPU:0", ["CPU:0"]), ("GPU:0", []), ("GPU:1", ["GPU:0", "GPU:1"])] == [
        (row["physical"], row["devices"]) for row in rows
    ]
    assert [("host", None, None), ("simulated", 0, "0000:00:04.0"), ("simulated", 1, "0000:00:05.0")] == [
        (row["kind"], row["card"], row["bus_id"]) for row in rows
    ]


# Memory


def test_memory_has_exact_bytes_and_a_bar(shell: Shell) -> None:
    shell.run("%%device GPU:1", "a = tf.constant([1.0])")

    told = shell.run("%gpu_memory GPU:1").result

    assert [("GPU:1", "simulated", 1536)] == [(row["device"], row["kind"], row["in_use"]) for row in told.rows]
    assert "█░░░░░░░░░ under 1 %" in repr(told)


def test_peak_can_be_counted_anew(shell: Shell) -> None:
    shell.run("a = tf.constant([1.0])", "del a")

    assert [1536, 1280] == [
        shell.run(line).result.rows[0]["peak"] for line in ("%gpu_memory GPU:0", "%gpu_memory GPU:0 --reset-peak")
    ]


def test_cell_tells_its_peak_and_what_it_kept(shell: Shell) -> None:
    out = shell.run("%%gpu_memory", "a = tf.constant([1.0])", "b = a + a", "del a").out

    assert "GPU:0 (simulated): peak 1,792 B, +256 B kept after the cell\n" == out.splitlines(keepends=True)[0]


def test_cell_that_takes_or_keeps_too_much_fails(shell: Shell) -> None:
    error = shell.run("%%gpu_memory --at-most 1.5KiB --kept 0", "a = tf.constant([1.0])", "b = a + a").error

    assert (
        "- GPU:0 (simulated): peak at most 1,536 B",
        "+ GPU:0 (simulated): peak 1,792 B",
        "- GPU:0 (simulated): kept at most 0 B",
        "+ GPU:0 (simulated): kept 512 B",
    ) == getattr(error, "lines", None)


def test_check_of_memory_does_not_hide_the_error_of_a_cell(shell: Shell) -> None:
    ran = shell.run("%%gpu_memory --at-most 0", "a = tf.constant([1.0])", "1 / 0")

    assert isinstance(ran.error, ZeroDivisionError)
    assert "not as expected" not in ran.out


def test_peak_is_counted_anew_also_where_something_else_is_asked(shell: Shell) -> None:
    shell.run("a = tf.constant([1.0])", "del a")
    shell.run("%gpu_memory --reset-peak --who")

    assert 1280 == shell.run("%gpu_memory GPU:0").result.rows[0]["peak"]


def test_live_and_who_are_two_questions(shell: Shell) -> None:
    assert shell.run("%gpu_memory --live --who").out.startswith("UsageError: %gpu_memory: ")


@pytest.mark.parametrize("line", ["--at-most x", "--kept", "GPU:0"])
def test_malformed_memory_options_are_a_usage_error(shell: Shell, line: str) -> None:
    assert shell.run(f"%%gpu_memory {line}", "1").out.startswith("UsageError: %%gpu_memory: ")


def test_memory_of_a_device_that_is_not_here_is_the_librarys_error(shell: Shell) -> None:
    assert isinstance(shell.run("%gpu_memory GPU:7").error, tf.errors.InvalidArgumentError)


# Tables

NASTY = "<img src=x onerror=alert(1)>"


def test_names_are_text_in_html() -> None:
    shown = Table([Column("op", NASTY)], [{"op": NASTY}], [NASTY])._repr_html_()

    assert (0, 3) == (shown.count("<img"), shown.count("&lt;img src=x"))


def test_long_names_and_line_breaks_stay_in_their_cell() -> None:
    lines = repr(Table([Column("op", "op")], [{"op": "x\n" + "y" * 10_000}])).splitlines()

    assert (2, 120) == (len(lines), len(lines[1]))


def test_rows_that_are_not_shown_are_counted_and_in_the_data() -> None:
    table = Table([Column("n", "n")], [{"n": number} for number in range(100)], limit=60)

    assert "… 40 more rows: to_dict() has all" == repr(table).splitlines()[-1]
    assert 100 == len(table.to_dict()["rows"])


@pytest.mark.parametrize(
    ("count", "lines"), [(60, ["n", *["1"] * 60]), (61, ["n", *["1"] * 60, "… 1 more row: to_dict() has all"])]
)
def test_sixty_rows_are_shown(count: int, lines: list[str]) -> None:
    assert lines == repr(Table([Column("n", "n")], [{"n": 1}] * count)).splitlines()


def test_a_text_as_long_as_a_cell_is_not_cut() -> None:
    assert ["op", "y" * LONGEST] == repr(Table([Column("op", "op")], [{"op": "y" * LONGEST}])).splitlines()


@pytest.mark.parametrize(("nbytes", "shown"), [(None, "–"), (0, "0 B"), (2048, "2,048 B"), (3 << 19, "1.5 MiB")])
def test_sizes_are_short(nbytes: int | None, shown: str) -> None:
    assert shown == size(nbytes)


@pytest.mark.parametrize("form", ["__repr__", "_repr_html_"])
def test_an_empty_column_is_looked_at_once_for_all_rows(form: str) -> None:
    asked: list[object] = []
    empty = Column("none", "none", lambda value: asked.append(value) or "–")  # type: ignore[func-returns-value]

    getattr(Table([Column("n", "n"), empty], [{"n": number} for number in range(50)]), form)()

    assert 50 == len(asked)


def test_columns_line_up_with_wide_characters() -> None:
    lines = repr(Table([Column("a", "a"), Column("b", "b")], [{"a": "図", "b": 1}, {"a": "xyz", "b": 2}])).splitlines()

    assert ["a    b", "図   1", "xyz  2"] == lines


def test_html_has_no_script_or_id_and_no_style_but_that_of_columns(shell: Shell) -> None:
    shown = shell.run("%devices").result._repr_html_()
    assert "<td>" not in shown  # every number stays with its unit
    assert "nowrap" in shown
    for style in ("text-align:left", "white-space:nowrap"):
        shown = shown.replace(f' style="{style}"', "")

    assert [] == [word for word in ("style", "script", " id=") if word in shown]


def test_texts_stand_on_the_left_and_numbers_on_the_right_also_in_html() -> None:
    columns = [Column("op", "op"), Column("count", "count", number=True)]

    shown = Table(columns, [{"op": "Add", "count": 2}])._repr_html_()

    assert '<td style="text-align:left;padding:2px 8px">Add</td>' in shown
    assert '<td style="white-space:nowrap;padding:2px 8px">2</td>' in shown


def test_sizes_are_numbers() -> None:
    assert [True, True] == [column.number for column in sizes(peak="peak", kept="kept")]


def test_rows_become_a_data_frame_where_pandas_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pandas:
        @staticmethod
        def DataFrame(rows: list[Any], columns: list[str]) -> tuple[Any, Any]:  # noqa: N802
            return rows, columns

    monkeypatch.setitem(sys.modules, "pandas", Pandas)  # type: ignore[arg-type]  # all that is used of it

    assert ([[1, None]], ["n", "m"]) == Table([Column("n", "n"), Column("m", "m")], [{"n": 1}]).to_pandas()

"""Which differences of outputs are told, and how?"""

from __future__ import annotations

from typing import Any

import pytest

from nbtf.cli.checking.outputs import LINES_SHOWN, Comparison
from nbtf.cli.checking.sanitizing import BUILT_IN, OPTIONAL, read_rules
from nbtf.cli.limits import Limits
from tests.cli.checking.cells import error, png, result, shown, stream

RULES = read_rules([BUILT_IN])
VIEW = "application_vnd.jupyter.widget-view+json"


def different(recorded: list[Any], printed: list[Any], tolerance: float = 0.0) -> list[str]:
    return Comparison(RULES, Limits(tolerance, vary=OPTIONAL)).differences(recorded, printed)[0]


SVG = '<svg><defs><path id="m{0}"/></defs><use xlink:href="#m{0}"/><dc:date>{1}</dc:date></svg>'


@pytest.mark.parametrize(
    ("recorded", "printed"),
    [
        ([], []),
        ([stream("a\nb\n")], [stream("a\n"), stream("b\n")]),
        ([stream("a\n"), stream("x\n", "stderr"), stream("b\n")], [stream("x\n", "stderr"), stream("a\nb\n")]),
        ([stream("1%\r99%\n")], [stream("99%\n")]),
        ([stream("abc\x08\x08d\n")], [stream("ad\n")]),
        ([result("1"), stream("a")], [stream("a"), result("1")]),
        ([result("1")], [shown(text_plain="1")]),
        ([result("<f at 0x7f00aa12bc30>")], [result("<f at 0x7fffaa12bc99>")]),
        ([stream("took 3.5 ms")], [stream("took 12 s")]),
        ([result("1f0e6f3a-3d4f-4f5a-9a55-0123456789ab")], [result("2f0e6f3a-3d4f-4f5a-9a55-0123456789ab")]),
        ([shown(image_png=png())], [shown(image_png=png(Comment="again"))]),
        ([shown(image_png=png(), text_latex="$x$")], [shown(image_png=png(dots=9), text_latex="$x$")]),
        ([shown(text_html='<b id="T_1">3</b>')], [shown(text_html='<b id="T_2">3</b>')]),
        ([shown(**{"image_svg+xml": SVG.format(1, 2)})], [shown(**{"image_svg+xml": SVG.format(3, 4)})]),
        ([shown(**{VIEW: {"model_id": "a"}})], [shown(**{VIEW: {"model_id": "b"}})]),
        ([error("ValueError", "at 0x7f00aa12bc30")], [error("ValueError", "at 0x7f00aa12bc31")]),
        ([shown(application_json={"b": 1, "a": [2]})], [shown(application_json={"a": [2], "b": 1})]),
    ],
)
def test_outputs_are_the_same(recorded: list[Any], printed: list[Any]) -> None:
    assert different(recorded, printed) == []


MUTATED = {
    "a measured time": ("took 3.2 s", "took 9.9 s", "times"),
    "seconds": ("0.101 seconds", "0.305 seconds", "times"),
    "time of day": ("10:15:30", "10:15:31", "times"),
    "six hexadecimal digits": ("0x00ff7a", "0x00ff7b", "addresses"),
    "UUID": ("1f0e6f3a-3d4f-4f5a-9a55-0123456789ab", "2f0e6f3a-3d4f-4f5a-9a55-0123456789ab", "ids"),
    "number of an output": ("Out[3]", "Out[4]", "counters"),
    "name of an output": ("_12", "_13", "counters"),
}


@pytest.mark.parametrize(("then", "now", "kind"), MUTATED.values(), ids=MUTATED)
def test_values_are_compared_unless_their_kind_may_vary(then: str, now: str, kind: str) -> None:
    def compare(*vary: str) -> tuple[list[str], list[str]]:
        return Comparison(RULES, Limits(vary=vary)).differences([stream(then)], [stream(now)])

    assert compare() == (["stdout:", f"- {then}", f"+ {now}"], [])
    assert [compare(other)[0] == [] for other in OPTIONAL] == [other == kind for other in OPTIONAL]
    assert compare(kind) == ([], [f"1 value not compared ({kind})"])


TQDM = "100%|██████████| 3/3 [{}<00:00, {}it/s{}]\n"

USUALLY_VARYING = {
    "timeit": (
        "1.23 µs ± 4.5 ns per loop (mean ± std. dev. of 7 runs, 1,000,000 loops each)\n",
        "The slowest run took 5.20 times longer than the fastest. This could mean that an intermediate result is being"
        " cached.\n987 ns ± 12 ns per loop (mean ± std. dev. of 7 runs, 1,000,000 loops each)\n",
        "timings",
    ),
    "time": (
        "CPU times: user 2 µs, sys: 1 µs, total: 3 µs\nWall time: 5.01 µs\n",
        "CPU times: total: 15.6 ms\nWall time: 1min 5s\nCompiler : 118 ms\n",
        "timings",
    ),
    "tqdm": (TQDM.format("00:01", "2.87", ""), TQDM.format("1:00:01", "31.5k", ""), "progress"),
    "tqdm, slow": ("2it [00:03,  1.61s/it]", "2it [00:05,  2.71s/it]", "progress"),
    "Keras": ("60/60 ━━━━ 2s 11ms/step - loss: 0.5", "60/60 ━━━━ 1m32s 2s/step - loss: 0.5", "progress"),
    "object": ("<f at 0x7f00aa12bc30>", "<f at 0x7fffaa12bc99>", "objects"),
    "file of a cell": ("/tmp/ipykernel_7/41.py:2: UserWarning", "/tmp/ipykernel_11/41.py:2: UserWarning", "code"),
    "cell": ("cell 3, line 2", "cell 14, line 2", "code"),
}


@pytest.mark.parametrize(("then", "now", "group"), USUALLY_VARYING.values(), ids=USUALLY_VARYING)
def test_what_usually_varies_is_counted_and_not_compared(then: str, now: str, group: str) -> None:
    recorded, printed = [stream(then)], [stream(now)]

    lines, notes = Comparison(RULES).differences(recorded, printed)

    assert (lines, [note.endswith(f"not compared ({group})") for note in notes]) == ([], [True])
    assert Comparison(is_strict=True).differences(recorded, printed)[0] != []


def test_what_stands_beside_a_progress_bar_is_compared() -> None:
    then, now = (TQDM.format("00:01", "2.87", f", loss={loss}") for loss in (0.25, 0.75))

    assert Comparison(RULES).differences([stream(then)], [stream(now)])[0] != []


def test_ids_of_a_page_are_numbered_unless_the_check_is_strict() -> None:
    then, now = ([shown(text_html=f'<b id="T_{number}">3</b>')] for number in (1, 2))

    assert Comparison(RULES).differences(then, now) == ([], ["1 value not compared (ids)"])
    assert Comparison(is_strict=True).differences(then, now)[0] != []


def test_view_that_goes_from_cell_to_cell_is_not_compared() -> None:
    strip = shown(text_plain="A strip") | {"metadata": {"nbtf": {"follows": True}}}

    assert different([result("1")], [strip, result("1")]) == []
    assert different([strip], []) == []
    assert different([], [shown(text_plain="A strip")]) != []


@pytest.mark.parametrize(
    ("recorded", "printed", "lines"),
    [
        ([stream("a\nb\nc\n")], [stream("a\nB\nc\n")], ["stdout:", "- b", "+ B"]),
        ([stream("a\n")], [], ["stdout: no output now, but one is recorded", "- a"]),
        ([], [stream("w\n", "stderr")], ["stderr: output now, but none is recorded", "+ w"]),
        ([stream("a\n")], [stream("a")], ["stdout:", "- 'a\\n'", "+ 'a'"]),
        ([stream("a\n")], [stream("a\n", "stderr")], ["stdout: no output now", "- a", "stderr: output now", "+ a"]),
        ([result("1"), result("2")], [result("2"), result("1")], ["text/plain:", "+ 2", "- 2"]),
        ([error("ValueError", "a")], [error("KeyError", "a")], ["ename:", "- ValueError", "+ KeyError"]),
        ([error("ValueError", "a")], [error("ValueError", "b")], ["evalue:", "- a", "+ b"]),
        ([shown(image_png=png())], [], ["image/png: 0 pictures; recorded: 1"]),
        ([], [shown(image_png=png())], ["image/png: 1 picture; recorded: 0"]),
        (
            [shown(image_png=png())],
            [shown(image_png=png((0, 0, 0)))],
            ["image/png: the picture looks different: 100.00%"],
        ),
        (
            [shown(image_png=png(), text_latex="$x$")],
            [shown(image_png=png(), text_latex="$y$")],
            ["text/latex:", "-", "+"],
        ),
        ([shown(text_html='<b id="T">3</b>')], [shown(text_html='<b id="T">4</b>')], ["text/html:", "- ", "+ "]),
        ([shown(application_json={"a": 1})], [shown(application_json={"a": 2})], ["json:", '-  "a": 1', '+  "a": 2']),
    ],
)
def test_a_difference_is_shown_line_by_line(recorded: list[Any], printed: list[Any], lines: list[str]) -> None:
    told = different(recorded, printed)

    assert len(told) == len(lines), told
    assert [line for line, words in zip(told, lines, strict=True) if words not in line] == []


def test_within_a_tolerance_only_numbers_beyond_it_are_shown() -> None:
    recorded, printed = [stream("loss 0.5\nacc 0.25\n")], [stream("loss 0.50001\nacc 0.35\n")]

    assert different(recorded, printed, tolerance=1e-3) == [
        "stdout:",
        "- acc 0.25",
        "+ acc 0.35",
        "0.25 → 0.35: 0.29 apart, tolerance 0.001",
    ]


def test_numbers_wrapped_elsewhere_are_the_same_within_a_tolerance() -> None:
    assert different([result("[0.1,\n 0.2]")], [result("[0.1000001,  0.2]")], tolerance=1e-5) == []


def test_a_long_difference_is_cut_and_counted() -> None:
    told = different([], [stream("".join(f"line {number}\n" for number in range(40)))])

    assert (len(told), told[-1]) == (LINES_SHOWN + 2, f"… {40 - LINES_SHOWN} more lines")


def test_without_rules_everything_counts() -> None:
    assert Comparison().differences([stream("3 ms")], [stream("4 ms")])[0] == ["stdout:", "- 3 ms", "+ 4 ms"]

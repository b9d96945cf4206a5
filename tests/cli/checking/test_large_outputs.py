"""Is a large output judged in time and memory in proportion to it, and is its difference shown?

Steps are counted, not seconds: lines of Python here, and steps of patterns in `tests/patterns`. With the real command
and 100 MB: `python -m tests.cli.checking.large`.
"""

from __future__ import annotations

import itertools
import random
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtf.cli import line_changes
from nbtf.cli.checking import blocks, long_texts
from nbtf.cli.checking.notebook_check import Plan, check
from nbtf.cli.checking.outputs import Comparison
from nbtf.cli.checking.sanitizing import BUILT_IN, OPTIONAL, Rule, read_rules, sanitized
from nbtf.cli.checking.time_limit import TooSlowError, comparing_within
from nbtf.cli.execution import wait_for
from nbtf.cli.limits import Limits
from tests.cli.checking.cells import cell, save, shown, stream

RULES = read_rules([BUILT_IN])
SMALL_BLOCK = 400


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes texts of a few hundred characters long ones."""
    monkeypatch.setattr(blocks, "BLOCK", SMALL_BLOCK)
    monkeypatch.setattr(long_texts, "BLOCK", SMALL_BLOCK)


def different(then: str, now: str, tolerance: float = 0.0, **content: Any) -> list[str]:
    make: Callable[[str], Any] = (lambda text: shown(text_html=text)) if content.get("html") else stream
    return Comparison(RULES, Limits(tolerance, vary=OPTIONAL)).differences([make(then)], [make(now)])[0]


def prose(lines: int, seconds: str = "3", last: str = "end") -> str:
    return "".join(f"step {number} took {seconds} s, loss 0.25\n" for number in range(lines)) + last + "\n"


def page(cells: int, prefix: str = "T", signs: str = "_") -> str:
    ids = [f"{prefix}{signs}{number:04}" for number in range(cells)]
    return "".join(f'<td id="{name}">1</td>\n' for name in ids) + "".join(f"#{name} {{}}\n" for name in ids)


SHAPES: dict[str, Callable[[int], tuple[str, str]]] = {
    "lines that differ": lambda n: (prose(n), "".join(f"{number * 7919} changed\n" for number in range(n))),
    "lines that vary": lambda n: (prose(n), prose(n, "4", "END")),
    "the same lines in another order": lambda n: (prose(n), "".join(reversed(prose(n).splitlines(keepends=True)))),
    "one line repeated": lambda n: ("a\nb\n" * n, "b\nc\na\n" * n),
    "one long line": lambda n: ("x" * 40 * n + "y", "x" * 40 * n + "z"),
    "backspaces": lambda n: ("x" * n + "\b" * n + "a", "x" * n + "b"),
    "progress": lambda n: ("".join(f"{i}%\r" for i in range(n)) + "a", "".join(f"{i}%\r" for i in range(n)) + "b"),
    "colours": lambda n: ("\x1b[31m1\x1b[0m" * n, "\x1b[32m1\x1b[0m" * n),
}
PAGES: dict[str, Callable[[int], tuple[str, str]]] = {
    "ids": lambda n: (page(n), page(n, "U") + "<b>"),
    "ids with signs": lambda n: (page(n, "T", ":"), page(n, "U", ":") + "<b>"),
    "ids that begin alike": lambda n: (page(n, "a:b:c"), page(n, "a:b:c", ".")),
}


@pytest.mark.parametrize("tolerance", [0.0, 1e-6], ids=["exact", "with a tolerance"])
@pytest.mark.parametrize("is_long", [False, True], ids=["short", "long"])
@pytest.mark.parametrize("shape", [*SHAPES, *PAGES])
def test_twice_the_output_takes_twice_the_lines(
    lines_run: Any, monkeypatch: pytest.MonkeyPatch, shape: str, is_long: bool, tolerance: float
) -> None:
    make = {**SHAPES, **PAGES}[shape]
    monkeypatch.setattr(line_changes, "MOST_LINES", 20)
    if is_long:
        monkeypatch.setattr(blocks, "BLOCK", SMALL_BLOCK)
        monkeypatch.setattr(long_texts, "BLOCK", SMALL_BLOCK)
    pairs = (make(n) for n in (50, 50, 100, 200))
    _, *counts = [  # the first comparison of a program also imports modules
        lines_run(lambda then=then, now=now: different(then, now, tolerance, html=shape in PAGES))
        for then, now in pairs
    ]

    assert counts[2] - counts[1] <= 2.4 * max(counts[1] - counts[0], 300), counts


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("html", [False, True], ids=["stream", "page"])
@pytest.mark.parametrize("seed", range(15))
def test_a_long_text_is_judged_as_a_short_one(monkeypatch: pytest.MonkeyPatch, seed: int, html: bool) -> None:
    chance = random.Random(seed)
    words = ["3 ms", "12.5 s", "cell 3, line 2", "Out[4]", "_7", "  ", "\n", ">\n<", "word", "0x7f3a2b1c4d5e", "'", " "]
    words += ['id="a1"', "#a1", "/tmp/ipykernel_1/22.py", "(3 entries)", "x" * 30]
    then = "".join(chance.choices(words, k=300))
    varied = then.replace("3 ms", "4.75 ms").replace("0x7f3a2b1c4d5e", "0x7f00").replace("_7", "_123")
    now = chance.choice([then, varied, varied.replace("word", "words", 1), varied[:-40], varied + " more"])
    content = "text/html" if html else "text/plain"
    same = sanitized(then, RULES, content) == sanitized(now, RULES, content)
    recorded, printed = (long_texts.LongText.of(text, RULES, content, {}) for text in (then, now))

    assert (long_texts.first_difference(recorded, printed, 0.0) is None) == same


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("size", [300, 399, 400, 401, 1000, 5000])
def test_parts_of_a_text_are_the_text(size: int) -> None:
    chance = random.Random(size)
    text = "".join(chance.choices(["a", " ", "\n", "<b>\n<i>", "'", "1"], k=size))

    assert "".join(part.text for part in blocks.blocks(text)) == text


def test_an_encoded_picture_is_compared_as_it_is() -> None:
    data = "iVBORw0KGgo7s+" * 200_000
    then, now = (f'<img src="data:image/png;base64,{data}{end}" alt="{n} s">' for n, end in ((3, "A"), (4, "A")))

    assert different(then, now, html=True) == []
    told = different(then, now.replace("7s+", "8s+", 1), html=True)
    assert told[:2] == ["text/html:", "first difference about line 1:"]
    assert ["7s+" in told[2], "8s+" in told[3]] == [True, True]


@pytest.mark.parametrize("tolerance", [0.0, 1e-6])
def test_first_difference_of_a_long_output_is_shown_with_what_surrounds_it(tolerance: float) -> None:
    then = prose(40_000)
    now = prose(40_000, "4").replace("step 30000 took 4 s, loss 0.25", "step 30000 took 4 s, loss 0.75")

    told = different(then, now, tolerance)

    assert told[1] == "first difference about line 30,001:"
    assert told[2].startswith("- step 30000 took TIME, loss 0.25")
    assert "+ step 30000 took TIME, loss 0.75" in told
    assert len(told) < 20


def test_a_long_line_is_cut_to_what_surrounds_its_first_difference() -> None:
    told = different("x" * 5000 + "before THEN after", "x" * 5000 + "before NOW after")

    assert [len(line) < 200 for line in told] == [True] * 3
    assert ["before THEN" in told[1], "before NOW" in told[2]] == [True, True]


def test_many_lines_are_not_all_compared_one_by_one() -> None:
    told = different(prose(20_000), "".join(f"{number}\n" for number in range(20_001)))

    assert (told[0], told[1][:8]) == ("stdout:", "- step 0")
    assert "more lines" in told[-1]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("shape", ["one long line", "lines that vary"])
def test_a_comparison_holds_no_second_copy_of_a_long_output(shape: str) -> None:
    then, now = ([stream(text)] for text in SHAPES[shape](10_000))
    tracemalloc.start()
    Comparison(RULES, Limits(vary=OPTIONAL)).differences(then, now)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak <= len(then[0].text) // 4


def test_a_rule_of_the_user_that_takes_forever_is_stopped_and_named(tmp_path: Path) -> None:
    rules = tmp_path / "rules.cfg"
    rules.write_text("regex: (a+)+$\nreplace: A\n")
    path = save(tmp_path / "slow.ipynb", cell("print('a' * 60 + 'b')", stream("a" * 59 + "b\n")))

    verdict = wait_for(check(path, Plan({}, seconds=1, rules=read_rules([rules]))))

    (lines,) = [each.lines for each in verdict.cells]
    assert lines == [
        "not compared: comparing took longer than 1 s (--timeout); the time was spent in the rule '(a+)+$'"
    ]


def test_time_for_comparing_ends_a_pattern() -> None:
    rule = Rule(re.compile("(a+)+$"), "A")

    with pytest.raises(TooSlowError) as raised, comparing_within(0.2):
        sanitized("a" * 60 + "b", [rule])

    assert raised.value.rule == "(a+)+$"


def test_counts_of_any_length_are_compared() -> None:
    assert different("1" * 5000 + "\n", "1" * 4999 + "2\n", 1e-3) != []


def test_shapes_are_different() -> None:
    assert all(then != now for make in itertools.chain(SHAPES.values(), PAGES.values()) for then, now in [make(600)])

"""Is a hostile text explained, or not recognised, in steps that grow linearly?"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import Any

import pytest

from nbtf._error_texts import cleaning
from nbtf._error_texts.error_table import WORDINGS
from nbtf._error_texts.other_memory import MESSAGES
from nbtf._error_texts.recognition import MOST, explain
from nbtf.notebook.error_reports.text import report
from tests.error_texts.generation import matching
from tests.error_texts.hostile import check, hostile_text
from tests.error_texts.messages import CASES
from tests.rings import seeds


@pytest.mark.parametrize("seed", seeds(1000))
def test_generated_texts(seed: int) -> None:
    for number in range(15):
        check(hostile_text(Random(seed * 1000 + number)))


ANCHORS = sorted({wording.anchor for wording in WORDINGS} | {anchor for each in MESSAGES for anchor in each.anchors})
REPEATED = (
    *(
        "CUDA out of memory. Tried to allocate ",
        "Tried to allocate 1 GiB (GPU 0; ",
        "Process 1 has 1 GiB memory in use.",
    ),
    *("Allocator (GPU_0_bfc) ran out of memory trying to allocate ", "InUse at 1 of size 1 next 1\n", "Bin (256): \t"),
    *(
        "| NVIDIA-SMI 535.1 |\n",
        "|   0  a Off | 00000000:00:",
        "\x1b[",
        "\x1b]",
        "[1;",
        "&lt;",
        "&#",
        "[rank0]: ",
        "> ",
        "9,",
        "9",
    ),
    *("memory.used, name\n", "1MiB / 1MiB ", "*" * 99 + "\n", " ", "\n", "│ ", "Limit: ", "x of size ", "(", "`", "'"),
    *("OOM when allocating tensor with shape[1,", "requested, 1 of 1 GiB in use.", "/job:", "on / by allocator "),
)


def events(call: Callable[[], Any]) -> int:
    """Counts calls, lines and calls of C functions."""
    count = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += 1

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("piece", [*REPEATED, *ANCHORS[::7]], ids=repr)
def test_twice_the_text_needs_at_most_twice_the_steps(piece: str) -> None:
    """Steps inside regular expressions are bounded by their counts, which the next test checks."""
    length = max(4000 // len(piece), 8)
    single, double = (events(lambda times=times: explain(piece * length * times)) for times in (1, 2))

    assert double <= 2.3 * single + 600


def test_no_pattern_repeats_a_repetition_without_a_bound() -> None:
    for pattern in [*(wording.pattern for wording in WORDINGS), *(message.pattern for message in MESSAGES)]:
        assert not [quantifier for quantifier in ("*", "+") if quantifier in _unescaped(pattern.pattern)], (
            pattern.pattern
        )


def _unescaped(pattern: str) -> str:
    """A pattern without its classes, escaped characters, and the one group that is repeated after a bound."""
    return re.sub(r"\\.|\[[^\]]*\]|\(\?P<", "", pattern)


def test_a_text_that_is_too_long_is_rejected_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "LONGEST", 1000)

    with pytest.raises(ValueError, match=r"The text has 1,001 characters\. Expected at most 1,000\."):
        explain("x" * 1001)


def test_a_text_with_too_many_lines_is_rejected_but_empty_lines_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "MOST_LINES", 100)

    assert 101 == explain("\n" * 1000 + CASES[0].text + "\n" * 1000).findings[0].line - 900
    with pytest.raises(ValueError, match=r"The text has more than 100 lines\."):
        explain("x\n" * 101)


def test_a_log_with_many_messages_is_bounded() -> None:
    lines = [
        f"CUDA out of memory. Tried to allocate {number}.00 MiB (GPU 0; 8.00 GiB total capacity; 7.00 GiB already "
        "allocated; 1.00 MiB free; 7.50 GiB reserved in total by PyTorch)"
        for number in range(100, 400)
    ]
    explanation = explain("\n".join(lines))

    assert (MOST, 300 - MOST) == (len(explanation.findings), explanation.left_out)
    assert f"{300 - MOST} more messages in this text are not explained." in report(explanation, "en")


def test_a_repeated_message_is_counted() -> None:
    (finding,) = explain((CASES[0].text + "\n") * 500).findings

    assert 500 == finding.times
    assert "line 1, 500 times" in report(explain((CASES[0].text + "\n") * 500), "en")


def test_one_long_line_is_quoted_and_located() -> None:
    (finding,) = explain("x" * 300_000 + " " + CASES[0].text).findings

    assert 1 == finding.line
    assert CASES[0].text.partition(": ")[2] == finding.quote


def test_generated_texts_match_their_patterns() -> None:
    random = Random(5)
    patterns = [wording.pattern for wording in WORDINGS]

    assert [] == [pattern.pattern for pattern in patterns if not pattern.match(matching(pattern, random))]

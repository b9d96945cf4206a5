"""Does every pattern that reads outputs take linear steps? All patterns, and more texts: `python -m tests.patterns`."""

from __future__ import annotations

import re

import pytest

from tests.patterns.collected import Pattern, patterns
from tests.patterns.steps import CountingMatcher
from tests.patterns.texts import finding

READERS = ("nbval_sanitize.cfg", "cli/checking/", "cli/streams.py", "cli/comparison.py", "cli/printable.py")

OF_OUTPUTS = [pattern for pattern in patterns(*READERS) if pattern.source.startswith(READERS)]


def test_there_are_some_of_every_reader() -> None:
    assert [reader for reader in READERS if not any(each.source.startswith(reader) for each in OF_OUTPUTS)] == []


@pytest.mark.parametrize("pattern", OF_OUTPUTS, ids=lambda pattern: pattern.source)
def test_steps_grow_as_the_text_does(pattern: Pattern) -> None:
    assert finding(pattern.text, pattern.flags, pattern.anchored) is None


@pytest.mark.parametrize(
    "pattern",
    [
        r"""[^\s"']*ipykernel_\d+[/\\]\d+\.py""",
        r"\d+(\.\d+)? ?(ns|s)\b",
        r".*\r(?=[^\n])",
        r"(?<![\w.])\d+\.?\d*(?!\w)",
        r"(a+)+b",
        r"(a|a)*b",
        r"^\s*import",
        r"<style>(.*?)</style>",
        r"\w+Pool\w*$",
    ],
)
def test_search_finds_a_pattern_that_takes_more(pattern: str) -> None:
    assert finding(pattern, re.MULTILINE) is not None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?<!\d)\d+(?:\.\d+)? ?(ns|s)\b", "in 3.5 s"),
        (r"a(b|c)*?(?=d)", "abcbd"),
        (r"(?m)^x++y$", "xxy\nxx"),
        (r"(['\"])\w+\1", "'ab'"),
        (r"[^\W\d_]{2,3}?(?!e)", "abcde"),
    ],
)
def test_matcher_that_counts_matches_as_python_does(pattern: str, text: str) -> None:
    matcher = CountingMatcher(pattern)

    assert matcher.search_all(text) > 0
    assert matcher.spans == [match.span() for match in re.finditer(pattern, text)]

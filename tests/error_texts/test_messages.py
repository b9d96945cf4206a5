"""Is each message explained with its cause, however it is pasted, and is everything else not recognised?"""

from __future__ import annotations

import ast
import re
from random import Random

import pytest

from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._error_texts.error_table import ROWS, WORDINGS, Wording
from nbtf._error_texts.finding import Figure
from nbtf._error_texts.recognition import explain
from nbtf.notebook.error_reports.text import report
from tests.error_texts.disguises import ON_LINES, ON_SENTENCES
from tests.error_texts.generation import matching
from tests.error_texts.messages import CASES, UNKNOWN, Case
from tests.rings import seeds
from tests.sweeps import check_each

BY_LINES = ("bfc_allocator", "NVIDIA-SMI", "memory.used")
SIZE = re.compile(r"\d+(?:[.,]\d+)*")


def causes_in(text: str) -> list[tuple[str, ...]]:
    return [tuple(cause.name for cause in finding.causes) for finding in explain(text).findings]


def figures_in(text: str) -> list[tuple[Figure, ...]]:
    return [tuple(finding.figures) for finding in explain(text).findings]


def named(case: Case) -> str:
    return case.text[:60]


def test_there_are_enough() -> None:
    assert len(CASES) >= 60
    assert len(UNKNOWN) >= 20


def test_each_message_has_its_cause() -> None:
    def check(case: Case) -> None:
        assert [case.causes] == causes_in(case.text)

    check_each(CASES, check, named)


@pytest.mark.parametrize("seed", seeds(60))
def test_disguises_change_neither_causes_nor_figures(seed: int) -> None:
    random = Random(seed)

    def check(case: Case) -> None:
        disguises = ON_LINES if any(mark in case.text for mark in BY_LINES) else ON_SENTENCES
        disguise = random.choice(disguises)
        text = disguise(case.text, random)

        assert figures_in(case.text) == figures_in(text), disguise.__name__
        assert [case.causes] == causes_in(text), disguise.__name__

    check_each(random.sample(CASES, 12), check, named)


def test_other_texts_are_not_recognised() -> None:
    def check(text: str) -> None:
        assert [] == causes_in(text)
        assert report(explain(text), "en").startswith("I do not recognise this text.")

    check_each(UNKNOWN, check, repr)


def test_every_wording_of_the_table_is_recognised() -> None:
    def check(wording: Wording) -> None:
        for seed in range(5):
            text = matching(wording.pattern, Random(seed))
            assert wording.row.name == explain(text).findings[0].message, text

    check_each(WORDINGS, check, lambda wording: wording.anchor)


def test_a_mention_without_figures_says_what_is_missing() -> None:
    (finding,) = explain("My program ends with CUDA out of memory after a while.").findings

    assert ("mention", [], []) == (finding.message, [*finding.figures], [*finding.causes])
    assert "without its figures" in report(explain("CUDA out of memory"), "en")


def test_a_mention_beside_a_message_is_not_reported() -> None:
    text = f"except torch.cuda.OutOfMemoryError:\n{CASES[0].text}"

    assert [CASES[0].causes] == causes_in(text)


def test_several_messages_are_explained_in_order_and_repetitions_counted() -> None:
    first, second = CASES[0].text, CASES[8].text
    findings = explain(f"{first}\n{second}\nstep\n{first}").findings

    assert [("torch", 2, 1), ("torch", 1, 2)] == [(each.message, each.times, each.line) for each in findings]


def test_lines_to_type_are_valid() -> None:
    suggested = {action.line for case in CASES for finding in explain(case.text).findings for action in finding.actions}
    suggested |= {action.line for row in ROWS for action in row.actions}
    settings = [line.partition("=")[2] for line in suggested if "ALLOC_CONF=" in line]
    program = re.compile(
        r"(?:export|nvidia-smi|kill|free|docker|pip|python|sudo|ps|echo|sbatch|kubectl|systemctl|cat)\b"
    )
    commands = [line for line in suggested if program.match(line) or re.match(r"[A-Z_]+=\S+ |compute-", line)]
    code = suggested - set(commands) - {""}

    assert len(settings) >= 3
    for setting in settings:
        assert AllocatorSettings.parse(setting) != AllocatorSettings()
    assert len(code) > 15
    for line in code:
        ast.parse(line)


def test_expandable_segments_are_suggested_only_if_holes_are_large_enough() -> None:
    for case in CASES:
        for finding in explain(case.text).findings:
            lines = [action.line for action in finding.actions if "expandable" in action.line]
            if lines:
                assert finding.values["usable"] >= finding.values["request"]  # pyright: ignore[reportOperatorIssue]


@pytest.mark.parametrize("language", ["ja", "zh_CN"])
def test_reports_have_the_same_figures_in_every_language(language: str) -> None:
    def check(case: Case) -> None:
        english, other = (report(explain(case.text), each) for each in ("en", language))

        assert english != other
        assert sorted(SIZE.findall(english)) == sorted(SIZE.findall(other))

    check_each([case for case in CASES if "cudnn" not in case.causes[0]], check, named)

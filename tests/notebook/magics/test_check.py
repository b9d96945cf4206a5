"""What does `%check` say? The right answers are tried by the tests of the course; here is all else."""

from __future__ import annotations

import re

import pytest

import nbtf as tf
from nbtf.notebook.checks.questions import QUESTIONS
from nbtf.notebook.magics.check import exercise_names
from tests.notebook.conftest import Shell

NAMES = exercise_names()


@pytest.mark.parametrize("name", NAMES)
def test_a_check_before_anything_ran_says_what_is_missing(shell: Shell, name: str) -> None:
    ran = shell.run(f"%check {name}")

    assert ran.error is None
    assert ran.out.startswith("Not yet: `")
    assert "` is not defined. Run the cells above first." in ran.out


@pytest.mark.parametrize("answer", ["None", "3.5", "'text'", "[1]", "{}", "tf", "print", "lambda *_, **__: 1 / 0"])
@pytest.mark.parametrize("name", NAMES)
def test_a_check_of_an_odd_answer_never_fails_the_cell(shell: Shell, name: str, answer: str) -> None:
    shell.ip.user_ns["tf"] = tf
    ran = shell.run(f"%check {name}")
    while "` is not defined." in ran.out:  # an answer may be in several names: each that is asked for gets the odd one
        shell.run(f"{ran.out.split('`')[1]} = {answer}")
        ran = shell.run(f"%check {name}")

    assert ran.error is None
    assert "Not yet: " in ran.out
    assert "Right" not in ran.out


@pytest.mark.parametrize("line", ["%check nothing", "%check 'two words'"])
def test_an_exercise_that_is_not_there_is_answered_with_those_that_are(shell: Shell, line: str) -> None:
    ran = shell.run(line)

    assert ran.error is None
    assert "Not yet: no exercise or question is called" in ran.out
    assert all(name in ran.out for name in NAMES)


@pytest.mark.parametrize("name", [*NAMES, *QUESTIONS])
def test_a_name_with_a_wrong_letter_is_answered_with_the_closest_one(shell: Shell, name: str) -> None:
    known = {*NAMES, *QUESTIONS}
    wrong = [name[:at] + letter + name[at + 1 :] for at in range(len(name)) for letter in "exz7"]

    for typed in set(wrong) - known:
        said = shell.run(f"%check {typed} b").out
        meant = re.fullmatch(rf"Not yet: no exercise or question is called '{typed}'\. Did you mean (\w+)\?\n", said)

        assert meant is not None, said
        assert meant[1] in known
        assert meant[1] == name or differ_by_one_letter(meant[1], typed)


def differ_by_one_letter(one: str, other: str) -> bool:
    return any(other[at + 1 :] in (one[at:], one[at + 1 :]) and one[:at] == other[:at] for at in range(len(other)))


def test_without_a_name_the_exercises_are_listed(shell: Shell) -> None:
    ran = shell.run("%check")

    assert ran.error is None
    assert all(name in ran.out for name in NAMES)


def test_a_setting_is_as_before_the_check(shell: Shell) -> None:
    tf.config.set_soft_device_placement(False)
    shell.run("run_on = print", "%check loudly")

    assert not tf.config.get_soft_device_placement()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%check four_gpus b", ["Right: (b)"]),
        ("%check four_gpus (B)", ["Right: (b)"]),
        ("%check four_gpus a", ["Not yet: it is not (a)"]),
        ("%check four_gpus", ["Your prediction: a, b or c?"]),
        ("%check four_gpus d", ["Your prediction: a, b or c?"]),
        ("%check cpu_request nothing", ["Your prediction: a or b?"]),
        ("%check four_gpus a cpu_request b odd", ["Not yet: it is not (a)", "Right: (b)", "Not yet: `"]),
        ("%check four_gpus odd", ["Your prediction: a", "Not yet: `"]),
    ],
)
def test_a_choice_is_judged_before_its_cell_is_run(shell: Shell, line: str, said: list[str]) -> None:
    ran = shell.run(line)

    assert ran.error is None
    assert [True] * len(said) == [
        text.startswith(start) for text, start in zip(ran.out.splitlines(), said, strict=True)
    ]


def test_a_choice_reads_and_changes_nothing(shell: Shell) -> None:
    before = dict(shell.ip.user_ns)
    shell.run("%check four_gpus b")

    assert {name for name in shell.ip.user_ns if name not in before and not name.startswith("_")} == set()

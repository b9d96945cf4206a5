"""Does no error leave a public function that its user could not expect? A share of `python -m tests.hostile`."""

from __future__ import annotations

import pytest

import nbtf as tf
from tests.hostile.answers import Answer, answers
from tests.hostile.calls import LEFT_OUT, NAMESPACES, hostile_calls, public_functions
from tests.hostile.judgement import documented, leak_of

FUNCTIONS = public_functions(tf)


@pytest.mark.parametrize("namespace", [name for name in NAMESPACES if any(f.startswith(f"{name}.") for f in FUNCTIONS)])
def test_refuses_in_words(namespace: str) -> None:
    mine = {path: function for path, function in FUNCTIONS.items() if path.rpartition(".")[0] == namespace}
    calls = [call for path, function in mine.items() for call in hostile_calls(path, function, 3)]
    heard: list[Answer] = []
    answers(tf, calls, heard.append)

    assert len(calls) == len(heard)
    assert [answer for answer in heard if leak_of(answer, FUNCTIONS)] == []


def test_a_call_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.hostile.answers.SECONDS", 2.0)
    heard: list[Answer] = []
    answers(tf, ["sum(iter(int, 1))", "tf.constant(1)"], heard.append)

    assert ["Hang", ""] == [answer.error for answer in heard]
    assert leak_of(heard[0], FUNCTIONS)


@pytest.mark.parametrize(
    ("error", "leaks"),
    [
        ("builtins.TypeError", False),
        ("builtins.UnicodeDecodeError", False),
        ("nbtf.errors.InvalidArgumentError", False),
        ("builtins.AssertionError", False),
        ("builtins.FileNotFoundError", False),
        ("builtins.KeyError", True),
        ("numpy.exceptions.AxisError", True),
    ],
)
def test_classes_are_told_apart(error: str, leaks: bool) -> None:
    def asked() -> None:
        """Does what it does.

        Raises:
          AssertionError: it is so.
          OSError: it is not so.
        """

    above = {
        "builtins.UnicodeDecodeError": "builtins.ValueError",
        "numpy.exceptions.AxisError": "builtins.ValueError",
        "builtins.FileNotFoundError": "builtins.OSError",
    }
    bases = (error, above[error]) if error in above else (error,)

    assert leaks == leak_of(Answer("tf.asked()", error, bases), {"asked": asked})
    assert {"AssertionError", "OSError"} == documented(asked)


def test_what_is_left_out_is_there() -> None:
    for path in LEFT_OUT:
        value = tf
        for part in path.split("."):
            value = getattr(value, part)

"""Which differences between a case and its outcome count?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.recorded.judgement import Outcome, difference, without_log

VALUE_ERROR = ["ValueError", "Exception", "BaseException", "object"]


def verdict(outcome: Outcome, tf_message: str = "", **expect: Any) -> str | None:
    return difference({"expect": expect, "tf_message": tf_message}, outcome)


@pytest.mark.parametrize(
    ("outcome", "expect"),
    [
        (Outcome(stdout="1  \n2\n\n"), {"stdout": "1\n2"}),
        (Outcome(stdout="Executing op MatMul in device /CPU:0\nx\n"), {"stdout": "x"}),
        (Outcome(stderr="Executing op A in device D\n", stdout="x"), {"log": [["A", "D"]]}),
        (Outcome(stdout="I0000 00:00:17.2 5 execute.cc:17] Executing op A in device D"), {"log": [["A", "D"]]}),
        (Outcome(stderr="INFO:tensorflow:Reduce to X then Y"), {"info": [["INFO", "Reduce to X"]]}),
        (Outcome(stderr="WARNING:tensorflow:Using MirroredStrategy eagerly has significant overhead"), {"info": []}),
        (Outcome(stderr="one two three"), {"stderr_has": ["two"]}),
        (Outcome(message="m", bases=VALUE_ERROR), {"exception_type": "ValueError", "message": "m"}),
        (Outcome(message="m", bases=VALUE_ERROR), {"exception_type": "Exception", "message": "m"}),
        (
            Outcome(message="{{function_node __wrapped__A}} m", bases=VALUE_ERROR),
            {"exception_type": "ValueError", "message": "m"},
        ),
        (
            Outcome(message="more text", bases=VALUE_ERROR),
            {"exception_type": "ValueError", "message": "more", "message_is": "prefix"},
        ),
        (
            Outcome(message="anything", bases=VALUE_ERROR),
            {"exception_type": "ValueError", "message": "", "message_is": "regex"},
        ),
    ],
)
def test_outcome_agrees(outcome: Outcome, expect: dict[str, Any]) -> None:
    assert None is verdict(outcome, **expect)


@pytest.mark.parametrize(
    ("outcome", "expect", "says"),
    [
        (Outcome(stdout="1"), {"stdout": "2"}, "printed"),
        (Outcome(stdout="  1"), {"stdout": "1"}, "printed"),
        (Outcome(message="m", bases=VALUE_ERROR), {"stdout": ""}, "raised ValueError: m"),
        (Outcome(), {"exception_type": "ValueError"}, "raised nothing"),
        (Outcome(message="m", bases=VALUE_ERROR), {"exception_type": "KeyError", "message": "m"}, "expected KeyError"),
        (Outcome(message="m!", bases=VALUE_ERROR), {"exception_type": "ValueError", "message": "m"}, "text of the"),
        (Outcome(stderr="Executing op A in device D"), {"log": []}, "placement log"),
        (
            Outcome(stderr="Executing op B in device D\nExecuting op A in device D"),
            {"log": [["A", "D"], ["B", "D"]]},
            "placement log",
        ),
        (Outcome(stderr="INFO:tensorflow:X"), {"info": [["WARNING", "X"]]}, "log lines"),
        (Outcome(), {"stderr_has": ["two"]}, "stderr lacks"),
        (Outcome(message="the process ended with status 9", bases=["Died"]), {"stdout": ""}, "status 9"),
    ],
)
def test_difference_is_named(outcome: Outcome, expect: dict[str, Any], says: str) -> None:
    assert says in (verdict(outcome, **expect) or "")


def test_name_that_nbtf_lacks_is_missing_even_where_an_attribute_error_is_expected() -> None:
    lacking = Outcome(message="module 'nbtf' has no attribute 'x'", bases=["AttributeError", "Exception"])

    assert "missing" in (verdict(lacking, exception_type="AttributeError", message="", message_is="regex") or "")


def test_name_that_tensorflow_lacks_too_is_no_miss() -> None:
    text = "module 'nbtf' has no attribute 'x'"
    lacking = Outcome(message=text, bases=["AttributeError", "Exception"])
    expect = {"exception_type": "AttributeError", "message": "has no attribute 'x'", "message_is": "regex"}

    assert None is verdict(lacking, tf_message="module 'tensorflow' has no attribute 'x'", **expect)


def test_log_lines_of_every_kind_are_no_printed_text() -> None:
    printed = "a\nMatMul: (MatMul): /job:localhost/replica:0/task:0/device:CPU:0\nINFO:tensorflow:x\nI0000 00:00:1 x\nb"

    assert "a\nb" == without_log(printed)

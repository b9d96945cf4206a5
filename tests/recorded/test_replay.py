"""Does a case run in a process of its own, and is everything it leaves behind collected?"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.recorded.judgement import Case, Outcome
from tests.recorded.replay import Replay

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


@pytest.fixture(scope="module")
def replay() -> Iterator[Replay]:
    with Replay("math") as replay:  # any module will do
        yield replay


def case(code: str, **setup: int) -> Case:
    return {"code": code, "setup": setup, "expect": {}}


def test_snippet_sees_the_module_numpy_and_its_name(replay: Replay) -> None:
    outcome = replay.outcome(case("print(tf.sqrt(4.0), np.ones(2), __name__)"))

    assert Outcome(stdout="2.0 [1. 1.] __case__\n") == outcome


def test_streams_are_kept_apart(replay: Replay) -> None:
    outcome = replay.outcome(case("import sys, os\nprint('a', file=sys.stderr)\nos.write(1, b'b')"))

    assert Outcome(stdout="b", stderr="a\n") == outcome


def test_error_is_reported_with_its_bases(replay: Replay) -> None:
    outcome = replay.outcome(case("{}['k']"))

    assert Outcome(message="'k'", bases=["KeyError", "LookupError", "Exception", "BaseException", "object"]) == outcome


def test_nothing_stays_for_the_next_case(replay: Replay) -> None:
    replay.outcome(case("tf.pi = 3; np.pi = 3"))

    assert "3.14 3.14\n" == replay.outcome(case("print(f'{tf.pi:.2f} {np.pi:.2f}')")).stdout


def test_case_that_kills_its_process_does_not_end_the_replay(replay: Replay) -> None:
    died = replay.outcome(case("import os\nos.kill(os.getpid(), 9)"))

    assert Outcome(message="the process ended with status 9", bases=["Died"]) == died
    assert "1\n" == replay.outcome(case("print(1)")).stdout


def test_number_of_gpus_is_in_the_environment_and_nothing_else_that_sets_devices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    code = "import os\nprint(os.environ['NBTF_SIMULATED_GPUS'], 'CUDA_VISIBLE_DEVICES' in os.environ)"
    with Replay("math") as replay:
        outcome = replay.outcome(case(code, gpus=4))

    assert "4 False\n" == outcome.stdout


def test_module_that_cannot_be_imported_is_named() -> None:
    with Replay("no_such_module") as replay, pytest.raises(RuntimeError, match="no_such_module"):
        replay.outcome(case("pass"))

"""Do the examples of one file run alone, and does a test that needs a browser skip with a reason, and fail in CI?"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest

from tests.conftest import ROOT, browser_or_outcome, encodable, missing_packages
from tests.fixtures import MACHINE_AT_START


def test_the_examples_of_one_file_run_alone() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "nbtf/debugging.py"]

    assert subprocess.run(command, cwd=ROOT, capture_output=True, text=True).returncode == 0


def test_no_property_has_a_time_limit() -> None:
    assert hypothesis.settings().deadline is None


def test_browser_on_the_path_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "chromium"
    program.touch(0o755)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())  # playwright counts as installed
    monkeypatch.setenv("PATH", str(tmp_path))

    assert str(program) == browser_or_outcome()


def test_without_a_browser_the_test_skips_and_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="one of chromium"):
        browser_or_outcome()


def test_without_a_browser_the_test_fails_where_ci_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="one of chromium"):
        browser_or_outcome()


def test_a_package_that_tests_need_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTF_TESTS_NEED", "pytest no-such-package")

    assert "no-such-package" in missing_packages()
    assert "pytest" not in missing_packages()


def test_continuous_integration_runs_no_test_without_its_packages() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "nbtf/debugging.py", __file__]
    environ = os.environ | {"CI": "true", "NBTF_TESTS_NEED": "no-such-package"}

    ended = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)

    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert "no-such-package" in ended.stderr


def test_report_of_a_worker_has_no_half_of_a_pair_of_surrogates() -> None:
    report = {"sections": [("Captured stdout call", "\ud800 and é")], "duration": 1.0, "when": None}

    assert {"sections": [("Captured stdout call", "\\ud800 and é")], "duration": 1.0, "when": None} == encodable(report)


@pytest.fixture(scope="module")
def machine_of_this_file() -> None:
    os.environ["NBTF_SIMULATED_GPUS"] = "1 GiB"


def test_a_test_leaves_no_machine_of_its_file_to_the_next(machine_of_this_file: None) -> None:
    assert os.environ["NBTF_SIMULATED_GPUS"] == "1 GiB"


def test_the_next_test_has_the_machine_of_the_session() -> None:
    assert os.environ.get("NBTF_SIMULATED_GPUS") == MACHINE_AT_START


def test_a_test_that_leaves_a_lock_taken_fails(tmp_path: Path) -> None:
    file = tmp_path / "test_lock.py"
    file.write_text(
        "from nbtf._locks import new_lock\n\nlock = new_lock()\n\n\ndef test_takes():\n    lock.acquire()\n\n\n"
        "def test_another():\n    assert not lock._is_owned()\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-c", str(ROOT / "pyproject.toml"), "-p", "tests.conftest"]
    ended = subprocess.run([*command, str(file)], cwd=ROOT, capture_output=True, text=True)
    assert "2 passed, 1 error" in ended.stdout, ended.stdout + ended.stderr
    assert "the test left 1 locks taken" in ended.stdout

"""Runs Keras' own tests on nbtf or on TensorFlow, and writes down their outcomes. pytest loads it before any test."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

if os.environ.get("NBTF_KERAS_LIBRARY") == "nbtf":
    from nbtf.runtime import present_as_tensorflow

    present_as_tensorflow()


def skip_if_backend(backend: str, reason: str) -> pytest.MarkDecorator:
    """Returns a mark that skips a test; Keras' tests import it from a file that is not in the wheel."""
    return pytest.mark.skipif(backend == "tensorflow", reason=reason)


_in_conftest: Any = ModuleType("conftest")
_in_conftest.skip_if_backend = skip_if_backend
sys.modules["conftest"] = _in_conftest

_ADDRESS = re.compile("0x[0-9a-f]+")
"""An object's address, which some names of tests contain."""

OUTCOMES = os.environ.get("NBTF_KERAS_OUTCOMES", "")
MARKERS = ("requires_trainable_backend", "multi_device")


@pytest.fixture(autouse=True)
def context_of_the_files() -> Iterator[None]:
    """Ends a test in the context in which the test files were imported, although the test may have restarted nbtf.

    In TensorFlow, tensors that a file makes when it is imported survive `_reset_context`; a restart of nbtf ends them.
    """
    if os.environ.get("NBTF_KERAS_LIBRARY") != "nbtf":
        yield
        return
    from nbtf._runtime.context import CURRENT, use_context

    with use_context(CURRENT.context):
        yield


def pytest_configure(config: pytest.Config) -> None:
    """Registers the markers of Keras' tests."""
    for marker in MARKERS:
        config.addinivalue_line("markers", f"{marker}: of Keras")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Adds the outcome of a test; in the main process only, which hears of all."""
    if "PYTEST_XDIST_WORKER" in os.environ or not OUTCOMES:
        return
    if report.when == "call" or report.outcome != "passed":
        test = _ADDRESS.sub("0x", report.nodeid.partition("keras/src/")[2] or report.nodeid)
        with Path(OUTCOMES).open("a", encoding="utf-8") as file:
            file.write(json.dumps([test, report.outcome]) + "\n")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Counts a file that cannot be collected as a failed test."""
    if report.failed and OUTCOMES and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(OUTCOMES).open("a", encoding="utf-8") as file:
            file.write(json.dumps([report.nodeid.partition("keras/src/")[2], "failed"]) + "\n")

"""Can several workers share the suite? They must collect the same tests in the same order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def by_file(ids: Iterable[str]) -> dict[str, list[str]]:
    """The tests of each file, in their order."""
    files = defaultdict(list)
    for id in ids:
        files[id.partition("::")[0]].append(id)
    return files


@pytest.mark.nightly  # with several workers, xdist compares them, too
def test_every_process_collects_the_same_tests(request: pytest.FixtureRequest) -> None:
    items = [item for item in request.session.items if TESTS in item.path.parents]
    files = sorted({str(item.path) for item in items})
    options = ["-n0", "-p", "no:cacheprovider", "-m", request.config.option.markexpr]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *options, *files]
    environ = os.environ | {"PYTHONHASHSEED": "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"}

    listed = subprocess.run(command, cwd=request.config.rootpath, env=environ, capture_output=True, text=True)

    here = {item.nodeid for item in items}
    there = [line for line in listed.stdout.splitlines() if line in here]
    assert by_file(item.nodeid for item in items) == by_file(there), listed.stderr


def test_no_id_has_an_address(request: pytest.FixtureRequest) -> None:
    ids = [item.nodeid for item in request.session.items]

    assert [] == [id for id in ids if re.search(r"\bat 0x[0-9a-f]{6,}", id)]

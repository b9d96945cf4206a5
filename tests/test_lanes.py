"""Do the lanes of `.ci/run` end together, and do its sections have the notebooks that are theirs?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(os.name == "nt" or not shutil.which("bash"), reason="needs bash, as `.ci/run` does")

BESIDE = os.environ | {"PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])}
"""The environment, with this Python as `python`."""

# One section is at work, in a program that keeps the shell's output open, when another one fails.
TWO_LANES = """
set -euo pipefail
scratch="$1"
. .ci/lanes.sh
exec 3>&1
works() { bash -c 'sleep 1000 & echo >"$1"; wait' - "$scratch/ready"; }
fails() { until [ -e "$scratch/ready" ]; do sleep 0.1; done; false; }
lane works &
lane fails &
wait -n
echo "goes on after a failure"
"""

NEEDS = """
scratch="$1"
. .ci/lanes.sh
notebooks_with_needs notebooks/*.ipynb
"""


def run_bash(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a script until nobody writes into its output any more."""
    command = ["bash", "-c", script, "run", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=BESIDE, capture_output=True, text=True, timeout=300)


def test_a_section_that_fails_leaves_no_program_of_the_other_lane(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    ended = run_bash(TWO_LANES, scratch)

    assert (1, False) == (ended.returncode, scratch.exists())
    assert "==== fails: FAILED" in ended.stdout
    assert "goes on" not in ended.stdout


def test_a_lesson_of_which_cells_alone_need_more_is_run_with_all(tmp_path: Path) -> None:
    assert ["notebooks/13_your_own_pytorch_notebook.ipynb"] == run_bash(NEEDS, tmp_path / "scratch").stdout.split()

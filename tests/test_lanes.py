"""Do the lanes of `.ci/run` end together, have sections their notebooks, and does `.ci/nightly` run every search?"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
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


NO_SEARCHES = {"tests.mutation", "tests.gpu.stages", "tests.course.drawings"}
"""Commands that answer no yes or no, or need a GPU."""


def test_every_search_is_run_at_night() -> None:
    text = (ROOT / ".ci" / "nightly").read_text(encoding="utf-8")
    functions = set(re.findall(r"^(\w+)\(\) \{\s", text, re.MULTILINE))
    [searches] = re.findall(r"^searches=\((.*?)\)", text, re.MULTILINE | re.DOTALL)
    modules = set(re.findall(r"python -m (tests[.\w]+)", text))
    commands = {".".join(file.parent.relative_to(ROOT).parts) for file in (ROOT / "tests").rglob("__main__.py")}

    workflow = (ROOT / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8")

    assert functions == set(searches.split())
    assert searches.split() == re.findall(r"^ +- (\w+)$", workflow, re.MULTILINE)
    assert set() == commands - NO_SEARCHES - modules
    assert [] == [module for module in modules if find_spec(module) is None]

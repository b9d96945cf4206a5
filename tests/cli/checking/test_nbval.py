"""Does `pytest --nbval` still accept a lesson? What it says of single cells is in `test_cells.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import nbtf
from nbtf.cli.checking.sanitizing import BUILT_IN

ROOT = Path(nbtf.__file__).parents[1]
LESSON = ROOT / "notebooks" / "08_several_gpus_by_hand.ipynb"


@pytest.mark.nightly
def test_nbval_accepts_a_lesson() -> None:
    options = [
        "-p",
        "nbval.plugin",
        "--nbval",
        "--nbval-current-env",
        f"--nbval-sanitize-with={BUILT_IN}",
        "-p",
        "no:cacheprovider",
        "-q",
    ]

    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", *options, str(LESSON)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout
    assert " passed" in ended.stdout

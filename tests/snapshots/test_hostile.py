"""Does opening a hostile snapshot only refuse it? A share of what `python -m tests.snapshots.hostile` reads."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

RUNS = 2000


def test_opening_hostile_snapshots_does_nothing_but_refuse_them() -> None:
    command = [sys.executable, "-m", "tests.snapshots.hostile", "--runs", str(RUNS), "--seed", "1000000"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=600)
    report = done.stdout + done.stderr
    counts = [
        list(map(int, found)) for found in re.findall(r"(\d+) files, (\d+) loaded, (\d+) refused, (\d+) failed", report)
    ]

    assert done.returncode == 0, report
    assert sum(files for files, *_ in counts) == RUNS
    assert all(refused > files // 5 and failed == 0 for files, _, refused, failed in counts), report
    assert sum(loaded for _, loaded, *_ in counts) > RUNS // 20, report

"""Does a notebook still do what is recorded in it? nbclient finds cells that fail, nbval outputs that differ."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

from nbtf.cli.command_error import CommandError
from nbtf.cli.recording import execute

SANITIZE = Path(__file__).with_name("nbval_sanitize.cfg")
"""What varies from run to run, and what is compared instead; for pytest's `--nbval-sanitize-with`."""


def problems(path: Path, notebook: Any) -> list[str]:
    """Returns what is wrong with a notebook: nothing when it runs and prints what is recorded.

    nbval alone lets an unknown magic pass, and nbclient alone compares nothing.

    Args:
      path: its file.
      notebook: as nbformat reads it; left as it is.
    """
    try:
        execute(copy.deepcopy(notebook), path.resolve().parent)
    except CommandError as error:
        return [str(error)]
    return _differences(path)


def _differences(path: Path) -> list[str]:
    """Returns nbval's report on a notebook whose outputs differ."""
    command = [
        *(sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider"),
        *("--override-ini=addopts=", f"--rootdir={path.resolve().parent}"),
        *("--nbval", "--nbval-current-env", "--nbval-cell-timeout=600", f"--nbval-sanitize-with={SANITIZE}"),
        str(path.resolve()),
    ]
    check = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")
    return [] if check.returncode == 0 else [check.stdout.strip() or check.stderr.strip()]

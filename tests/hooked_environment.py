"""A Python environment in which the start hook is on, and programs that run there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from nbtf.cli import start_hook

REPOSITORY = Path(__file__).parents[1]


def create_environment(folder: Path) -> Path:
    """Creates a virtual environment with the packages of this one, and with the hook."""
    venv.create(folder, symlinks=True)
    packages = packages_of(folder)
    own = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (packages / "a_paths.pth").write_text("".join(f"{path}\n" for path in (REPOSITORY, *own)))
    start_hook.switch_on(packages)
    return folder


def packages_of(environment: Path) -> Path:
    """Returns the folder of the packages of an environment."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(environment), "platbase": str(environment)}))


def run(environment: Path, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs that environment's Python with these arguments and variables."""
    python = Path(sysconfig.get_path("scripts", "venv", {"base": str(environment)})) / "python"
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("NBTF_", "PYTHONPATH"))}
    return subprocess.run(
        [python, *arguments], env=kept | variables, capture_output=True, text=True, timeout=300, check=False
    )

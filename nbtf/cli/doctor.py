"""`nbtf doctor`: what is installed here, what is missing, and for what? Imports nothing that opens a device."""

from __future__ import annotations

import argparse
import ctypes.util
import os
import platform
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from nbtf.cli.command_error import LAB
from nbtf.cli.finding import Finding
from nbtf.cli.front_end import front_end, import_error
from nbtf.cli.table import table
from nbtf.cli.variables import variables

DRIVER_FILE = Path("/proc/driver/nvidia/version")
# The oldest driver for CUDA 13 and for CUDA 12. Source: NVIDIA, CUDA Toolkit Release Notes, table "CUDA Toolkit and
# Minimum Required Driver Version for CUDA Minor Version Compatibility".
CUDA13_DRIVER = 580
CUDA12_DRIVER = 525
CUPY_PACKAGES = ("cupy-cuda13x", "cupy-cuda12x", "cupy")
# What each package of the extra `lab` is for.
LAB_PACKAGES: Mapping[str, str] = {
    "jupyterlab": "`nbtf lab`",
    "ipykernel": "notebooks",
    "ipywidgets": "the live views",
    "anywidget": "the live views",
    "nbclient": "`nbtf run`",
    "nbformat": "`nbtf run`",
    "matplotlib": "the plots in the tutorials",
    "scikit-learn": "the data in the tutorials",
}
# These two raise in the thread that feeds the live views. Source: ipython/ipykernel#1450.
BROKEN_IPYKERNELS = ("7.0.0", "7.0.1")


def add_command(commands: Any) -> None:
    """Adds `doctor` to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor",
        help="say what is installed, and what is missing for what",
        description="Looks at Python, NumPy, CuPy, the NVIDIA driver, the Jupyter packages and our environment "
        "variables, one line each. What is missing comes with its purpose and the line that installs it. No device is "
        "opened.",
    )
    parser.set_defaults(command=doctor)


def doctor(chosen: argparse.Namespace) -> int:
    """Prints the findings."""
    print(table((finding.state, finding.what, finding.text) for finding in findings()))
    return 0


def findings() -> Iterator[Finding]:
    """Yields one finding after the other, what everything needs first."""
    yield Finding("ok", "Python", platform.python_version())
    yield _numpy(installed("numpy"))
    driver = driver_version()
    yield _driver(driver)
    yield _cupy(next(filter(None, map(installed, CUPY_PACKAGES)), None), driver)
    for package, purpose in LAB_PACKAGES.items():
        yield _lab_package(package, purpose, installed(package))
    yield from front_end()
    yield from variables(os.environ)


def installed(package: str) -> str | None:
    """Returns the version of an installed package, or None; does not import it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def driver_version(file: Path = DRIVER_FILE) -> str | None:
    """Returns the NVIDIA driver's version, `unknown` if only its library is found, or None."""
    if file.exists():
        found = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", file.read_text(errors="replace"))
        return found[1] if found else "unknown"
    return "unknown" if ctypes.util.find_library("cuda") else None  # Windows and WSL have no such file


def _numpy(found: str | None) -> Finding:
    if found is None or int(found.split(".")[0]) < 2:
        return Finding("wrong", "NumPy", f'{found or "not installed"}; nbtf needs 2.0: pip install "numpy>=2.0"')
    return Finding("ok", "NumPy", found)


def _driver(found: str | None) -> Finding:
    if found is None:
        return Finding("missing", "NVIDIA driver", "for real GPUs only; simulated GPUs need none")
    major = _major(found)
    if major is not None and major < CUDA12_DRIVER:
        return Finding("wrong", "NVIDIA driver", f"{found}; real GPUs need {CUDA12_DRIVER} or newer")
    return Finding("ok", "NVIDIA driver", found)


def _cupy(found: str | None, driver: str | None) -> Finding:
    if found is not None:
        return Finding("ok", "CuPy", found)
    if driver is None:
        return Finding("missing", "CuPy", "for real GPUs only, and there is no NVIDIA driver here")
    major = _major(driver)
    extra = "cuda13" if major is not None and major >= CUDA13_DRIVER else "cuda12"
    return Finding("missing", "CuPy", f'for real GPUs: pip install "nbtf[{extra}]"')


def _lab_package(package: str, purpose: str, found: str | None) -> Finding:
    if found is None:
        return Finding("missing", package, f"for {purpose}: {LAB}")
    if package == "ipykernel" and found in BROKEN_IPYKERNELS:
        return Finding("wrong", package, f"{found} stops the live views: pip install --upgrade ipykernel")
    if package == "anywidget" and not (0, 9) <= _minor(found) < (0, 12):
        return Finding("wrong", package, f'{found} is not tried with nbtf: pip install "anywidget>=0.9,<0.12"')
    if package == "anywidget" and (error := import_error(package)):
        return Finding("wrong", package, f"{found} cannot be imported: {error}")
    return Finding("ok", package, found)


def _major(release: str) -> int | None:
    first = release.split(".")[0]
    return int(first) if first.isdigit() else None


def _minor(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", release)[:2])

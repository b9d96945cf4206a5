"""`nbtf doctor`: what is installed, what is missing, and what is it needed for? Imports nothing that opens a device."""

from __future__ import annotations

import argparse
import os
import platform
import re
from collections.abc import Iterator, Mapping
from typing import Any

from nbtf.cli.arguments import add_parser
from nbtf.cli.command_error import LAB
from nbtf.cli.finding import Finding
from nbtf.cli.front_end import front_end, import_error
from nbtf.cli.other_libraries import installed, other_libraries
from nbtf.cli.real_gpus import real_gpus
from nbtf.cli.table import table
from nbtf.cli.variables import variables

# The purpose of each package in the extra `lab`.
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
# These two versions raise in the thread that feeds the live views. Source: ipython/ipykernel#1450.
BROKEN_IPYKERNELS = ("7.0.0", "7.0.1")


def add_command(commands: Any) -> None:
    """Adds `doctor` to the command line."""
    add_parser(commands, "doctor", doctor)


def doctor(chosen: argparse.Namespace) -> int:
    """Prints the findings and returns the exit status: 1 if there is a problem."""
    lines = list(findings())
    print(table((finding.state, finding.subject, finding.text) for finding in lines))
    return int(any(finding.state == "wrong" for finding in lines))


def findings() -> Iterator[Finding]:
    """Yields the findings in order of importance."""
    yield Finding("ok", "Python", platform.python_version())
    yield _numpy(installed("numpy"))
    yield from real_gpus(os.environ)
    for package, purpose in LAB_PACKAGES.items():
        yield _lab_package(package, purpose, installed(package))
    yield from front_end()
    yield from other_libraries(installed)
    yield from variables(os.environ)


def _numpy(version: str | None) -> Finding:
    if version is None or int(version.split(".")[0]) < 2:
        return Finding("wrong", "NumPy", f'{version or "not installed"}; nbtf needs 2.0: pip install "numpy>=2.0"')
    return Finding("ok", "NumPy", version)


def _lab_package(package: str, purpose: str, version: str | None) -> Finding:
    if version is None:
        return Finding("missing", package, f"for {purpose}: {LAB}")
    if package == "ipykernel" and version in BROKEN_IPYKERNELS:
        return Finding("wrong", package, f"{version} breaks the live views: pip install --upgrade ipykernel")
    if package == "anywidget" and not (0, 9) <= _minor(version) < (0, 12):
        return Finding("wrong", package, f'{version} is not tested with nbtf: pip install "anywidget>=0.9,<0.12"')
    if package == "anywidget" and (error := import_error(package)):
        return Finding("wrong", package, f"{version} cannot be imported: {error}")
    return Finding("ok", package, version)


def _minor(release: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", release)[:2])

"""`nbtf doctor`: what is installed, what is missing, and what is it needed for? Imports nothing that opens a device."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from nbtf.cli import start_hook
from nbtf.cli.arguments import add_parser
from nbtf.cli.command_error import LAB, CommandError
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
    "quickjs-ng": "the pictures",
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
    """Switches the start hook if requested, prints the findings and returns 1 if there is a problem, otherwise 0."""
    if chosen.start_hook is not None:
        try:
            (start_hook.switch_on if chosen.start_hook == "on" else start_hook.switch_off)()
        except OSError as error:
            raise CommandError(f"The start hook cannot be changed: {error}") from error
    lines = list(findings())
    if chosen.json:
        print(json.dumps([asdict(finding) for finding in lines], indent=1))
    else:
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
    yield _start_hook()
    yield from variables(os.environ)


def _start_hook() -> Finding:
    if start_hook.is_on():
        return Finding(
            "ok", "start hook", "NBTF_SIMULATE=torch works in every Python program; --start-hook off removes it"
        )
    return Finding("note", "start hook", "off: programs need `nbtf run`; nbtf doctor --start-hook on installs it")


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

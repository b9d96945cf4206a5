"""Is what Binder reads what it expects? `.ci/nightly` makes an environment of it, in which all tutorials run."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
BINDER = ROOT / "binder"


def test_it_installs_this_repository_with_what_notebooks_need() -> None:
    lines = (BINDER / "requirements.txt").read_text().splitlines()

    assert [".[lab,cluster]"] == [line for line in lines if not line.startswith("#")]


def test_its_python_is_one_that_nbtf_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = (BINDER / "runtime.txt").read_text().strip().removeprefix("python-")

    assert f"Programming Language :: Python :: {version}" in project["classifiers"]


def test_what_runs_after_the_build_can_run() -> None:
    assert os.access(BINDER / "postBuild", os.X_OK)
    assert (BINDER / "postBuild").read_text().startswith("#!/bin/bash\n")

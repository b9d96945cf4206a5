"""Keras 3 on nbtf runs in processes of its own, because it keeps the module `tensorflow` that it was imported with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session", autouse=True)
def keras_is_there() -> None:
    """Skips the tests without Keras; one section of .ci/run has it."""
    if find_spec("keras") is None:
        pytest.skip("needs Keras; one section of .ci/run has it")


def on_nbtf(code: str, **environ: str) -> str:
    """Runs code in a process where `import tensorflow` means nbtf, and returns what it prints."""
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"import nbtf\nnbtf.present_as_tensorflow()\n{code}"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "KERAS_BACKEND": "tensorflow", **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


def numbers_on_nbtf(gpus: int, *names: str) -> dict[str, list[float] | str]:
    """Runs programs on nbtf with simulated GPUs, and returns their numbers."""
    names_text = repr([*names])
    code = f"if {gpus}: nbtf.runtime.simulate_gpus({gpus})\nimport json\n"
    code += "from tests.frameworks.keras.programs import PROGRAMS, run\n"
    code += f"print('NUMBERS' + json.dumps(run({names_text} or [*PROGRAMS])))"
    return json.loads(on_nbtf(code).partition("NUMBERS")[2])

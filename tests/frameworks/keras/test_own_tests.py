"""Does the runner of Keras' own tests count them as TensorFlow's tests count?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

FILE = """
import tensorflow as tf
from tensorflow.python.eager import context

MADE_AT_IMPORT = tf.constant([1.0, 2.0])

def test_that_resets():
    context._reset_context()
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    assert len(tf.config.list_logical_devices("CPU")) == 2

def test_after_it():
    assert len(tf.config.list_logical_devices("CPU")) == 1
    assert (MADE_AT_IMPORT + 1.0).numpy().tolist() == [2.0, 3.0]
"""


def test_a_tensor_made_at_import_survives_a_test_that_resets_the_context(tmp_path: Path) -> None:
    (tmp_path / "resets_test.py").write_text(FILE, encoding="utf-8")
    options = ["-p", "tests.frameworks.keras.own_tests_plugin", "-p", "no:cacheprovider", "-p", "no:pytest_nbtf"]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, f"--rootdir={tmp_path}", *options, "resets_test.py"],
        env={**os.environ, "NBTF_KERAS_LIBRARY": "nbtf", "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in result.stdout, result.stdout[-2000:]

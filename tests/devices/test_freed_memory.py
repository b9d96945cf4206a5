"""What was freed stays with the process on Linux, unless the user has other settings."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

STEPS = """
import resource, sys
import numpy as np
if sys.argv[1] == "nbtf":
    import nbtf as tf
    tf.constant(0.0)
def step():
    arrays = [np.ones(1 << 20, np.float32) for _ in range(6)]
for _ in range(5):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(module: str, **variables: str) -> int:
    plain = {name: value for name, value in os.environ.items() if "MALLOC" not in name and name != "GLIBC_TUNABLES"}
    environment = {**plain, "NUMPY_MADVISE_HUGEPAGE": "0", **variables}
    command = [sys.executable, "-c", STEPS, module]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc alone has such settings")


@needs_glibc
def test_arrays_are_not_mapped_anew_in_each_step() -> None:
    assert page_faults("nbtf") < page_faults("numpy") / 10


@needs_glibc
@pytest.mark.parametrize(
    "settings",
    [{"MALLOC_TRIM_THRESHOLD_": "131072"}, {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=131072"}],
    ids=["variable", "tunable"],
)
def test_the_users_settings_hold(settings: dict[str, str]) -> None:
    assert page_faults("nbtf", **settings) > 10_000

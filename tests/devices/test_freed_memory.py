"""What was freed stays with the process on Linux, unless the user has other settings."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping

import pytest

from nbtf._devices.freed_memory import raise_thresholds

STEPS = """
import resource, sys
import numpy as np
if sys.argv[1] == "nbtf":
    import nbtf as tf
    tf.constant(0.0)
def step():
    arrays = [np.ones(int(sys.argv[2]) << 18, np.float32) for _ in range(int(sys.argv[3]))]
for _ in range(5):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


BETWEEN = """
import numpy as np
import nbtf as tf
from nbtf._devices.freed_memory import give_freed_memory_back
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])
tf.constant(0.0)
arrays = [np.ones(10 << 18, np.float32) for _ in range(20)]
last = arrays.pop()
full = resident()
arrays.clear()
give_freed_memory_back()
print(last[0], resident() / full)
"""


def environment(settings: Mapping[str, str] | None = None) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if "MALLOC" not in name and name != "GLIBC_TUNABLES"}
    return {**plain, "NUMPY_MADVISE_HUGEPAGE": "0", **(settings or {})}


def page_faults(module: str, mebibytes: int = 4, arrays: int = 6, settings: Mapping[str, str] | None = None) -> int:
    command = [sys.executable, "-c", STEPS, module, str(mebibytes), str(arrays)]
    done = subprocess.run(command, env=environment(settings), capture_output=True, text=True, check=True)
    return int(done.stdout)


needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc alone has such settings")


@needs_glibc
def test_arrays_are_not_mapped_anew_in_each_step() -> None:
    assert page_faults("nbtf") < page_faults("numpy") / 10


@needs_glibc
def test_nor_are_arrays_of_40_mebibytes() -> None:
    if not raise_thresholds():
        pytest.skip("this glibc keeps no more than 32 MiB")
    assert page_faults("nbtf", 40, 2) < page_faults("numpy", 40, 2) / 10


@needs_glibc
def test_what_lies_between_arrays_is_given_back_when_asked() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BETWEEN], env=environment(), capture_output=True, text=True, check=True
    )
    first, part = done.stdout.split()
    assert ("1.0", True) == (first, float(part) < 0.6)


@needs_glibc
def test_larger_arrays_are_given_back_at_once() -> None:
    assert page_faults("nbtf", 65, 1) > 10_000


@needs_glibc
@pytest.mark.parametrize(
    "settings",
    [{"MALLOC_TRIM_THRESHOLD_": "131072"}, {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=131072"}],
    ids=["variable", "tunable"],
)
def test_the_users_settings_hold(settings: dict[str, str]) -> None:
    assert page_faults("nbtf", settings=settings) > 10_000

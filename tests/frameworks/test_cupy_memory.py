"""Is the memory that CuPy hands out recorded while somebody watches, by device and line?"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from nbtf import runtime
from tests import fake_cupy
from tests.notebook.conftest import Shell
from tests.notebook.conftest import bare as bare
from tests.notebook.conftest import shell as shell

KIB = 1 << 10


@pytest.fixture(autouse=True)
def cupy() -> Iterator[Any]:
    with fake_cupy.installed(2):
        yield sys.modules["cupy"]
    fake_cupy.get_default_memory_pool().__init__()  # what a test has left in it


def memory_events(record: runtime.Recording) -> list[tuple[str, str, int, int]]:
    """What happened, the device, bytes asked for and in use afterwards."""
    return [
        (type(event).__name__, event.device.rpartition("device:")[2], event.nbytes, event.in_use)
        for event in record.events
        if isinstance(event, runtime.Allocated | runtime.Freed)
    ]


def test_pieces_are_recorded_by_device_and_told_when_they_are_back(cupy: Any) -> None:
    with runtime.recording() as record, runtime.watch("cupy"):
        first = cupy.empty(4 * KIB, "u1")
        with cupy.cuda.Device(1):
            second = cupy.empty(KIB, "u1")
        del first
        with cupy.cuda.Device(1):
            third = cupy.empty(2 * KIB, "u1")

    assert memory_events(record) == [
        ("Allocated", "cuda:0", 4 * KIB, 4 * KIB),
        ("Allocated", "cuda:1", KIB, KIB),
        ("Freed", "cuda:0", 4 * KIB, 0),
        ("Allocated", "cuda:1", 2 * KIB, 3 * KIB),
    ]
    del second, third


def test_line_of_a_piece_is_the_users(cupy: Any) -> None:
    with runtime.recording() as record, runtime.watch("cupy"):
        x = cupy.empty(KIB, "u1")

    [event] = [event for event in record.events if isinstance(event, runtime.Allocated)]
    assert event.site is not None
    assert event.site[0] == __file__
    del x


def test_threads_of_the_block_are_heard_and_nothing_is_after_it(cupy: Any) -> None:
    with runtime.recording() as record:
        with runtime.watch("cupy"):
            thread = threading.Thread(target=lambda: cupy.empty(KIB, "u1"))
            thread.start()
            thread.join()
        x = cupy.empty(KIB, "u1")

    assert [name for name, *_ in memory_events(record) if name == "Allocated"] == ["Allocated"]
    del x


def test_log_says_what_of_cupy_is_recorded_and_what_is_not(shell: Shell) -> None:
    said = shell.run("%placement_log watch cupy").out

    assert said.startswith("CuPy's memory, but no kernels and no copies, is recorded from now on")
    assert "JAX does not expose its ops" in str(shell.run("%placement_log watch jax"))


def test_check_of_a_cell_still_fails_for_kernels_that_nobody_saw(shell: Shell) -> None:
    shell.run("%placement_log watch cupy")

    ran = shell.run("%%placement --no-copies", "import cupy; x = cupy.empty(1024); y = tf.add(1.0, 2.0)")

    assert isinstance(ran.error, runtime.ExpectationError)
    assert "CuPy may have run kernels that were not recorded" in str(ran.error)

"""When a disk is really full: is what was saved there before as it was, and can be saved again when there is room?"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtf.errors import OpError
from tests.storage.savers import SAVERS, CommandFailedError, Saver


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MiB, where the system lets one be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "nbtf", folder], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs a disk of its own, and none can be mounted here: {error}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True, capture_output=True)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for size in (2**16, 2**9, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))


NEED_ROOM = [saver for saver in SAVERS if saver.name not in ("printed text", "table that grows")]
"""Not those that add a line, for which there is room in the block of the line before."""


@pytest.mark.parametrize("saver", NEED_ROOM, ids=lambda saver: saver.name)
def test_a_full_disk_leaves_what_was_saved(saver: Saver, small_disk: Path) -> None:
    folder, filling = small_disk / "folder", small_disk / "filling"
    folder.mkdir()
    saver.prepare(folder)
    old = saver.load(folder)
    fill(filling)
    with pytest.raises((OSError, OpError, CommandFailedError), match="No space left on device"):
        saver.save(folder)
    assert saver.load(folder) == old
    assert not list(folder.rglob("*.nbtf-draft"))

    os.unlink(filling)
    saver.save(folder)
    assert saver.load(folder) != old

"""Is a draft swept away when its writer is dead, and only then?"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nbtf._storage import drafts, files


def test_without_locks_a_draft_is_abandoned_after_an_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "fcntl", None)
    os.utime(tmp_path, (0, 1000))

    def is_abandoned(seconds: float) -> bool:
        monkeypatch.setattr(drafts, "time", SimpleNamespace(time=lambda: 1000 + seconds))
        with drafts.seize(str(tmp_path)) as abandoned:
            return abandoned

    assert [is_abandoned(seconds) for seconds in (0, 3600, 3600.5)] == [False, False, True]


def test_what_has_the_name_of_a_draft_and_is_none_stays(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for name in ("folder", "file"):
        (tmp_path / drafts.new_name()).symlink_to(tmp_path / name)
    pipe = tmp_path / drafts.new_name()
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)  # without one, who opens the pipe waits
    before = os.listdir(tmp_path)
    drafts.sweep(str(tmp_path))
    os.close(writer)

    assert before == os.listdir(tmp_path)


def test_a_folder_is_taken_away_after_an_error(tmp_path: Path) -> None:
    def stop(remove: Any) -> None:
        with drafts.make_folder(str(tmp_path)) as folder:
            remove(folder)
            raise KeyboardInterrupt

    for remove in (os.path.isdir, os.rmdir):  # somebody may have been faster
        with pytest.raises(KeyboardInterrupt):
            stop(remove)
    assert os.listdir(tmp_path) == []


def test_who_waits_for_a_file_has_it_locked_then(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        drafts.wait_for(file.fileno())
        with drafts.seize(file.name) as is_free:
            assert not is_free


def test_without_locks_nobody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "fcntl", None)
    files.append(tmp_path / "log", "line")

    assert (tmp_path / "log").read_text() == "line"


def test_no_file_stays_open(tmp_path: Path) -> None:
    def next_descriptor() -> int:
        with open(os.devnull) as file:
            return file.fileno()

    before = next_descriptor()
    drafts.sync_folder(str(tmp_path))
    with contextlib.suppress(KeyboardInterrupt), drafts.make_folder(str(tmp_path)):
        raise KeyboardInterrupt
    with drafts.seize(str(tmp_path)):
        pass

    assert before == next_descriptor()

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtf._storage import drafts, files
from tests.storage.power_failure import Disk


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_file_gets_its_content_and_no_draft_is_left(tmp_path: Path) -> None:
    files.write(tmp_path / "new", "text")
    files.write(tmp_path / "new", b"bytes")

    assert (tmp_path / "new").read_bytes() == b"bytes"
    assert names(tmp_path) == ["new"]


def test_the_mode_of_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "private"
    path.touch(0o600)
    files.write(path, "text")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_draft_can_be_read_by_nobody_who_cannot_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "private"
    path.touch(0o600)

    with files.open_draft(path) as stream:
        assert stat.S_IMODE(os.fstat(stream.fileno()).st_mode) == 0o600


def test_a_draft_is_private_from_its_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fchmod", lambda descriptor, mode: None)
    test_a_draft_can_be_read_by_nobody_who_cannot_read_the_file(tmp_path)


def test_a_draft_gets_the_owner_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, owners = tmp_path / "file", []
    path.touch()
    monkeypatch.setattr(os, "fchown", lambda _, *owner: owners.append(owner))
    files.write(path, "text")

    assert [(path.stat().st_uid, path.stat().st_gid)] == owners


@pytest.fixture
def usual_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_mask")
def test_a_file_that_others_may_write_stays_so(tmp_path: Path) -> None:
    path = tmp_path / "shared"
    path.touch()
    path.chmod(0o666)
    files.write(path, "text")

    assert stat.S_IMODE(path.stat().st_mode) == 0o666


@pytest.mark.usefixtures("usual_mask")
def test_a_new_file_has_the_mode_that_is_usual(tmp_path: Path) -> None:
    files.write(tmp_path / "file", "text")
    files.append(tmp_path / "log", "line")
    files.write_part(tmp_path / "part", b"bytes")

    assert [0o644] * 3 == [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()]


def test_a_draft_is_locked_until_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace, abandoned = os.replace, list[bool]()

    def look(draft: str, target: str) -> None:
        with drafts.seize(draft) as is_abandoned:
            abandoned.append(is_abandoned)
        replace(draft, target)

    monkeypatch.setattr(os, "replace", look)
    files.write(tmp_path / "file", "text")

    assert abandoned == [False]


def test_what_is_added_waits_for_who_adds_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    monkeypatch.setattr(drafts, "wait_for", lambda descriptor: path.write_text("first\n"))
    files.append(path, "second\n")

    assert path.read_text() == "first\nsecond\n"


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there" / "file")
    files.write(link, "text")

    assert link.is_symlink()
    assert names(tmp_path / "there") == ["file"]


def test_an_error_in_the_block_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")

    def stop() -> None:
        with files.open_draft(path) as stream:
            stream.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert path.read_text() == "before"
    assert names(tmp_path) == ["file"]


def test_a_file_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    files.create(path, b"mine")

    with pytest.raises(FileExistsError):
        files.create(path, b"theirs")
    assert path.read_bytes() == b"mine"
    assert names(tmp_path) == ["mine"]


def test_a_file_is_made_where_there_are_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: str, target: str) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    files.create(tmp_path / "mine", b"mine")

    assert names(tmp_path) == ["mine"]


def test_a_device_is_written_and_stays_a_device(tmp_path: Path) -> None:
    files.write(os.devnull, "text")

    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_pipe_is_written_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    files.write(pipe, "text")

    assert os.read(reader, 10) == b"text"
    assert names(tmp_path) == ["pipe"]
    os.close(reader)


@pytest.mark.parametrize("path", ["", "folder", "new/"])
def test_a_folder_is_no_file(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()

    with pytest.raises(IsADirectoryError):
        files.write(path, "text")
    assert names(tmp_path) == ["folder"]


def test_a_file_that_is_protected_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "protected"
    path.write_text("before")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # as it is for all but root

    with pytest.raises(PermissionError, match="protected"):
        files.write(path, "text")
    assert path.read_text() == "before"


def test_a_text_without_utf8_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")

    with pytest.raises(UnicodeEncodeError):
        files.write(path, "\ud800")
    assert path.read_text() == "before"


def test_texts_are_added_to_a_file(tmp_path: Path) -> None:
    files.append(tmp_path / "log", "one\n")
    files.append(tmp_path / "log", "two\n")

    assert (tmp_path / "log").read_text() == "one\ntwo\n"


def test_folders_are_made_above_each_other(tmp_path: Path) -> None:
    files.make_folder(tmp_path / "a" / "b")
    files.make_folder(tmp_path / "a" / "b")

    assert (tmp_path / "a" / "b").is_dir()


def test_a_folder_that_another_saver_makes_meanwhile_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mkdir = os.mkdir

    def make_twice(path: str) -> None:
        mkdir(path)
        mkdir(path)

    monkeypatch.setattr(os, "mkdir", make_twice)
    files.make_folder(tmp_path / "a")

    assert (tmp_path / "a").is_dir()


def test_a_file_that_is_in_the_way_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(FileExistsError, match="file"):
        files.make_folder(tmp_path / "file")


def test_a_power_failure_takes_no_folder_that_was_made(tmp_path: Path) -> None:
    disk = Disk()
    with disk.installed():
        files.make_folder(tmp_path / "a" / "b")

    assert disk.names == set()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(OSError, match="file"):
        files.make_folder(tmp_path / "file" / "inside")


def test_what_a_dead_writer_left_is_swept_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    (tmp_path / drafts.new_name()).touch()
    (tmp_path / drafts.new_name() / "inside").mkdir(parents=True)
    with files.open_draft(tmp_path / "slow") as stream:
        drafts.sweep.cache_clear()
        files.write(tmp_path / "quick", "text")
        stream.write(b"text")

    assert names(tmp_path) == ["quick", "slow"]


def test_what_looks_like_no_draft_is_never_swept(tmp_path: Path) -> None:
    others = [".hidden", "a.nbtf-draft", ".0123.nbtf-draft"]
    for name in others:
        (tmp_path / name).touch()
    files.write(tmp_path / "file", "text")

    assert names(tmp_path) == sorted([*others, "file"])


def test_without_locks_a_draft_is_swept_when_it_is_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "fcntl", None)
    old, new = tmp_path / drafts.new_name(), tmp_path / drafts.new_name()
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    files.write(tmp_path / "file", "text")

    assert names(tmp_path) == sorted([new.name, "file"])


def test_a_draft_that_a_sweep_has_locked_is_given_up_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, calls = drafts.claim, iter([True])

    def first_swept(descriptor: int, path: str) -> bool:
        return claim(descriptor, path) and not next(calls, False)

    monkeypatch.setattr(drafts, "claim", first_swept)
    files.write(tmp_path / "file", "text")

    assert (tmp_path / "file").read_text() == "text"
    assert len(names(tmp_path)) == 2  # the one that is being swept


def test_an_error_of_the_system_names_the_file_and_not_its_draft(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as info:
        files.write(tmp_path / "gone" / "file", "text")
    assert info.value.filename == str(tmp_path / "gone" / "file")


def test_an_error_about_another_file_keeps_its_name(tmp_path: Path) -> None:
    def read_another() -> None:
        with files.open_draft(tmp_path / "file"):
            (tmp_path / "another").read_bytes()

    with pytest.raises(FileNotFoundError) as info:
        read_another()
    assert info.value.filename == str(tmp_path / "another")
    assert names(tmp_path) == []

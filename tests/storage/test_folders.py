from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from nbtf._storage import drafts, files, folders, limits, manifest
from nbtf.errors import DataLossError
from tests.storage.power_failure import Disk

OLD, NEW = {"a.json": b"old", "assets/words.txt": b"old words"}, {"a.json": b"new", "assets/words.txt": b"new words"}


def generations(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith("generation-")]


def part(folder: Path, name: str) -> Path:
    return folder / generations(folder)[0] / name


def change_manifest(folder: Path, **fields: Any) -> None:
    file = folder / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def test_files_of_a_folder_come_back(tmp_path: Path) -> None:
    folders.write(tmp_path / "model", OLD)

    assert folders.read(tmp_path / "model", OLD) == OLD
    assert folders.holds(tmp_path / "model", "assets/words.txt")
    assert not folders.holds(tmp_path / "model", "words.txt")


def test_a_second_save_replaces_the_first(tmp_path: Path) -> None:
    folders.write(tmp_path, OLD)
    folders.write(tmp_path, NEW)

    assert folders.read(tmp_path, NEW) == NEW
    assert len(generations(tmp_path)) == 1


def test_files_of_others_in_the_folder_stay(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "generation-mine").mkdir()
    folders.write(tmp_path, OLD)
    folders.write(tmp_path, NEW)

    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / "generation-mine").is_dir()


def test_a_manifest_of_another_program_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "a web page"}')

    with pytest.raises(FileExistsError, match="another folder"):
        folders.write(tmp_path, OLD)
    assert os.listdir(tmp_path) == ["manifest.json"]


def test_a_damaged_save_can_be_saved_over(tmp_path: Path) -> None:
    folders.write(tmp_path, OLD)
    (tmp_path / "manifest.json").write_bytes(b"\0")
    folders.write(tmp_path, NEW)

    assert folders.read(tmp_path, NEW) == NEW
    assert len(generations(tmp_path)) == 1


def test_a_folder_without_a_manifest_is_read_and_replaced(tmp_path: Path) -> None:
    flat = {"a.json": b"flat"}
    (tmp_path / "a.json").write_bytes(b"flat")

    assert folders.read(tmp_path, flat) == flat
    assert folders.holds(tmp_path, "a.json")

    folders.write(tmp_path, {"a.json": b"new"})
    assert folders.read(tmp_path, flat) == {"a.json": b"new"}
    assert not (tmp_path / "a.json").exists()


def test_where_nothing_was_saved_no_file_is_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        folders.read(tmp_path, ["a.json"])
    assert not folders.holds(tmp_path / "gone", "a.json")


def test_a_change_of_any_byte_is_told(tmp_path: Path) -> None:
    folders.write(tmp_path, OLD)
    part(tmp_path, "a.json").write_bytes(b"odd")

    with pytest.raises(DataLossError, match=r"a\.json was changed after saving"):
        folders.read(tmp_path, OLD)


def test_a_file_that_was_cut_is_told(tmp_path: Path) -> None:
    folders.write(tmp_path, OLD)
    os.truncate(part(tmp_path, "a.json"), 1)

    with pytest.raises(DataLossError, match=r"a\.json has 1 bytes, but 3 were saved"):
        folders.read(tmp_path, OLD)


def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    folders.write(tmp_path, OLD)
    part(tmp_path, "a.json").unlink()

    with pytest.raises(DataLossError, match=r"a\.json is missing"):
        folders.read(tmp_path, OLD)


def test_a_file_that_the_manifest_does_not_name_is_told(tmp_path: Path) -> None:
    folders.write(tmp_path, OLD)

    with pytest.raises(DataLossError, match=r"does not list b\.json"):
        folders.read(tmp_path, ["b.json"])


@pytest.mark.parametrize(
    "fields",
    [
        {"generation": ".."},
        {"generation": "/etc"},
        {"generation": "generation-0123456789abcdef/../.."},
        {"generation": 1},
        {"generation": None},
        {"files": {"../secret": {"size": 6, "sha256": "0" * 64}}},
        {"files": {"/secret": {"size": 6, "sha256": "0" * 64}}},
        {"files": {"C:secret": {"size": 6, "sha256": "0" * 64}}},
        {"files": {"a\\..\\secret": {"size": 6, "sha256": "0" * 64}}},
        {"files": {"a.json": {"size": -1, "sha256": "0" * 64}}},
        {"files": {"a.json": {"size": True, "sha256": "0" * 64}}},
        {"files": {"a.json": {"size": 3, "sha256": "0"}}},
        {"files": {"a.json": {"size": 3}}},
        {"files": {"a.json": None}},
        {"files": []},
        {"schema": "nbtf-manifest/999"},
    ],
    ids=str,
)
def test_a_manifest_that_says_something_else_is_damaged(fields: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "model"
    folders.write(folder, OLD)
    change_manifest(folder, **fields)

    with pytest.raises(DataLossError, match=r"model.*(is damaged|names|schema)"):
        folders.read(folder, ["a.json"])


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000], ids=["empty", "cut", "no text", "deep"])
def test_a_manifest_that_is_no_json_is_damaged(content: bytes, tmp_path: Path) -> None:
    folders.write(tmp_path, OLD)
    (tmp_path / "manifest.json").write_bytes(content)

    with pytest.raises(DataLossError, match=r"manifest\.json is damaged"):
        folders.read(tmp_path, OLD)


def test_a_manifest_without_end_is_not_read(tmp_path: Path) -> None:
    folders.write(tmp_path, OLD)
    os.truncate(tmp_path / "manifest.json", 2**40)

    with pytest.raises(DataLossError, match="1,099,511,627,776 bytes of JSON; the limit is 67,108,864"):
        folders.read(tmp_path, OLD)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"old")
    folder = tmp_path / "model"
    folders.write(folder, OLD)
    part(folder, "a.json").unlink()
    part(folder, "a.json").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(DataLossError, match="link"):
        folders.read(folder, OLD)


def test_a_folder_behind_a_link_can_be_saved_and_read(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    folders.write(tmp_path / "link", OLD)

    assert folders.read(tmp_path / "link", OLD) == OLD


@pytest.mark.parametrize("name", ["../a", "/a", "a/../../b", "a\\..\\..\\b", "", ".", "C:a", "a\0"])
def test_a_name_out_of_the_folder_is_not_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="inside its folder"):
        folders.write(tmp_path / "model", {name: b""})
    assert os.listdir(tmp_path) == []


def test_a_reader_whose_save_is_replaced_reads_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders.write(tmp_path, OLD)
    content = folders.read_bytes
    saves = iter([NEW])

    def read(file: str) -> bytes:
        if Path(file).name == "a.json":
            for save in saves:
                folders.write(tmp_path, save)
        return content(file)

    monkeypatch.setattr(folders, "read_bytes", read)
    assert folders.read(tmp_path, OLD) == NEW


def test_a_generation_that_is_being_written_stays(tmp_path: Path) -> None:
    folders.write(tmp_path, OLD)
    with drafts.make_folder(str(tmp_path), folders._new_generation) as begun:
        folders.write(tmp_path, NEW)
        assert Path(begun).name in generations(tmp_path)
    folders.write(tmp_path, OLD)

    assert len(generations(tmp_path)) == 1


def test_without_locks_generations_are_removed_when_they_are_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbtf._storage.drafts.fcntl", None)
    folders.write(tmp_path, OLD)
    left = [tmp_path / f"generation-{digit * 16}" for digit in "ab"]
    for path in left:
        path.mkdir()
    os.utime(left[0], (0, 0))
    folders.write(tmp_path, NEW)

    assert len(generations(tmp_path)) == 2
    assert left[1].is_dir()


def test_an_error_after_the_new_save_took_over_leaves_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders.write(tmp_path, OLD)
    write = files.write

    def write_and_stop(path: Path, content: bytes) -> None:
        write(path, content)
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "write", write_and_stop)
    with pytest.raises(KeyboardInterrupt):
        folders.write(tmp_path, NEW)
    assert folders.read(tmp_path, NEW) == NEW


@pytest.mark.parametrize("event", ["mkdir", "open"])
def test_a_generation_that_was_swept_when_it_began_is_given_up_for_another(
    event: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, sweeps = getattr(os, event), iter([True])

    def sweep_after(path: Any, *args: Any) -> Any:
        answer = call(path, *args)
        if "generation-" in str(path) and os.path.isdir(path) and next(sweeps, False):
            os.rmdir(path)
        return answer

    monkeypatch.setattr(os, event, sweep_after)
    folders.write(tmp_path, OLD)

    assert folders.read(tmp_path, OLD) == OLD
    assert len(generations(tmp_path)) == 1


def test_an_error_of_the_system_names_the_folder_as_the_caller_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="'model'"):
        folders.write("model", {"a": b"1"})


def test_a_generation_that_somebody_else_removed_is_no_error(tmp_path: Path) -> None:
    folders._remove(str(tmp_path / "generation"))


def test_several_files_may_be_in_one_inner_folder(tmp_path: Path) -> None:
    files_of_model = {"assets/a": b"1", "assets/b": b"2"}
    folders.write(tmp_path, files_of_model)

    assert files_of_model == folders.read(tmp_path, files_of_model)


def test_files_of_others_with_the_names_of_saved_ones_stay(tmp_path: Path) -> None:
    folders.write(tmp_path, OLD)
    (tmp_path / "a.json").write_bytes(b"of another")
    folders.write(tmp_path, {"a.json": b"new"})

    assert (tmp_path / "a.json").read_bytes() == b"of another"


def test_a_manifest_as_large_as_may_be_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders.write(tmp_path, OLD)
    monkeypatch.setattr(limits.DOCUMENT_BYTES, "maximum", (tmp_path / manifest.NAME).stat().st_size)

    assert OLD == folders.read(tmp_path, OLD)


def test_a_manifest_that_leads_out_of_the_folder_is_damaged() -> None:
    outside = manifest.Manifest({"../a": (1, "")})

    with pytest.raises(DataLossError, match="which is not a file inside its folder"):
        manifest.parse(outside.as_bytes(), "model")


def test_a_power_failure_takes_nothing_of_a_folder_that_was_saved(tmp_path: Path) -> None:
    disk = Disk()
    with disk.installed():
        folders.write(tmp_path / "model", OLD)
        folders.write(tmp_path / "model", {"a/b/c": b"new"})

    assert disk.names == disk.contents == set()

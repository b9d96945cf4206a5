"""Are the files of an archive those that were saved?"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from nbtf._storage import manifest, packing
from nbtf._storage.refusal import RefusedFileError


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def store(path: Path, contents: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def test_files_of_an_archive_come_back(tmp_path: Path) -> None:
    packing.write(tmp_path / "saved", {"a": b"1", "b": b"2"})

    assert {"b": b"2", "a": b"1"} == packing.read(tmp_path / "saved", ["b", "a"])
    assert {"a", "b", manifest.NAME} == members(tmp_path / "saved").keys()


def test_a_changed_file_of_an_archive_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "saved"
    packing.write(path, {"a": b"1", "b": b"2"})
    store(path, {**members(path), "a": b"3"})

    assert {"b": b"2"} == packing.read(path, ["b"])
    with pytest.raises(RefusedFileError, match="damaged"):
        packing.read(path, ["a"])


def test_a_file_that_the_manifest_of_an_archive_does_not_name_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "saved"
    packing.write(path, {"a": b"1"})
    store(path, {**members(path), "b": b"2"})

    with pytest.raises(RefusedFileError, match=f"{manifest.NAME} does not list b"):
        packing.read(path, ["a", "b"])


def test_an_archive_without_a_manifest_is_read(tmp_path: Path) -> None:
    store(tmp_path / "saved", {"a": b"1"})

    assert {"a": b"1"} == packing.read(tmp_path / "saved", ["a"])

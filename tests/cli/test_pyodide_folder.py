"""Is Pyodide refused when a wheel is another, or is missing, and does its lock name only what is there?"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from nbtf.cli.command_error import CommandError
from nbtf.cli.pyodide_folder import CORE, LOCK, NEEDED, copy_pyodide


@pytest.fixture
def pyodide(tmp_path: Path) -> Path:
    """A folder with the packages that are needed, and a lock that names more."""
    folder = tmp_path / "pyodide"
    folder.mkdir()
    for name in CORE:
        (folder / name).write_text(name)
    packages: dict[str, Any] = {}
    for name, depends in {
        **dict.fromkeys(NEEDED, ()),
        "scipy": ["numpy", "lib_blas"],
        "lib-blas": [],
        "user": ["scipy"],
    }.items():
        content = name.encode()
        file = f"{name}-1.whl"
        packages[name] = {"file_name": file, "sha256": hashlib.sha256(content).hexdigest(), "depends": list(depends)}
        (folder / file).write_bytes(content)
    (folder / LOCK).write_text(json.dumps({"info": {"python": "3.14"}, "packages": packages}))
    return folder


def test_all_that_is_there_is_copied(pyodide: Path, tmp_path: Path) -> None:
    names = copy_pyodide(pyodide, tmp_path / "copy")

    assert ["lib-blas", "micropip", "numpy", "packaging", "scipy", "user"] == names
    assert sorted(path.name for path in pyodide.iterdir()) == sorted(
        path.name for path in (tmp_path / "copy").iterdir()
    )


def test_lock_names_only_packages_that_are_there_with_what_they_need(pyodide: Path, tmp_path: Path) -> None:
    (pyodide / "lib-blas-1.whl").unlink()
    copy_pyodide(pyodide, tmp_path / "copy")
    lock = json.loads((tmp_path / "copy" / LOCK).read_text())

    assert sorted(NEEDED) == sorted(lock["packages"])
    assert {"python": "3.14"} == lock["info"]
    assert not (tmp_path / "copy" / "scipy-1.whl").exists()


def test_wheel_that_is_another_is_refused(pyodide: Path, tmp_path: Path) -> None:
    (pyodide / "numpy-1.whl").write_text("something else")

    with pytest.raises(CommandError, match=r"numpy-1.whl is not the file that pyodide-lock.json names"):
        copy_pyodide(pyodide, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("name", [*CORE, LOCK])
def test_missing_part_of_the_core_is_named(name: str, pyodide: Path, tmp_path: Path) -> None:
    (pyodide / name).unlink()

    with pytest.raises(CommandError, match=rf"has no {name}"):
        copy_pyodide(pyodide, tmp_path / "copy")


def test_missing_numpy_is_named_with_its_file(pyodide: Path, tmp_path: Path) -> None:
    (pyodide / "numpy-1.whl").unlink()

    with pytest.raises(CommandError, match=r"lacks wheels that its pyodide-lock.json names: numpy-1.whl"):
        copy_pyodide(pyodide, tmp_path / "copy")


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"packages": {"numpy": {}}}', '{"packages": {}}'])
def test_what_is_no_lock_is_said(text: str, pyodide: Path, tmp_path: Path) -> None:
    (pyodide / LOCK).write_text(text)

    with pytest.raises(CommandError, match=r"pyodide-lock.json (is not a lock file|names no packages)"):
        copy_pyodide(pyodide, tmp_path / "copy")


def test_lock_cannot_lead_out_of_its_folder(pyodide: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.whl"
    outside.write_text("numpy")
    lock = json.loads((pyodide / LOCK).read_text())
    lock["packages"]["numpy"]["file_name"] = "../outside.whl"
    (pyodide / LOCK).write_text(json.dumps(lock))

    with pytest.raises(CommandError, match="lacks wheels"):
        copy_pyodide(pyodide, tmp_path / "copy")

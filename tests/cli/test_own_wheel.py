"""Is the wheel that a page installs complete, and needs a computer nothing but NumPy for nbtf?"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from subprocess import run

import numpy as np
import pytest

import nbtf as tf
from nbtf.cli.own_wheel import BROWSER_NEEDS, DIGITS, own_wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sklearn", reason="needs the lab extra")
    return own_wheel(tmp_path_factory.mktemp("wheel"))


def test_it_has_all_files_of_the_package(wheel: Path) -> None:
    package = Path(tf.__file__).parent
    here = {f"nbtf/{path.relative_to(package).as_posix()}" for path in package.rglob("*") if path.is_file()}
    names = set(zipfile.ZipFile(wheel).namelist())

    assert [] == sorted(name for name in here - names if not ("__pycache__" in name or "_tutorials" in name))
    assert [] == [name for name in names if "__pycache__" in name]


def test_it_says_what_a_page_needs(wheel: Path) -> None:
    metadata = zipfile.ZipFile(wheel).read(f"nbtf-{tf.runtime.version}.dist-info/METADATA").decode()

    assert [f"Requires-Dist: {need}" for need in BROWSER_NEEDS] == [
        line for line in metadata.splitlines() if line.startswith("Requires-Dist")
    ]


def test_same_package_gives_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    assert wheel.read_bytes() == own_wheel(tmp_path).read_bytes()


def test_pip_installs_it_and_it_runs(wheel: Path, tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(tmp_path))
    run([*pip, str(wheel)], check=True, capture_output=True)
    program = "import nbtf as tf; print(tf.__file__); print(tf.matmul([[2.0]], [[3.0]]).numpy())"
    done = run([sys.executable, "-c", program], cwd=tmp_path, env={}, check=True, capture_output=True, text=True)

    assert [str(tmp_path / "nbtf" / "__init__.py"), "[[6.]]"] == done.stdout.splitlines()


def test_digits_in_it_are_those_of_scikit_learn(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (x, y), _ = tf.keras.datasets.digits.load_data()
    zipfile.ZipFile(wheel).extract(DIGITS, tmp_path)
    monkeypatch.setattr(tf.keras.datasets.digits, "_FILE", tmp_path / DIGITS)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    (found_x, found_y), _ = tf.keras.datasets.digits.load_data()

    assert (x.dtype, y.dtype) == (found_x.dtype, found_y.dtype)
    assert np.array_equal(x, found_x)
    assert np.array_equal(y, found_y)

"""Where does a page without a server get nbtf from? From a wheel of the nbtf that runs this command."""

from __future__ import annotations

import base64
import hashlib
import importlib
import importlib.util
import io
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import nbtf
from nbtf._storage import files
from nbtf.runtime import version

BROWSER_NEEDS = ("numpy>=2.0", "ipywidgets>=8.0", "anywidget>=0.9.0,<0.12")
"""Packages that a page installs with nbtf, including those for the live views. The bounds are those of extra `lab`."""

DIGITS = "nbtf/keras/datasets/digits.npz"
"""Where `tf.keras.datasets.digits` looks before it uses scikit-learn, which would add 20 MB to a page."""

_DAY = (2020, 1, 1, 0, 0, 0)
"""The date of all files in it, so that the same nbtf gives the same wheel."""


def own_wheel(folder: Path, needs: Sequence[str] = BROWSER_NEEDS) -> Path:
    """Builds a wheel of this nbtf, without the tutorials, which the page has beside it.

    Uses no build tool, so that it works for an installed nbtf as well as in the repository.

    Args:
      folder: folder for the wheel.
      needs: the packages that the wheel requires.

    Returns:
      The path of the wheel.
    """
    name = f"nbtf-{version}"
    wheel = folder / f"{name}-py3-none-any.whl"
    records: list[str] = []
    with files.open_draft(wheel) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in [*_files(), *_digits(), *_information(name, needs)]:
            _add(archive, path, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            records.append(f"{path},sha256={digest},{len(content)}\n")
        record = f"{name}.dist-info/RECORD"
        _add(archive, record, "".join([*records, f"{record},,\n"]).encode())
    return wheel


def has_digits() -> bool:
    """Returns whether scikit-learn is installed, which provides the digits of `tf.keras.datasets.digits`."""
    return importlib.util.find_spec("sklearn") is not None


def _files() -> Iterator[tuple[str, bytes]]:
    package = Path(nbtf.__file__).parent
    for path in sorted(package.rglob("*")):
        inside = path.relative_to(package)
        if path.is_file() and not {"__pycache__", "_tutorials", "digits.npz"} & set(inside.parts):
            yield f"nbtf/{inside.as_posix()}", path.read_bytes()


def _digits() -> Iterator[tuple[str, bytes]]:
    if not has_digits():
        return
    numpy: Any = importlib.import_module("numpy")
    digits: Any = importlib.import_module("sklearn.datasets").load_digits()
    file = io.BytesIO()
    numpy.savez_compressed(file, images=digits.images.astype("uint8"), target=digits.target.astype("uint8"))
    yield DIGITS, file.getvalue()


def _information(name: str, needs: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    lines = ["Metadata-Version: 2.1", "Name: nbtf", f"Version: {version}", "Requires-Python: >=3.11"]
    metadata = [*lines, *(f"Requires-Dist: {need}" for need in needs)]
    wheel = ["Wheel-Version: 1.0", "Generator: nbtf site", "Root-Is-Purelib: true", "Tag: py3-none-any"]
    yield f"{name}.dist-info/METADATA", ("\n".join(metadata) + "\n").encode()
    yield f"{name}.dist-info/WHEEL", ("\n".join(wheel) + "\n").encode()


def _add(archive: zipfile.ZipFile, path: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(path, _DAY), content, zipfile.ZIP_DEFLATED)

"""What should a saved folder or archive hold? Its manifest names each file, with size and SHA-256."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nbtf.errors import DataLossError

NAME = "manifest.json"
SCHEMA = "nbtf-manifest/1"
LARGEST = 16 * 2**20
"""Bytes of a manifest; with 200 for each file that is some 80,000 files."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
GENERATION = re.compile(r"generation-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """Size and SHA-256 of each file by its name, and, in a folder, the subfolder that has the files."""

    files: Mapping[str, tuple[int, str]]
    generation: str | None = None

    @classmethod
    def of(cls, contents: Mapping[str, bytes], generation: str | None = None) -> Manifest:
        """Returns the manifest of files.

        Raises:
          ValueError: a name leads out of the folder.
        """
        for name in contents:
            if not _is_inside(name):
                raise ValueError(f"{name!r} is no name of a file inside a folder")
        files = {name: (len(content), hashlib.sha256(content).hexdigest()) for name, content in contents.items()}
        return cls(files, generation)

    def as_bytes(self) -> bytes:
        """Returns the manifest as JSON."""
        files = {name: {"size": size, "sha256": digest} for name, (size, digest) in self.files.items()}
        of_folder = {} if self.generation is None else {"generation": self.generation}
        return json.dumps({"schema": SCHEMA, **of_folder, "files": files}, indent=1).encode()

    def check(self, name: str, content: bytes, source: str) -> bytes:
        """Returns the content of a file, which is the one that was saved.

        Args:
          name: the file.
          content: what was read.
          source: the folder or archive, for the error.

        Raises:
          DataLossError: it has another size or SHA-256.
        """
        size, digest = self.files[name]
        if len(content) != size:
            raise damage(source, f"{name} has {len(content):,} bytes, {size:,} were saved")
        if hashlib.sha256(content).hexdigest() != digest:
            raise damage(source, f"{name} is not what was saved: its SHA-256 differs from the manifest's")
        return content


def parse(content: bytes, source: str) -> Manifest:
    """Returns the manifest that JSON stands for.

    Raises:
      DataLossError: it is none.
    """
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise damage(source, f"{NAME} is no JSON ({error})") from None
    schema = _fields(document).get("schema")
    if schema != SCHEMA:
        raise damage(source, f"{NAME} has the schema {schema!r}; this nbtf reads {SCHEMA!r}")
    return Manifest(_files(document.get("files"), source), _generation(document.get("generation"), source))


def is_foreign(content: bytes) -> bool:
    """Tells whether a `manifest.json` is another program's: whole, and without the schema of nbtf."""
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return not str(_fields(document).get("schema")).startswith("nbtf-")


def damage(source: str, text: str) -> DataLossError:
    """Returns the error that says what is wrong with a folder or archive."""
    return DataLossError(None, None, f"{source} is damaged: {text}")


def _files(entries: Any, source: str) -> dict[str, tuple[int, str]]:
    files: dict[str, tuple[int, str]] = {}
    for name, entry in _fields(entries).items():
        size, digest = _fields(entry).get("size"), _fields(entry).get("sha256")
        if type(size) is not int or size < 0 or not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise damage(source, f"{NAME} does not say size and SHA-256 of {name!r}")
        if not _is_inside(name):
            raise damage(source, f"{NAME} names {name!r}, which is not inside the folder")
        files[name] = (size, digest)
    return files


def _fields(value: Any) -> dict[str, Any]:
    """Returns an object of JSON; without fields if it is none."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _generation(name: Any, source: str) -> str | None:
    if name is not None and not (isinstance(name, str) and GENERATION.fullmatch(name)):
        raise damage(source, f"{NAME} names {name!r}, which is no generation of the folder")
    return name


def _is_inside(name: str) -> bool:
    """Tells whether a name, with / between its parts, stays inside any folder on any system."""
    return not re.search(r"[\\:\0]", name) and all(level not in ("", ".", "..") for level in name.split("/"))

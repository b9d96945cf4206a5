"""The manifest of a saved folder or archive: the expected files, with size and SHA-256."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nbtf._storage.archives import inside
from nbtf._storage.documents import parse_document
from nbtf._storage.refusal import RefusedFileError

NAME = "manifest.json"
SCHEMA = "nbtf-manifest/1"
GENERATION = re.compile(r"generation-[0-9a-f]{16}")

_FIELDS = {"schema": str, "files": {str: {"size": int, "sha256": str}}}


@dataclass(frozen=True, slots=True)
class Manifest:
    """Size and SHA-256 of each file by name, and, for a folder, the subfolder with the files."""

    files: Mapping[str, tuple[int, str]]
    generation: str | None = None

    @classmethod
    def of(cls, contents: Mapping[str, bytes], generation: str | None = None) -> Manifest:
        """Returns the manifest of files.

        Raises:
          RefusedFileError: if a name leads out of the folder.
        """
        for name in contents:
            inside("", name, NAME)
        files = {name: (len(content), hashlib.sha256(content).hexdigest()) for name, content in contents.items()}
        return cls(files, generation)

    def as_bytes(self) -> bytes:
        """Returns the manifest as JSON."""
        files = {name: {"size": size, "sha256": digest} for name, (size, digest) in self.files.items()}
        of_folder = {} if self.generation is None else {"generation": self.generation}
        return json.dumps({"schema": SCHEMA, **of_folder, "files": files}, indent=1).encode()

    def check(self, name: str, content: bytes, source: str) -> bytes:
        """Returns the content of a file after verifying that it is unchanged.

        Args:
          name: the file.
          content: its content as read.
          source: the folder or archive that errors name.

        Raises:
          RefusedFileError: if its size or SHA-256 differs.
        """
        size, digest = self.files[name]
        if len(content) != size:
            raise damage(source, f"{name} has {len(content):,} bytes, but {size:,} were saved")
        if hashlib.sha256(content).hexdigest() != digest:
            raise damage(source, f"{name} was changed after saving: its SHA-256 differs from the manifest's")
        return content


def parse(content: bytes, source: str) -> Manifest:
    """Returns the manifest in a JSON text.

    Raises:
      RefusedFileError: if the text is not a manifest, or a name leads out of the folder.
    """
    name = f"{source}/{NAME}"
    schema = _schema(content)
    if schema is not None and schema != SCHEMA:
        raise RefusedFileError(f"{name} has the schema {schema!r}; this nbtf reads {SCHEMA!r}")
    document: dict[str, Any] = parse_document(content, name, _FIELDS)
    for file in document["files"]:
        inside(source, file, name)
    generation = document.get("generation")
    if generation is not None and not (isinstance(generation, str) and GENERATION.fullmatch(generation)):
        raise damage(name, f"{generation!r} is not a generation of the folder")
    return Manifest({file: (entry["size"], entry["sha256"]) for file, entry in document["files"].items()}, generation)


def is_foreign(content: bytes) -> bool:
    """Returns whether a `manifest.json` belongs to another program: valid, but without nbtf's schema."""
    schema = _schema(content)
    return schema is not None and not schema.startswith("nbtf-")


def _schema(content: bytes) -> str | None:
    """Returns the schema named in a JSON text; empty if there is none, None if the text is not JSON."""
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return str(document.get("schema", "")) if isinstance(document, dict) else ""  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]


def damage(source: object, text: str) -> RefusedFileError:
    """Returns the error that describes the damage to a folder or archive."""
    return RefusedFileError(f"{source} is damaged: {text}")

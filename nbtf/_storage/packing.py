"""How do several files get into one archive? As a zip with a manifest, in one step."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping

from nbtf._storage import files, manifest
from nbtf._storage.manifest import Manifest


def write(path: files.StrPath, contents: Mapping[str, bytes]) -> None:
    """Writes a zip with files and their manifest; an archive that was there is replaced in one step.

    Raises:
      OSError: it cannot be written; what was there is as it was.
    """
    members = {**contents, manifest.NAME: Manifest.of(contents).as_bytes()}
    with files.open_draft(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def verify(contents: Mapping[str, bytes], source: str) -> None:
    """Checks what was read from an archive against its manifest, if it has one: an older nbtf wrote none.

    Args:
      contents: the files that were read, and the manifest with them.
      source: the archive, for the error.

    Raises:
      RefusedFileError: a file is not what was saved.
    """
    if manifest.NAME not in contents:
        return
    saved = manifest.parse(contents[manifest.NAME], source)
    for name, content in contents.items():
        if name == manifest.NAME:
            continue
        if name not in saved.files:
            raise manifest.damage(source, f"{manifest.NAME} names no {name}")
        saved.check(name, content, source)

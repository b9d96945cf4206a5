"""How do several files get into one archive? As a zip with a manifest, in one step."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Mapping

from nbtf._storage import files, manifest
from nbtf._storage.archives import member_names, read_members
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


def read(path: files.StrPath, names: Iterable[str]) -> dict[str, bytes]:
    """Returns files of an archive as they were saved; an older nbtf wrote no manifest, by which they are checked.

    Raises:
      FileNotFoundError: there is no such archive.
      RefusedFileError: it is damaged, would grow too large, or lacks a file.
    """
    described = {manifest.NAME}.intersection(member_names(path))
    contents = read_members(path, (*names, *described))
    if described:
        saved = manifest.parse(contents.pop(manifest.NAME), os.fspath(path))
        for name, content in contents.items():
            if name not in saved.files:
                raise manifest.damage(os.fspath(path), f"{manifest.NAME} names no {name}")
            saved.check(name, content, os.fspath(path))
    return contents

"""Saving several files in one archive: a zip with a manifest, written in one step."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Mapping

from nbtf._storage import files, manifest
from nbtf._storage.archives import member_names, read_members
from nbtf._storage.manifest import Manifest


def write(path: files.StrPath, contents: Mapping[str, bytes]) -> None:
    """Writes files and their manifest as a zip; an existing archive is replaced in one step.

    Raises:
      OSError: if it cannot be written; the existing archive is unchanged.
    """
    members = {**contents, manifest.NAME: Manifest.of(contents).as_bytes()}
    with files.open_draft(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def read(path: files.StrPath, names: Iterable[str]) -> dict[str, bytes]:
    """Returns files of an archive as they were saved. Archives of an older nbtf have no manifest to check against.

    Raises:
      FileNotFoundError: if the archive does not exist.
      RefusedFileError: if it is damaged, would expand too far, or lacks a file.
    """
    described = {manifest.NAME}.intersection(member_names(path))
    contents = read_members(path, (*names, *described))
    if described:
        saved = manifest.parse(contents.pop(manifest.NAME), os.fspath(path))
        for name, content in contents.items():
            if name not in saved.files:
                raise manifest.damage(os.fspath(path), f"{manifest.NAME} does not list {name}")
            saved.check(name, content, os.fspath(path))
    return contents

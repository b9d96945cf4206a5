"""Saving several files into a folder as one unit: a generation in a subfolder that the manifest names.

    folder/manifest.json                    which generation is the saved one, size and SHA-256 of its files
    folder/generation-1f0c.../values.npz    one of its files

The manifest is replaced last and in one step, so a folder always holds either the old or the new save. Older
generations are then removed; a process that was reading one starts again with the new one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Collection, Generator, Mapping
from dataclasses import replace

from nbtf._storage import drafts, files, manifest
from nbtf._storage.archives import inside
from nbtf._storage.limits import DOCUMENT_BYTES
from nbtf._storage.manifest import Manifest
from nbtf._storage.reading import read_bytes
from nbtf._storage.refusal import RefusedFileError, refusing


def write(path: files.StrPath, contents: Mapping[str, bytes]) -> None:
    """Saves files into a folder in one step; other files in it are kept.

    Args:
      path: the folder; created if necessary.
      contents: the files by name; `/` separates folders.

    Raises:
      FileExistsError: if the folder has a `manifest.json` of another program.
      OSError: if it cannot be written; the earlier save is unchanged.
    """
    description = Manifest.of(contents)
    folder = os.path.realpath(path)
    previous, flat = _generation_before(folder), _flat_files(folder, contents)
    try:
        files.make_folder(folder)
        with drafts.make_folder(folder, _new_generation, _remove) as generation:
            for name, content in contents.items():
                file = inside(generation, name, folder)
                if "/" in name:
                    os.makedirs(file.parent, exist_ok=True)
                files.write_part(file, content)
            for inner, _, _ in os.walk(generation):
                drafts.sync_folder(inner)
            drafts.sync_folder(folder)
            current = replace(description, generation=os.path.basename(generation))
            files.write(os.path.join(folder, manifest.NAME), current.as_bytes())
        _remove_other_generations(folder, previous)
    except BaseException as error:  # including interrupts, which would leave files until the next save
        _remove_other_generations(folder, previous)
        if isinstance(error, OSError):
            files.name_file(error, path, folder)
        raise
    for file in flat:
        with contextlib.suppress(OSError):
            os.unlink(file)


def read(path: files.StrPath, names: Collection[str]) -> dict[str, bytes]:
    """Returns saved files of a folder, all from the same save.

    A folder without a manifest comes from an older nbtf and is read without checks.

    Args:
      path: the folder.
      names: names of the files to read.

    Raises:
      FileNotFoundError: if nothing was saved in the folder.
      RefusedFileError: if a file is missing or was changed after saving, or the manifest leads out of the folder.
    """
    folder = os.fspath(path)
    while True:
        current = manifest_of(folder)
        try:
            return {name: _read_part(folder, current, name) for name in names}
        except FileNotFoundError as error:
            if manifest_of(folder) == current:
                if current is None:
                    raise
                raise manifest.damage(folder, f"{error.filename} is missing") from None
            # A concurrent saver has replaced this save; start again with the new one.


@contextlib.contextmanager
def open_draft(path: files.StrPath) -> Generator[str]:
    """Yields a path where another program can create a folder, which is renamed to `path` after a successful block.

    Its files are not synced to disk, because there may be a thousand and they can be regenerated.

    Args:
      path: the folder; an existing one must be empty.

    Raises:
      OSError: if the folder cannot be created, or is not empty.
    """
    folder = os.path.realpath(path)
    parent = os.path.dirname(folder)
    files.make_folder(parent)
    drafts.sweep(parent)
    with drafts.make_folder(parent) as draft:
        content = os.path.join(draft, os.path.basename(folder))
        yield content
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(folder)  # Windows cannot replace a folder
        os.rename(content, folder)
        os.rmdir(draft)
    drafts.sync_folder(parent)


def holds(path: files.StrPath, name: str) -> bool:
    """Returns whether a file was saved into a folder."""
    current = manifest_of(path)
    return os.path.isfile(os.path.join(path, name)) if current is None else name in current.files


def manifest_of(path: files.StrPath) -> Manifest | None:
    """Returns the manifest of a folder; None without one.

    Raises:
      RefusedFileError: if the manifest is damaged.
    """
    file = os.path.join(path, manifest.NAME)
    try:
        size = os.stat(file).st_size
        with refusing(file):
            DOCUMENT_BYTES.check(size)
        content = read_bytes(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if manifest.is_foreign(content):
        return None
    return manifest.parse(content, os.fspath(path))


def _read_part(folder: str, current: Manifest | None, name: str) -> bytes:
    if current is None:
        return read_bytes(inside(folder, name, folder))
    if name not in current.files or current.generation is None:
        raise manifest.damage(folder, f"{manifest.NAME} does not list {name}")
    file = inside(os.path.join(os.path.realpath(folder), current.generation), name, folder)
    if file != file.resolve():
        raise manifest.damage(folder, f"{name} is a link that leads elsewhere")
    size, saved = os.stat(file).st_size, current.files[name][0]
    if size != saved:  # checked first, so that an oversized file is not read
        raise manifest.damage(folder, f"{name} has {size:,} bytes, but {saved:,} were saved")
    return current.check(name, read_bytes(file), folder)


# ---- generations


def _new_generation() -> str:
    return f"generation-{os.urandom(8).hex()}"


def _generation_before(folder: str) -> str | None:
    """Returns the generation that a save will replace.

    Raises:
      FileExistsError: if another program has its `manifest.json` there.
    """
    try:
        content = read_bytes(os.path.join(folder, manifest.NAME))
    except (FileNotFoundError, NotADirectoryError):
        return None
    if manifest.is_foreign(content):
        text = f"the folder has a {manifest.NAME} of another program; save into another folder"
        raise FileExistsError(errno.EEXIST, text, folder)
    try:
        return manifest.parse(content, folder).generation
    except RefusedFileError:
        return None  # a damaged save may be replaced


def _flat_files(folder: str, names: Collection[str]) -> list[str]:
    """Returns the files of a save by an older nbtf without a manifest, if there is one."""
    flat = [os.path.join(folder, name) for name in names]
    is_flat = not os.path.lexists(os.path.join(folder, manifest.NAME)) and all(map(os.path.isfile, flat))
    return flat if is_flat else []


def _remove_other_generations(folder: str, previous: str | None) -> None:
    """Removes generations that the manifest does not name and no process is writing; failures are ignored."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if manifest.GENERATION.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError), drafts.seize(entry.path) as abandoned:
                    if abandoned or entry.name == previous:
                        _remove(entry.path)


def _remove(generation: str) -> None:
    """Removes a generation, unless the manifest names it."""
    folder, name = os.path.split(generation)
    try:
        current = manifest_of(folder)
    except (OSError, RefusedFileError):
        return  # the manifest may name this generation
    if current is None or current.generation != name:
        shutil.rmtree(generation, ignore_errors=True)

"""How do several files get into a folder as one? As a generation in a subfolder, to which the manifest points.

    folder/manifest.json                    which generation is the saved one, size and SHA-256 of its files
    folder/generation-1f0c.../values.npz    a file of it

The manifest is replaced last and in one step, so a folder holds the save from before or the new one. Generations
before are removed afterwards; who was reading one reads the next.
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
    """Saves files into a folder in one step; files of others in it stay.

    Args:
      path: the folder; made if need be.
      contents: the files by their names, in which `/` stands between folders.

    Raises:
      FileExistsError: the folder has a `manifest.json` of another program.
      OSError: it cannot be written; what was saved there before is as it was.
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
    except BaseException as error:  # an interrupt too: the earlier generation would stay until the next save
        _remove_other_generations(folder, previous)
        if isinstance(error, OSError):
            files.name_file(error, path, folder)
        raise
    for file in flat:
        with contextlib.suppress(OSError):
            os.unlink(file)


def read(path: files.StrPath, names: Collection[str]) -> dict[str, bytes]:
    """Returns files of a folder, all of the same save, as they were saved.

    A folder without a manifest, which an older nbtf has written, is read as it is.

    Args:
      path: the folder.
      names: which files.

    Raises:
      FileNotFoundError: nothing was saved there.
      RefusedFileError: a file is missing or is not what was saved, or the manifest leads out of the folder.
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
            # A saver has removed this save meanwhile; the next one is read from its beginning.


@contextlib.contextmanager
def open_draft(path: files.StrPath) -> Generator[str]:
    """Yields where another program is to make a folder, which takes its name when the block ends without an error.

    Its files, which may be a thousand and can be made again, are not forced onto the disk.

    Args:
      path: the folder, which must be empty if it is there.

    Raises:
      OSError: it cannot be made, or is not empty.
    """
    folder = os.path.realpath(path)
    parent = os.path.dirname(folder)
    files.make_folder(parent)
    drafts.sweep(parent)
    with drafts.make_folder(parent) as draft:
        content = os.path.join(draft, os.path.basename(folder))
        yield content
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(folder)  # Windows replaces no folder
        os.rename(content, folder)
        os.rmdir(draft)
    drafts.sync_folder(parent)


def holds(path: files.StrPath, name: str) -> bool:
    """Tells whether a file was saved into a folder."""
    current = manifest_of(path)
    return os.path.isfile(os.path.join(path, name)) if current is None else name in current.files


def manifest_of(path: files.StrPath) -> Manifest | None:
    """Returns what was saved into a folder; None if there is no manifest.

    Raises:
      RefusedFileError: the manifest is damaged.
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
        raise manifest.damage(folder, f"{manifest.NAME} names no {name}")
    file = inside(os.path.join(os.path.realpath(folder), current.generation), name, folder)
    if file != file.resolve():
        raise manifest.damage(folder, f"{name} is a link to another place")
    size, saved = os.stat(file).st_size, current.files[name][0]
    if size != saved:  # before a file of any size is read
        raise manifest.damage(folder, f"{name} has {size:,} bytes, {saved:,} were saved")
    return current.check(name, read_bytes(file), folder)


# ---- generations


def _new_generation() -> str:
    return f"generation-{os.urandom(8).hex()}"


def _generation_before(folder: str) -> str | None:
    """Returns the generation that a save will replace.

    Raises:
      FileExistsError: another program has its `manifest.json` there.
    """
    try:
        content = read_bytes(os.path.join(folder, manifest.NAME))
    except (FileNotFoundError, NotADirectoryError):
        return None
    if manifest.is_foreign(content):
        text = f"a {manifest.NAME} that nbtf has not written is there; save into another folder"
        raise FileExistsError(errno.EEXIST, text, folder)
    try:
        return manifest.parse(content, folder).generation
    except RefusedFileError:
        return None  # what is damaged may be replaced


def _flat_files(folder: str, names: Collection[str]) -> list[str]:
    """Returns the files of a save by an older nbtf, which had no manifest, if there is one."""
    flat = [os.path.join(folder, name) for name in names]
    is_flat = not os.path.lexists(os.path.join(folder, manifest.NAME)) and all(map(os.path.isfile, flat))
    return flat if is_flat else []


def _remove_other_generations(folder: str, previous: str | None) -> None:
    """Removes the generations that the manifest does not name and nobody writes; what cannot be removed stays."""
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
        return  # it may be the one
    if current is None or current.generation != name:
        shutil.rmtree(generation, ignore_errors=True)

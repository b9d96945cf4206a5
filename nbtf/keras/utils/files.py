"""Files that programs would download: from this computer, or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from nbtf.keras.datasets.cache import folder


def get_file(
    fname: str | None = None,
    origin: str | None = None,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: str = "auto",
    cache_dir: str | os.PathLike[str] | None = None,
    force_download: bool = False,
    **ignored: Any,
) -> str:
    """Returns the path of a file that Keras has fetched before. Nothing is downloaded.

    Args:
      fname: its name; the last part of `origin` when None.
      origin: where Keras would fetch it.
      untar: whether the folder that was unpacked from it is meant.
      md5_hash, file_hash, hash_algorithm, archive_format, force_download: accepted for TensorFlow's sake, without
        effect.
      cache_subdir: the folder in the cache.
      extract: as `untar`.
      cache_dir: the cache; `~/.keras` when None.
      **ignored: accepted for other programs.

    Raises:
      FileNotFoundError: it is not there; the text says where it is looked for.
      ValueError: neither a name nor an origin.
    """
    name = fname or (origin or "").rstrip("/").rpartition("/")[2]
    if not name:
        raise ValueError('Please specify the "origin" argument (URL of the file to download).')
    base = folder().parent if cache_dir is None else Path(os.fspath(cache_dir))
    path = Path(name) if os.path.isabs(name) else base / cache_subdir / name
    unpacked = Path(str(path).removesuffix(".gz").removesuffix(".tar").removesuffix(".tgz").removesuffix(".zip"))
    for candidate in ([unpacked] if untar or extract else []) + [path]:
        if candidate.exists():
            return str(candidate)
    raise FileNotFoundError(
        f"{path} is not there, and nbtf downloads nothing. Fetch {origin or name} on a computer with a network, and "
        "put it there."
    )

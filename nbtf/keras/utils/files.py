"""Files that Keras would download; nbtf only finds them on this computer."""

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
    """Returns the path of a file that Keras downloaded before. Nothing is downloaded.

    Args:
      fname: name of the file; by default the last part of `origin`.
      origin: URL from which Keras would download the file.
      untar: whether to return the folder extracted from the file; false by default.
      md5_hash, file_hash, hash_algorithm, archive_format, force_download: ignored, for compatibility with
        TensorFlow.
      cache_subdir: folder in the cache; `datasets` by default.
      extract: as `untar`.
      cache_dir: path of the cache; `~/.keras` by default.
      **ignored: further Keras arguments, which are ignored.

    Raises:
      FileNotFoundError: if the file does not exist; the message names the expected path.
      ValueError: if neither a name nor an origin is given.
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
        f"{path} does not exist, and nbtf downloads nothing. Download {origin or name} on a computer with a network, "
        "and copy it to this path."
    )

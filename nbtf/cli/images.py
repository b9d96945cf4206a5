"""Which image files does a notebook show, and how are they copied with it?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from nbtf._storage import files
from nbtf._storage.reading import read_bytes

_IMAGE = re.compile(r"!\[(?:[^\]!]|!(?!\[))*+\]\(([^()\s]+)\)")


def images_of(notebook: Mapping[str, Any]) -> list[str]:
    """Returns the files below a notebook's own folder that its text cells show, as written there, without duplicates.

    Addresses, attachments and paths that lead out of the folder are left out.

    Args:
      notebook: as its file has it, or as nbformat reads it.

    >>> text = "![a](drawings/a.svg) ![b](https://example.org/b.png) ![c](../c.png)"
    >>> images_of({"cells": [{"cell_type": "markdown", "source": text}]})
    ['drawings/a.svg']
    """
    texts = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    targets = [unquote(target) for text in texts for target in _IMAGE.findall(text)]
    return list(dict.fromkeys(target for target in targets if _is_below(target)))


def _is_below(target: str) -> bool:
    path = PurePosixPath(target)
    return not (path.is_absolute() or ".." in path.parts or ":" in target or "\\" in target or "\0" in target)


def copy_images(notebook: Mapping[str, Any], folder: Path, copies: Path, for_page: bool = False) -> None:
    """Copies a notebook's images, without overwriting any file.

    Args:
      notebook: its text cells name the files.
      folder: the notebook's folder.
      copies: the folder of its copy.
      for_page: whether the copy is for JupyterLite, which reads SVG as Latin-1: other letters become references.

    Raises:
      OSError: if an image cannot be read or written. An image that does not exist is skipped.
    """
    for name in images_of(notebook):
        source, copy = folder / name, copies / name
        if source.is_file():
            content = read_bytes(source)
            files.make_folder(copy.parent)
            with suppress(FileExistsError):
                files.create(copy, _in_ascii(content) if for_page and copy.suffix == ".svg" else content)


def _in_ascii(svg: bytes) -> bytes:
    return svg.decode("utf-8", "replace").encode("ascii", "xmlcharrefreplace")

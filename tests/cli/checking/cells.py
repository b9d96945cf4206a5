"""Cells with what is recorded of them, and notebooks of them, for tests of the checker."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import nbformat
from PIL import Image

v4 = nbformat.v4


def stream(text: str, name: str = "stdout") -> Any:
    return v4.new_output("stream", name=name, text=text)


def shown(**data: Any) -> Any:
    """What `display` makes of a value; `text_plain` is its text."""
    return v4.new_output("display_data", data={name.replace("_", "/", 1): text for name, text in data.items()})


def result(text: str, **data: Any) -> Any:
    return v4.new_output(
        "execute_result",
        data={"text/plain": text, **{name.replace("_", "/", 1): value for name, value in data.items()}},
    )


def error(name: str, text: str) -> Any:
    return v4.new_output("error", ename=name, evalue=text, traceback=[])


def cell(source: str, *outputs: Any, tags: tuple[str, ...] = (), run: bool = True, **marks: Any) -> Any:
    """A code cell that was run, unless that is denied; `marks` are nbtf's metadata."""
    code = v4.new_code_cell(source, outputs=list(outputs), execution_count=1 if run else None)
    if tags:
        code.metadata["tags"] = list(tags)
    if marks:
        code.metadata["nbtf"] = marks
    return code


def save(path: Path, *cells: Any, **metadata: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(v4.new_notebook(cells=list(cells), metadata=metadata), path)
    return path


def png(
    colour: tuple[int, int, int] = (200, 40, 40), size: tuple[int, int] = (40, 30), dots: int = 0, **info: str
) -> str:
    """A picture in base64: one colour, with some black dots."""
    from PIL.PngImagePlugin import PngInfo

    picture, chunks, file = Image.new("RGB", size, colour), PngInfo(), io.BytesIO()
    for number in range(dots):
        picture.putpixel((number % size[0], number // size[0]), (0, 0, 0))
    for name, text in info.items():
        chunks.add_text(name, text)
    picture.save(file, "PNG", pnginfo=chunks)
    return base64.b64encode(file.getvalue()).decode()

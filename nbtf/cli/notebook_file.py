"""The files of notebooks: which of them paths mean, and how they are read and written."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from nbtf._storage import files
from nbtf._storage.reading import read_text
from nbtf.cli.command_error import CommandError, reading, writing


def read(path: Path) -> Any:
    """Returns a notebook of any format version, converted to the newest one and checked.

    Raises:
      CommandError: if it cannot be read, is not a notebook, or is not in Python.
    """
    nbformat: Any = importlib.import_module("nbformat")  # nbformat has no type annotations
    try:
        with reading(path):
            text = read_text(path)
        notebook = nbformat.reads(text, as_version=4)
        del text  # the text is as large as the notebook
    except CommandError:
        raise
    except Exception as error:  # old formats are converted before any check, which may raise anything
        raise CommandError(f"{path} is not a notebook") from error
    wrong = _mistake(notebook)
    if wrong is not None:
        raise CommandError(f"{path} is not a notebook: {wrong}")
    language = str(notebook.metadata.get("kernelspec", {}).get("language") or "python")
    if language.lower() != "python":
        raise CommandError(f"{path} is in {language}; nbtf runs Python notebooks")
    return notebook


def _mistake(notebook: Any) -> str | None:
    """Returns what is wrong with the parts of a notebook that nbtf uses; None if nothing is.

    The official schema is stricter: it rejects, for example, the extra fields in many notebooks from Colab.
    """
    if not _is_table(notebook.get("metadata")):
        return "its metadata are not a table"
    for name in ("kernelspec", "language_info", "nbtf", "widgets"):
        if not _is_table(notebook.metadata.get(name, {})):
            return f"its {name} is not a table"
    if not isinstance(notebook.get("cells"), list):
        return "it has no list of cells"
    for number, cell in enumerate(notebook.cells, start=1):
        wrong = _mistake_of_cell(cell)
        if wrong is not None:
            return f"cell {number} {wrong}"
    return None if _can_be_written(notebook) else "it contains characters that cannot be stored in a file"


def _can_be_written(notebook: Any) -> bool:
    """Returns whether every text of a notebook can be stored in a file, without copying them all."""
    try:
        return all(
            chunk.isascii() or chunk.encode() for chunk in json.JSONEncoder(ensure_ascii=False).iterencode(notebook)
        )
    except (TypeError, ValueError, RecursionError):
        return False


def _mistake_of_cell(cell: Any) -> str | None:
    if not _is_table(cell) or not isinstance(cell.get("cell_type"), str):
        return "has no type"
    if cell["cell_type"] not in ("code", "markdown", "raw"):
        return f"has the type {cell['cell_type']!r:.80}; a cell is code, markdown or raw"
    if not isinstance(cell.get("source"), str):
        return "has no text"
    if not _is_table(cell.get("metadata", {})) or not _is_texts(cell.get("metadata", {}).get("tags", [])):
        return "has invalid metadata"
    if not isinstance(cell.get("execution_count"), int | None):
        return "has an invalid execution number"
    outputs = cell.get("outputs", [])
    if not isinstance(outputs, list) or not all(map(_is_output, cast("list[Any]", outputs))):
        return "has an invalid output"
    return None


def _is_output(output: Any) -> bool:
    if not _is_table(output) or not isinstance(output.get("output_type"), str) or not _is_table(output.get("data", {})):
        return False
    texts = [output.get("text", ""), output.get("data", {}).get("text/plain", "")]
    names = [output.get("name", ""), output.get("ename", "" if output["output_type"] != "error" else None)]
    return all(isinstance(name, str) for name in names) and all(
        isinstance(text, str) or _is_texts(text) for text in texts
    )


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(line, str) for line in cast("list[Any]", value))


def as_text(notebook: Any) -> str:
    """Returns the text of the notebook's file."""
    nbformat: Any = importlib.import_module("nbformat")  # nbformat has no type annotations
    return nbformat.writes(notebook) + "\n"


def write(path: Path, notebook: Any) -> None:
    """Writes a notebook; an existing file is kept until the new one is completely on disk.

    Raises:
      CommandError: if the file cannot be written.
    """
    with writing(path):
        files.write(path, as_text(notebook))


def notebooks_in(paths: Iterable[Path]) -> list[Path]:
    """Returns the notebooks at some paths, each once; those of a folder in order, without checkpoints.

    Raises:
      CommandError: if a path does not exist, or a folder has no notebooks.
    """
    notebooks: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob("*.ipynb")) if path.is_dir() else [path]
        inside = [path for path in inside if ".ipynb_checkpoints" not in path.parts]
        if not path.exists() or not inside:
            raise CommandError(f"found no notebook at {path}")
        notebooks += inside
    return list(dict.fromkeys(notebooks))

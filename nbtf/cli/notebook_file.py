"""How are the files of notebooks read and written?"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from nbtf._storage import files
from nbtf._storage.reading import read_text
from nbtf.cli.command_error import CommandError, reading, writing


class OtherLanguageError(CommandError):
    """A notebook is not in Python; `language` names what it is in."""

    def __init__(self, path: Path, language: str) -> None:
        """Composes the message.

        Args:
          path: the notebook's file.
          language: the language of its kernel.
        """
        super().__init__(f"{path} is in {language}; nbtf runs Python notebooks")
        self.language = language


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
    language = language_of_kernel(notebook)
    if language.lower() != "python":
        raise OtherLanguageError(path, language)
    return notebook


def language_of_kernel(notebook: Any) -> str:
    """Returns the programming language of a notebook's kernel; Python if the notebook does not say."""
    metadata = notebook.metadata
    named = metadata.get("kernelspec", {}).get("language") or metadata.get("language_info", {}).get("name") or "Python"
    return str(named) if str(named) != str(named).lower() else str(named).capitalize()


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


def as_text(notebook: Any, has_lists_of_lines: bool = True) -> str:
    """Returns the text of the notebook's file, in which a text of several lines may be a list of lines."""
    nbformat: Any = importlib.import_module("nbformat")  # nbformat has no type annotations
    return nbformat.writes(notebook, split_lines=has_lists_of_lines) + "\n"


def write(path: Path, notebook: Any, has_lists_of_lines: bool = True) -> None:
    """Writes a notebook; an existing file is kept until the new one is completely on disk.

    Args:
      path: the notebook's file.
      notebook: as nbformat reads it.
      has_lists_of_lines: whether a text of several lines is stored as a list of lines, as Jupyter does.

    Raises:
      CommandError: if the file cannot be written.
    """
    with writing(path):
        files.write(path, as_text(notebook, has_lists_of_lines))

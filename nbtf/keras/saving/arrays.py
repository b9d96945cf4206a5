"""How values of variables get into a file of arrays and out again; nothing in it is executed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from nbtf._storage import files
from nbtf.keras.variables import Variable

FileLike = Any
"""A path, or an open file."""


def value_of(variable: Any) -> np.ndarray[Any, Any]:
    """Returns the value of a variable; text as its bytes."""
    array = np.asarray(variable.numpy())
    return array.astype(np.bytes_) if array.dtype.kind == "O" else array


def write(file: FileLike | IO[bytes], arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Writes arrays by name (NumPy's `.npz`); a file that was there is replaced at once, or stays as it is."""
    if not isinstance(file, str | os.PathLike):
        _savez(file, arrays)
        return
    path = Path(os.fspath(file))  # pyright: ignore[reportUnknownArgumentType]
    files.make_folder(path.parent)
    with files.open_draft(path) as stream:
        _savez(stream, arrays)


def _savez(file: Any, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    np.savez(file, allow_pickle=False, **dict(arrays))


def read(file: FileLike | IO[bytes]) -> dict[str, np.ndarray[Any, Any]]:
    """Returns the arrays of a file by name.

    Raises:
      ValueError: it is no such file.
    """
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{file} holds no weights that nbtf has written (NumPy's .npz): {error}") from None


def put(variable: Any, array: np.ndarray[Any, Any], name: str) -> None:
    """Gives a variable a value that was saved.

    Raises:
      ValueError: it has another shape.
    """
    shape = tuple(variable.shape.as_list())
    if tuple(array.shape) != shape:
        raise ValueError(
            f"A value of shape {tuple(array.shape)} was saved as {name!r}, but the variable has shape {shape}."
        )
    value = array.astype(object) if array.dtype.kind == "S" else array
    (variable.handle if isinstance(variable, Variable) else variable).assign(value)

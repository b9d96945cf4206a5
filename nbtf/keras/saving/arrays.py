"""How values of variables get into a file of arrays and out again; nothing in it is executed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from nbtf._storage import files
from nbtf._storage.archives import read_arrays
from nbtf._storage.refusal import RefusedFileError
from nbtf._types import as_dtype
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


def read(file: FileLike | IO[bytes], source: object = None) -> dict[str, np.ndarray[Any, Any]]:
    """Returns the arrays of a file by name.

    Args:
      file: a path, or an open file.
      source: what errors call it, where it is no path.

    Raises:
      FileNotFoundError: there is no such file.
      DataLossError: it is no such file, or damaged; a `ValueError`, too.
    """
    try:
        return read_arrays(file, source)
    except RefusedFileError as error:
        text = f"{source or file} holds no weights that nbtf has written (NumPy's .npz): {error}"
        raise RefusedFileError(text) from None


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


_LIKE = {"S": "O", "f": "fV", "V": "V", "i": "iu", "u": "iu"}
"""Which types of variables take values of a type, by NumPy's letters. Text is saved as bytes, bfloat16 as float32."""


def check_dtype(dtype: Any, array: np.ndarray[Any, Any], name: str) -> None:
    """Compares the type of a value with that of its variable: numbers may have another precision.

    Raises:
      ValueError: it is another type.
    """
    dtype = as_dtype(dtype)
    saved: str = array.dtype.kind
    if str(np.dtype(dtype.np_dtype).kind) not in _LIKE.get(saved, saved):
        raise ValueError(f"{name} has the type {array.dtype}, its variable {dtype.name}.")

"""Where the files of checkpoints are, and what is in them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from nbtf.errors import NotFoundError
from nbtf.keras.saving import arrays
from nbtf.keras.saving.latest import STATE
from nbtf.keras.saving.latest import note_latest as note_latest
from nbtf.train.object_graph import GRAPH_KEY, Node, from_text

ENDING = ".npz"


def path_of(prefix: str | os.PathLike[str]) -> Path:
    """Returns the file of a checkpoint: `prefix-1` is in `prefix-1.npz`."""
    return Path(os.fspath(prefix) + ENDING)


def read_checkpoint(prefix: str | os.PathLike[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Returns the arrays of a checkpoint by name.

    Raises:
      NotFoundError: there is none.
    """
    try:
        return arrays.read(path_of(prefix))
    except FileNotFoundError:
        text = f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {os.fspath(prefix)}"
        raise NotFoundError(None, None, text) from None


def read_graph(prefix: str | os.PathLike[str]) -> tuple[list[Node], dict[str, np.ndarray[Any, Any]]]:
    """Returns the graph of the objects of a checkpoint, and its arrays by name.

    Raises:
      NotFoundError: there is none.
      ValueError: it holds no graph: it was saved by name.
      DataLossError: it is damaged.
    """
    values = read_checkpoint(prefix)
    if GRAPH_KEY not in values:
        raise ValueError(
            f"{path_of(prefix)} has values by name, without the graph of the objects they belong to: tf.compat.v1."
            "train.Saver wrote it, or an earlier version of nbtf. Read the values with tf.train.load_variable."
        )
    return from_text(values[GRAPH_KEY].tobytes(), path_of(prefix)), values


def latest_checkpoint(checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None) -> str | None:
    """Returns the last checkpoint that was saved into a folder; None if there is none.

    Where a model's weights are kept in files that end with `.weights.h5`, the newest of them is meant: `load_weights`
    takes it. TensorFlow finds none of these.

    Args:
      checkpoint_dir: the folder.
      latest_filename: the file that says which it is; `checkpoint` when None.

    >>> tf.train.latest_checkpoint("no_such_folder") is None
    True
    """
    folder = Path(os.fspath(checkpoint_dir))
    try:
        state: dict[str, Any] = json.loads((folder / (latest_filename or STATE)).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        weights = [(one.stat().st_mtime_ns, one.name) for one in folder.glob("*.weights.h5")]
        return os.path.join(os.fspath(checkpoint_dir), max(weights)[1]) if weights else None
    prefix = os.path.join(os.fspath(checkpoint_dir), state["model_checkpoint_path"])
    # Weights of a model have no `.npz` behind their name.
    return prefix if path_of(prefix).exists() or Path(prefix).exists() else None


def _prefix(ckpt_dir_or_file: str | os.PathLike[str]) -> str:
    given = os.fspath(ckpt_dir_or_file)
    if not os.path.isdir(given):
        return given
    found = latest_checkpoint(given)
    if found is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {given}")
    return found


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """Returns names and shapes of what a checkpoint holds.

    Args:
      ckpt_dir_or_file: a checkpoint, or a folder, whose last one is meant.

    Raises:
      ValueError: there is no checkpoint in the folder.
      NotFoundError: there is no such checkpoint.
    """
    found = read_checkpoint(_prefix(ckpt_dir_or_file))
    return [(name, list(array.shape)) for name, array in sorted(found.items())]


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> Any:
    """Returns one value of a checkpoint as NumPy has it."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


class CheckpointReader:
    """Looks into a checkpoint."""

    def __init__(self, found: dict[str, np.ndarray[Any, Any]]) -> None:
        """Takes what was read."""
        self._arrays = found

    def get_tensor(self, name: str) -> Any:
        """Returns a value.

        Raises:
          NotFoundError: there is none of that name.
        """
        if name not in self._arrays:
            raise NotFoundError(None, None, f"Key {name} not found in checkpoint; it has {sorted(self._arrays)}")
        value = self._arrays[name]
        return value.item() if value.dtype.kind == "S" and not value.shape else value[()]

    def has_tensor(self, name: str) -> bool:
        """Tells whether there is a value of a name."""
        return name in self._arrays

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Returns the shape of each value."""
        return {name: list(array.shape) for name, array in self._arrays.items()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        """Returns the dtype of each value."""
        from nbtf.dtypes import as_dtype

        return {name: as_dtype(array.dtype) for name, array in self._arrays.items()}


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """Returns a reader of a checkpoint, or of the last one in a folder.

    Raises:
      ValueError: there is no checkpoint in the folder.
      NotFoundError: there is no such checkpoint.
    """
    return CheckpointReader(read_checkpoint(_prefix(ckpt_dir_or_file)))

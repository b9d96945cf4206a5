"""Locates the files of checkpoints, and reads their content: TensorFlow's format, and `.npz` of an older nbtf."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from nbtf._storage.archives import ArraySpec, read_array_specs, read_arrays
from nbtf._storage.latest import note_latest as note_latest
from nbtf._storage.latest import read_state
from nbtf._storage.tensor_bundle import StoredTensor, TensorBundle, files_of, index_of
from nbtf._types import as_dtype
from nbtf.errors import NotFoundError
from nbtf.keras.saving import arrays
from nbtf.train.object_graph import GRAPH_KEY, Node, from_text
from nbtf.train.tensorflow_graph import from_message


def _older(prefix: str | os.PathLike[str]) -> Path:
    """Returns the file in which an older nbtf stored a checkpoint."""
    return Path(os.fspath(prefix) + ".npz")


def checkpoint_exists(prefix: str | os.PathLike[str]) -> bool:
    """Returns whether a checkpoint exists."""
    return index_of(prefix).is_file() or _older(prefix).is_file()


def remove_checkpoint(prefix: str | os.PathLike[str]) -> None:
    """Deletes the files of a checkpoint."""
    for file in (*files_of(prefix), _older(prefix)):
        file.unlink(missing_ok=True)


def _is_older(prefix: str | os.PathLike[str]) -> bool:
    """Returns whether a checkpoint exists only as an older nbtf wrote it."""
    return _older(prefix).exists() and not index_of(prefix).exists()


def read_checkpoint(prefix: str | os.PathLike[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Returns the arrays of a checkpoint by name.

    Raises:
      NotFoundError: if the checkpoint does not exist.
      DataLossError: if it is damaged.
    """
    with _finding(prefix):
        return arrays.read(_older(prefix)) if _is_older(prefix) else TensorBundle(prefix).read_all()


@contextmanager
def _finding(prefix: str | os.PathLike[str]) -> Generator[None]:
    """Raises TensorFlow's error if a checkpoint does not exist."""
    try:
        yield
    except FileNotFoundError:
        text = f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {os.fspath(prefix)}"
        raise NotFoundError(text) from None


def read_graph(prefix: str | os.PathLike[str]) -> tuple[list[Node], dict[str, np.ndarray[Any, Any]]]:
    """Returns the object graph of a checkpoint, and its arrays by name.

    Raises:
      NotFoundError: if the checkpoint does not exist.
      ValueError: if it has no graph, because it was saved by name.
      DataLossError: if it is damaged.
    """
    values = read_checkpoint(prefix)
    if GRAPH_KEY not in values:
        raise ValueError(
            f"{os.fspath(prefix)} has values by name but no object graph. tf.compat.v1.train.Saver or an older nbtf "
            "wrote it. Read the values with tf.train.load_variable."
        )
    graph = values[GRAPH_KEY]
    if graph.dtype.kind == "O":
        return from_message(graph.ravel()[0], index_of(prefix)), values
    return from_text(graph.tobytes(), _older(prefix)), values


def latest_checkpoint(checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None) -> str | None:
    """Returns the latest checkpoint in a folder; None if there is none. nbtf or TensorFlow may have written it.

    If the folder keeps a model's weights in `.weights.h5` files, the newest of these is returned, for `load_weights`.
    TensorFlow does not find such files.

    Args:
      checkpoint_dir: the folder.
      latest_filename: the file that names the latest checkpoint; `checkpoint` by default.

    Raises:
      DataLossError: if that file is damaged, or names a checkpoint outside the folder.

    >>> tf.train.latest_checkpoint("no_such_folder") is None
    True
    """
    state = read_state(checkpoint_dir, latest_filename)
    if state is None:
        weights = [(file.stat().st_mtime_ns, file.name) for file in Path(checkpoint_dir).glob("*.weights.h5")]
        return os.path.join(os.fspath(checkpoint_dir), max(weights)[1]) if weights else None
    weights_file = Path(state.latest)  # a model's weights have no ending after the name
    candidates = (index_of(state.latest), _older(state.latest), weights_file)
    return state.latest if any(path.exists() for path in candidates) else None


def _prefix(ckpt_dir_or_file: str | os.PathLike[str]) -> str:
    path = os.fspath(ckpt_dir_or_file)
    if not os.path.isdir(path):
        return path
    latest = latest_checkpoint(path)
    if latest is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
    return latest


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """Returns names and shapes of the values in a checkpoint that nbtf or TensorFlow wrote.

    Args:
      ckpt_dir_or_file: a checkpoint, or a folder, whose latest checkpoint is read.

    Raises:
      ValueError: if the folder has no checkpoint.
      NotFoundError: if the checkpoint does not exist.
      DataLossError: if it is damaged.
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> Any:
    """Returns one value of a checkpoint that nbtf or TensorFlow wrote as a NumPy array.

    Raises:
      ValueError: if the folder has no checkpoint.
      NotFoundError: if the checkpoint or the value does not exist.
      DataLossError: if it is damaged.
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


class CheckpointReader:
    """Reads a checkpoint that nbtf or TensorFlow wrote: shapes and types immediately, each value when it is requested.

    Args:
      prefix: the checkpoint.

    Raises:
      NotFoundError: if the checkpoint does not exist.
      DataLossError: if it is damaged.
    """

    def __init__(self, prefix: str | os.PathLike[str]) -> None:
        """Reads shapes and types."""
        self._prefix = os.fspath(prefix)
        self._bundle: TensorBundle | None = None
        with _finding(prefix):
            if _is_older(prefix):
                self._specs: Mapping[str, ArraySpec | StoredTensor] = read_array_specs(_older(prefix))
            else:
                self._bundle = TensorBundle(prefix)
                self._specs = self._bundle.tensors

    def get_tensor(self, name: str) -> Any:
        """Returns a value.

        Raises:
          NotFoundError: if no value has this name.
          DataLossError: if the file is damaged.
        """
        if name not in self._specs:
            raise NotFoundError(f"Key {name} not found in checkpoint; it has {sorted(self._specs)}")
        with _finding(self._prefix):
            value = (
                read_arrays(_older(self._prefix), names=[name])[name]
                if self._bundle is None
                else self._bundle.read(name)
            )
        return value.item() if value.dtype.kind in "SO" and not value.shape else value[()]

    def has_tensor(self, name: str) -> bool:
        """Returns whether a value has this name."""
        return name in self._specs

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Returns the shape of each value."""
        return {name: list(spec.shape) for name, spec in self._specs.items()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        """Returns the dtype of each value, except those of dtypes that nbtf lacks."""
        return {name: as_dtype(spec.dtype) for name, spec in self._specs.items() if spec.dtype is not None}


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """Returns a reader of a checkpoint that nbtf or TensorFlow wrote, or of the latest one in a folder.

    Raises:
      ValueError: if the folder has no checkpoint.
      NotFoundError: if the checkpoint does not exist.
      DataLossError: if it is damaged.
    """
    return CheckpointReader(_prefix(ckpt_dir_or_file))

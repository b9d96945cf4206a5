"""Saves the values of variables by name in a file of arrays and loads them; executes no code from the file."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from nbtf._ops.module import Module
from nbtf._ops.variables.variable import Variable as TensorVariable
from nbtf._storage import files
from nbtf._storage.archives import check_arrays, read_arrays, storable, write_arrays
from nbtf._storage.limits import saving
from nbtf._storage.refusal import RefusedFileError
from nbtf._types import as_dtype, bfloat16
from nbtf.keras.layers.tracking import owned
from nbtf.keras.layers.weights import Weights
from nbtf.keras.metrics.metric import Metric
from nbtf.keras.optimizers.optimizer import Optimizer
from nbtf.keras.type_guards import is_list
from nbtf.keras.variables import Variable

FileLike = Any
"""A path or an open file."""


def value_of(variable: Any) -> np.ndarray[Any, Any]:
    """Returns the value of a variable; strings as bytes."""
    return storable(variable.numpy())


def write(file: FileLike | IO[bytes], arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Saves arrays by name (NumPy's `.npz`). An existing file is replaced atomically or stays unchanged.

    Raises:
      UnsavableError: if the arrays exceed a limit for reading them.
      OSError: if the file cannot be written.
    """
    if not isinstance(file, str | os.PathLike):
        write_arrays(file, arrays)
        return
    path = Path(os.fspath(file))  # pyright: ignore[reportUnknownArgumentType]
    with saving(path):
        check_arrays(arrays)
    files.make_folder(path.parent)
    with files.open_draft(path) as stream:
        write_arrays(stream, arrays)


def read(file: FileLike | IO[bytes], source: object = None) -> dict[str, np.ndarray[Any, Any]]:
    """Returns the arrays in a file by name.

    Args:
      file: a path or an open file.
      source: name of the file in errors, if `file` is not a path.

    Raises:
      FileNotFoundError: if the file does not exist.
      DataLossError: if the file is damaged or has another format; the error is also a `ValueError`.
    """
    try:
        return read_arrays(file, source)
    except RefusedFileError as error:
        text = f"{source or file} does not contain weights written by nbtf (NumPy's .npz): {error}"
        raise RefusedFileError(text) from None


def put(variable: Any, array: np.ndarray[Any, Any], name: str) -> None:
    """Sets a variable to a saved value.

    Raises:
      ValueError: if the shapes differ.
    """
    shape = tuple(variable.shape.as_list())
    if tuple(array.shape) != shape:
        raise ValueError(
            f"A value of shape {tuple(array.shape)} was saved as {name!r}, but the variable has shape {shape}."
        )
    value = array.astype(object) if array.dtype.kind == "S" else array
    (variable.handle if isinstance(variable, Variable) else variable).assign(value)


_LIKE = {"S": "O", "f": "fV", "V": "fV", "i": "iu", "u": "iu"}
"""The kinds of dtype that accept a saved kind, by NumPy's letters. Strings are saved as bytes; "V" is bfloat16."""


def check_dtype(dtype: Any, array: np.ndarray[Any, Any], name: str) -> None:
    """Checks that a saved value fits the dtype of its variable; numbers may differ in precision.

    Raises:
      ValueError: if the dtype is of another kind.
    """
    dtype = as_dtype(dtype)
    saved: str = array.dtype.kind
    is_void = saved == "V" and array.dtype.name != bfloat16.name
    if is_void or str(np.dtype(dtype.np_dtype).kind) not in _LIKE.get(saved, saved):
        raise ValueError(f"{name} has the dtype {array.dtype}, but the variable has {dtype.name}.")


def variables_of(root: Any) -> dict[str, Any]:
    """Returns the variables of an object by path: `model/layers/0/vars/1`.

    Layers, weights of layers and variables of optimizers are named by position, so that a newly created model finds its
    values. Contents of other objects are named by attributes and dictionary keys. A variable with several paths gets
    the shortest one.

    Args:
      root: a layer, a model, an optimizer, a metric, a `tf.Module`, or lists and dictionaries of these.

    Raises:
      ValueError: if two variables have the same name.
    """
    variables: dict[str, Any] = {}
    ids: set[int] = set()
    waiting: deque[tuple[Any, tuple[str, ...]]] = deque([(root, ())])
    alive: list[Any] = []  # keeps temporary objects alive, so that their ids are not reused
    while waiting:
        value, path = waiting.popleft()
        bare = value.handle if isinstance(value, Variable) else value
        if id(bare) in ids:
            continue
        ids.add(id(bare))
        alive.append(value)
        if isinstance(bare, TensorVariable):
            name = "/".join(path) or "value"
            if name in variables:
                raise ValueError(f"Two variables have the name {name!r}: use keys without '/', all of them strings.")
            variables[name] = value
        else:
            waiting.extend((child, (*path, name)) for name, child in parts_of(value))
    return variables


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the parts of an object that may hold variables, each with its name."""
    if isinstance(value, Mapping):
        entries: Mapping[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
        yield from ((str(key), child) for key, child in entries.items())
    elif is_list(value):
        yield from ((str(number), child) for number, child in enumerate(value))
    elif isinstance(value, Weights):
        of_layer = owned(vars(value), value._internal)
        yield from (("vars", of_layer.variables), ("layers", of_layer.layers), ("metrics", of_layer.metrics))
        optimizer = getattr(value, "optimizer", None)
        if optimizer is not None:
            yield "optimizer", optimizer
    elif isinstance(value, Optimizer | Metric):
        yield "vars", value.variables
    elif hasattr(value, "_trackable_parts"):
        yield from value._trackable_parts()
    elif isinstance(value, Module) or _is_plain_object(value):
        yield from [*vars(value).items()]


def _is_plain_object(value: Any) -> bool:
    """Returns whether to search the attributes of an object, such as a generator; not those of modules."""
    module = type(value).__module__
    return hasattr(value, "__dict__") and not callable(value) and module.startswith(("nbtf._ops", "nbtf.random"))

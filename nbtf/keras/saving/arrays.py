"""How values of variables get into a file of arrays and out again, by which names; nothing in it is executed."""

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
from nbtf.keras.variables import Variable

FileLike = Any
"""A path, or an open file."""


def value_of(variable: Any) -> np.ndarray[Any, Any]:
    """Returns the value of a variable; text as its bytes."""
    return storable(variable.numpy())


def write(file: FileLike | IO[bytes], arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Writes arrays by name (NumPy's `.npz`); a file that was there is replaced at once, or stays as it is.

    Raises:
      UnsavableError: if they pass a limit of what is read again.
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


_LIKE = {"S": "O", "f": "fV", "V": "fV", "i": "iu", "u": "iu"}
"""Which types of variables take values of a type, by NumPy's letters. Text is saved as bytes; "V" is bfloat16."""


def check_dtype(dtype: Any, array: np.ndarray[Any, Any], name: str) -> None:
    """Compares the type of a value with that of its variable: numbers may have another precision.

    Raises:
      ValueError: it is another type.
    """
    dtype = as_dtype(dtype)
    saved: str = array.dtype.kind
    is_void = saved == "V" and array.dtype.name != bfloat16.name
    if is_void or str(np.dtype(dtype.np_dtype).kind) not in _LIKE.get(saved, saved):
        raise ValueError(f"{name} has the type {array.dtype}, its variable {dtype.name}.")


def variables_of(root: Any) -> dict[str, Any]:
    """Returns the variables of an object by the way that leads to each: `model/layers/0/vars/1`.

    Layers, weights of layers and numbers of optimizers go by their position, so that a model that was made again finds
    its own; what other objects hold goes by the names of attributes and the keys of dictionaries. A variable that
    several ways lead to is found on the shortest.

    Args:
      root: a layer, a model, an optimizer, a metric, a `tf.Module`, or lists and dictionaries of such.

    Raises:
      ValueError: if two variables have the same name.
    """
    variables: dict[str, Any] = {}
    ids: set[int] = set()
    waiting: deque[tuple[Any, tuple[str, ...]]] = deque([(root, ())])
    alive: list[Any] = []  # what is made on the way: its id must stay its own
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
    """Yields what may hold variables in an object, each with its name there."""
    if isinstance(value, Mapping):
        entries: Mapping[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
        yield from ((str(key), child) for key, child in entries.items())
    elif isinstance(value, list | tuple):
        items: Any = value  # pyright: ignore[reportUnknownVariableType]
        yield from ((str(number), child) for number, child in enumerate(items))
    elif isinstance(value, Weights):
        of_layer = owned(vars(value), value._internal)
        yield from (("vars", of_layer.variables), ("layers", of_layer.layers), ("metrics", of_layer.metrics))
        optimizer = getattr(value, "optimizer", None)
        if optimizer is not None:
            yield "optimizer", optimizer
    elif isinstance(value, Optimizer | Metric):
        yield "vars", value.variables
    elif isinstance(value, Module) or hasattr(value, "_trackable_parts"):
        yield from _named_parts(value)
    elif _is_plain_object(value):
        plain: Any = value
        yield from plain.__dict__.items()


def _is_plain_object(value: Any) -> bool:
    """Tells whether to look into the attributes of an object: those of generators and the like, not of modules."""
    module = type(value).__module__
    return hasattr(value, "__dict__") and not callable(value) and module.startswith(("nbtf._ops", "nbtf.random"))


def _named_parts(value: Any) -> Iterator[tuple[str, Any]]:
    if hasattr(value, "_trackable_parts"):
        yield from value._trackable_parts()
        return
    attributes: dict[str, Any] = dict(value.__dict__)
    yield from attributes.items()

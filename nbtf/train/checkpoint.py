"""Saves the variables of objects and restores them, including variables that are created later."""

from __future__ import annotations

import os
from collections.abc import Iterator as PythonIterator
from typing import Any

import numpy as np

from nbtf._graph.function import Function
from nbtf._locks import new_lock
from nbtf._ops.trackable import Trackable
from nbtf._ops.variables.variable import Variable
from nbtf._storage.bundle_writing import write_bundle
from nbtf._storage.latest import check_prefix
from nbtf._storage.limits import saving
from nbtf._storage.tensor_bundle import index_of
from nbtf.data import Dataset
from nbtf.data.iterators import Iterator
from nbtf.errors import NotFoundError
from nbtf.keras.variables import Variable as KerasVariable
from nbtf.train.files import note_latest, read_graph
from nbtf.train.load_status import CheckpointLoadStatus, InitializationOnlyStatus
from nbtf.train.object_graph import GRAPH_KEY, check_is_ours, children_of, graph_of, is_trackable
from nbtf.train.restoration import Restoration
from nbtf.train.tensorflow_graph import as_message

_COUNTING = new_lock()
"""Held while a save is counted, so that two threads do not get the same number."""

_INTERNAL = frozenset({"_root", "_save_counter", "_awaiting"})


class CheckpointOptions:
    """Accepted, without effect: this process alone writes the files."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Accepts any arguments."""


class Checkpoint(Trackable):
    """Saves the variables of objects to files in TensorFlow's format (`.index` and `.data`), and restores them.

    Values are matched by the names of the attributes that lead to them. A variable created after `restore` gets its
    value when it becomes an attribute, so a model can be restored before it is built.

    nbtf and TensorFlow restore each other's checkpoints: values are matched by the same names, including those of Keras
    models and their optimizers. Only positions of dataset iterators, and slots of Keras 2 optimizers, stay unrestored;
    `assert_consumed` names them. A checkpoint of an older nbtf (`.npz`) is restored as well.

    Args:
      root: an object whose parts are saved under their own names, or a variable.
      **kwargs: objects to save, by name: models, optimizers, variables, modules, random generators, dataset iterators
        (their positions), and lists and dictionaries of these.

    Raises:
      ValueError: if an object holds no variables, or `root` already has an attribute of the name.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = tf.train.Checkpoint(v=tf.Variable(5.0)).save(f"{folder}/ckpt")
    ...     later = tf.train.Checkpoint()
    ...     status = later.restore(path)
    >>> later.v = tf.Variable(0.0)
    >>> later.v.numpy()
    np.float32(5.0)
    """

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        """Stores the objects."""
        self._root = root
        self._save_counter: Variable | None = None
        if root is not None:
            _check("root", root)
        for name, value in kwargs.items():
            if root is not None and dict(children_of(root)).get(name, value) is not value:
                raise ValueError(
                    f"Cannot create a Checkpoint with keyword argument {name} if root.{name} already exists."
                )
            _check(name, value)
            setattr(self, name, value)

    @property
    def save_counter(self) -> Variable:
        """Number of saves, as a variable that is saved as well."""
        with _COUNTING:
            if self._save_counter is None:
                self._save_counter = Variable(np.int64(0), trainable=False, name="save_counter")
            return self._save_counter

    @property
    def _roots(self) -> tuple[Trackable, ...]:
        """The object whose parts also belong to the checkpoint, if it reports new parts."""
        return (self._root,) if isinstance(self._root, Trackable) else ()

    def _named_children(self) -> PythonIterator[tuple[str, Any]]:
        if isinstance(self._root, Variable | KerasVariable | Iterator):
            yield "", self._root  # without a name, because its key is `/.ATTRIBUTES/VARIABLE_VALUE`
        elif self._root is not None:
            yield from children_of(self._root)
        yield from ((name, value) for name, value in vars(self).items() if name not in _INTERNAL)
        yield "save_counter", self._save_counter

    def write(self, file_prefix: str | os.PathLike[str], options: Any = None) -> str:
        """Writes the values without counting the save or recording it as the latest one.

        A kill or a full disk leaves an earlier checkpoint of this prefix as it was.

        Args:
          file_prefix: the path without its extension.
          options: accepted and ignored.

        Returns:
          The prefix.

        Raises:
          UnsavableError: if a name or a value cannot be stored, or there are too many.
          OSError: if a file cannot be written.
        """
        prefix = os.fspath(file_prefix)
        nodes, objects = graph_of(self)
        values = {
            node.key: np.int64(value.position) if isinstance(value, Iterator) else value.numpy()
            for node, value in zip(nodes, objects, strict=True)
            if node.key is not None
        }
        with saving(index_of(prefix)):
            graph = as_message(nodes)
        write_bundle(prefix, {**values, GRAPH_KEY: graph})
        return prefix

    def save(self, file_prefix: str | os.PathLike[str], options: Any = None) -> str:
        """Writes the values under the next number, and records them as the folder's latest checkpoint.

        Args:
          file_prefix: the path, to which `-1`, `-2`, ... is appended.
          options: accepted and ignored.

        Returns:
          The prefix with its number, to be passed to `restore`.
        """
        check_prefix(f"{os.fspath(file_prefix)}-1")
        prefix = self.write(f"{os.fspath(file_prefix)}-{self._count_save()}")
        note_latest(prefix, [prefix])
        return prefix

    def _count_save(self) -> int:
        """Returns the number of the next save."""
        with _COUNTING:
            return int(self.save_counter.assign_add(1).numpy())

    def read(self, save_path: str | os.PathLike[str], options: Any = None) -> CheckpointLoadStatus:
        """Assigns the values of a file that `write` created, here or in TensorFlow.

        Args:
          save_path: the return value of `write`.
          options: accepted and ignored.

        Returns:
          The status, as for `restore`.

        Raises:
          NotFoundError: if the checkpoint does not exist.
          DataLossError: if it is damaged, or a variable of TensorFlow is stored in pieces.
          ValueError: if a value and its variable differ in shape.
          InvalidArgumentError: if a value and its variable differ in dtype.
        """
        restoration = Restoration(*read_graph(save_path))
        restoration.begin(self)
        return CheckpointLoadStatus(self, restoration)

    def restore(
        self, save_path: str | os.PathLike[str] | None, options: Any = None
    ) -> CheckpointLoadStatus | InitializationOnlyStatus:
        """Assigns the values of a checkpoint: to existing variables now, to others when they become attributes.

        Args:
          save_path: the return value of `save` or `latest_checkpoint`, here or in TensorFlow; None restores nothing.
          options: accepted and ignored.

        Returns:
          The status of the restoration. Its `assert_consumed()` raises an error if values were not matched. Values
          that can no longer be matched are listed in a warning, unless its `expect_partial()` was called.

        Raises:
          NotFoundError: if the checkpoint does not exist.
          DataLossError: if it is damaged, or a variable of TensorFlow is stored in pieces.
          ValueError: if a value and its variable differ in shape.
          InvalidArgumentError: if a value and its variable differ in dtype.
        """
        if save_path is None:
            return InitializationOnlyStatus()
        self.save_counter  # noqa: B018  # created here so that it is restored as well
        try:
            return self.read(save_path)
        except NotFoundError as error:
            raise NotFoundError(
                f"Error when restoring from checkpoint or SavedModel at {os.fspath(save_path)}: {error.message}\n"
                "Please double-check that the path is correct. You may be missing the checkpoint suffix (e.g. the "
                "'-1' in 'path/to/ckpt-1')."
            ) from None


def _check(name: str, value: Any) -> None:
    check_is_ours(value)
    if not _holds_trackables(value):
        raise ValueError(
            f"`Checkpoint` was expecting {name} to be a trackable object (an object derived from `Trackable`), got "
            f"{value}. If you believe this object should be trackable (i.e. it is part of the TensorFlow Python API "
            "and manages state), please open an issue."
        )


def _holds_trackables(value: Any) -> bool:
    """Returns whether an object can be saved; a tuple can only if it already holds such an object."""
    if isinstance(value, tuple):
        items: tuple[Any, ...] = value  # pyright: ignore[reportUnknownVariableType]
        return any(map(_holds_trackables, items))
    return is_trackable(value) or isinstance(value, Function | Dataset)

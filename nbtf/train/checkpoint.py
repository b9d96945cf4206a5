"""Saving the variables of objects, and restoring them, also those that are made later."""

from __future__ import annotations

import os
from collections.abc import Iterator as PythonIterator
from typing import Any

import numpy as np

from nbtf._graph.function import Function
from nbtf._locks import new_lock
from nbtf._ops.trackable import Trackable
from nbtf._ops.variables.variable import Variable
from nbtf._storage.limits import saving
from nbtf.data import Dataset
from nbtf.data.iterators import Iterator
from nbtf.errors import NotFoundError
from nbtf.keras.saving import arrays
from nbtf.keras.saving.latest import check_prefix
from nbtf.keras.variables import Variable as KerasVariable
from nbtf.train.files import note_latest, path_of, read_graph
from nbtf.train.load_status import CheckpointLoadStatus, InitializationOnlyStatus
from nbtf.train.object_graph import GRAPH_KEY, as_text, check_is_ours, children_of, graph_of, is_trackable
from nbtf.train.restoration import Restoration

_COUNTING = new_lock()
"""Held by whoever counts a save: two threads that save must not get one number."""

_INTERNAL = frozenset({"_root", "_save_counter", "_awaiting"})


class CheckpointOptions:
    """Accepted, and without effect: files are written by this process alone."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Takes anything."""


class Checkpoint(Trackable):
    """Saves the variables of objects into files (NumPy's `.npz`; TensorFlow's own files cannot be read).

    Values are matched by the names of the attributes that lead to them. A variable that is made after `restore` gets
    its value when it becomes an attribute: so a model may be restored before it is built.

    Args:
      root: an object whose parts are saved under their own names, or a variable.
      **kwargs: objects by the names under which their variables are saved: models, optimizers, variables, modules,
        random generators, iterators of datasets (how many elements were taken), lists and dictionaries of such.

    Raises:
      ValueError: an object holds no variables, or `root` has an attribute of the name.

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
        """Takes the objects."""
        self._root = root
        self._save_counter: Variable | None = None
        if root is not None:
            _check("root", root)
        for name, value in kwargs.items():
            if root is not None and name in dict(children_of(root)):
                raise ValueError(
                    f"Cannot create a Checkpoint with keyword argument {name} if root.{name} already exists."
                )
            _check(name, value)
            setattr(self, name, value)

    @property
    def save_counter(self) -> Variable:
        """How often it was saved: a variable, which is saved, too."""
        with _COUNTING:
            if self._save_counter is None:
                self._save_counter = Variable(np.int64(0), trainable=False, name="save_counter")
            return self._save_counter

    @property
    def _roots(self) -> tuple[Trackable, ...]:
        """The object whose parts are its own as well, if it can tell when it gets another."""
        return (self._root,) if isinstance(self._root, Trackable) else ()

    def _named_children(self) -> PythonIterator[tuple[str, Any]]:
        if isinstance(self._root, Variable | KerasVariable | Iterator):
            yield "", self._root  # under no name at all: its key is `/.ATTRIBUTES/VARIABLE_VALUE`
        elif self._root is not None:
            yield from children_of(self._root)
        yield from ((name, value) for name, value in vars(self).items() if name not in _INTERNAL)
        yield "save_counter", self._save_counter

    def write(self, file_prefix: str | os.PathLike[str], options: Any = None) -> str:
        """Writes the values; neither counts nor notes it as the last.

        Args:
          file_prefix: the path without the ending.
          options: accepted and ignored.

        Returns:
          The prefix.
        """
        prefix = os.fspath(file_prefix)
        nodes, objects = graph_of(self)
        values = {
            node.key: np.asarray(value.position) if isinstance(value, Iterator) else arrays.value_of(value)
            for node, value in zip(nodes, objects, strict=True)
            if node.key is not None
        }
        with saving(path_of(prefix)):
            graph = np.asarray(as_text(nodes))
        arrays.write(path_of(prefix), {**values, GRAPH_KEY: graph})
        return prefix

    def save(self, file_prefix: str | os.PathLike[str], options: Any = None) -> str:
        """Writes the values under the next number, and notes them as the last of the folder.

        Args:
          file_prefix: the path; `-1`, `-2`, ... is added.
          options: accepted and ignored.

        Returns:
          The prefix with its number, which `restore` takes.
        """
        check_prefix(f"{os.fspath(file_prefix)}-1")
        prefix = self.write(f"{os.fspath(file_prefix)}-{self._count_save()}")
        note_latest(prefix, [prefix])
        return prefix

    def _count_save(self) -> int:
        """Returns the number of one more save."""
        with _COUNTING:
            return int(self.save_counter.assign_add(1).numpy())

    def read(self, save_path: str | os.PathLike[str], options: Any = None) -> CheckpointLoadStatus:
        """Gives the variables the values of a file that `write` made.

        Args:
          save_path: what `write` returned.
          options: accepted and ignored.

        Returns:
          As `restore`.

        Raises:
          NotFoundError: there is no such checkpoint.
          ValueError: a value has another shape than its variable.
          InvalidArgumentError: a value has another dtype than its variable.
        """
        restoration = Restoration(*read_graph(save_path))
        restoration.begin(self)
        return CheckpointLoadStatus(self, restoration)

    def restore(
        self, save_path: str | os.PathLike[str] | None, options: Any = None
    ) -> CheckpointLoadStatus | InitializationOnlyStatus:
        """Gives the variables the values of a checkpoint: those there are at once, others when they become parts.

        Args:
          save_path: what `save` or `latest_checkpoint` returned; None restores nothing.
          options: accepted and ignored.

        Returns:
          What was matched and what was not; `assert_consumed()` of it complains. Values that nobody has taken when all
          that could take them is gone are named in a warning, unless `expect_partial()` of it was called.

        Raises:
          NotFoundError: there is no such checkpoint.
          ValueError: a value has another shape than its variable.
          InvalidArgumentError: a value has another dtype than its variable.
        """
        if save_path is None:
            return InitializationOnlyStatus()
        self.save_counter  # noqa: B018  # is made now, so that it is restored
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
    """Tells whether an object can be saved; a tuple can if it holds such an object: nothing is added later."""
    if isinstance(value, tuple):
        items: tuple[Any, ...] = value  # pyright: ignore[reportUnknownVariableType]
        return any(map(_holds_trackables, items))
    return is_trackable(value) or isinstance(value, Function | Dataset)

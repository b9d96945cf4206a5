"""Saving and restoring the variables of objects by the names of attributes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from nbtf._ops.variable import Variable
from nbtf.keras.saving import arrays
from nbtf.keras.saving.graph import variables_of
from nbtf.train.files import note_latest, path_of, read_checkpoint


class CheckpointOptions:
    """Accepted, and without effect: files are written by this process alone."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Takes anything."""


class Checkpoint:
    """Saves the variables of objects into files (NumPy's `.npz`; TensorFlow's own files cannot be read).

    Args:
      root: an object whose parts are saved under their own names.
      **kwargs: objects by the names under which their variables are saved: models, optimizers, variables, modules,
        random generators, lists and dictionaries of such.

    >>> import tempfile
    >>> v = tf.Variable(1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = tf.train.Checkpoint(v=v).save(f"{folder}/ckpt")
    ...     _ = v.assign(5.0)
    ...     status = tf.train.Checkpoint(v=v).restore(path)
    >>> v.numpy()
    np.float32(1.0)
    """

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        """Takes the objects."""
        self._root = root
        self._kept: list[str] = []
        self._save_counter: Variable | None = None
        for name, value in kwargs.items():
            setattr(self, name, value)

    @property
    def save_counter(self) -> Variable:
        """How often it was saved: a variable, which is saved, too."""
        if self._save_counter is None:
            self._save_counter = Variable(np.int64(0), trainable=False, name="save_counter")
        return self._save_counter

    def _objects(self) -> dict[str, Any]:
        own = {name: value for name, value in vars(self).items() if name[0] != "_"}
        return {**own, "save_counter": self.save_counter}

    def _variables(self) -> dict[str, Any]:
        of_root = {} if self._root is None else variables_of(self._root)
        taken = {id(one) for one in of_root.values()}
        own = {name: one for name, one in variables_of(self._objects()).items() if id(one) not in taken}
        return {**of_root, **own}

    def write(self, file_prefix: str | os.PathLike[str], options: Any = None) -> str:
        """Writes the values; neither counts nor notes it as the last.

        Args:
          file_prefix: the path without the ending.
          options: accepted and ignored.

        Returns:
          The prefix.
        """
        prefix = os.fspath(file_prefix)
        arrays.write(path_of(prefix), {name: arrays.value_of(one) for name, one in self._variables().items()})
        return prefix

    def save(self, file_prefix: str | os.PathLike[str], options: Any = None) -> str:
        """Writes the values under the next number, and notes them as the last of the folder.

        Args:
          file_prefix: the path; `-1`, `-2`, ... is added.
          options: accepted and ignored.

        Returns:
          The prefix with its number, which `restore` takes.
        """
        self.save_counter.assign_add(1)
        prefix = self.write(f"{os.fspath(file_prefix)}-{int(self.save_counter.numpy())}")
        self._kept.append(prefix)
        note_latest(prefix, self._kept)
        return prefix

    def read(self, save_path: str | os.PathLike[str], options: Any = None) -> LoadStatus:
        """Gives the variables the values of a file that `write` made."""
        return self.restore(save_path, options)

    def restore(self, save_path: str | os.PathLike[str] | None, options: Any = None) -> LoadStatus:
        """Gives the variables the values of a checkpoint. They must be there: models are built first.

        Args:
          save_path: what `save` or `latest_checkpoint` returned; None restores nothing.
          options: accepted and ignored.

        Returns:
          What was found and what was not; `assert_consumed()` of it complains.

        Raises:
          NotFoundError: there is no such checkpoint.
          ValueError: a value has another shape than its variable.
        """
        if save_path is None:
            return LoadStatus({}, set())
        saved = read_checkpoint(save_path)
        variables = self._variables()
        matching = {name: one for name, one in variables.items() if name in saved}
        for name, variable in matching.items():
            arrays.put(variable, saved[name], name)
        return LoadStatus({name: name in matching for name in saved}, set(variables) - set(matching))


class LoadStatus:
    """What became of a restore: each value that was saved, and each variable that there is."""

    def __init__(self, saved: Mapping[str, bool], missing: set[str]) -> None:
        """Takes which saved values were used, and which variables found no value."""
        self._unused = sorted(name for name, used in saved.items() if not used)
        self._missing = sorted(missing - {"save_counter"})

    def assert_consumed(self) -> LoadStatus:
        """Returns itself if every value was used and every variable got one.

        Raises:
          AssertionError: some were not.
        """
        if self._unused:
            raise AssertionError(f"Unresolved object in checkpoint: no variable is there for {self._unused}")
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> LoadStatus:
        """Returns itself if every variable got a value.

        Raises:
          AssertionError: some did not.
        """
        if self._missing:
            raise AssertionError(f"Objects not in the checkpoint: no value was saved for {self._missing}")
        return self

    def assert_nontrivial_match(self) -> LoadStatus:
        """Returns itself; kept for older programs."""
        return self

    def expect_partial(self) -> LoadStatus:
        """Returns itself: that not all is used is known."""
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Does nothing: values are there already."""

    run_restore_ops = initialize_or_restore

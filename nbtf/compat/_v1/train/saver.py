"""Saving of graph variables to checkpoint files, and restoring."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nbtf._ops.variables.variable import Variable as EagerVariable
from nbtf._storage.bundle_writing import write_bundle
from nbtf._storage.latest import STATE, check_prefix, note_latest, read_state
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.session_graph import Graph
from nbtf.compat._v1._surface.removed import without_attributes
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1._variables.variable_classes import Variable
from nbtf.errors import InvalidArgumentError, NotFoundError
from nbtf.train.files import checkpoint_exists, read_checkpoint, remove_checkpoint

_FAILED = "Restoring from checkpoint failed. This is most likely due to a "
_UNALTERED = "Please ensure that you have not altered the graph expected based on the checkpoint. Original error:\n\n"


@without_attributes("train.Saver")
class Saver:
    """Saves variables by name in files like those of TensorFlow (`.index` and `.data`), and restores them from both.

    A saver adds no nodes to the graph. It fetches values from the session, and restores them by running the variables'
    initializers with the saved values.

    Args:
      var_list: variables, or a dictionary of file names and variables; by default all current global variables.
      reshape: whether to reshape saved values to the variables' shapes.
      sharded, keep_checkpoint_every_n_hours: accepted for compatibility and ignored.
      max_to_keep: number of checkpoints to keep; None or 0 keeps all.
      name: accepted and ignored.
      restore_sequentially: accepted and ignored.
      saver_def: accepted and ignored.
      builder: accepted and ignored.
      defer_build: whether to collect the variables on first use instead of now.
      allow_empty: whether a saver without variables is allowed.
      write_version: accepted and ignored.
      pad_step_number: whether to pad step numbers in file names to eight digits.
      save_relative_paths: accepted and ignored, because paths are always relative.
      filename: accepted and ignored.

    Raises:
      ValueError: if no variables exist, or two have the same name.
      TypeError: if an item is not a variable.

    >>> import nbtf.compat.v1 as tf1, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, tf1.Graph().as_default(), tf1.Session() as sess:
    ...     v = tf1.Variable(1.0, name="v")
    ...     sess.run(tf1.global_variables_initializer())
    ...     path = tf1.train.Saver().save(sess, f"{folder}/model", global_step=3)
    ...     _ = sess.run(v.assign(5.0))
    ...     tf1.train.Saver().restore(sess, path)
    ...     print(os.path.basename(path), sess.run(v))
    model-3 1.0
    """

    def __init__(
        self,
        var_list: Sequence[Any] | Mapping[str, Any] | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = 2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        """Prepares the saver and collects its variables, unless `defer_build` is set."""
        self._given, self._allow_empty = var_list, allow_empty
        self._reshape, self._most, self._pad = reshape, max_to_keep, pad_step_number
        self._kept: list[str] = []
        self._variables: dict[str, Any] | None = None
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Collects the variables; the constructor calls this unless `defer_build` is set."""
        variables = _named_variables(self._given, building())
        if not variables and not self._allow_empty:
            raise ValueError("No variables to save")
        self._variables = variables

    def _all(self) -> dict[str, Any]:
        if self._variables is None:
            self.build()
        return self._variables or {}

    # Saving

    def save(
        self,
        sess: Any,
        save_path: str | os.PathLike[str],
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Writes a session's values to a checkpoint.

        Args:
          sess: the session; ignored while ops run eagerly.
          save_path: path without the suffix.
          global_step: a number, or a tensor or variable with one, which is appended to the path: `model-1000`.
          latest_filename: file that records the last checkpoint; None for `checkpoint`.
          meta_graph_suffix: accepted and ignored, because graphs are not saved.
          write_meta_graph: accepted and ignored.
          write_state: whether to record this checkpoint as the last one.
          strip_default_attrs: accepted and ignored.
          save_debug_info: accepted and ignored.

        Returns:
          The path for `restore`; None if there is nothing to save.

        Raises:
          FailedPreconditionError: if a variable has no value yet.
          ValueError: if the folder does not exist, or `latest_filename` contains one.
        """
        if latest_filename and os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        prefix = os.fspath(save_path)
        if global_step is not None:
            number = _number(sess, global_step)
            prefix = f"{prefix}-{number:08d}" if self._pad else f"{prefix}-{number}"
        folder = Path(prefix).parent if os.path.basename(prefix) else Path(prefix)
        if not folder.is_dir():
            raise ValueError(f"Parent directory of {prefix} doesn't exist, can't save.")
        if write_state:
            check_prefix(prefix)
        variables = self._all()
        if not variables:
            return None
        write_bundle(prefix, {name: _value_of(variable, sess) for name, variable in variables.items()})
        if write_state:
            self._keep(prefix, latest_filename or STATE)
        return prefix

    def _keep(self, prefix: str, state: str) -> None:
        """Records a checkpoint as the last one and deletes the oldest ones beyond the limit."""
        old: list[str] = []
        if self._most:
            paths = [*(path for path in self._kept if path != prefix), prefix]
            old, self._kept = paths[: -self._most], paths[-self._most :]
        note_latest(prefix, self._kept or [prefix], state)
        for path in old:  # deleted only now that the state file no longer lists them
            remove_checkpoint(path)

    @property
    def last_checkpoints(self) -> list[str]:
        """The existing checkpoints, oldest first."""
        return list(self._kept)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Sets the list of existing checkpoints; those without a file are left out."""
        self._kept = [path for path in checkpoint_paths if checkpoint_exists(path)]

    # Restoring

    def restore(self, sess: Any, save_path: str | os.PathLike[str] | None) -> None:
        """Restores a session's variables from a checkpoint; they need not be initialized.

        Args:
          sess: the session; ignored while ops run eagerly.
          save_path: path that `save` or `tf.train.latest_checkpoint` returned, here or in TensorFlow.

        Raises:
          ValueError: if the checkpoint does not exist.
          NotFoundError: if it has no value for a variable's name.
          InvalidArgumentError: if a value's shape or dtype differs from its variable's.
          DataLossError: if a file is damaged.
        """
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        prefix = os.fspath(save_path)
        if not checkpoint_exists(prefix):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {prefix}")
        saved = read_checkpoint(prefix)
        variables = self._all()
        for name in sorted(variables):
            if name not in saved:
                text = f"{_FAILED}Variable name or other graph key that is missing from the checkpoint. {_UNALTERED}"
                raise NotFoundError(f"{text}Key {name} not found in checkpoint")
        fitting = {name: self._fitting(name, variable, saved[name]) for name, variable in variables.items()}
        for name, variable in variables.items():
            _put_value(variable, fitting[name], sess)

    def _fitting(self, name: str, variable: Any, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Returns a saved value in the variable's dtype and shape."""
        text = f"{_FAILED}mismatch between the current graph and the graph from the checkpoint. {_UNALTERED}"
        variable_dtype = variable.dtype.base_dtype
        if variable_dtype.np_dtype.kind != "O" and value.dtype != variable_dtype.np_dtype:
            saved_dtype = np.dtype(value.dtype).name.replace("float32", "float").replace("float64", "double")
            problem = (
                f"tensor_name = {name}; expected dtype {variable_dtype.c_name} does not equal original dtype "
                f"{saved_dtype}"
            )
            raise InvalidArgumentError(text + problem)
        if variable.shape.is_compatible_with(value.shape):
            return value
        lengths = variable.shape.as_list()
        if self._reshape and np.prod(lengths) == value.size:
            return value.reshape(lengths)
        shapes = [f"[{','.join(map(str, shape))}]" for shape in (lengths, value.shape)]
        problem = f"Assign requires shapes of both tensors to match. lhs shape= {shapes[0]} rhs shape= {shapes[1]}"
        raise InvalidArgumentError(text + problem)


def _number(sess: Any, step: Any) -> int:
    """Returns the step number, which may have to be fetched from the session."""
    if isinstance(step, int | np.integer):
        return int(step)  # pyright: ignore[reportUnknownArgumentType]
    if hasattr(step, "numpy") and building() is None:
        return int(step.numpy())
    return int(sess.run(step))


# The variables of a saver


def _named_variables(variables: Sequence[Any] | Mapping[str, Any] | None, graph: Graph | None) -> dict[str, Any]:
    """Returns a dictionary of names in files and variables.

    Args:
      variables: variables, or a dictionary of them; None for all global variables of the graph.
      graph: the default graph; None while ops run eagerly.

    Raises:
      RuntimeError: if no variables are given while ops run eagerly.
      ValueError: if two variables have the same name.
      TypeError: if an item is not a variable.
    """
    if variables is None:
        if graph is None:
            raise RuntimeError(
                "When eager execution is enabled, `var_list` must specify a list or dict of variables to save"
            )
        keys = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.SAVEABLE_OBJECTS)
        variables = [variable for key in keys for variable in graph.get_collection(key)]
    pairs = (
        variables.items()
        if isinstance(variables, Mapping)
        else [(_name_of(variable), variable) for variable in variables]
    )
    by_name: dict[str, Any] = {}
    for name, variable in sorted(pairs, key=lambda pair: pair[0]):
        if not isinstance(variable, Variable | EagerVariable):
            text = "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a variable: "
            raise TypeError(f"{text}{variable}")
        if name in by_name or (isinstance(variable, Variable) and variable in by_name.values()):
            raise ValueError(f"At least two variables have the same name: {name}")
        by_name[name] = variable
    return by_name


def _name_of(variable: Any) -> str:
    return variable.op.name if isinstance(variable, Variable) else variable.name.partition(":")[0]


def _value_of(variable: Any, session: Any) -> Any:
    """Returns a variable's value in a session."""
    return session.run(variable) if isinstance(variable, Variable) else variable.numpy()


def _put_value(variable: Any, value: np.ndarray[Any, Any], session: Any) -> None:
    """Sets a variable's value in a session."""
    if not isinstance(variable, Variable):
        variable.assign(value)
        return
    initializer = variable.initializer
    session.run(initializer, {initializer.inputs[1]: value})


# The record of a folder


@dataclass
class CheckpointState:
    """The paths of the last checkpoint and of all existing checkpoints in a folder."""

    model_checkpoint_path: str = ""
    all_model_checkpoint_paths: list[str] = field(default_factory=list[str])


def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> CheckpointState | None:
    """Returns the recorded state of the checkpoints in a folder; None without a record.

    Args:
      checkpoint_dir: the folder.
      latest_filename: file with the record; None for `checkpoint`.

    Raises:
      DataLossError: if the file is damaged, or names checkpoints outside the folder.
    """
    state = read_state(checkpoint_dir, latest_filename)
    return None if state is None else CheckpointState(state.latest, state.paths)

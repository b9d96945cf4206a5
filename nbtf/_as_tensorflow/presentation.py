"""Makes `import tensorflow` mean nbtf in this process, and undoes it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any, Self

from nbtf._as_tensorflow.modules import counterpart, old_counterpart
from nbtf._runtime.aliases import AliasFinder

NAME = "tensorflow"
VARIABLE = "NBTF_AS_TENSORFLOW"
_BACKEND = "KERAS_BACKEND"
_CLASS_NAMES = "nbtf._as_tensorflow.class_names"
"""The module that gives classes TensorFlow's names. It is loaded as soon as a library asks for private names."""
_ON, _OFF = ("1", "true", "on", "yes"), ("", "0", "false", "off", "no")


class Presentation:
    """The changes of `present_as_tensorflow`. In a `with` statement, they are undone when the block ends."""

    def __init__(self, finder: AliasFinder | None, has_set_backend: bool) -> None:
        """Stores the changes; without a finder, an earlier call had made them."""
        self._finder = finder
        self._has_set_backend = has_set_backend

    def undo(self) -> None:
        """Makes `import tensorflow` mean TensorFlow again. Further calls have no effect.

        Modules that were imported before keep nbtf: the real Keras does until the process ends. It takes nbtf's
        datasets, ragged and sparse tensors only while nbtf is presented as TensorFlow.
        """
        finder, self._finder = self._finder, None
        if finder is None:
            return
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name == NAME or name.startswith(f"{NAME}.")]:
            del sys.modules[name]
        if _CLASS_NAMES in sys.modules:
            sys.modules[_CLASS_NAMES].restore_names()
        if self._has_set_backend:
            os.environ.pop(_BACKEND, None)

    def __enter__(self) -> Self:
        """Returns itself."""
        return self

    def __exit__(
        self, error_class: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Undoes the changes."""
        self.undo()

    def __repr__(self) -> str:
        """Returns whether it still holds."""
        return f"<tensorflow means {'nbtf' if self._finder is not None else 'what it meant before'}>"


def present_as_tensorflow(tensorflow_1: bool = False) -> Presentation:
    """Makes `import tensorflow` mean nbtf in this process; see `tf.runtime.present_as_tensorflow`.

    Args:
      tensorflow_1: whether `import tensorflow as tf` means TensorFlow 1, whose ops build the default graph.
    """
    reason = refusal()
    if reason:
        raise RuntimeError(reason)
    if is_presented():
        return Presentation(None, has_set_backend=False)
    find: Callable[[str], ModuleType] = old_counterpart if tensorflow_1 else counterpart
    finder = AliasFinder(NAME, find)
    finder.install()
    if _CLASS_NAMES in sys.modules:  # Keras was imported during an earlier presentation
        sys.modules[_CLASS_NAMES].give_names()
    is_unset = _BACKEND not in os.environ
    os.environ.setdefault(_BACKEND, NAME)
    return Presentation(finder, is_unset)


def _finder() -> AliasFinder | None:
    """Returns the finder that answers to `tensorflow`; None if nbtf is not presented as TensorFlow."""
    return next((finder for finder in sys.meta_path if isinstance(finder, AliasFinder) and finder.name == NAME), None)


def is_presented() -> bool:
    """Returns whether `import tensorflow` means nbtf."""
    return _finder() is not None


def refusal() -> str:
    """Returns why nbtf cannot be presented as TensorFlow in this process; empty if it can."""
    tensorflow = sys.modules.get(NAME)
    if tensorflow is not None and not tensorflow.__name__.startswith("nbtf"):
        return (
            "TensorFlow itself is already imported in this process, and libraries may hold its functions. Start a new "
            "process, and call present_as_tensorflow() before the first `import tensorflow` or `import keras`."
        )
    backend = _keras_backend()
    if backend not in ("", NAME):
        return (
            f"Keras is already imported with the backend {backend!r}, which cannot change in a process. Start a new "
            "process with KERAS_BACKEND=tensorflow, and call present_as_tensorflow() before `import keras`."
        )
    return ""


def _keras_backend() -> str:
    """Returns the backend of an imported Keras 3; empty if none is imported."""
    config: Any = sys.modules.get("keras.src.backend.config")
    return "" if config is None or "keras" not in sys.modules else str(config.backend())


def present_from_environment() -> None:
    """Presents nbtf as TensorFlow if NBTF_AS_TENSORFLOW is on.

    Raises:
      ValueError: if the variable has none of the listed values.
      RuntimeError: if TensorFlow, or Keras with another backend, is already imported.
    """
    setting = os.environ.get(VARIABLE, "").strip().lower()
    if setting not in (*_ON, *_OFF):
        raise ValueError(f"{VARIABLE} is {setting!r}. Expected {', '.join(_ON)}, or {', '.join(_OFF[1:])}.")
    if setting in _ON:
        present_as_tensorflow()

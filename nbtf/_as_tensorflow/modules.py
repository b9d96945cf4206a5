"""Which nbtf module answers to the name of a TensorFlow module?"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from nbtf._as_tensorflow.aliases import ALIASES, aliased, children

MISSING = " is not in nbtf yet"
"""The end of the message for every name that TensorFlow has and nbtf lacks."""


def counterpart(name: str) -> ModuleType:
    """Returns nbtf's counterpart of a TensorFlow module or namespace.

    `tensorflow.compat.v1` is the namespace that stays eager until it is switched, as in TensorFlow 2, and
    `tensorflow.compat.v2` is `nbtf` itself.

    Raises:
      ModuleNotFoundError: if nbtf has none; the message uses the notebook's name: `tf.keras is not in nbtf yet`.
    """
    inside = name.removeprefix("tensorflow")
    if inside == ".compat":
        return _compat()
    return _own_module(inside.removeprefix("."), name)


def _own_module(inside: str, name: str) -> ModuleType:
    """Returns the module of a private name, a module of nbtf, or a package of private names."""
    module = aliased(inside) if inside in ALIASES else None
    if module is None:
        try:
            module_name = f"nbtf.{inside}.".replace("nbtf.compat.v2.", "nbtf.").replace(".compat.v1.", ".compat._v1.")
            module = import_module(module_name.rstrip("."), name)
        except ModuleNotFoundError:
            module = aliased(inside)
            if module is None:
                raise
    for child in children(inside):  # `from package import module` reads an attribute
        if not hasattr(module, child):
            setattr(module, child, aliased(f"{inside}.{child}"))
    return module


def old_counterpart(name: str) -> ModuleType:
    """Returns the counterpart of a TensorFlow 1 module: `tensorflow` is `nbtf.compat.v1`.

    Raises:
      ModuleNotFoundError: if nbtf has none.
    """
    inside = name.removeprefix("tensorflow").removeprefix(".compat.v1")
    if inside.startswith((".compat", ".keras", ".python")):
        return counterpart(name)
    return import_module(f"nbtf.compat._v1{inside}", name)


def import_module(module_name: str, name: str) -> ModuleType:
    """Returns an nbtf module or namespace.

    Args:
      module_name: its name in nbtf.
      name: the TensorFlow name that a program has imported, for the error.

    Raises:
      ModuleNotFoundError: if nbtf has none.
    """
    module = importlib.import_module("nbtf.python").module_named(module_name)
    if module is None:
        raise ModuleNotFoundError(f"{name.replace('tensorflow', 'tf', 1)}{MISSING}", name=name)
    return module


def _compat() -> ModuleType:
    """Returns `nbtf.compat` with TensorFlow's contents, so that `from tensorflow.compat import v1` works."""
    nbtf: Any = importlib.import_module("nbtf")
    compat: ModuleType = nbtf.compat
    vars(compat).update(v1=nbtf.compat.v1, v2=nbtf)
    return compat

"""`tf.compat`: TensorFlow's older API, and string conversion for programs that support Python 2 and 3."""

from __future__ import annotations

import sys as _sys
import typing as _typing
from importlib import import_module as _import_module
from typing import Any as _Any

from nbtf.compat._texts import as_bytes as as_bytes
from nbtf.compat._texts import as_str as as_str
from nbtf.compat._texts import as_str_any as as_str_any
from nbtf.compat._texts import as_text as as_text
from nbtf.compat._texts import path_to_str as path_to_str

if _typing.TYPE_CHECKING:  # loaded on first use; imported here for editors and type checkers
    from nbtf.compat import v1 as v1


if not _typing.TYPE_CHECKING:  # a type checker would conclude that every name exists

    def __getattr__(name: str) -> _Any:
        # `from nbtf.compat import v1` first asks for the attribute. It then imports the module, which has side effects.
        if name != "v1" or _sys._getframe(1).f_globals.get("__name__") == "importlib._bootstrap":
            raise AttributeError(f"module 'nbtf.compat' has no attribute '{name}'")
        return _import_module("nbtf.compat._v1")


def __dir__() -> list[str]:
    return ["as_bytes", "as_str", "as_str_any", "as_text", "path_to_str", "v1"]

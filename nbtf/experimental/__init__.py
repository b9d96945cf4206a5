"""`tf.experimental`: NumPy behaviour of tensors, memory shared with other libraries' arrays, and optional elements."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from nbtf._public import public_names as _public_names
from nbtf.experimental import dlpack as dlpack
from nbtf.experimental import numpy as numpy

if _TYPE_CHECKING:
    from nbtf.data.iterators import Optional as Optional

if not _TYPE_CHECKING:  # a type checker would conclude that any name exists

    def __getattr__(name: str) -> _Any:
        if name == "Optional":
            return _import_module("nbtf.data.iterators").Optional
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_public_names(__name__), "Optional"])

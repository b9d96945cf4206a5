"""`tf.experimental`: NumPy behaviour of tensors, memory shared with other libraries' arrays, and optional elements."""

import typing as _typing
from importlib import import_module as _import_module

from nbtf._public import public_names as _public_names
from nbtf.experimental import dlpack as dlpack
from nbtf.experimental import numpy as numpy

if _typing.TYPE_CHECKING:
    from nbtf.data.iterators import Optional as Optional

if not _typing.TYPE_CHECKING:  # a type checker would conclude that any name exists

    def __getattr__(name: str) -> _typing.Any:
        if name == "Optional":
            return _import_module("nbtf.data.iterators").Optional
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_public_names(__name__), "Optional"])

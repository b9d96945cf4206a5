"""`tf.gfile`: files and folders, under TensorFlow 1's names; see `tf.io.gfile`."""

from __future__ import annotations

import functools as _functools
import inspect as _inspect
from collections.abc import Callable as _Callable
from typing import Any as _Any

from nbtf._public import public_names as _public_names
from nbtf._storage import gfile as _gfile
from nbtf._storage.opened_file import GFile as _GFile

_Function = _Callable[..., _Any]


def _with_names(function: _Function, **names: str) -> _Function:
    """Returns a function whose parameters have TensorFlow 1's names."""
    signature = _inspect.signature(function)
    parameters = [parameter.replace(name=names.get(name, name)) for name, parameter in signature.parameters.items()]
    older = signature.replace(parameters=parameters)

    @_functools.wraps(function)
    def call(*args: _Any, **kwargs: _Any) -> _Any:
        bound = older.bind(*args, **kwargs)
        return function(*bound.args, **bound.kwargs)

    vars(call)["__signature__"] = older
    return call


GFile = Open = FastGFile = _GFile
Copy: _Function = _with_names(_gfile.copy, src="oldpath", dst="newpath")
DeleteRecursively: _Function = _with_names(_gfile.rmtree, path="dirname")
Exists: _Function = _with_names(_gfile.exists, path="filename")
Glob: _Function = _with_names(_gfile.glob, pattern="filename")
IsDirectory: _Function = _with_names(_gfile.isdir, path="dirname")
ListDirectory: _Function = _with_names(_gfile.listdir, path="dirname")
MakeDirs: _Function = _with_names(_gfile.makedirs, path="dirname")
MkDir: _Function = _with_names(_gfile.mkdir, path="dirname")
Remove: _Function = _with_names(_gfile.remove, path="filename")
Rename: _Function = _with_names(_gfile.rename, src="oldname", dst="newname")
Stat: _Function = _with_names(_gfile.stat, path="filename")
Walk: _Function = _with_names(_gfile.walk, topdown="in_order")


def __dir__() -> list[str]:
    return _public_names(__name__)

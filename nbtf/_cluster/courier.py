"""How does a worker that has no nbtf tell what one with nbtf can? It is brought along, in memory, and put away again.

The text of this file is what runs on workers, so it imports the standard library alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from importlib.util import find_spec, spec_from_loader
from types import ModuleType
from typing import Any

PACKAGE = "nbtf"

OLDEST = (3, 11)
"""The Python that nbtf needs."""

STASH = "_nbtf_look"
"""Under this name the modules wait for the next look: loaded anew each time, they would leave something each time."""


class SourceFinder(MetaPathFinder, InspectLoader):
    """Finds modules whose texts are in memory."""

    def __init__(self, sources: Mapping[str, Sequence[Any]]) -> None:
        """Takes whether it is a package, and its text, for each name."""
        self._sources = sources

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Returns where a module is."""
        if fullname not in self._sources:
            return None
        origin = f"/{fullname.replace('.', '/')}{'/__init__' if self.is_package(fullname) else ''}.py"
        spec = spec_from_loader(fullname, self, origin=origin, is_package=self.is_package(fullname))
        if spec is not None:
            spec.has_location = True
        return spec

    def is_package(self, fullname: str) -> bool:
        """Tells whether a module is a package."""
        return bool(self._sources[fullname][0])

    def get_source(self, fullname: str) -> str:
        """Returns the text of a module."""
        return self._sources[fullname][1]


@contextmanager
def borrowed(package: bytes) -> Generator[None]:
    """Has nbtf for a block, where this process has none; nobody else finds it there afterwards."""
    finder = SourceFinder(json.loads(zlib.decompress(package)))
    stash = sys.modules.setdefault(STASH, ModuleType(STASH))
    sys.modules.update(vars(stash).get("modules", {}))
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        names = [name for name in sys.modules if name.partition(".")[0] == PACKAGE]
        setattr(stash, "modules", {name: sys.modules.pop(name) for name in names})  # noqa: B010


async def tell(version: str, package: bytes | None, seconds: float, dask_worker: Any = None) -> dict[str, Any]:
    """Returns what a worker tells of its host; `needs` is in it where nbtf has to be brought along.

    Args:
      version: of the nbtf that asks.
      package: nbtf, from `packed`; None to do without.
      seconds: how long a search for holders may take.
      dask_worker: the worker, which Dask adds.
    """
    facts: dict[str, Any] = {"host": socket.gethostname(), "pid": os.getpid(), "nbtf": version}
    facts["python"] = ".".join(map(str, sys.version_info[:3]))
    is_used = PACKAGE in sys.modules
    present = version_here()
    if present == version:
        return facts | await asyncio.to_thread(_report, dask_worker, seconds, is_used)
    if is_used:
        return facts | {"problem": f"it works with nbtf {present}, and nbtf {version} asks"}
    if sys.version_info < OLDEST:
        return facts | {"problem": f"its Python is {facts['python']}, and nbtf needs {'.'.join(map(str, OLDEST))}"}
    if package is None:
        return facts | {"needs": True}
    return facts | {"nbtf": ""} | await asyncio.to_thread(_borrowing, package, dask_worker, seconds)


def version_here() -> str | None:
    """Returns the version of the nbtf that this process has, or would load; None where there is none."""
    module = sys.modules.get(f"{PACKAGE}.runtime")
    if module is not None:
        return str(getattr(module, "version", None))
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:  # a folder of that name is no package
        return None
    try:
        return installed_version(PACKAGE)
    except PackageNotFoundError:
        return None


def _borrowing(package: bytes, dask_worker: Any, seconds: float) -> dict[str, Any]:
    with borrowed(package):
        return _report(dask_worker, seconds, False)


def _report(dask_worker: Any, seconds: float, is_used: bool) -> dict[str, Any]:
    from nbtf._cluster.report import report  # late: this process may only now have it

    plugins: Mapping[str, Any] = getattr(dask_worker, "plugins", {})
    return report(_roots(dask_worker), seconds, is_used, getattr(plugins.get(PACKAGE), "task", None))


def _roots(dask_worker: Any) -> dict[str, Any]:
    """Returns what a worker keeps in memory, by words that say what it is; what it has put on a disk stays there."""
    data: Any = getattr(dask_worker, "data", {})
    unspilled: Any = data if issubclass(type(data), dict) else {}
    in_memory: Mapping[Any, Any] = getattr(data, "memory", unspilled)
    state = getattr(dask_worker, "state", None)
    actors: Mapping[Any, Any] = getattr(state, "actors", {})
    roots = {f"key {key!r}": value for key, value in list(in_memory.items()) if key not in actors}
    return roots | {f"actor {key!r}": value for key, value in list(actors.items())}

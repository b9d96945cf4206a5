"""How does a worker without nbtf report what one with nbtf can? nbtf's modules are sent along and removed afterwards.

The source of this file runs on workers, so it imports only the standard library.
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
"""The oldest Python that nbtf supports."""

STASH = "_nbtf_look"
"""Name under which the modules are kept for the next inspection: loading them again each time would leak memory."""


class SourceFinder(MetaPathFinder, InspectLoader):
    """Finds modules whose source is in memory."""

    def __init__(self, sources: Mapping[str, Sequence[Any]]) -> None:
        """Uses, for each module name, whether it is a package, and its source."""
        self._sources = sources

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Returns the spec of a module."""
        if fullname not in self._sources:
            return None
        origin = f"/{fullname.replace('.', '/')}{'/__init__' if self.is_package(fullname) else ''}.py"
        spec = spec_from_loader(fullname, self, origin=origin, is_package=self.is_package(fullname))
        if spec is not None:
            spec.has_location = True
        return spec

    def is_package(self, fullname: str) -> bool:
        """Returns whether a module is a package."""
        return bool(self._sources[fullname][0])

    def get_source(self, fullname: str) -> str:
        """Returns the source of a module."""
        return self._sources[fullname][1]


@contextmanager
def borrowed(package: bytes) -> Generator[None]:
    """Makes nbtf importable during a block in a process without it; no trace remains afterwards."""
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
    """Returns a worker's report about its host; it contains `needs` if nbtf has to be sent along.

    Args:
      version: version of nbtf on the asking side.
      package: nbtf's modules, from `packed`; None to try without.
      seconds: longest search for holders, in seconds.
      dask_worker: the worker; Dask adds it.
    """
    facts: dict[str, Any] = {"host": socket.gethostname(), "pid": os.getpid(), "nbtf": version}
    facts["python"] = ".".join(map(str, sys.version_info[:3]))
    is_used = PACKAGE in sys.modules
    present = version_here()
    if present == version:
        return facts | await asyncio.to_thread(_report, dask_worker, seconds, is_used)
    if is_used:
        return facts | {"problem": f"it has nbtf {present}, but nbtf {version} asks"}
    if sys.version_info < OLDEST:
        return facts | {"problem": f"it has Python {facts['python']}, but nbtf needs {'.'.join(map(str, OLDEST))}"}
    if package is None:
        return facts | {"needs": True}
    return facts | {"nbtf": ""} | await asyncio.to_thread(_borrowing, package, dask_worker, seconds)


def version_here() -> str | None:
    """Returns the version of nbtf that this process has loaded or would load; None without nbtf."""
    module = sys.modules.get(f"{PACKAGE}.runtime")
    if module is not None:
        return str(getattr(module, "version", None))
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:  # a folder without an __init__.py is not nbtf
        return None
    try:
        return installed_version(PACKAGE)
    except PackageNotFoundError:
        return None


def _borrowing(package: bytes, dask_worker: Any, seconds: float) -> dict[str, Any]:
    with borrowed(package):
        return _report(dask_worker, seconds, False)


def _report(dask_worker: Any, seconds: float, is_used: bool) -> dict[str, Any]:
    from nbtf._cluster.report import report  # imported late: only now can this process import it

    plugins: Mapping[str, Any] = getattr(dask_worker, "plugins", {})
    return report(_roots(dask_worker), seconds, is_used, getattr(plugins.get(PACKAGE), "task", None))


def _roots(dask_worker: Any) -> dict[str, Any]:
    """Returns the objects that a worker keeps in memory, by description; data spilled to disk is left out."""
    data: Any = getattr(dask_worker, "data", {})
    unspilled: Any = data if issubclass(type(data), dict) else {}
    in_memory: Mapping[Any, Any] = getattr(data, "memory", unspilled)
    state = getattr(dask_worker, "state", None)
    actors: Mapping[Any, Any] = getattr(state, "actors", {})
    roots = {f"key {key!r}": value for key, value in list(in_memory.items()) if key not in actors}
    return roots | {f"actor {key!r}": value for key, value in list(actors.items())}

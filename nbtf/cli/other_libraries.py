"""Which other libraries are installed, and can they use a GPU? Reads their metadata and imports none of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from nbtf._install import pip_install
from nbtf.cli.finding import Finding

Version = Callable[[str], str | None]
"""Returns the version of a package; None if it is not installed."""

_CUDA = re.compile(r"\+cu(\d+)(\d)$")


def installed(package: str) -> str | None:
    """Returns the version of an installed package, or None; does not import it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def needed_by(package: str) -> Collection[str]:
    """Returns the requirements in an installed package's metadata; empty if it is not installed."""
    try:
        return requires(package) or ()
    except PackageNotFoundError:
        return ()


def other_libraries(
    version_of: Version = installed, needs: Callable[[str], Collection[str]] = needed_by
) -> Iterator[Finding]:
    """Yields PyTorch, JAX and NVML's Python module.

    Args:
      version_of: returns the installed version of a package.
      needs: returns the requirements of a package.
    """
    yield _torch(version_of("torch"), needs("torch"))
    plugin = next((name for name in ("jax-cuda13-plugin", "jax-cuda12-plugin") if version_of(name)), None)
    yield _jax(version_of("jax"), plugin)
    module = version_of("nvidia-ml-py")
    purpose = f"for `nbtf top` and the figures that nvidia-smi shows: {pip_install('nvml')}"
    yield Finding("missing", "nvidia-ml-py", purpose) if module is None else Finding("ok", "nvidia-ml-py", module)


def _torch(release: str | None, needs: Collection[str]) -> Finding:
    if release is None:
        return Finding("missing", "PyTorch", "only for notebooks that use it")
    if release.endswith("+cpu"):
        return Finding("note", "PyTorch", f"{release}: built without CUDA, it sees no GPU")
    if match := _CUDA.search(release):
        return Finding("ok", "PyTorch", f"{release}: for CUDA {match[1]}.{match[2]}")
    if any(name.startswith("nvidia-") for name in needs):
        return Finding("ok", "PyTorch", f"{release}: with NVIDIA's libraries")
    return Finding("ok", "PyTorch", release)


def _jax(release: str | None, plugin: str | None) -> Finding:
    if release is None:
        return Finding("missing", "JAX", "only for notebooks that use it")
    if plugin is None:
        return Finding("note", "JAX", f"{release}: without a plugin for NVIDIA's GPUs, it sees none")
    return Finding("ok", "JAX", f"{release}: with {plugin}")

"""Is everything for real GPUs installed, what is missing or in the way, and what fixes it? Makes no CUDA context."""

from __future__ import annotations

import ctypes.util
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, NamedTuple

from nbtf import runtime
from nbtf._counts import counted
from nbtf._devices.cuda.probe import Probe, hidden, probe
from nbtf._devices.nvml import strange_pids
from nbtf._install import pip_install
from nbtf.cli.finding import Finding

DRIVER_FILE = Path("/proc/driver/nvidia/version")
# The oldest driver for each CUDA. Source: NVIDIA, CUDA Toolkit Release Notes, table "CUDA Toolkit and Minimum Required
# Driver Version for CUDA Minor Version Compatibility".
OLDEST_DRIVER: Mapping[int, int] = {12: 525, 13: 580}
# The libraries that CuPy calls on first use: for matrix products, and the compiler of its kernels.
LIBRARIES: Mapping[str, str] = {"cublas": "matrix products", "nvrtc": "compiling kernels"}


class CuPy(NamedTuple):
    """An installed package that provides `cupy`: its name, its version, and the CUDA it was built for, if known."""

    package: str
    version: str

    @property
    def cuda(self) -> int | None:
        """The CUDA major version: 12 of `cupy-cuda12x`."""
        match = re.fullmatch(r"cupy-cuda(\d\d)\w*", self.package)
        return int(match[1]) if match else None


def real_gpus(environ: Mapping[str, str], monitor: runtime.CardMonitor | None = None) -> Iterator[Finding]:
    """Yields findings in order of importance.

    Args:
      environ: the environment, as in `os.environ`.
      monitor: reads GPUs through NVML; None creates a new one.
    """
    monitor = monitor or runtime.CardMonitor()
    driver = driver_version() or monitor.driver()
    packages = cupy_packages()
    yield _driver(driver)
    yield _cupy(packages, driver)
    if driver is None and not packages:
        return
    yield from masks(environ, len(monitor.cards()))
    if len(packages) == 1 and driver is not None:
        yield from _use(packages[0], environ)
    yield _nvml(monitor, driver)
    pid_problem = strange_pids()
    if driver is not None and pid_problem:
        yield Finding("note", "processes", f"{pid_problem}: owners of GPU processes are unknown; --pid=host shows them")
    monitor.close()


def _use(package: CuPy, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yields the problems that keep an installed CuPy from running a first op on a GPU."""
    if not hidden(environ):
        yield from _probe_findings(probe(environ), package)
    for library, purpose in LIBRARIES.items():
        yield toolkit_library(library, purpose, package)
    yield kernel_cache(environ)


# Driver and CuPy


def driver_version(file: Path = DRIVER_FILE) -> str | None:
    """Returns the NVIDIA driver's version; `unknown` if only its library is found, None without a driver."""
    if file.exists():
        match = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", file.read_text(errors="replace"))
        return match[1] if match else "unknown"
    library = "nvcuda" if sys.platform == "win32" else "cuda"
    return "unknown" if ctypes.util.find_library(library) else None  # Windows and WSL have no version file


def cupy_packages() -> list[CuPy]:
    """Returns all installed packages that provide `cupy`; two of them break each other."""
    names = re.compile(r"cupy(-cuda\d+x?|-rocm-[\w-]+)?")
    versions = {
        str(distribution.metadata["Name"]).lower().replace("_", "-"): distribution.version
        for distribution in distributions()
    }
    return [CuPy(name, version) for name, version in sorted(versions.items()) if names.fullmatch(name)]


def _driver(version: str | None) -> Finding:
    if version is None:
        return Finding("missing", "NVIDIA driver", "for real GPUs only; simulated GPUs need none")
    oldest = min(OLDEST_DRIVER.values())
    major = _major(version)
    if major is not None and major < oldest:
        return Finding("wrong", "NVIDIA driver", f"{version}; real GPUs need {oldest} or newer")
    return Finding("ok", "NVIDIA driver", version)


def _cupy(packages: Sequence[CuPy], driver: str | None) -> Finding:
    install = pip_install(_extra(driver))
    if not packages:
        absent = "for real GPUs only, and this computer has no NVIDIA driver"
        return Finding("missing", "CuPy", absent if driver is None else f"for real GPUs: {install}")
    if len(packages) > 1:
        names = [package.package for package in packages]
        mend = f"pip uninstall -y {' '.join(names)}, then {install}"
        return Finding("wrong", "CuPy", f"{' and '.join(names)} overwrite each other: {mend}")
    [cupy] = packages
    label, oldest, major = f"{cupy.version} ({cupy.package})", OLDEST_DRIVER.get(cupy.cuda or 0), _major(driver or "")
    if oldest is not None and major is not None and major < oldest:
        mend = f"pip uninstall -y {cupy.package}, then {install}"
        needs = f"{label} is for CUDA {cupy.cuda} and needs driver {oldest} or newer; installed is {driver}"
        return Finding("wrong", "CuPy", f"{needs}: {mend}")
    if cupy.package.startswith("cupy-rocm"):
        return Finding("note", "CuPy", f"{label} is for AMD GPUs, which nbtf was never tested with")
    return Finding("ok", "CuPy", label)


def _extra(driver: str | None) -> str:
    major = _major(driver or "")
    return "cuda13" if major is not None and major >= OLDEST_DRIVER[13] else "cuda12"


def _major(release: str) -> int | None:
    first = release.split(".")[0]
    return int(first) if first.isdigit() else None


# What hides GPUs, and what a probe finds


def masks(environ: Mapping[str, str], cards: int) -> Iterator[Finding]:
    """Yields which GPUs the environment hides from this process.

    Args:
      environ: the environment.
      cards: number of GPUs in the machine, according to NVML; 0 if unknown.
    """
    mask = environ.get("CUDA_VISIBLE_DEVICES")
    if mask is None:
        return
    of = f" of this computer's {cards}" if cards else ""
    if hidden({"CUDA_VISIBLE_DEVICES": mask}):
        effect = f"{mask!r} hides every GPU{of}: unset CUDA_VISIBLE_DEVICES"
    else:
        effect = f"{mask!r}: only these{of} are visible, numbered from 0 in this order"
    yield Finding("note", "CUDA_VISIBLE_DEVICES", effect)


def _probe_findings(probed: Probe, package: CuPy) -> Iterator[Finding]:
    if probed.cards:
        names = [f"{card.card.name} (cuda:{card.ordinal}, {card.bus_id})" for card in probed.cards]
        yield Finding("ok", "real GPUs", ", ".join(names))
    elif "cannot be imported" in probed.reason:
        reinstall = f"pip install --force-reinstall {package.package}=={package.version}"
        yield Finding("wrong", "real GPUs", f"{probed.reason.rstrip('.')}: {reinstall}")
    else:
        yield Finding("wrong", "real GPUs", probed.reason)
    for warning in probed.warnings:
        yield Finding("note", "CuPy warns", " ".join(warning.split()))


def toolkit_library(name: str, purpose: str, package: CuPy, load: Callable[[str], Any] | None = None) -> Finding:
    """Returns whether a library of the CUDA toolkit can be loaded, as CuPy will do on first use.

    Args:
      name: the library's name in `cuda.pathfinder`.
      purpose: what needs it.
      package: the CuPy that needs it.
      load: loads a library; None uses `cuda.pathfinder`.
    """
    mend = f'pip install "{package.package}[ctk]"' if package.cuda else "install NVIDIA's CUDA toolkit"
    try:
        load_library: Any = load or import_module("cuda.pathfinder").load_nvidia_dynamic_lib
        path = str(load_library(name).abs_path)
    except Exception as error:  # not found, or broken: cuda.pathfinder has a class for each
        problem = " ".join(str(error).split()) or type(error).__name__
        return Finding("wrong", name, f"for {purpose}: {problem}: {mend}")
    number = re.search(r"\.so\.(\d+)|64_(\d\d)", path)
    major = int(number[1] or number[2]) if number else None
    if None not in (major, package.cuda) and major != package.cuda:
        return Finding("wrong", name, f"{path} is for CUDA {major}, but {package.package} needs {package.cuda}: {mend}")
    return Finding("ok", name, path)


def kernel_cache(environ: Mapping[str, str]) -> Finding:
    """Returns whether CuPy can keep its compiled kernels; otherwise every process compiles them again."""
    folder = Path(environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")
    if environ.get("CUPY_CACHE_IN_MEMORY") == "1":
        return Finding("note", "kernel cache", "in memory only (CUPY_CACHE_IN_MEMORY): each process compiles again")
    existing = next((parent for parent in (folder, *folder.parents) if parent.exists()), folder)
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        mend = "set CUPY_CACHE_DIR to a writable folder"
        return Finding("wrong", "kernel cache", f"{folder} is not writable, so CuPy fails on its first kernel: {mend}")
    return Finding("ok", "kernel cache", str(folder))


def _nvml(monitor: runtime.CardMonitor, driver: str | None) -> Finding:
    problem = monitor.missing
    if problem is None:
        cards = monitor.cards()
        return Finding("ok", "NVML", f"{counted(len(cards), 'card')} in this machine")
    if "not installed" in problem or driver is None:
        return Finding("missing", "NVML", f"for the figures that nvidia-smi shows, beside nbtf's own: {problem}")
    return Finding("wrong", "NVML", f"{problem}; nbtf works without it, but shows only its own figures")

"""How much memory does this computer have left?"""

from __future__ import annotations

import os
import sys
from functools import lru_cache

_UNKNOWN = sys.maxsize
# Bytes left to the rest of the program, since kernels need memory for intermediate results.
_LEFT_FREE = 64 << 20


def available_bytes(root: str = "") -> int:
    """Returns how many more bytes a program can expect, within the limits of machine, container and address space.

    It reads a few small files, which takes about 0.1 ms, so it is meant for large requests. macOS has no such files;
    there, the installed memory is the limit. Where the system reports neither, as on Windows, the result is very large,
    and only a failing allocation shows that memory has run out.

    Args:
      root: folder that contains `proc` and `sys`, without a trailing slash.
    """
    groups = (_left_in_group(*files) for files in _memory_groups(root))
    return max(0, min(_of_machine(root), _of_address_space(root), *groups, _UNKNOWN))


def is_too_much(nbytes: int, available: int) -> bool:
    """Returns whether a request would use memory that the rest of the program and other programs need."""
    return nbytes > available - min(_LEFT_FREE, available // 8)


def _of_machine(root: str) -> int:
    # Includes file cache that the kernel would release. Source: proc_meminfo(5).
    kib = _table(_read(f"{root}/proc/meminfo")).get("MemAvailable:")
    return _installed() if kib is None else kib * 1024


def _installed() -> int:
    """Returns the installed memory, an upper bound for systems that report no better figure."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if sys.platform == "darwin" else _UNKNOWN


def _of_address_space(root: str) -> int:
    """Returns the bytes left under the limit of `ulimit -v`."""
    pages = _read(f"{root}/proc/self/statm").split()
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getpagesize, getrlimit
    except ImportError:  # Windows has no such module, and in browsers it is empty
        return _UNKNOWN
    limit = getrlimit(RLIMIT_AS)[0]
    if limit == RLIM_INFINITY or not pages:
        return _UNKNOWN
    return limit - int(pages[0]) * getpagesize()


def _left_in_group(limit_file: str, usage_file: str, stat_file: str) -> int:
    """Returns the bytes left under a control group's limit. File cache counts as free: the kernel can drop it."""
    limit, usage = _read(limit_file).strip(), _read(usage_file).strip()
    if not limit.isdigit() or not usage.isdigit():  # no limit ("max"), or no such file
        return _UNKNOWN
    if int(limit) >= 1 << 60:  # control groups of version 1 use a huge number for "no limit"
        return _UNKNOWN
    stat = _table(_read(stat_file))
    # Control groups of version 1 have separate figures for the whole subtree.
    prefix = "total_" if "total_inactive_file" in stat else ""
    cache = stat.get(f"{prefix}inactive_file", 0) + stat.get(f"{prefix}active_file", 0)
    return int(limit) - max(0, int(usage) - cache)


@lru_cache(maxsize=8)
def _memory_groups(root: str) -> tuple[tuple[str, str, str], ...]:
    """Returns the files with limit, usage and details for this process's control groups and all groups above them.

    Cached, because a process hardly ever changes its group. Source: cgroups(7), and the kernel's documentation of
    cgroup-v2 and of the memory controller.
    """
    groups: list[tuple[str, str, str]] = []
    for line in _read(f"{root}/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, names = f"{root}/sys/fs/cgroup", ("memory.max", "memory.current", "memory.stat")
        elif "memory" in controllers.split(","):
            top = f"{root}/sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat")
        else:
            continue
        # Inside a container the path may be the host's; then only the top folder exists here.
        steps = [step for step in path.split("/") if step]
        folders = ["/".join((top, *steps[:depth])) for depth in range(len(steps) + 1)]
        limits, usages, stats = ([f"{folder}/{name}" for folder in folders] for name in names)
        groups += [files for files in zip(limits, usages, stats, strict=True) if os.path.exists(files[0])]
    return tuple(groups)


def _table(text: str) -> dict[str, int]:
    """Returns the numbers from lines such as `name 12 kB`, by name."""
    rows = (line.split() for line in text.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def _read(path: str) -> str:
    """Returns the text of a file; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""

"""How much this computer can still give."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from nbtf._devices.host_memory import available_bytes

MIB = 1 << 20


def _write(root: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return str(root)


MEMINFO = "MemTotal:       8388608 kB\nMemFree:        1024 kB\nMemAvailable:   2048000 kB\n"


def test_where_nothing_is_known_there_is_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")

    assert sys.maxsize == available_bytes(str(tmp_path))


def test_macos_gives_at_most_what_is_built_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 2**19, "SC_PAGE_SIZE": 2**14}.get, raising=False)

    assert 2**33 == available_bytes(str(tmp_path))


def test_a_browser_says_nothing_of_the_address_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", ModuleType("resource"))  # as Pyodide has it

    assert available_bytes(_write(tmp_path, {"proc/self/statm": "1 1"})) == sys.maxsize


def test_machine_gives_what_the_kernel_says(tmp_path: Path) -> None:
    assert 2048000 * 1024 == available_bytes(_write(tmp_path, {"proc/meminfo": MEMINFO}))


def test_a_container_may_have_less(tmp_path: Path) -> None:
    root = _write(
        tmp_path,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": f"{512 * MIB}\n",
            "sys/fs/cgroup/memory.current": f"{300 * MIB}\n",
            "sys/fs/cgroup/memory.stat": f"anon 1\ninactive_file {80 * MIB}\nactive_file {20 * MIB}\n",
        },
    )

    assert 312 * MIB == available_bytes(root)  # what is cached of files can be dropped


def test_the_tightest_of_nested_groups_counts(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/user.slice/one.scope"
    root = _write(
        tmp_path,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/user.slice/one.scope\n",
            "sys/fs/cgroup/user.slice/memory.max": f"{100 * MIB}\n",
            "sys/fs/cgroup/user.slice/memory.current": f"{60 * MIB}\n",
            f"{group}/memory.max": "max\n",
            f"{group}/memory.current": f"{60 * MIB}\n",
        },
    )

    assert 40 * MIB == available_bytes(root)


def test_groups_of_the_first_version_count_too(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/memory/docker"
    root = _write(
        tmp_path,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "5:devices:/docker\n4:cpu,memory:/docker\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "4096\n",
            f"{group}/memory.limit_in_bytes": f"{200 * MIB}\n",
            f"{group}/memory.usage_in_bytes": f"{190 * MIB}\n",
            f"{group}/memory.stat": f"inactive_file 1\ntotal_inactive_file {50 * MIB}\ntotal_active_file 0\n",
        },
    )

    assert 60 * MIB == available_bytes(root)


def test_a_group_over_its_limit_gives_nothing(tmp_path: Path) -> None:
    root = _write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": "4096\n",
            "sys/fs/cgroup/memory.current": "8192\n",
        },
    )

    assert 0 == available_bytes(root)


def test_this_machine_gives_something() -> None:
    assert 0 < available_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are enforced and shown on Linux")
def test_a_limit_of_the_address_space_counts() -> None:
    program = (
        "import resource; from nbtf._devices.host_memory import available_bytes\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)); print(available_bytes())"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert 0 < int(run.stdout) < 2 << 30

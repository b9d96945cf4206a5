"""Do the processes of a cluster end when the notebook ends, however it ends?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from tests.rings import with_nightly

pytest.importorskip("distributed")

ENDINGS = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "terminated": "os.kill(os.getpid(), signal.SIGTERM)",
    "aborted": "os.abort()",
    "left at once": "os._exit(0)",
    "left": "sys.exit(0)",
    "failed": "raise ValueError",
    "replaced": "os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(600)'])",
}
PROGRAM = """\
import os, signal, sys, time
from nbtf._cluster import dask_workers, processes
child = processes.ChildProcess("scheduler", {"role": "scheduler", "credentials": dask_workers.new_credentials()}, {})
STARTED
forked = os.fork()
if not forked:  # has copies of all pipes of the notebook
    time.sleep(600)
print(os.getpid(), child.pid, forked, flush=True)
ENDING
"""
STARTED = {"while it starts": "pass", "when it works": "child.answer(time.monotonic() + 60)"}


def has_ended(pid: int) -> bool:
    """Whether a process has ended, even if its parent has not asked for its status yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="reads the states of processes from /proc")
@pytest.mark.parametrize(
    ("ending", "started"),
    with_nightly(
        [("killed", "when it works"), ("replaced", "while it starts")],
        [*((ending, "when it works") for ending in ENDINGS if ending != "killed"), ("killed", "while it starts")],
    ),
)
def test_processes_of_a_cluster_end_with_the_notebook(ending: str, started: str) -> None:
    program = PROGRAM.replace("STARTED", STARTED[started]).replace("ENDING", ENDINGS[ending])
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as notebook:
        assert notebook.stdout is not None
        own, cluster, forked = map(int, notebook.stdout.readline().split())
        try:
            until = time.monotonic() + 60
            while not has_ended(cluster) and time.monotonic() < until:
                time.sleep(0.05)

            assert has_ended(cluster)
            assert not has_ended(forked)
        finally:
            for pid in (own, cluster, forked):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

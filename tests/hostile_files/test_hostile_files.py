"""Is a hostile file refused, and nothing else? A share of what `python -m tests.hostile_files` reads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.hostile_files import grammar
from tests.hostile_files.kinds import KINDS

COUNT = 60


def _printed(*words: str) -> str:
    """Returns what a process of its own prints: its audit hook stays until it ends."""
    command = [sys.executable, *words]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=600)
    return done.stdout + done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux has it")
def test_reading_hostile_files_does_nothing_but_refuse_them() -> None:
    report = _printed("-m", "tests.hostile_files", "--count", str(COUNT), "--seed", "1000000")
    pattern = rf"^(\w+): {COUNT} files, (\d+) loaded, (\d+) refused, (\d+) failures, (\d+) MiB"
    figures = {name: list(map(int, counts)) for name, *counts in re.findall(pattern, report, re.MULTILINE)}

    assert list(figures) == list(KINDS), report
    for loaded, refused, failures, grown in figures.values():
        assert failures == 0, report
        assert (loaded > 0, refused > COUNT // 5, loaded + refused) == (True, True, COUNT), report
        assert grown < 100, report


def test_a_hostile_document_depends_on_its_seed_alone() -> None:
    document = {"a": [1, {"b": "c"}], "d": {"e": [None, 2.0]}}

    def mutation(seed: int) -> str:
        return json.dumps(grammar.mutated(document, Random(seed)))

    first = [mutation(seed) for seed in range(3000)]

    assert [mutation(seed) for seed in range(3000)] == first


EXPRESSIONS = {
    "os.system('true')": True,
    "subprocess.run(['true'])": True,
    "socket.socket()": True,
    "open('/nowhere/x', 'w')": True,
    "open('/nowhere/x')": False,
    "open('/etc/hostname')": True,
    "__import__('antigravity_')": True,
    "eval('1')": True,
    "os.remove('/nowhere/x')": True,
    "1 + 1": False,
}
PROGRAM = f"""
import json, os, socket, subprocess
from pathlib import Path
from tests.hostile_files.watch import Watch

watch, noticed = Watch(), []
for act in ({", ".join(f"lambda: {expression}" for expression in EXPRESSIONS)}):
    with watch.over(Path("/nowhere")):
        try:
            act()
        except (OSError, ImportError):
            pass
    noticed.append(bool(watch.events))
    watch.events.clear()
print(json.dumps(noticed))
"""


def test_the_watch_notices_what_must_not_happen() -> None:
    assert json.loads(_printed("-c", PROGRAM)) == list(EXPRESSIONS.values())

"""Does nbtf behave as recorded from TensorFlow? Runs recorded cases, each in a separate process.

    python -m tests.recorded.replay                          # all cases: one line per miss, and a table by area
    python -m tests.recorded.replay --only "place\\." --level core,near
    python -m tests.recorded.replay --sessions               # cases with graphs and sessions

One server process per number of simulated GPUs imports the module once. Every case is a fork of a server, so each
starts with a fresh runtime. `test_tf2_cases.py` runs the same code from pytest; `judgement.py` compares outcomes.
"""

from __future__ import annotations

import argparse
import importlib
import json
import linecache
import os
import pkgutil
import re
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType, TracebackType
from typing import IO, Any

from tests.recorded.judgement import Case, Outcome, difference

HERE = Path(__file__).parent
LIMIT_SECONDS = 600
UNUSED = frozenset({"__main__", "_cluster", "_frameworks", "cli", "compat", "notebook", "python"})
"""Parts of nbtf that few cases use; importing `compat.v1` would switch to graphs."""


def run_forked(module: ModuleType, case: Case) -> Outcome:
    """Runs one case in a fork of this process and returns its outcome."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as raised:
        child = os.fork()
        if child == 0:
            try:
                _become_the_case(module, case, out.fileno(), err.fileno(), raised.fileno())
            finally:
                os._exit(0)
        status = os.waitpid(child, 0)[1]
        printed = {"stdout": _text(out), "stderr": _text(err)}
        report = _text(raised)
    if not report:
        return Outcome(**printed, message=f"the process ended with status {status}", bases=["Died"])
    return Outcome(**printed, **json.loads(report))


def _become_the_case(module: ModuleType, case: Case, out: int, err: int, raised: int) -> None:
    """In the child: redirects the streams to files, runs the snippet, and writes down its error."""
    signal.alarm(LIMIT_SECONDS)  # stops a case that hangs
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (out, 1), (err, 2)):
        os.dup2(source, target)
    error: BaseException | None = None
    try:
        _split_the_cpu(module, case.get("setup", {}).get("logical_cpus", 1))
        names = {"__name__": "__case__", "tf": module, "np": importlib.import_module("numpy")}
        linecache.cache["case.py"] = len(case["code"]), None, case["code"].splitlines(keepends=True), "case.py"
        exec(compile(case["code"], "case.py", "exec"), names)
    except BaseException as raised_by_the_case:  # including SystemExit: it is the case's answer
        error = raised_by_the_case
    sys.stdout.flush()
    sys.stderr.flush()
    report = {"message": "", "bases": []}
    if error is not None:
        report = {"message": str(error), "bases": [base.__name__ for base in type(error).__mro__]}
    os.write(raised, json.dumps(report).encode())


def _split_the_cpu(module: ModuleType, pieces: int) -> None:
    if pieces > 1:
        config: Any = module.config
        whole = config.list_physical_devices("CPU")[0]
        config.set_logical_device_configuration(whole, [config.LogicalDeviceConfiguration() for _ in range(pieces)])


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


class Replay:
    """Runs cases against a module; starts the server for a number of GPUs when the first case needs it."""

    def __init__(self, module: str = "nbtf") -> None:
        self._module = module
        self._servers: dict[int, subprocess.Popen[str]] = {}

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for server in self._servers.values():
            server.communicate()  # closes its input, so that it exits

    def outcome(self, case: Case) -> Outcome:
        """Returns the case's outcome."""
        server = self._server(case.get("setup", {}).get("gpus", 0))
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(case) + "\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        if not answer:
            raise RuntimeError(f"cannot import {self._module}: the server ended with status {server.wait()}")
        return Outcome(**json.loads(answer))

    def difference(self, case: Case) -> str | None:
        """Returns how the case differs from the recording, or None."""
        return difference(case, self.outcome(case))

    def _server(self, gpus: int) -> subprocess.Popen[str]:
        if gpus not in self._servers:
            self._servers[gpus] = subprocess.Popen(
                [sys.executable, "-m", "tests.recorded.replay", "--serve", self._module],
                env=_environment(gpus),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            )
        return self._servers[gpus]


def _environment(gpus: int) -> dict[str, str]:
    """Returns this process's environment without device settings, plus the requested number of GPUs."""
    foreign = ("NBTF_", "TF_", "CUDA_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    path = [str(HERE.parent.parent), *filter(None, [kept.get("PYTHONPATH")])]
    return kept | {
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONUTF8": "1",
        "NBTF_SIMULATED_GPUS": str(gpus),
        "OMP_NUM_THREADS": "1",  # a fork of a process with threads may hang
        "OPENBLAS_NUM_THREADS": "1",
    }


def load_namespaces() -> None:
    """Imports what nbtf otherwise imports when a program first uses it, so that no case has to."""
    import nbtf

    for namespace in pkgutil.iter_modules(nbtf.__path__):
        if namespace.name not in UNUSED:
            module = importlib.import_module(f"nbtf.{namespace.name}")
            for part in pkgutil.walk_packages(getattr(module, "__path__", []), f"{module.__name__}."):
                importlib.import_module(part.name)


def serve(name: str) -> None:
    """Reads cases from stdin, one JSON line each, and writes their outcomes to stdout."""
    module = importlib.import_module(name)
    importlib.import_module("numpy")
    if name.startswith("nbtf"):
        load_namespaces()
    for line in sys.stdin:
        print(json.dumps(asdict(run_forked(module, json.loads(line)))), flush=True)


def load_cases(file: Path = HERE / "tf2_cases.json") -> list[Case]:
    """Returns the recorded cases of a file."""
    return json.loads(file.read_text(encoding="utf-8"))


def load_session_cases(file: Path = HERE / "tf1_cases.json") -> list[Case]:
    """Returns the recorded cases with graphs and sessions, in the same form as the others."""
    cases = json.loads(file.read_text(encoding="utf-8"))["cases"]
    both = [case | {"code": case["setup"] + case["code"], "setup": {}} for case in cases]
    return [case | {"level": "core", "session": True} for case in both]


def load_not_met(file: Path = HERE / "not_met.toml") -> dict[str, str]:
    """Returns the cases that nbtf does not meet, each with the reason."""
    groups = tomllib.loads(file.read_text(encoding="utf-8"))["group"]
    return {case: group["why"] for group in groups for case in group["cases"]}


def _verdicts(cases: list[Case], module: str) -> Iterator[tuple[Case, str]]:
    not_met = load_not_met()
    with Replay(module) as replay:
        for case in cases:
            found = replay.difference(case)
            listed = case["id"] in not_met
            yield case, ("listed" if listed else "failed") if found else ("unlisted" if listed else "passed")
            if found and not listed:
                print(f"{case['level']:8} {case['id']}\n    " + found.replace("\n", "\n    "))


def main() -> int:
    """Runs the selected cases and prints the misses and a table by area."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, help="tf2_cases.json, or with --sessions tf1_cases.json")
    parser.add_argument("--sessions", action="store_true", help="run the cases with graphs and sessions")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose id contains this")
    parser.add_argument("--level", default="core,near,optional", help="levels to run; the default leaves out quirks")
    parser.add_argument("--module", help="module to test as `tf`; default: nbtf, or nbtf.compat.v1 with --sessions")
    parser.add_argument("--serve", metavar="MODULE", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve(chosen.serve)
        return 0
    levels = chosen.level.split(",")
    load = load_session_cases if chosen.sessions else load_cases
    found = load(chosen.file) if chosen.file else load()
    cases = [case for case in found if case["level"] in levels and re.search(chosen.only, case["id"])]
    table: dict[str, Counter[str]] = {}
    for case, verdict in _verdicts(cases, chosen.module or ("nbtf.compat.v1" if chosen.sessions else "nbtf")):
        table.setdefault(case["area"], Counter())[verdict] += 1
        table.setdefault("all", Counter())[verdict] += 1
    columns = ["passed", "failed", "listed", "unlisted"]
    print(f"\n{'area':10}" + "".join(f"{column:>10}" for column in columns))
    for area in sorted(table, key=lambda name: (name == "all", name)):
        print(f"{area:10}" + "".join(f"{table[area][column]:10}" for column in columns))
    print("\nlisted: misses that not_met.toml names; unlisted: cases that it names although they pass")
    return 1 if table and table["all"]["failed"] + table["all"]["unlisted"] else 0


if __name__ == "__main__":
    sys.exit(main())

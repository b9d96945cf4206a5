"""Measures the time and the memory that `nbtf notebooks check` needs for large outputs.

Run it with `python -m tests.cli.checking.large`. Each case is a notebook with one cell, checked in a separate process.
The recorded output is identical to the printed one, differs only in varying parts such as times, ends differently, or
is missing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.cli.checking.cells import cell, save, shown, stream

SECONDS, TIMES = 30, 4
"""Limits for a case: seconds, and memory as a multiple of the output's size."""

BACKSPACES = 150_000

CHECK = """
import resource, sys
from nbtf.cli import main
status = main(["notebooks", "check", sys.argv[1]])
own, kernel = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
# Not ru_maxrss, which includes the parent program's memory.
peak = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(status, sum(map(sum, ((each.ru_utime, each.ru_stime) for each in (own, kernel)))), peak)
"""


class Case(NamedTuple):
    """A cell's code, and a function that makes its output from a number of characters."""

    name: str
    source: str
    make: Callable[[int, str], str]
    is_page: bool = False


def words(size: int, seconds: str) -> str:
    text = f"loss 0.25 after {seconds} s and more words; "
    return text * (size // len(text))


def million_lines(size: int, seconds: str) -> str:
    lines = size // 100
    return "".join(f"step {number:>10} took {seconds} s {'y' * 67}\n" for number in range(lines))


def image(size: int, seconds: str) -> str:
    return f'<img id="a1" alt="{seconds} s" src="data:image/png;base64,{"iVBORw0KGgo7s+" * (size // 14)}">'


def backspaces(size: int, seconds: str) -> str:
    return "x" * size + "\b" * size + f"{seconds} s\n"


CASES = [
    Case("one line", "print(text, end='')", words),
    Case("lines", "print(text, end='')", million_lines),
    Case("one HTML image", "from IPython.display import HTML, display\ndisplay(HTML(text))", image, is_page=True),
    Case("backspaces", "print(text, end='')", backspaces),
]

RECORDED = ["same", "varies", "differs", "nothing"]


def notebook(path: Path, case: Case, size: int, recorded: str) -> None:
    """Writes a notebook whose cell reads its text from a file beside it."""
    path.with_suffix(".txt").write_text(case.make(size, "3"), encoding="utf-8", newline="")
    text = case.make(size, "4" if recorded == "varies" else "3")
    text += "changed" if recorded == "differs" else ""
    html = {"text_html": text, "text_plain": "<IPython.core.display.HTML object>"}
    outputs = [] if recorded == "nothing" else [shown(**html) if case.is_page else stream(text)]
    reading = f"text = open({path.with_suffix('.txt').name!r}, encoding='utf-8', newline='').read()\n"
    save(path, cell(reading + case.source, *outputs))


class Measured(NamedTuple):
    """Cost of checking a notebook: wall-clock seconds, CPU seconds, and peak memory in bytes."""

    status: int
    seconds: float
    processor: float
    memory: int
    lines: list[str]


def measured(path: Path) -> Measured:
    started = time.perf_counter()
    process = subprocess.run([sys.executable, "-c", CHECK, str(path)], capture_output=True, text=True, check=True)
    *lines, last = process.stdout.splitlines()
    status, processor, memory = last.split()
    return Measured(int(status), time.perf_counter() - started, float(processor), int(memory), lines)


def runs(folder: Path, size: int, only: str) -> Iterator[tuple[str, int, Measured]]:
    """Yields each case's name, the size of its output in bytes, and the cost of checking it."""
    for case in CASES:
        for recorded in RECORDED:
            name = f"{case.name}, recorded: {recorded}"
            if only not in name:
                continue
            path = folder / "large.ipynb"
            notebook(path, case, BACKSPACES if case.make is backspaces else size, recorded)
            yield name, path.with_suffix(".txt").stat().st_size, measured(path)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cli.checking.large", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100, help="size of an output (default: 100)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose names contain this")
    chosen = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        save(folder / "small.ipynb", cell("print(1)", stream("1\n")))
        usual = measured(folder / "small.ipynb").memory
        for name, size, taken in runs(folder, chosen.megabytes * 10**6, chosen.only):
            times = max(0, taken.memory - usual) / size if size > 10**6 else 0.0
            missed += taken.seconds > SECONDS or times > TIMES
            time_taken = f"{taken.seconds:5.1f} s, {taken.processor:5.1f} s of CPU time"
            print(f"{name:<36} {time_taken}, memory {times:3.1f} x output, exit status {taken.status}", flush=True)
            print("\n".join(f"    {line[:160]}" for line in taken.lines[1:-1]), flush=True)
    print(f"{missed} cases took longer than {SECONDS} s or used more memory than {TIMES} times the output")
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())

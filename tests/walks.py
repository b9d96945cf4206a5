"""Counts what a reader has to follow: the calls of one op, the files they are in, and the changes from file to file.

    python -m tests.walks

Each walk runs `a @ b` while a recorder listens, once as the first op of its kind and once more. A change of file is a
call into another file of the package than the call before it. Generated code counts as the file that generates it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from nbtf._devices import sites
from nbtf._record.recorder import Recorder

PACKAGE = Path(sites.__file__).parents[1]
GENERATED = "_ops/express.py"


class Walk(NamedTuple):
    """The calls of a run in order: for each, the file and the function."""

    calls: list[tuple[str, str]]

    @property
    def files(self) -> list[str]:
        """The files in the order in which they were entered."""
        return [*dict.fromkeys(file for file, _ in self.calls)]

    @property
    def changes(self) -> int:
        """How often a call continues in another file than the call before it."""
        return sum(before[0] != after[0] for before, after in pairwise(self.calls))


def file_of(frame: FrameType) -> str | None:
    """Returns the package's file of a frame; None for code outside the package."""
    filename = frame.f_code.co_filename
    if filename.startswith("<express lane"):
        return GENERATED
    path = Path(filename)
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else None


def walk(run: Callable[[], object]) -> Walk:
    """Returns the walk of a function's run."""
    calls: list[tuple[str, str]] = []

    def look(frame: FrameType, event: str, argument: Any) -> None:
        file = file_of(frame) if event == "call" else None
        if file is not None:
            calls.append((file, frame.f_code.co_name))

    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(None)
    return Walk(calls)


def recorded_product(gpus: int) -> list[Walk]:
    """Returns the walks of a recorded `a @ b`: the first one, and one after that."""
    import nbtf as tf

    if gpus:
        tf.runtime.simulate_gpus(gpus)
    a, b = tf.ones([2, 2]), tf.ones([2, 2])
    stop = tf.runtime.start_recorder(Recorder())  # as `%load_ext nbtf` does
    walks = [walk(lambda: a @ b) for _ in range(3)]
    stop()
    return [walks[0], walks[2]]


def recorded_product_in_new_process(gpus: int) -> list[Walk]:
    """Returns what `recorded_product` returns, from a process in which no product was computed before."""
    code = f"import json; from tests.walks import recorded_product; print(json.dumps(recorded_product({gpus})))"
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=PACKAGE.parent).stdout
    return [Walk([(file, name) for file, name in calls]) for (calls,) in json.loads(output.splitlines()[-1])]


def main() -> None:
    """Prints both walks on the CPU and on a simulated GPU."""
    for gpus, device in ((0, "CPU:0"), (1, "simulated GPU:0")):
        for title, taken in zip(("first", "later"), recorded_product_in_new_process(gpus), strict=True):
            print(
                f"{title} recorded a @ b on {device}: {len(taken.calls)} calls, {len(taken.files)} files, "
                f"{taken.changes} changes of file"
            )
            for file in taken.files:
                print(f"  {file}: {', '.join(dict.fromkeys(name for place, name in taken.calls if place == file))}")


if __name__ == "__main__":
    main()

"""`python -m tests.interrupts [--share N] [SCENARIO...]`: tests all points, or N per scenario; or `--presses N`."""

from __future__ import annotations

import argparse
import sys
import time

from tests.interrupts.harness import survive, survive_apart
from tests.interrupts.presses import press
from tests.interrupts.scenarios import SCENARIOS


def main() -> int:
    """Runs the chosen scenarios; returns 1 if any point failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.interrupts", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"{', '.join(SCENARIOS)}; default: all")
    parser.add_argument("--share", type=int, help="test this many evenly spread points per scenario")
    parser.add_argument("--presses", type=int, help="only interrupt a real kernel this many times")
    chosen = parser.parse_args()
    if chosen.presses is not None:
        left = press(chosen.presses)
        print("\n".join([*left, f"{chosen.presses} presses, {len(left)} failures"]))
        return min(len(left), 1)
    points = failures = 0
    for name in chosen.scenarios or SCENARIOS:
        start = time.perf_counter()
        if SCENARIOS[name].apart and len(chosen.scenarios) != 1:
            count, wrong = survive_apart(name, chosen.share)
        else:
            count, wrong = survive(name, chosen.share)
        points, failures = points + count, failures + len(wrong)
        print(f"{name}: {count:,} points, {len(wrong)} failures, {time.perf_counter() - start:.0f} s", flush=True)
    print(f"{points:,} points, {failures} failures")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())

"""Explores all scenarios: `python -m tests.interleavings [--preemptions 2] [--limit N] [--only TEXT]`."""

from __future__ import annotations

import argparse
import sys
import time

from tests.interleavings.explorer import Failure, explore
from tests.interleavings.scenarios import SCENARIOS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preemptions", type=int, default=2, help="maximum number of preemptions per schedule")
    parser.add_argument("--limit", type=int, default=None, help="maximum number of schedules per scenario")
    parser.add_argument("--only", default="", help="only scenarios whose names contain this")
    arguments = parser.parse_args()
    total = failures = 0
    for scenario in SCENARIOS:
        if arguments.only not in scenario.name:
            continue
        start = time.perf_counter()
        try:
            count = explore(scenario, arguments.preemptions, arguments.limit)
        except Failure as failure:
            failures, count = failures + 1, 0
            print(failure)
        total += count
        print(f"{count:8} {time.perf_counter() - start:7.1f} s  {scenario.name}", flush=True)
    print(f"{total} schedules, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

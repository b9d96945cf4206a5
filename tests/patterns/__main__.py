"""Tests all regular expressions of the package: `python -m tests.patterns [--share] [--only TEXT]`."""

from __future__ import annotations

import argparse

from tests.patterns.collected import patterns
from tests.patterns.texts import finding


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.patterns", description=__doc__)
    parser.add_argument("--share", action="store_true", help="try fewer texts per pattern, as pytest does")
    parser.add_argument("--only", default="", metavar="TEXT", help="only patterns in files whose names contain this")
    chosen = parser.parse_args()
    looked_at, found = [pattern for pattern in patterns() if chosen.only in pattern.source], 0
    for pattern in looked_at:
        result = finding(pattern.text, pattern.flags, pattern.anchored, thorough=not chosen.share)
        if result is not None:
            found += 1
            print(f"{pattern.source}: {pattern.text!r}\n    {result.text!r}: {result.steps} steps", flush=True)
    print(f"{len(looked_at)} patterns, {found} need more than a linear number of steps")
    return int(found > 0)


if __name__ == "__main__":
    raise SystemExit(main())

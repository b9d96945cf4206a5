"""Does every kernel return the same results for every memory layout, and on every path that runs it?

python -m tests.layouts                      # 20 cases per subject; each case is run on five paths
python -m tests.layouts --all                # all cases of every subject
python -m tests.layouts --calls 100 --seed 7 --only gelu
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter

from tests.layouts.search import Report, cases_of, search
from tests.layouts.subjects import subjects


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.layouts", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--calls", type=int, default=20, help="cases per subject")
    parser.add_argument("--all", action="store_true", help="run all cases")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only subjects whose names contain this")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    report, began_at, count = Report(), time.monotonic(), 0
    for subject in subjects():
        if chosen.only in subject.name:
            count += 1
            search(subject, cases_of(subject, None if chosen.all else chosen.calls, chosen.seed), report)
    for failure in report.failures:
        print(failure)
    by_subject = Counter(failure.partition(" | ")[0] for failure in report.failures)
    print(
        f"{count} subjects, {dict(report.counts)}, {len(report.failures)} differ in {time.monotonic() - began_at:.0f} s"
    )
    print(dict(by_subject.most_common(40)))
    return min(1, len(report.failures))


if __name__ == "__main__":
    sys.exit(main())

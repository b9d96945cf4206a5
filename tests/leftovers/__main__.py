"""Does a block, or an error in it, change the behaviour of the code after it?

python -m tests.leftovers                          # leaves every block in every way, then tests the features: minutes
python -m tests.leftovers --calls 1                # also tests all public functions and the samples of all ops
python -m tests.leftovers --only "tf.Graph" -v     # prints both answers
"""

from __future__ import annotations

import argparse
import sys

from tests.leftovers.answers import answers_after, differences, entry_points
from tests.leftovers.blocks import cases


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.leftovers", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--calls", type=int, default=0, help="calls per public function")
    parser.add_argument("--only", default="", help="only blocks whose names begin with this")
    parser.add_argument("-v", action="store_true", dest="tells_answers", help="print both answers if they differ")
    chosen = parser.parse_args()
    calls = entry_points(chosen.calls)
    expected = answers_after(lambda: None, calls)
    unstable = differences(expected, answers_after(lambda: None, calls))
    calls = {name: call for name, call in calls.items() if name not in unstable}
    blocks = {name: block for name, block in cases().items() if name.startswith(chosen.only)}
    seen: list[str] = []
    for name, leave in blocks.items():
        changed = differences({call: expected[call] for call in calls}, answers_after(leave, calls))
        seen += changed
        for call, (before, after) in changed.items():
            print(f"{name:60} {call[:100]}")
            if chosen.tells_answers:
                print(f"    before: {before!r}\n    after:  {after!r}")
        sys.stdout.flush()
    print(
        f"{len(blocks)} ways to leave a block x {len(calls)} entry points = {len(blocks) * len(calls)} pairs; "
        f"{len(seen)} differ, from {len(set(seen))} entry points; {len(unstable)} change with every call"
    )
    return min(1, len(seen))


if __name__ == "__main__":
    sys.exit(main())

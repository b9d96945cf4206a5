"""Do public functions raise only errors that users can expect?

python -m tests.hostile                       # 30 calls of every public function
python -m tests.hostile --calls 200 --seed 7 --only "tf.linalg"
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections import Counter

from tests.hostile.answers import Answer, answers
from tests.hostile.calls import hostile_calls, public_functions
from tests.hostile.judgement import leak_of


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--calls", type=int, default=30, help="calls per function")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only functions whose names begin with this, including tf.")
    parser.add_argument("--module", default="nbtf")
    chosen = parser.parse_args()
    tf = importlib.import_module(chosen.module)
    functions = public_functions(tf)
    calls = [
        call
        for path, function in functions.items()
        if f"tf.{path}".startswith(chosen.only)
        for call in hostile_calls(path, function, chosen.calls, chosen.seed)
    ]
    leaks: list[Answer] = []
    seen = Counter[str]()

    def tell(answer: Answer) -> None:
        seen["refused" if answer.error else "answered"] += 1
        if leak_of(answer, functions):
            leaks.append(answer)

    answers(tf, calls, tell)
    for leak in leaks:
        print(f"{leak.error.rpartition('.')[2]:20} {leak.site:45} {leak.call}\n{'':20} {leak.text.splitlines()[:1]}")
    classes = Counter(leak.error.rpartition(".")[2] for leak in leaks)
    print(f"{len(calls)} calls of {len(functions)} functions: {dict(seen)}; {len(leaks)} leaks {dict(classes)}")
    return min(1, len(leaks))


if __name__ == "__main__":
    sys.exit(main())

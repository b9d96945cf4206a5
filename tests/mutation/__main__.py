"""Would the tests notice a wrong line?

python -m tests.mutation                            # 20 mutants per file
python -m tests.mutation --each 1000 --only placement
"""

from __future__ import annotations

import argparse
import random
import sys

from tests.mutation.mutants import mutants_of
from tests.mutation.targets import EQUIVALENT, TARGETS
from tests.mutation.trial import ROOT, are_noticed

SHARE = 0.97
"""Required share of detected mutants, among those that change behaviour."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--each", type=int, default=20, help="mutants per file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only files whose names contain this")
    chosen = parser.parse_args()
    noticed = count = 0
    for file, tests in TARGETS.items():
        if chosen.only not in file:
            continue
        source = (ROOT / file).read_text(encoding="utf-8")
        lines = ["", *map(str.strip, source.splitlines())]
        mutants = [m for m in mutants_of(source) if (file, lines[m.line], m.before, m.after) not in EQUIVALENT]
        random.Random(f"{chosen.seed} {file}").shuffle(mutants)
        tried = mutants[: chosen.each]
        missed = 0
        for mutant, is_noticed in zip(tried, are_noticed(file, source, tried, tests), strict=True):
            if not is_noticed:
                missed += 1
                print(f"{file}:{mutant.line}: {mutant.before!r} -> {mutant.after!r} is not detected", flush=True)
        print(f"{file}: {len(tried) - missed} of {len(tried)} detected; {len(mutants)} in all", flush=True)
        noticed, count = noticed + len(tried) - missed, count + len(tried)
    print(f"{noticed} of {count} mutants detected, {noticed / max(1, count):.1%}; seed {chosen.seed}")
    return int(noticed < SHARE * count)


if __name__ == "__main__":
    sys.exit(main())

"""Does nbtf store each variable on the same device as TensorFlow?

python -m tests.variable_placement                     # the whole table
python -m tests.variable_placement --only "fit" -v     # only programs whose names contain this
python -m tests.variable_placement.record              # records TensorFlow's table again; needs TensorFlow
"""

from __future__ import annotations

import argparse
import sys
import warnings

from tests.variable_placement.check import differences
from tests.variable_placement.table import recorded_cells


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.variable_placement", description=str(__doc__).partition("\n")[0]
    )
    parser.add_argument("--only", default="", help="only programs whose names contain this")
    parser.add_argument("-v", "--verbose", action="store_true", help="print each cell that differs")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    cells = variables = differing = 0
    for cell, expected in recorded_cells():
        if chosen.only not in cell.way:
            continue
        cells, variables = cells + 1, variables + len(expected)
        wrong = differences(cell, expected)
        differing += bool(wrong)
        if chosen.verbose:
            print("\n".join(map(str, wrong)), end="\n" if wrong else "")
    print(f"{cells} cells with {variables} variables; {differing} cells differ")
    return min(1, differing) if cells else 1


if __name__ == "__main__":
    sys.exit(main())

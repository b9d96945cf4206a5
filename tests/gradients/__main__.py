"""Does every way to compute a gradient agree with TensorFlow, however the program is run?

python -m tests.gradients                      # the whole table: seconds
python -m tests.gradients --only custom        # only programs whose names begin with this
python -m tests.gradients --record             # with TensorFlow: writes tests/recorded/gradient_ways.json
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys

from tests.gradients.programs import PROGRAMS
from tests.gradients.table import EXCUSED, agree, answers, record, recorded
from tests.gradients.ways import WAYS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gradients", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--only", default="", help="only programs whose names begin with this")
    parser.add_argument("--record", action="store_true", help="record TensorFlow's answers")
    chosen = parser.parse_args()
    if chosen.record:
        tensorflow = importlib.import_module("tensorflow")
        tensorflow.get_logger().setLevel("CRITICAL")
        record(tensorflow, tensorflow.__version__)
        return 0
    programs = [name for name in PROGRAMS if name.startswith(chosen.only)]
    given = answers(importlib.import_module("nbtf"), WAYS, programs)
    different = {cell: value for cell, value in given.items() if not agree(recorded(cell), value)}
    for cell in different.keys() - EXCUSED:
        print(f"{cell}\n    TensorFlow {json.dumps(recorded(cell))}\n    nbtf       {json.dumps(different[cell])}")
    print(f"{len(given)} answers: {len(different)} differ, {len(different.keys() & EXCUSED)} for a known reason")
    return min(1, len(different.keys() - EXCUSED))


if __name__ == "__main__":
    sys.exit(main())

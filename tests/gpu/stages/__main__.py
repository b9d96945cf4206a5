"""Runs one stage in this process and writes its findings."""

from __future__ import annotations

import argparse
import importlib
import traceback
from pathlib import Path

from tests.gpu.stages import STAGES
from tests.gpu.stages.cards import use_a_fake_card
from tests.gpu.stages.record import Record


def main() -> None:
    """Runs the program."""
    asked = argparse.ArgumentParser()
    asked.add_argument("stage", type=int)
    asked.add_argument("file", type=Path)
    asked.add_argument("--quick", action="store_true")
    asked.add_argument("--fake", action="store_true")
    args = asked.parse_args()
    if args.fake:
        use_a_fake_card()
    record = Record(args.quick, args.fake)
    module = importlib.import_module(f"tests.gpu.stages.{STAGES[args.stage].module}")
    try:
        module.run(record)
    except BaseException:
        record.check("the stage ran to its end", False, traceback.format_exc()[-500:])
        raise
    finally:
        record.write(args.file)


if __name__ == "__main__":
    main()

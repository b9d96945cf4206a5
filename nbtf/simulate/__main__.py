"""Runs a program on simulated GPUs: `python -m nbtf.simulate train.py [arguments]`, the same as `nbtf run`."""

from __future__ import annotations

import os
import sys

from nbtf._devices.discovery import SIMULATED_GPUS
from nbtf.cli import main

if __name__ == "__main__":
    os.environ.setdefault(SIMULATED_GPUS, "1")
    sys.exit(main(["run", *sys.argv[1:]]))

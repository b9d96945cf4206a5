"""Runs the `nbtf` command as `python -m nbtf`, for systems without the scripts folder on the path."""

from __future__ import annotations

import sys

from nbtf.cli import main

if __name__ == "__main__":
    sys.exit(main())

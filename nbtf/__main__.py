"""`python -m nbtf` is `nbtf`, for where scripts are not on the path."""

from __future__ import annotations

import sys

from nbtf.cli import main

if __name__ == "__main__":
    sys.exit(main())

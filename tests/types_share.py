"""Measures the share of nbtf's public names whose type is known to every checker: `python -m tests.types_share`.

Types from other packages do not count, because NumPy's own stubs leave some types open.
"""

from __future__ import annotations

import json
import subprocess
import sys

SHARE = 0.95


def main() -> int:
    """Prints the share; returns 1 if it is too small and 2 if no names were counted."""
    command = ["basedpyright", "--verifytypes", "nbtf", "--ignoreexternal", "--outputjson"]
    report = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    completeness = json.loads(report)["typeCompleteness"]
    counts = completeness["exportedSymbolCounts"]
    share: float = completeness["completenessScore"]
    print(f"{share:.1%} of {sum(counts.values())} names have a known type; at least {SHARE:.1%} are required")
    return 2 if not sum(counts.values()) else int(share < SHARE)


if __name__ == "__main__":
    sys.exit(main())

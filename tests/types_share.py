"""How much of what nbtf offers has a type that every checker sees alike? `python -m tests.types_share` says it.

Types of other packages do not count: NumPy's own stubs leave some open.
"""

from __future__ import annotations

import json
import subprocess
import sys

SHARE = 0.95


def main() -> int:
    """Prints the share; 1 if it is too small, 2 if nothing was counted."""
    command = ["basedpyright", "--verifytypes", "nbtf", "--ignoreexternal", "--outputjson"]
    report = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    completeness = json.loads(report)["typeCompleteness"]
    counts = completeness["exportedSymbolCounts"]
    share: float = completeness["completenessScore"]
    print(f"{share:.1%} of {sum(counts.values())} names have a known type; at least {SHARE:.0%} have to")
    return 2 if not sum(counts.values()) else int(share < SHARE)


if __name__ == "__main__":
    sys.exit(main())

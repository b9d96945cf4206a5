"""`python -m tests.hostile_files`: does reading a hostile file have no effect other than an error? Reads many files.

For each kind of file it prints how many were read, loaded and rejected, how many events the audit hook recorded, and
how much the process grew. The exit status is 1 after a forbidden event, an unexpected class of error, or a hang.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

from nbtf._ops.op import find_op
from nbtf.errors import InvalidArgumentError
from tests.hostile_files.kinds import KINDS, Kind
from tests.hostile_files.watch import HangError, Watch, limit_memory, peak

_WARM = 60
"""Number of files read before the audit hook counts: a first read loads modules."""


def main() -> int:
    """Reads hostile files of each kind; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="files of each kind")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first file; later files count up")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    watch = Watch()
    return max([_check(watch, name, KINDS[name], chosen.seed, chosen.count) for name in chosen.kinds], default=0)


def _check(watch: Watch, name: str, kind: Kind, seed: int, count: int) -> int:
    outcomes, failures = Counter[str](), list[str]()
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shared) as scratch:
        (Path(scratch) / "seeds").mkdir()
        (Path(scratch) / "read").mkdir()
        hostile = kind.make(Path(scratch) / "seeds")
        for number in range(-_WARM, 0):
            _read(None, kind, Path(scratch) / "read", hostile(Random(f"{name} {number}")))
        with suppress(LookupError):
            find_op("of no family, so that each is there")
        limit_memory()
        before = peak()
        for number in range(seed, seed + count):
            outcome = _read(watch, kind, Path(scratch) / "read", hostile(Random(f"{name} {number}")))
            events = [f"event: {event}" for event in watch.events]
            watch.events.clear()
            outcomes[outcome.partition(":")[0]] += 1
            failures += [
                f"{name} {number} {text}" for text in (*events, outcome) if not text.startswith(("loaded", "refused"))
            ]
        grown = (peak() - before) / 2**20
    loaded, refused = outcomes["loaded"], outcomes["refused"]
    print(f"{name}: {count} files, {loaded} loaded, {refused} refused, {len(failures)} failures, {grown:.0f} MiB grown")
    for failure in failures[:20]:
        print(f"  {failure}")
    sys.stdout.flush()
    return 1 if failures or loaded + refused < count else 0


def _read(watch: Watch | None, kind: Kind, folder: Path, files: dict[str, bytes]) -> str:
    """Writes files and reads them; returns the outcome as text."""
    for path in folder.iterdir():
        path.unlink()
    for file, content in files.items():
        (folder / file).write_bytes(content)
    try:
        if watch is None:
            kind.read(folder)
        else:
            with watch.over(folder):
                kind.read(folder)
    except kind.refusal as error:
        return "refused" if str(folder) in str(error) else f"the file is not named: {error!r:.300}"
    except HangError as error:
        return f"hang: {traceback.extract_tb(error.__traceback__)[-1]}"
    except Exception as error:
        if type(error) in (ValueError, InvalidArgumentError) and re.search(kind.mismatch, str(error)):
            return "refused"
        return f"{type(error).__name__}: {error!s:.200} {traceback.extract_tb(error.__traceback__)[-1]}"
    return "loaded"


if __name__ == "__main__":
    raise SystemExit(main())

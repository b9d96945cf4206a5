"""Is anything lost by `kill -9` at random moments, or by four savers to one path?

    python -m tests.storage.stress                          # 200 kills of each saver, 4 savers with 30 saves each
    python -m tests.storage.stress --kills 20 --saves 5     # a share of it

prints a table and ends with status 1 if a save was lost, or failed beside others.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nbtf._storage.drafts import sweep
from tests.storage.savers import SAVERS, Saver, remains

BY_NAME = {saver.name: saver for saver in SAVERS}
KILLED = ("weights", "model in a file", "model in a folder", "saved model", "backup", "managed checkpoint")
SHARED = ("weights", "model in a file", "model in a folder", "saved model", "backup", "checkpoint")
"""Not the managed checkpoint: a manager deletes what it has not saved itself, in TensorFlow, too."""

LONGEST_SECONDS = 0.05
"""After the start of a save; the longest save takes some 20 ms."""


@dataclass
class Result:
    """What became of one saver: which values were there after each trial, and what went wrong."""

    name: str
    trials: int = 0
    losses: list[str] = field(default_factory=list[str])

    def look(self, saver: Saver, folder: Path, values: Sequence[object]) -> None:
        """Loads what is there, which must be one of the values that were saved."""
        self.trials += 1
        try:
            value = saver.load(folder)
        except Exception as error:  # whatever it is, the save is lost
            self.losses.append(f"{type(error).__name__}: {error}")
            return
        if value not in values:
            self.losses.append(f"{value} was never saved")


def both_values(saver: Saver, folder: Path) -> list[object]:
    """Returns what is there after each of the two saves."""
    values: list[object] = []
    for save in (saver.prepare, saver.save):
        save(folder)
        values.append(saver.load(folder))
    return values


def forked(action: Callable[[], object]) -> int:
    """Runs something in a child process, and returns its number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # there may be threads; the child uses none of theirs
        child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        except BaseException:  # the parent tells only that there was one
            traceback.print_exc()
        finally:
            os._exit(status)
    return child


def save_until_killed(saver: Saver, folder: Path, pipe: int) -> None:
    """Saves the one and the other, and tells before each that it begins."""
    for save in itertools.cycle((saver.prepare, saver.save)):
        os.write(pipe, b".")
        save(folder)


def kill_at_random(saver: Saver, folder: Path, kills: int, seed: int = 0) -> Result:
    """Kills a process that saves, again and again, and looks after each time what is there."""
    chance, result = random.Random(seed), Result(saver.name)
    values = both_values(saver, folder)
    for _ in range(kills):
        read, write = os.pipe()
        child = forked(lambda write=write: save_until_killed(saver, folder, write))
        os.close(write)
        os.read(read, 1)
        select.select([], [], [], chance.uniform(0, LONGEST_SECONDS))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(read)
        result.look(saver, folder, values)
    sweep.cache_clear()
    saver.save(folder)
    result.losses += [f"{name} is left" for name in remains(folder)]
    return result


def save_many_times(saver: Saver, folder: Path, saves: int) -> None:
    """Saves the one and the other, and reads between."""
    for save in itertools.islice(itertools.cycle((saver.prepare, saver.save)), saves):
        save(folder)
        saver.load(folder)


def save_from_threads(saver: Saver, folder: Path, savers: int, saves: int) -> Result:
    """Has several threads save to one path; none may fail, and each load gives what one of them has saved."""
    result, values = Result(f"{saver.name}, threads"), both_values(saver, folder)

    def save() -> None:
        try:
            save_many_times(saver, folder, saves)
        except Exception as error:  # told in the table
            result.losses.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=save) for _ in range(savers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    result.look(saver, folder, values)
    result.trials = savers * saves
    result.losses += [f"{name} is left" for name in remains(folder)]
    return result


def save_from_processes(saver: Saver, folder: Path, savers: int, saves: int) -> Result:
    """Has several processes save to one path; none may fail, and each load gives what one of them has saved."""
    result, values = Result(f"{saver.name}, processes"), both_values(saver, folder)
    children = [forked(lambda: save_many_times(saver, folder, saves)) for _ in range(savers)]
    for child in children:
        if os.waitpid(child, 0)[1]:
            result.losses.append(f"process {child} failed; its traceback stands above")
    result.look(saver, folder, values)
    result.trials = savers * saves
    result.losses += [f"{name} is left" for name in remains(folder)]
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a line for each saver, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="of each saver")
    parser.add_argument("--saves", type=int, default=30, help="of each of four savers")
    chosen = parser.parse_args(arguments)
    lost = 0
    runs = [(name, kill_at_random, (chosen.kills,)) for name in KILLED]
    runs += [(name, run, (4, chosen.saves)) for name in SHARED for run in (save_from_threads, save_from_processes)]
    for name, run, counts in runs:
        folder = Path(tempfile.mkdtemp())
        result = run(BY_NAME[name], folder, *counts)
        print(f"{result.name:30} {result.trials:5} trials, {len(result.losses)} lost", *result.losses[:3], flush=True)
        lost += len(result.losses)
        shutil.rmtree(folder)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())

"""Is any save lost through `kill -9` at random moments, or when four savers write to the same path?

    python -m tests.storage.stress                          # 200 kills per saver, 4 savers with 30 saves each
    python -m tests.storage.stress --kills 20 --saves 5     # a smaller run

Prints a table. The exit status is 1 if a save was lost, or failed because of concurrent saves.
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
KILLED = ("weights", "model in a file", "model in a folder", "saved model", "managed checkpoint")
SHARED = ("weights", "model in a file", "model in a folder", "saved model", "checkpoint")
"""Without the managed checkpoint: as in TensorFlow, a manager deletes files that it has not saved itself."""

LONGEST_SECONDS = 0.05
"""Seconds after the start of a save; the longest save takes about 20 ms."""


@dataclass
class Result:
    """The outcome for one saver: the values found after each trial, and the failures."""

    name: str
    trials: int = 0
    losses: list[str] = field(default_factory=list[str])

    def look(self, saver: Saver, folder: Path, values: Sequence[object]) -> None:
        """Loads the current file, which must contain one of the saved values."""
        self.trials += 1
        try:
            value = saver.load(folder)
        except Exception as error:  # any error means that the save is lost
            self.losses.append(f"{type(error).__name__}: {error}")
            return
        if value not in values:
            self.losses.append(f"{value} was never saved")


def both_values(saver: Saver, folder: Path) -> list[object]:
    """Returns the values after each of the two saves."""
    values: list[object] = []
    for save in (saver.prepare, saver.save):
        save(folder)
        values.append(saver.load(folder))
    return values


def forked(action: Callable[[], object]) -> int:
    """Runs a function in a child process and returns the process's number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads may exist; the child uses none of them
        child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        except BaseException:  # the parent only reports that there was an error
            traceback.print_exc()
        finally:
            os._exit(status)
    return child


def save_until_killed(saver: Saver, folder: Path, pipe: int) -> None:
    """Saves two values in turn, and announces the start of each save through a pipe."""
    for save in itertools.cycle((saver.prepare, saver.save)):
        os.write(pipe, b".")
        save(folder)


def kill_at_random(saver: Saver, folder: Path, kills: int, seed: int = 0) -> Result:
    """Kills a saving process again and again, and checks the saved file after each kill."""
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
    """Saves two values in turn, and reads in between."""
    for save in itertools.islice(itertools.cycle((saver.prepare, saver.save)), saves):
        save(folder)
        saver.load(folder)


def save_from_threads(saver: Saver, folder: Path, savers: int, saves: int) -> Result:
    """Saves to one path from several threads; no save may fail, and each load returns a value that was saved."""
    result, values = Result(f"{saver.name}, threads"), both_values(saver, folder)

    def save() -> None:
        try:
            save_many_times(saver, folder, saves)
        except Exception as error:  # shown in the table
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
    """Saves to one path from several processes; no save may fail, and each load returns a value that was saved."""
    result, values = Result(f"{saver.name}, processes"), both_values(saver, folder)
    children = [forked(lambda: save_many_times(saver, folder, saves)) for _ in range(savers)]
    for child in children:
        if os.waitpid(child, 0)[1]:
            result.losses.append(f"process {child} failed; see its traceback above")
    result.look(saver, folder, values)
    result.trials = savers * saves
    result.losses += [f"{name} is left" for name in remains(folder)]
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints one line per saver; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="kills per saver")
    parser.add_argument("--saves", type=int, default=30, help="saves for each of four savers")
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

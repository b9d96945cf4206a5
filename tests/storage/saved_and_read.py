"""`python -m tests.storage.saved_and_read`: can everything that was saved successfully be read again?

Saves random variables, modules, models and vocabularies, up to and beyond each limit, over an earlier save. A rejected
save must leave the earlier one unchanged and name the problem in a `ValueError` or a `TypeError`. A successful save
must be readable and equal. The exit status is 1 after a failure; prints how many were saved and rejected.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import nbtf as tf
from nbtf._storage import limits
from tests.storage.saved_subjects import (
    SUBJECTS,
    Saved,
    Subject,
    by_checkpoint,
    by_model,
    by_saved_model,
    small_model,
)
from tests.storage.savers import remains

LOW = {
    "ARRAYS": 12,
    "NAME_BYTES": 90,
    "AXES": 4,
    "TEXT_BYTES": 20_000,
    "DOCUMENT_BYTES": 6_000,
    "DOCUMENT_LEVELS": 14,
    "OBJECT_LEVELS": 7,
}
"""Low limits, which random objects often exceed."""

Save = Callable[[Path], object]


@contextlib.contextmanager
def limited(most: Mapping[str, int]) -> Generator[None]:
    """Replaces the limits during a block."""
    with contextlib.ExitStack() as stack:
        for name, number in most.items():
            stack.enter_context(patch.object(getattr(limits, name), "maximum", number))
        yield


def outcome(subject: Subject, seed: int, folder: Path) -> str:
    """Saves and reads a random object; returns `saved`, `refused`, or a description of the failure."""
    random = Random(f"{subject.name} {seed}")
    with limited(LOW if random.random() < 0.7 else {}):
        before = subject.plain()
        before.save(folder)
        try:
            after = subject.random(random)
        except (ValueError, TypeError):
            return "not made"  # for example because of a name that no layer may have
        try:
            after.save(folder)
        except (ValueError, TypeError) as error:
            return _after_refusal(before, error, folder)
        except Exception as error:
            return f"the save raised {error!r:.300}"
        return _after_save(after, folder)


def _after_refusal(before: Any, error: Exception, folder: Path) -> str:
    if remains(folder):
        return f"the refused save left {remains(folder)}"
    try:
        difference = before.difference(folder)
    except Exception as reading:
        return f"after {error!r:.100} the earlier save raised {reading!r:.300}"
    return f"after {error!r:.100} the earlier save differs: {difference}" if difference else f"refused: {error}"


def _after_save(after: Any, folder: Path) -> str:
    try:
        difference = after.difference(folder)
    except Exception as reading:
        return f"what was saved raised {type(reading).__name__}: {reading!s:.400}"
    return f"what was saved differs: {difference}" if difference else "saved"


def search(subject: Subject, seeds: range) -> tuple[Counter[str], list[str]]:
    """Tries one object per seed; returns how many were saved and rejected, and the failures."""
    counts, failures = Counter[str](), list[str]()
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            text = outcome(subject, seed, Path(folder))
        counts[text.partition(":")[0]] += 1
        if not text.startswith(("saved", "refused", "not made")):
            failures.append(f"{subject.name} {seed}: {text}")
    return counts, failures


def large_objects(words: int = 1_500_000, variables: int = 100_001) -> Iterator[Saved]:
    """Yields objects that could once be saved but not read: a long vocabulary, many variables, deep models, 40 axes."""
    vocabulary = [f"word{number}" for number in range(words)]
    layer = tf.keras.layers.StringLookup(vocabulary=vocabulary)
    yield by_model(tf.keras.Sequential([tf.keras.Input((), dtype="string"), layer]), "words.keras")
    yield by_checkpoint([tf.Variable(float(number)) for number in range(variables)])
    model = small_model()
    for _ in range(39):
        model = tf.keras.Sequential([tf.keras.Input((1,)), model])
    yield by_model(model, "deep.keras")
    yield by_saved_model({"model": model})
    yield by_checkpoint([tf.Variable(tf.zeros([1] * 39 + [2]))])


def main() -> int:
    """Runs the search; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000, help="objects per subject")
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--subjects", nargs="*", default=list(SUBJECTS), choices=list(SUBJECTS))
    parser.add_argument("--large", action="store_true", help="first try objects of realistic size; half a minute")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    status = 0
    for saved in large_objects() if chosen.large else ():
        with tempfile.TemporaryDirectory() as folder:
            saved.save(Path(folder))
            difference = saved.difference(Path(folder))
        status = status or bool(difference)
        print(f"large: {difference[:300] or 'saved and read'}", flush=True)
    for name in chosen.subjects:
        counts, failures = search(SUBJECTS[name], range(chosen.seed, chosen.seed + chosen.count))
        status = status or bool(failures)
        print(f"{name}: {counts['saved']} saved and read, {counts['refused']} rejected, {len(failures)} failures")
        print(*(f"  {failure}" for failure in failures[:20]), sep="\n", end="\n" if failures else "")
        sys.stdout.flush()
    return int(status)


if __name__ == "__main__":
    raise SystemExit(main())

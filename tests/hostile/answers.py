"""Runs calls in forked processes, each call with a time limit and each process with a memory limit."""

from __future__ import annotations

import json
import os
import re
import resource
import select
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

SECONDS = 60.0
"""Seconds after which a call counts as hanging, also on a busy machine. Calls inside a library ignore interrupts."""
MEMORY = 3 << 30
TOGETHER = 400
"""Number of calls per process."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a call: an error's class with its bases, text and line, or the shape of the result."""

    call: str
    error: str = ""
    bases: tuple[str, ...] = ()
    text: str = ""
    site: str = ""
    result: Any = None


def answers(tf: Any, calls: Sequence[str], tell: Callable[[Answer], None]) -> None:
    """Yields the answer of each call, in order."""
    start = 0
    while start < len(calls):
        start += _run_together(tf, calls[start : start + TOGETHER], tell)


def _run_together(tf: Any, calls: Sequence[str], tell: Callable[[Answer], None]) -> int:
    """Runs calls in a fork and reports their answers; returns how many were run before a call hung or died."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _answer_all(tf, calls, writer)
    os.close(writer)
    lines, done = b"", 0
    while done < len(calls):
        ready, _, _ = select.select([reader], [], [], SECONDS)
        piece = os.read(reader, 1 << 16) if ready else b""
        if not piece:
            os.kill(child, signal.SIGKILL)
            tell(Answer(calls[done], "Hang" if not ready else "Died"))
            done += 1
            break
        *complete, lines = (lines + piece).split(b"\n")
        for line in complete:
            tell(Answer(**json.loads(line)))
            done += 1
    os.waitpid(child, 0)
    os.close(reader)
    return done


def _answer_all(tf: Any, calls: Sequence[str], writer: int) -> None:
    """In the child: runs all calls and exits."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.chdir("/")
    if "tensorflow" not in tf.__name__:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(2000)
    try:
        with os.fdopen(writer, "w") as stream:
            for call in calls:
                stream.write(json.dumps(asdict(answer(tf, call))) + "\n")
                stream.flush()
    finally:
        os._exit(0)


def answer(tf: Any, call: str) -> Answer:
    """Returns the answer of a call in this process."""
    try:
        result = eval(call, {"tf": tf, "np": np})
        return Answer(call, result=described(tf, result))
    except BaseException as error:
        classes = tuple(f"{known.__module__}.{known.__name__}" for known in type(error).__mro__[:-2])
        return Answer(call, classes[0], classes, str(error)[:300], _site(error))


def _site(error: BaseException) -> str:
    """Returns the innermost line that is not in the standard library."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/nbtf/" in f.filename]
    return f"{frames[-1].filename.partition('/nbtf/')[2]}:{frames[-1].lineno} {frames[-1].name}" if frames else ""


def described(tf: Any, result: Any) -> Any:
    """Returns dtype, shape and rounded values of tensors, and the class of all other results."""
    try:
        leaves = tf.nest.flatten(result, expand_composites=True)
    except Exception:
        leaves = [result]
    return [_leaf(tf, leaf) for leaf in leaves[:8]]


def _leaf(tf: Any, leaf: Any) -> Any:
    if isinstance(leaf, tf.Tensor | tf.Variable):
        array = leaf.numpy()
        if array.size > 64 if hasattr(array, "size") else False:
            return [leaf.dtype.name, list(np.shape(array))]
        return [leaf.dtype.name, list(np.shape(array)), _plain(array)]
    if isinstance(leaf, bool | int | float | str | np.generic | np.ndarray):
        return _plain(leaf)
    return re.sub(r"^.*\.", "", type(leaf).__name__)


def _plain(value: Any) -> Any:
    array = np.asarray(value)
    if array.dtype.kind == "f":
        return [float(f"{x:.4g}") for x in array.reshape(-1).tolist()]
    if array.dtype.kind in "bui":
        return array.reshape(-1).tolist()
    return [str(x) for x in array.reshape(-1).tolist()]

"""Runs entry points in a fork of this process, and compares their answers."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import nbtf as tf
from tests.hostile.calls import hostile_calls, public_functions
from tests.leftovers.features import FEATURES
from tests.ops.samples import all_samples

Calls = Mapping[str, Callable[[], Any]]

SECONDS = 20
"""Seconds after which a call is stopped."""

_CHANGING = ("tf.config.", "tf.runtime.set_", "tf.debugging.set_", "tf.debugging.enable", "tf.debugging.disable")
"""Prefixes of functions whose purpose is to change the code after them."""


def entry_points(calls: int) -> dict[str, Callable[[], Any]]:
    """Returns the features, the samples of all ops and calls of all public functions, by name.

    Args:
      calls: number of calls per public function; 0 for only the features.
    """
    if not calls:
        return dict(FEATURES)
    functions = public_functions(tf)
    paths = {id(function): path for path, function in functions.items()}
    samples: dict[str, Callable[[], Any]] = {}
    for number, sample in enumerate(all_samples()):
        path = paths.get(id(sample.function))
        samples[f"sample {number} {sample}"] = partial(_run_sample, sample, path)
    texts = [text for path, function in functions.items() for text in hostile_calls(path, function, calls, seed=28)]
    texts = [text for text in texts if not text.startswith(_CHANGING)]
    return {**FEATURES, **samples, **{text: partial(eval, text, {"tf": tf, "np": np}) for text in texts}}


def _run_sample(sample: Any, path: str | None) -> Any:
    """Runs a sample with the function that its public name refers to now."""
    function: Any = sample.function
    if path is not None:
        function = tf
        for part in path.split("."):
            function = getattr(function, part)
    arguments = [value.make() if hasattr(value, "make") else value for value in sample.args]
    return function(*arguments, **sample.kwargs)


def answers_after(leave: Callable[[], Any], calls: Calls) -> dict[str, str]:
    """Returns the calls' answers in a fork of this process, after `leave` was called there."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.json"
        child = os.fork()
        if child == 0:
            _answer_all(leave, calls, path)
        os.waitpid(child, 0)
        return json.loads(path.read_text()) if path.exists() else {"": "the process died"}


def _answer_all(leave: Callable[[], Any], calls: Calls, path: Path) -> None:
    """Runs `leave` and all calls in the fork, then ends the fork."""
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        os.chdir(path.parent)
        warnings.simplefilter("ignore")
        signal.signal(signal.SIGALRM, _end_call)
        tf.runtime.simulate_gpus(2)
        tf.add(1.0, 2.0).numpy()
        _answer(leave)
        tf.runtime.end_cell()
        path.write_text(json.dumps({name: _answer(call) for name, call in calls.items()}))
    finally:
        os._exit(0)


def _end_call(*_: object) -> None:
    raise TimeoutError(f"takes more than {SECONDS} s")


def _answer(call: Callable[[], Any]) -> str:
    """Returns a call's output, logs, result or error, and its tensors' devices, as text."""
    tf.random.set_seed(5)
    np.random.seed(5)  # for functions that shuffle with NumPy's legacy state
    printed, logged = io.StringIO(), logging.StreamHandler(io.StringIO())
    logger = tf.get_logger()
    logger.addHandler(logged)
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            result = _described(call())
    except BaseException as error:  # SystemExit is an answer, too
        result = f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
        logger.removeHandler(logged)
    return _without_numbers(f"{result}\n{printed.getvalue()}{logged.stream.getvalue()}")


def _described(result: Any) -> str:
    try:
        leaves = tf.nest.flatten(result, expand_composites=True)
    except Exception:  # no structure
        leaves = [result]
    return " | ".join([_leaf(leaf) for leaf in leaves[:100]])


def _leaf(leaf: Any) -> str:
    if not isinstance(leaf, tf.Tensor | tf.Variable):
        return f"{type(leaf).__name__} {leaf!r}"[:2000]
    array = leaf.numpy()
    return f"{type(leaf).__name__} {leaf.dtype.name} {leaf.shape} {leaf.device} {array!r}"[:2000]


def _without_numbers(text: str) -> str:
    """Returns a text without addresses, temporary folders and the numbers behind automatic names."""
    text = re.sub(r".* triggered tf.function retracing.*\n", "", text)  # counts earlier calls, as in TensorFlow
    text = re.sub(r"0x[0-9a-f]+|id=\d+|/tmp/\w+", "@", text)
    return re.sub(r"(?<=[a-z])_\d+\b", "_N", text)


def differences(expected: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Returns the calls whose answers differ, with both answers."""
    names = expected if len(after) > 1 else after
    return {
        name: (expected.get(name, ""), after.get(name, "")) for name in names if expected.get(name) != after.get(name)
    }


if __name__ == "__main__":
    sys.exit("Run python -m tests.leftovers instead: this module is a part of it.")

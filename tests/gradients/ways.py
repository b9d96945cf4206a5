"""The ways to run a program, which are the same for nbtf and TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

VALUE = np.array([0.5, 2.0, 1.5], np.float32)
Program = Callable[[Any], Callable[[Any], Any]]
Way = Callable[[Any, Program], Any]


def eager(tf: Any, build: Program) -> Any:
    """Runs the program eagerly."""
    return build(tf)(tf.constant(VALUE))


def function(tf: Any, build: Program) -> Any:
    """Runs it in a `tf.function`."""
    return tf.function(build(tf))(tf.constant(VALUE))


def open_lengths(tf: Any, build: Program) -> Any:
    """Runs it in a `tf.function` whose argument may have any length."""
    return tf.function(build(tf), input_signature=[tf.TensorSpec([None], tf.float32)])(tf.constant(VALUE))


def nested(tf: Any, build: Program) -> Any:
    """Runs it in a function that another function calls."""
    return tf.function(tf.function(build(tf)))(tf.constant(VALUE))


def session(tf: Any, build: Program) -> Any:
    """Builds it in a separate graph and runs it in a session."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as running:
        fetches = build(tf)(tf.constant(VALUE))
        running.run(v1.global_variables_initializer())
        return run_fetches(running, fetches, {})


def fed(tf: Any, build: Program) -> Any:
    """Builds it in a graph with a placeholder of any length, and feeds a value."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as running:
        x = v1.placeholder(tf.float32, [None])
        fetches = build(tf)(x)
        running.run(v1.global_variables_initializer())
        return run_fetches(running, fetches, {x: VALUE})


def first_version(tf: Any, build: Program) -> Any:
    """Builds it with the names of TensorFlow 1, as a program that imports `compat.v1` does."""
    return session_of_names(tf.compat.v1, build)


def session_of_names(v1: Any, build: Program) -> Any:
    """Builds a program with the names of a namespace."""
    with v1.Graph().as_default(), v1.Session() as running:
        fetches = build(v1)(v1.constant(VALUE))
        running.run(v1.global_variables_initializer())
        return run_fetches(running, fetches, {})


def run_fetches(running: Any, fetches: Any, feeds: dict[Any, Any]) -> Any:
    """Runs the tensors of a structure in a session; other values are unchanged."""
    if isinstance(fetches, dict):
        return {name: run_fetches(running, item, feeds) for name, item in fetches.items()}
    if isinstance(fetches, list | tuple):
        return [run_fetches(running, item, feeds) for item in fetches]
    return running.run(fetches, feeds) if hasattr(fetches, "graph") or hasattr(fetches, "values") else fetches


WAYS: dict[str, Way] = {
    way.__name__: way for way in (eager, function, open_lengths, nested, session, fed, first_version)
}


def answer(tf: Any, way: Way, build: Program) -> Any:
    """Returns a program's answer as JSON data: numbers with five digits, or the error's class and last line.

    A function that is traced puts lines about the user's code in front of a text.
    """
    try:
        return plain(way(tf, build))
    except Exception as error:
        name = type(error).__name__
        last = str(error).strip().split("\n")[-1].strip().removeprefix(f"{name}: ")
        return {"error": name, "text": re.sub(r'File ".*/', 'File "', last)}


def plain(value: Any) -> Any:
    """Returns a result as lists and numbers."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if hasattr(value, "values") and hasattr(value, "indices"):
        return {"rows": plain(value.indices), "values": plain(value.values)}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | str):
        return value
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    return _digits(array.tolist())


def _digits(value: Any) -> Any:
    return [_digits(item) for item in value] if isinstance(value, list) else float(f"{value:.5g}")

"""Are arguments of a wrong type or value answered in words of nbtf's own, by all of `tf.runtime` and `tf.config`?"""

from __future__ import annotations

import inspect
import linecache
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import nbtf as tf
from nbtf.errors import OpError
from tests.machines import machine

VALUES: tuple[Any, ...] = (None, 3, -1, 2.5, "abc", "", b"x", [], {}, object(), lambda: 1)

NAMESPACES: dict[str, Any] = {
    "tf.runtime": tf.runtime,
    "tf.config": tf.config,
    "tf.config.threading": tf.config.threading,
    "tf.config.experimental": tf.config.experimental,
    "tf.config.optimizer": tf.config.optimizer,
    "tf.config.gpu": tf.config.gpu,
}

ANYTHING = {
    "tf.runtime.holding": "what is no tensor holds nothing",
    "tf.config.optimizer.set_jit": "anything but two values means no",
    "tf.config.list_physical_devices": "what is no type of devices gives an empty list",
    "tf.config.list_logical_devices": "the same",
    "tf.config.get_visible_devices": "the same",
    "tf.config.experimental.list_physical_devices": "the same",
    "tf.config.experimental.list_logical_devices": "the same",
    "tf.config.experimental.get_visible_devices": "the same",
    "tf.config.experimental.set_synchronous_execution": "has no effect",
}
"""Functions whose docstring says that they take whatever comes."""

LEFT_OUT = {
    "tf.runtime.restart": "any truth value",
    "tf.runtime.process_owner": "is asked for by number and folder, of this computer's processes",
    "tf.runtime.simulate_gpus": "a text is read as a machine; tests/test_runtime.py has its errors",
    "tf.runtime.simulate_cluster": "the same",
    "tf.config.experimental_connect_to_host": "Dask reads the address",
    "tf.runtime.all_reduce_times": "needs a cluster first",
}


def functions() -> dict[str, Callable[..., Any]]:
    """Public functions that need an argument, or take one."""
    named = {
        f"{space}.{name}": getattr(NAMESPACES[space], name) for space in NAMESPACES for name in dir(NAMESPACES[space])
    }
    return {
        path: function
        for path, function in named.items()
        if inspect.isfunction(function) and not path.rpartition(".")[2].startswith("_") and path not in LEFT_OUT
        if inspect.signature(function).parameters
    }


def answer(function: Callable[..., Any], value: Any) -> Exception | None:
    """Gives a function one value for all arguments that it needs; returns the error."""
    parameters = inspect.signature(function).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    undo: Any = None
    with machine(1):
        try:
            result = function(*[value] * max(1, len(needed)))
            if hasattr(result, "__enter__"):
                with result:
                    pass
            elif callable(result):
                undo = result
        except FileNotFoundError:
            return None  # a path of no file has the right type
        except Exception as error:
            return error
        finally:
            if undo is not None:
                undo()
    return None


def is_raised_on_purpose(error: Exception) -> bool:
    """Tells whether a statement of nbtf's has raised it: what Python raises itself comes from another line."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return "/nbtf/" in frame.filename and linecache.getline(frame.filename, frame.lineno or 0).strip().startswith(
        "raise"
    )


@pytest.mark.parametrize("path", functions())
def test_a_wrong_argument_is_answered_in_words_of_ours(path: str) -> None:
    errors = [error for value in VALUES if (error := answer(functions()[path], value)) is not None]

    assert all([isinstance(error, TypeError | ValueError | RuntimeError | OpError) for error in errors])
    assert [] == [repr(error) for error in errors if not is_raised_on_purpose(error)]
    assert errors or path in ANYTHING


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.runtime.tell_code_lines(3), r"`describe` must be a function.* Got 3"),  # pyright: ignore
        (lambda: tf.runtime.start_recorder(3), r"`recorder` must be a tf.runtime.Recorder. Got 3"),  # pyright: ignore
        (lambda: tf.runtime.short_name([]), r"Expected a device name .* Got \[\]"),  # pyright: ignore
        (lambda: tf.runtime.copies_of_tensors("abc"), r"`events` must be events of a recording. Got 'abc'"),  # pyright: ignore
        (lambda: tf.config.threading.set_inter_op_parallelism_threads("abc"), r"an integer. Got 'abc'"),  # pyright: ignore
        (lambda: tf.config.threading.set_intra_op_parallelism_threads(2.5), r"an integer. Got 2.5"),  # pyright: ignore
        (lambda: tf.config.optimizer.set_experimental_options(3), r"`options` must be a dict.* Got 3"),  # pyright: ignore
    ],
    ids=["lines", "recorder", "name", "copies", "inter", "intra", "options"],
)
def test_an_error_says_what_came_and_what_was_expected(call: Callable[[], object], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        call()

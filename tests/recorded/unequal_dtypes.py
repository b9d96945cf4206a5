"""Calls every function of two operands with two different dtypes, in eager code, functions and sessions.

python -m tests.recorded.unequal_dtypes             # all pairs of dtypes: half a minute
python -m tests.recorded.unequal_dtypes --record    # writes a part of them to unequal_dtypes.json; needs TensorFlow
"""

from __future__ import annotations

import argparse
import importlib
import json
import operator
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".json")

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
FUNCTIONS = """
add subtract multiply divide truediv maximum minimum equal not_equal less less_equal greater greater_equal pow
math.floordiv math.floormod math.squared_difference math.atan2 math.divide_no_nan math.xlogy math.xdivy math.xlog1py
compat.v1.div compat.v1.divide compat.v1.truediv compat.v1.floordiv compat.v1.mod compat.v1.realdiv
""".split()
OF_LISTS = {"concat": lambda tf, x, y: tf.concat([x, y], 0), "stack": lambda tf, x, y: tf.stack([x, y])}
PAIRS = [
    *(("float32", "float64"), ("float64", "float32"), ("int32", "float32"), ("float32", "int32")),
    *(("int64", "int32"), ("float32", "float16"), ("complex64", "float32")),
]


def calls(tf: Any) -> dict[str, Callable[[Any, Any], Any]]:
    """Returns all functions of two operands, by name."""
    named = {name: operator.attrgetter(name)(tf) for name in FUNCTIONS}
    lists = {name: (lambda x, y, call=call: call(tf, x, y)) for name, call in OF_LISTS.items()}
    return {**OPERATORS, **named, **lists}


def eager(tf: Any, call: Callable[[Any, Any], Any], x: str, y: str) -> Any:
    """Calls a function eagerly."""
    return call(tf.constant([1, 2], x), tf.constant([1, 2], y))


def function(tf: Any, call: Callable[[Any, Any], Any], x: str, y: str) -> Any:
    """Calls a function in a `tf.function`."""
    return tf.function(lambda x, y: call(x, y))(tf.constant([1, 2], x), tf.constant([1, 2], y))


def session(tf: Any, call: Callable[[Any, Any], Any], x: str, y: str) -> Any:
    """Calls a function in the graph of a session."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as running:
        return running.run(call(tf.constant([1, 2], x), tf.constant([1, 2], y)))


WAYS = {way.__name__: way for way in (eager, function, session)}


def answers(tf: Any, ways: Iterable[str], pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns the class and the text of each error, or `value`, by way, function and dtypes."""
    pairs = list(pairs)
    return {
        f"{way} {name} {x} {y}": _answer(WAYS[way], tf, call, x, y)
        for way in ways
        for name, call in calls(tf).items()
        for x, y in pairs
    }


def _answer(way: Callable[..., Any], tf: Any, call: Any, x: str, y: str) -> str:
    try:
        way(tf, call, x, y)
    except Exception as error:
        name, lines = type(error).__name__, [line.strip() for line in str(error).strip().split("\n")]
        text = next((line for line in lines if line.startswith(f"{name}: ")), lines[0]).removeprefix(f"{name}: ")
        text = re.sub(r"^y: |\{\{function_node [^}]*\}\} ?| name:.*", "", text)
        return f"{name}: {text}"
    return "value"


def agree(expected: str, answered: str) -> bool:
    """Returns whether two answers are equal; if no kernel supports the first dtype, whether both are errors.

    TensorFlow's error then lists its own dtypes or its kernels' devices.
    """
    if "list of allowed values" in expected or "Could not find device" in expected:
        return answered.partition(":")[0] in ("TypeError", "InvalidArgumentError")
    return expected == answered


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.recorded.unequal_dtypes", description=__doc__)
    parser.add_argument("--record", action="store_true", help="record TensorFlow's answers")
    if parser.parse_args().record:
        given = answers(importlib.import_module("tensorflow"), WAYS, PAIRS)
        FILE.write_text(json.dumps(given, indent=0) + "\n", encoding="utf-8")
        return 0
    expected: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))
    given = answers(importlib.import_module("nbtf"), WAYS, PAIRS)
    different = [key for key in expected if not agree(expected[key], given[key])]
    for key in different:
        print(f"{key}\n    {expected[key]}\n    {given[key]}")
    print(f"{len(given)} calls, {len(different)} differ")
    return min(1, len(different))


if __name__ == "__main__":
    sys.exit(main())

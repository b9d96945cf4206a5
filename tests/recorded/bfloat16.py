"""Compares all op samples in bfloat16 with recordings from TensorFlow 2.21 on a CPU.

python -m tests.recorded.bfloat16                       # compares all samples with the recordings
python -m tests.recorded.bfloat16 --module tensorflow   # records TensorFlow's answers; nbtf provides the samples
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.hostile.calls import public_functions
from tests.ops.samples import Made, Sample, all_samples

FILE = Path(__file__).parent / "bfloat16.json"

DRAWN = ("random.", "nn.dropout", "image.stateless_random", "image.random")
"""Random functions are compared in tests/recorded/random.json; here they would depend on earlier random numbers."""


def is_plain(value: Any) -> bool:
    """Returns whether an argument means the same to both libraries."""
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return value is None or isinstance(value, bool | int | float | str | bytes | np.ndarray)


def cases() -> Iterator[tuple[str, str, Sample]]:
    """Yields name, public path and sample for each sample that has an array of floats."""
    paths = {id(function): path for path, function in public_functions(importlib.import_module("nbtf")).items()}
    numbers = Counter[str]()
    for sample in all_samples():
        path = paths.get(id(sample.function), "")
        arguments = [*sample.args, *sample.kwargs.values()]
        if not path or path.startswith(DRAWN) or any(isinstance(argument, Made) for argument in arguments):
            continue
        numbers[path] += 1
        if all(map(is_plain, arguments)) and has_floats(arguments):
            yield f"{sample.op} {path} {numbers[path]}", path, sample


def has_floats(value: Any) -> bool:
    """Returns whether the arguments include an array of floats."""
    if isinstance(value, list | tuple):
        return any(map(has_floats, value))
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def in_bfloat16(tf: Any, value: Any) -> Any:
    """Returns the arguments with tensors instead of arrays; floats become bfloat16."""
    if isinstance(value, list | tuple):
        return type(value)([in_bfloat16(tf, item) for item in value])
    if isinstance(value, np.ndarray):
        return tf.constant(value, tf.bfloat16 if value.dtype.kind == "f" else None)
    return value


def answer(tf: Any, path: str, sample: Sample, wrap: Callable[[Any], Any] = lambda function: function) -> list[Any]:
    """Returns dtype, shape and values of each result and gradient, or the class of the error."""
    function = tf
    for part in path.split("."):
        function = getattr(function, part)
    named = inspect.signature(sample.function).bind(*sample.args, **sample.kwargs).arguments
    arguments = {key: in_bfloat16(tf, value) for key, value in named.items()}
    sources = [value for value in tf.nest.flatten(list(arguments.values())) if is_short(tf, value)]
    try:
        with tf.GradientTape() as tape:
            tape.watch(sources)
            results = tf.nest.flatten(wrap(function)(**arguments), expand_composites=True)
        answers = [described(tf, result) for result in results]
    except Exception as error:
        return [type(error).__name__]
    try:
        targets = [result for result in results if is_short(tf, result)]
        gradients = tape.gradient(targets, sources) if targets and sources else []
        return answers + [["none", [], []] if one is None else described(tf, one) for one in gradients]
    except Exception as error:
        return [*answers, [type(error).__name__, [], []]]


def is_short(tf: Any, value: Any) -> bool:
    """Returns whether a value is a bfloat16 tensor."""
    return isinstance(value, tf.Tensor) and value.dtype == tf.bfloat16


def described(tf: Any, result: Any) -> list[Any]:
    """Returns dtype, shape and values of a result."""
    tensor = tf.convert_to_tensor(result)
    values, name = tensor.numpy(), tensor.dtype.name
    if np.asarray(values).dtype != tensor.dtype.as_numpy_dtype and name != "string":
        name += f" held as {np.asarray(values).dtype}"
    if tensor.dtype == tf.bfloat16:
        values = np.asarray(values).astype(np.float32)
    return [name, list(np.shape(values)), np.asarray(values).ravel().astype(str).tolist()]


def units_apart(expected: list[Any], came: list[Any]) -> float:
    """Returns the largest difference in units of bfloat16's last place; inf if anything but values differs."""
    if len(expected) != len(came) or isinstance(expected[0], str) or isinstance(came[0], str):
        return 0.0 if expected == came else np.inf
    apart = 0.0
    for (dtype, shape, values), (dtype_that_came, shape_that_came, values_that_came) in zip(
        expected, came, strict=True
    ):
        if (dtype, shape) != (dtype_that_came, shape_that_came):
            return np.inf
        if values == values_that_came:
            continue
        if dtype not in ("bfloat16", "float32"):
            return np.inf
        apart = max(apart, _farthest(values, values_that_came))
    return apart


def _farthest(expected: list[str], came: list[str]) -> float:
    left, right = np.array(expected, np.float64), np.array(came, np.float64)
    with np.errstate(all="ignore"):
        unit = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(left), 2.0**-126))) - 7)
        distance = np.where((left == right) | (np.isnan(left) & np.isnan(right)), 0, np.abs(left - right) / unit)
    return round(float(np.where(np.isnan(distance), np.inf, distance).max()), 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--module", default="nbtf", help="library to run; tensorflow records its answers")
    chosen = parser.parse_args()
    tf = importlib.import_module(chosen.module)
    answers = {name: answer(tf, path, sample) for name, path, sample in cases()}
    if chosen.module == "tensorflow":  # `raw_ops` may use other argument names for the same op
        answers = {name: value for name, value in answers.items() if value != ["TypeError"] or "raw_ops." not in name}
        rows = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in answers.items()]
        FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    recorded: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    counts = Counter[float]()
    for name in answers.keys() & recorded.keys():
        came = answers[name]
        apart = units_apart(recorded[name], came)
        counts[min(np.ceil(apart), 9.0)] += 1
        if apart > 0:
            print(f"{apart:.1f} units: {name}\n  recorded {str(recorded[name])[:300]}\n  answered {str(came)[:300]}")
    print(f"{len(answers)} calls; differences in units of the last place: {dict(sorted(counts.items()))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

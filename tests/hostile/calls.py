"""The hostile calls. Each is a line of Python that runs with any module that has TensorFlow's names."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from enum import EnumType
from typing import Any

NAMESPACES = (
    "",
    "bitwise",
    "config",
    "config.experimental",
    "data.experimental",
    "debugging",
    "distribute",
    "dtypes",
    "experimental.numpy",
    "image",
    "io",
    "keras.activations",
    "keras.backend",
    "keras.constraints",
    "keras.initializers",
    "keras.layers",
    "keras.losses",
    "keras.metrics",
    "keras.ops",
    "keras.optimizers",
    "keras.optimizers.schedules",
    "keras.preprocessing.sequence",
    "keras.random",
    "keras.regularizers",
    "keras.utils",
    "linalg",
    "math",
    "nest",
    "nn",
    "ragged",
    "random",
    "random.experimental",
    "raw_ops",
    "runtime",
    "sets",
    "signal",
    "sparse",
    "strings",
    "test",
)
LEFT_OUT = {
    "config.set_logical_device_configuration": "changes the devices of the calls after it",
    "keras.backend.clear_session": "forgets what other calls made",
    "dynamic_partition": "makes as many results as are asked for, until memory ends",
    "test.main": "ends the process, as `unittest.main` does",
    "runtime.observe": "a made-up observer warns in every later op",
    "runtime.restart": "starts another process",
    "runtime.simulate_gpus": "starts another process",
    "runtime.start_recorder": "keeps what every later call allocates",
    "runtime.warmup": "takes as long as it takes",
    "while_loop": "a condition that is always true never ends, as is said",
}
VALUES = (
    "None",
    "True",
    "0",
    "-1",
    "3",
    "2**31",
    "2**70",
    "1.5",
    "float('nan')",
    "float('inf')",
    "1j",
    "''",
    "'text'",
    "b'bytes'",
    "'float32'",
    "'float99'",
    "[]",
    "[[]]",
    "[0]",
    "[1, 2]",
    "[-1, 5]",
    "[1.5, 2.5, 3.5]",
    "[[1.0, 2.0], [3.0, 4.0]]",
    "[[1], [2, 3]]",
    "[None, 1]",
    "['a', 'b c']",
    "[[['a'], ['b']]]",
    "()",
    "(1, 'a', None)",
    "{}",
    "{'a': 1}",
    "{1, 2}",
    "object()",
    "int",
    "len",
    "(lambda x: x)",
    "slice(1)",
    "range(3)",
    "np.zeros(())",
    "np.zeros((0,))",
    "np.zeros((2, 0, 3), np.float32)",
    "np.ones((2, 3), np.float32)",
    "np.arange(4)",
    "np.array([1, 'a'], object)",
    "np.array(['a', 'b'])",
    "np.float16(2.5)",
    "np.uint8(200)",
    "tf.constant(2)",
    "tf.constant(2.5)",
    "tf.constant('text')",
    "tf.constant([1, 2, 3])",
    "tf.constant([[1.0, 2.0], [3.0, 4.0]])",
    "tf.constant([True, False])",
    "tf.constant([], tf.float32)",
    "tf.constant([[]], tf.string)",
    "tf.zeros([2, 3, 0])",
    "tf.ones([1, 4, 4, 3])",
    "tf.constant(1 + 2j)",
    "tf.Variable([1.0, 2.0])",
    "tf.ragged.constant([[1], [2, 3]])",
    "tf.sparse.from_dense([[0, 1]])",
    "tf.float32",
    "tf.string",
    "tf.TensorShape(None)",
    "tf.TensorShape([None, 2])",
)
FITTING = 0.4
"""Share of arguments that are arrays of numbers. If all arguments were invalid, the first one would end every call."""
NUMBERS = [
    value for value in VALUES if value.startswith(("tf.constant(", "np.", "tf.ones", "tf.zeros", "[1", "3", "1.5"))
]


def public_functions(tf: Any) -> dict[str, Callable[..., Any]]:
    """Returns all public functions by name, including classes; each object appears once, under its first name."""
    functions: dict[str, Callable[..., Any]] = {}
    seen: set[int] = set()
    for namespace in NAMESPACES:
        module = tf
        for part in filter(None, namespace.split(".")):
            module = getattr(module, part, None)
        for name in [] if module is None else sorted(name for name in dir(module) if name[0] != "_"):
            value, path = getattr(module, name, None), f"{namespace}.{name}".lstrip(".")
            if not callable(value) or id(value) in seen or path in LEFT_OUT or _is_left_out(tf, value):
                continue
            seen.add(id(value))
            functions[path] = value
    return functions


def _is_left_out(tf: Any, value: Any) -> bool:
    """Errors say what they are told, enumerations and NumPy's types are called as Python and NumPy say.

    A bare `Tensor()` is a shell for those who fill it, as its docstring says. Some functions only modules call.
    """
    if getattr(value, "__name__", "") in ("check_classes", "fans", "looked_up", "public_classes", "public_functions"):
        return True
    if not isinstance(value, type):
        return False
    return isinstance(value, EnumType) or value.__module__ == "numpy" or issubclass(value, BaseException | tf.Tensor)


def hostile_calls(path: str, function: Callable[..., Any], count: int, seed: int = 0) -> Iterator[str]:
    """Yields calls of a function; the same seed gives the same calls, whichever other functions are called."""
    chance = random.Random(f"{seed} {path}")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = [inspect.Parameter("x", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for _ in range(count):
        yield f"tf.{path}({', '.join(_arguments(parameters, chance))})"


def _arguments(parameters: list[inspect.Parameter], chance: random.Random) -> Iterator[str]:
    complete = chance.random() < 0.9
    many = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            yield from (_value(chance) for _ in range(chance.randrange(3)))
            return  # what stands behind has defaults
        if parameter.kind is parameter.VAR_KEYWORD or parameter.name == "name":
            continue
        needed = parameter.default is parameter.empty
        if many or chance.random() < (0.97 if needed and complete else 0.6 if needed else 0.3):
            value = _value(chance)
            yield value if many or parameter.kind is parameter.POSITIONAL_ONLY else f"{parameter.name}={value}"


def _value(chance: random.Random) -> str:
    return chance.choice(NUMBERS if chance.random() < FITTING else VALUES)

"""Generates the contents of hostile documents: harmful names, arguments of all types, extreme sizes and depths."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

from nbtf.keras import catalogue

Json = Any

MODULES: list[Json] = [
    *("os", "posix", "builtins", "subprocess", "importlib", "numpy", "pickle", "sys", "antigravity", "", "__main__"),
    *("keras.layers", "keras.models", "keras.losses", "keras.metrics", "keras.optimizers", "keras.activations"),
    *("keras.registry", "keras.saving.arrays", "keras.saving.models", "keras.utils", "keras.callbacks", "keras.dtypes"),
    *("keras.operation", "keras.src.models", "keras.initializers", "keras.optimizers.schedules", "keras", "nbtf"),
    *(
        "nbtf._storage.files",
        "nbtf._ops.control.printing",
        "nbtf.saved_model.reading",
        "tests.hostile_files.kinds",
        "nbtf.cli",
    ),
    *(None, 3, ["os"], {"a": 1}),
]
NAMES: list[Json] = [
    *("system", "Popen", "eval", "exec", "open", "write", "import_module", "save", "load", "breakpoint", "exit"),
    *("save_model", "load_model", "deserialize", "deserialized", "looked_up", "get", "Input", "clone_model", "find_op"),
    *("CSVLogger", "ModelCheckpoint", "Lambda", "Operator", "function", "<lambda>", "Variable"),
    *("__class__", "__init__", "__init__.__globals__", "Layer.__subclasses__", "os.system", "limits.io.write_file"),
    *("_KNOWN", "type", "object", "dict", "Line", "Line.limits", "Reader", "PrintV2", "__keras_tensor__", "__slice__"),
    *("", None, 7, ["Dense"]),
]
KINDS = ["Add", "Power", "Mod", "Multiply", "GetItem", "tf.PrintV2", "tf.Range", "tf.Fill", "tf.Tile", "tf.AsString"]
NUMBERS: list[Json] = [0, 1, -1, 2, 3, 7, 255, 10**6, 10**9, 10**12, 2**31, 2**63, 10**30, -(2**63), 0.5, 1e308]
NUMBERS += [float("nan"), float("inf"), True, False]
TEXTS = [
    *("", "a", "relu", "adam", "mse", "float32", "mixed_float16", "float64", "string", "linear", "valid", "same"),
    *("/etc/passwd", "../../x", "file:///tmp/hostile", "%999999999d", "{0.__class__}", "\0", "\ud800", "x" * 5000),
    *("channels_last", "glorot_uniform", "system", "eval", "deserialize", "<lambda>", "C:\\x", "1" * 400),
]


@cache
def classes() -> list[tuple[str, str, Any]]:
    """Returns module, name and class of every object that a file may name."""
    return sorted(((*key, kind) for key, kind in catalogue._classes().items()), key=lambda entry: entry[:2])


def value(random: Random, depth: int = 0) -> Json:
    """Returns an arbitrary JSON value."""
    choice = random.randrange(12 if depth < 4 else 5)
    if choice < 3:
        return random.choice(NUMBERS)
    if choice < 5:
        return random.choice([*TEXTS, None])
    if choice < 7:
        return [value(random, depth + 1) for _ in range(random.randrange(4))]
    if choice < 8:
        return {random.choice(TEXTS): value(random, depth + 1) for _ in range(random.randrange(3))}
    if choice == 8:
        return deep(random)
    if choice == 9:
        return tensor(random)
    return named(random, depth + 1)


def deep(random: Random) -> Json:
    """Returns deeply nested lists or dictionaries."""
    made: Json = random.choice(NUMBERS)
    for _ in range(random.choice([5, 50, 99, 300])):
        made = [made] if random.random() < 0.5 else {"config": made}
    return made


def tensor(random: Random) -> Json:
    """Returns the JSON form of a symbolic tensor."""
    history = [random.choice(["input_layer", "dense", "a", 3]), random.choice([0, 1, -1]), random.choice([0, 9])]
    return {"class_name": "__keras_tensor__", "config": {"keras_history": history}}


def named(random: Random, depth: int = 0) -> Json:
    """Returns the config of an object: of a public class with suitable arguments, or of something else."""
    if random.random() < 0.6:
        module, name, kind = random.choice(classes())
        names = [name for name in _arguments(kind) if name not in ("self", "args", "kwargs")]
        chosen = random.sample(names, random.randrange(min(5, len(names))))
        config = {each: value(random, depth + 1) for each in chosen}
        if name == "Operator":
            config |= {"kind": random.choice(KINDS), "name": "a"}
        return {"module": module, "class_name": name, "config": config, "registered_name": None}
    return {
        "module": random.choice(MODULES),
        "class_name": random.choice(NAMES),
        "config": random.choice([random.choice(NAMES), {"name": random.choice(TEXTS)}, value(random, depth + 1)]),
        "registered_name": random.choice([None, None, random.choice(NAMES)]),
    }


@cache
def _arguments(kind: Any) -> list[str]:
    return [*inspect.signature(kind.__init__).parameters, "name", "dtype", "trainable"]


def mutated(document: Json, random: Random) -> Json:
    """Returns a copy of a document with some values changed."""
    document = _copy(document)
    for _ in range(random.choice([1, 1, 1, 2, 3, 6])):
        changed = _copy(document)
        places = list(_places(changed))
        if places:
            _change(*random.choice(places), random, places)
            with suppress(RecursionError):  # a document that is too deep to be written stays unchanged
                document = _copy(changed)  # so that the next change does not affect the lists of this module
    return document


def _copy(document: Json) -> Json:
    return json.loads(json.dumps(document))


def _change(owner: Any, key: Any, random: Random, places: list[tuple[Any, Any]]) -> None:
    choice = random.randrange(8)
    if choice == 0:
        del owner[key]
    elif choice == 1:
        other, name = random.choice(places)  # moves a part of the document to another place
        owner[key] = _copy(other[name])
    elif choice == 2 and isinstance(owner, dict):
        owner[random.choice([*TEXTS, *map(str, owner)])] = owner.pop(key)
    elif choice == 3 and isinstance(owner[key], str):
        owner[key] = random.choice([*(name for name in NAMES if isinstance(name, str)), *TEXTS])
    elif choice == 4 and isinstance(owner[key], int):
        owner[key] = random.choice(NUMBERS)
    elif choice == 5 and isinstance(owner, list):
        owner.insert(random.randrange(len(owner) + 1), value(random))
    elif choice == 6 and isinstance(owner[key], dict):
        owner[key] = named(random)
    else:
        owner[key] = value(random)


def _places(document: Json) -> Iterator[tuple[Any, Any]]:
    waiting = [document]
    for owner in waiting:  # which grows
        keys = list(owner) if isinstance(owner, dict) else range(len(owner)) if isinstance(owner, list) else ()
        for key in keys:
            yield owner, key
            waiting.append(owner[key])


def damaged(content: bytes, random: Random) -> bytes:
    """Returns bytes that were truncated, changed, doubled or replaced."""
    choice, where = random.randrange(6), random.randrange(len(content) + 1)
    if choice == 0:
        return content[:where]
    if choice == 1:
        return content[:where] + random.randbytes(random.randrange(9)) + content[where + random.randrange(9) :]
    if choice == 2:
        return content[:where] + content[random.randrange(len(content) + 1) :]
    if choice == 3:
        return random.randbytes(random.randrange(200))
    changed = bytearray(content)
    for _ in range(random.choice([1, 1, 4, 30]) if content else 0):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)

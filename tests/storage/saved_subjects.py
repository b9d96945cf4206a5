"""Random objects of each kind that can be saved, with functions that save, read and compare them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

import nbtf as tf

keras = tf.keras

DTYPES = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128".split()
NUMBERS: list[Any] = [0, 1, -1, 7, 0.5, -1.5, math.inf, -math.inf, math.nan, 5e-324, 1e308, 2**31, 2**63, -(2**64)]
NUMBERS += [10**30, 10**4200, 10**5000, True, False]
LETTERS = ["a", "b", "_", ".", "/", "\\", " ", "\n", "\0", "é", "字", "😀", "\ud800", '"', "{", "%", ":", "-", "="]
WORDS = [
    "",
    "a",
    "kernel",
    "file",
    "allow_pickle",
    "args",
    "..",
    "CON",
    "value",
    "optimizer/x",
    "metrics/x",
    "x.npy",
    "[UNK]",
]


class Saved(NamedTuple):
    """How an object is saved, and how it differs after reading; an empty text means no difference."""

    save: Callable[[Path], object]
    difference: Callable[[Path], str]


@dataclass(frozen=True)
class Subject:
    """A kind of objects: a small object, and a function that makes random ones."""

    name: str
    plain: Callable[[], Saved]
    random: Callable[[Random], Saved]


# ---- parts


def text(random: Random) -> str:
    choice = random.randrange(10)
    if choice < 4:
        return random.choice(WORDS)
    if choice == 4:
        return random.choice(LETTERS) * random.choice([40, 100, 70_000])
    return "".join(random.choice(LETTERS) for _ in range(random.randrange(1, 6)))


def array(random: Random) -> Any:
    axes = random.choice([0, 0, 1, 1, 2, 3, 4, 5, 31, 32, 33, 63, 64])
    shape = [random.choice([0, 1, 1, 1, 2]) if axes > 4 else random.choice([0, 1, 2, 3]) for _ in range(axes)]
    if math.prod(shape) > 1000:
        shape = [1] * axes
    if axes <= 32 and random.random() < 0.2:  # nbtf makes no strings of more axes
        texts = [text(random).encode(errors="replace") for _ in range(math.prod(shape))]
        texts = [random.choice([content, content + b"\0", content + b"\xff"]) for content in texts]
        value = np.empty(len(texts), object)
        value[:] = texts
        return value.reshape(shape)
    values = [random.choice(NUMBERS[:11]) for _ in range(math.prod(shape))]
    with np.errstate(all="ignore"):
        dtype = random.choice(DTYPES)
        numbers = np.array(values, "complex128" if dtype.startswith("complex") else "float64")
        return numbers.reshape(shape).astype(dtype)


def variable(random: Random) -> Any:
    return tf.Variable(array(random), trainable=random.random() < 0.5)


def same(first: Any, second: Any) -> bool:
    """Returns whether two plain values, arrays or trees of them are equal, including special numbers."""
    if isinstance(first, dict):
        return (
            isinstance(second, dict) and list(first) == list(second) and all(same(first[k], second[k]) for k in first)
        )
    if isinstance(first, list | tuple):
        pairs = zip(first, second, strict=False)
        return isinstance(second, list | tuple) and len(first) == len(second) and all(same(a, b) for a, b in pairs)
    if isinstance(first, np.ndarray | np.generic):
        first, second = np.asarray(first), np.asarray(second)
        return (
            first.dtype == second.dtype
            and first.shape == second.shape
            and first.tolist().__repr__() == second.tolist().__repr__()
        )
    return repr(first) == repr(second)


def values(tree: Any) -> Any:
    """Returns the numbers of the variables in a tree."""
    if isinstance(tree, dict):
        return {key: values(child) for key, child in tree.items()}
    if isinstance(tree, list):
        return [values(child) for child in tree]
    return as_array(tree.numpy())


def as_array(value: Any) -> Any:
    return np.asarray(value, object if isinstance(value, bytes) else None)


def tree(random: Random, level: int = 0) -> Any:
    """Returns a variable, or lists and dictionaries of variables."""
    choice = random.randrange(4 if level < random.choice([2, 3, 9]) else 1)
    if choice < 2 and level:
        return variable(random)
    if choice == 2:
        return [tree(random, level + 1) for _ in range(random.choice([0, 1, 2, 3, 9]))]
    return {text(random): tree(random, level + 1) for _ in range(random.choice([0, 1, 2, 3, 9]))}


def emptied(tree: Any) -> Any:
    """Returns the same tree with different values."""
    if isinstance(tree, dict):
        return {key: emptied(child) for key, child in tree.items()}
    if isinstance(tree, list):
        return [emptied(child) for child in tree]
    return tf.Variable(tf.zeros_like(tree))


def compared(expected: Any, actual: Any) -> str:
    return "" if same(expected, actual) else f"{expected!r:.200} became {actual!r:.200}"


# ---- checkpoints


def by_checkpoint(tree: Any, name: str = "c", counted: bool = False) -> Saved:
    def save(folder: Path) -> None:
        checkpoint = tf.train.Checkpoint(tree=tree)
        (checkpoint.save if counted else checkpoint.write)(f"{folder}/{name}")

    def difference(folder: Path) -> str:
        other = emptied(tree)
        path = str(tf.train.latest_checkpoint(folder)) if counted else f"{folder}/{name}"
        checkpoint = tf.train.Checkpoint(tree=other)
        (checkpoint.restore if counted else checkpoint.read)(path).assert_consumed()
        return compared(values(tree), values(other))

    return Saved(save, difference)


def by_manager(number: float, name: str) -> Saved:
    tree = tf.Variable(number)

    def save(folder: Path) -> None:
        tf.train.CheckpointManager(tf.train.Checkpoint(v=tree), folder, 1, checkpoint_name=name).save()

    def difference(folder: Path) -> str:
        other = tf.Variable(0.0)
        manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=other), folder, 1)
        manager.restore_or_initialize()
        return compared(values(tree), values(other))

    return Saved(save, difference)


def by_saver(variables: dict[str, Any], name: str = "model") -> Saved:
    def save(folder: Path) -> None:
        tf.compat.v1.train.Saver(variables).save(None, f"{folder}/{name}")

    def difference(folder: Path) -> str:
        other = emptied(variables)
        tf.compat.v1.train.Saver(other).restore(None, tf.train.latest_checkpoint(folder))
        return compared(values(variables), values(other))

    return Saved(save, difference)


# ---- saved models


class Thing(tf.Module):
    """A module with arbitrary attributes."""

    def __init__(self, attributes: dict[str, Any]) -> None:
        super().__init__()
        self.attributes = attributes


def plain(random: Random, level: int = 0) -> Any:
    """Returns a value that a module may have as an attribute."""
    choice = random.randrange(12 if level < random.choice([2, 3, 9]) else 6)
    if choice < 2:
        return random.choice(NUMBERS)
    if choice == 2:
        return text(random)
    if choice == 3:
        return text(random).encode(errors="replace")
    if choice == 4:
        return array(random)
    if choice == 5:
        return variable(random)
    items = [plain(random, level + 1) for _ in range(random.choice([0, 1, 2, 3]))]
    if choice < 8:
        return items
    if choice == 8:
        return tuple(items)
    if choice == 9:
        return Thing({"inner": items})
    return {random.choice([text(random), random.randrange(9)]): item for item in items}


def plainly(value: Any) -> Any:
    """Returns the part of a value that is compared."""
    if isinstance(value, Thing):
        return {"thing": plainly(value.attributes)}
    if isinstance(value, dict):
        return {key: plainly(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [type(value) is tuple, [plainly(item) for item in value]]
    return as_array(value.numpy()) if isinstance(value, tf.Variable) else value


def by_saved_model(attributes: dict[str, Any]) -> Saved:
    thing = Thing(attributes)

    def difference(folder: Path) -> str:
        return compared(plainly(thing), plainly(tf.saved_model.load(folder / "s")))

    return Saved(lambda folder: tf.saved_model.save(thing, folder / "s"), difference)


# ---- Keras


def layer(random: Random) -> Any:
    name = random.choice([None, None, text(random)])
    return random.choice(
        [
            lambda: keras.layers.Dense(2, name=name),
            lambda: keras.layers.Rescaling(random.choice(NUMBERS[:11]), random.choice(NUMBERS[:11]), name=name),
            lambda: keras.layers.LeakyReLU(random.choice([0.5, 1e-30, 3]), name=name),
            lambda: keras.layers.Dropout(
                random.choice([0, 0.5, 0.999]), seed=random.choice([None, 3, 2**40, True]), name=name
            ),
            lambda: keras.layers.BatchNormalization(epsilon=random.choice([1e-3, 1]), name=name),
            lambda: keras.layers.Dense(2, kernel_regularizer=keras.regularizers.L1(random.choice([0, 0.5])), name=name),
            lambda: keras.layers.Normalization(mean=random.choice(NUMBERS[:6]), variance=1.0, name=name),
            lambda: keras.layers.Activation(random.choice(["relu", tf.nn.relu, tf.math.tanh]), name=name),
        ]
    )()


def stack(random: Random, levels: int) -> Any:
    """Returns a model with layers and nested models."""
    layers = [layer(random) for _ in range(random.choice([0, 1, 2, 5]))]
    if levels:
        layers.insert(random.randrange(len(layers) + 1), stack(random, levels - 1))
    if random.random() < 0.5:
        return keras.Sequential([keras.Input((2,)), *layers, keras.layers.Dense(2)])
    inputs = keras.Input((2,))
    outputs = inputs
    for inner in [*layers, keras.layers.Dense(2)]:
        outputs = inner(outputs)
    return keras.Model(inputs, outputs, name=random.choice([None, "model"]))


def compiled_model(random: Random) -> Any:
    model = stack(random, random.choice([0, 0, 1, 2, 3, 4, 5, 8, 20]))
    if random.random() < 0.5:
        rate = random.choice([0.1, keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)])
        optimizer = random.choice([keras.optimizers.SGD, keras.optimizers.Adam])(rate)
        model.compile(optimizer, "mse", metrics=[keras.metrics.MeanAbsoluteError(name=text(random))])
        if random.random() < 0.5:
            model.fit(np.zeros((2, 2)), np.zeros((2, 2)), verbose=0)
    return model


def lookup(random: Random) -> Any:
    words: Any = list({text(random) for _ in range(random.choice([0, 1, 5, 400]))})
    masks = {"mask_token": random.choice([None, "", "a"]), "num_oov_indices": random.choice([0, 1, 2])}
    inner = keras.layers.StringLookup(vocabulary=words or None, **masks)
    return keras.Sequential([keras.Input((), dtype="string"), inner])


def facts(model: Any) -> Any:
    """Returns the parts of a model that are compared: names, weights, vocabularies, and results."""
    words = [layer.get_vocabulary() for layer in model.layers if hasattr(layer, "get_vocabulary")]
    weights = [as_array(weight) for weight in model.get_weights()]
    names = [layer.name for layer in model._flatten_layers()]
    shape = [2 if length is None else length for length in model.inputs[0].shape]
    outputs = None if words else as_array(model(tf.reshape(tf.linspace(-2.0, 3.0, math.prod(shape)), shape)).numpy())
    return [names, weights, repr(words), outputs]


def by_model(model: Any, name: str) -> Saved:
    def difference(folder: Path) -> str:
        return compared(facts(model), facts(keras.models.load_model(folder / name)))

    return Saved(lambda folder: model.save(folder / name), difference)


def by_weights(model: Any) -> Saved:
    def difference(folder: Path) -> str:
        other = keras.models.clone_model(model)
        other.load_weights(folder / "w.weights.h5")
        return compared([as_array(w) for w in model.get_weights()], [as_array(w) for w in other.get_weights()])

    return Saved(lambda folder: model.save_weights(folder / "w.weights.h5"), difference)


def small_model() -> Any:
    return keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])


def file_name(random: Random) -> str:
    return text(random).replace("/", "").replace("\0", "")[:100] or "a"


SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject("checkpoint", lambda: by_checkpoint({}), lambda r: by_checkpoint(tree(r))),
        Subject(
            "name of a checkpoint",
            lambda: by_checkpoint({}, counted=True),
            lambda r: by_checkpoint({}, file_name(r), True),
        ),
        Subject("managed checkpoint", lambda: by_manager(1.0, "ckpt"), lambda r: by_manager(2.0, file_name(r))),
        Subject(
            "saver",
            lambda: by_saver({"a": tf.Variable(1.0)}),
            lambda r: by_saver({text(r): variable(r) for _ in range(r.choice([1, 2, 15]))}, file_name(r)),
        ),
        Subject("saved model", lambda: by_saved_model({}), lambda r: by_saved_model({"value": plain(r)})),
        Subject(
            "model in a file",
            lambda: by_model(small_model(), "m.keras"),
            lambda r: by_model(compiled_model(r), "m.keras"),
        ),
        Subject("model in a folder", lambda: by_model(small_model(), "m"), lambda r: by_model(compiled_model(r), "m")),
        Subject("lookup", lambda: by_model(small_model(), "m.keras"), lambda r: by_model(lookup(r), "m.keras")),
        Subject("weights", lambda: by_weights(small_model()), lambda r: by_weights(compiled_model(r))),
    )
}

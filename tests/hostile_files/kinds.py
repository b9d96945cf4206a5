"""Which files are read, how is a hostile one made of each, and what may come of reading it?"""

from __future__ import annotations

import io
import json
import os
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import nbtf as tf
from nbtf._storage import folders, packing
from nbtf._storage.sorted_tables import as_table, parse_table
from nbtf._storage.tensor_bundle import files_of
from nbtf.cli import notebook_file, translation
from nbtf.cli.command_error import CommandError
from nbtf.cli.exercises import student_copy
from nbtf.cli.languages import original_of
from nbtf.errors import DataLossError
from nbtf.keras.generation import LEGACY
from nbtf.keras.saving.models import CONFIG, METADATA, WEIGHTS
from nbtf.saved_model.writing import OBJECTS, VALUES
from tests.hostile_files import grammar
from tests.storage.older_checkpoints import as_older, with_older_state

keras = tf.keras
Files = dict[str, bytes]


class Kind(NamedTuple):
    """A kind of files.

    Attributes:
      make: writes valid ones into a folder, and returns what makes hostile ones of them.
      read: reads what was written into a folder.
      refusal: what reading raises about a file that is damaged or asks for too much; it names the file.
      mismatch: what is said of a whole file that belongs to another model, in the classes of TensorFlow and Keras.
    """

    make: Callable[[Path], Callable[[Random], Files]]
    read: Callable[[Path], Any]
    refusal: type[Exception] = DataLossError
    mismatch: str = "never"


class Line(tf.Module):
    """A module of the program."""

    limits: Any = tf

    def __init__(self) -> None:
        super().__init__()
        self.slope = tf.Variable([2.0, 1.0])
        self.items = {"a": [tf.Variable(1), (1, tf.constant(2.0))], "b": tf.nn.relu, "c": np.arange(3)}
        self.dense = keras.layers.Dense(2, activation="relu")
        self.dense(tf.zeros((1, 3)))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def __call__(self, x: Any) -> Any:
        return x * self.slope


# ---- arrays


def npz(arrays: dict[str, Any], random: Random) -> bytes:
    """Returns an archive of arrays; some of their headers may say something else."""
    stream = io.BytesIO()
    compression = random.choice([zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.save(content, array, allow_pickle=True)
            archive.writestr(f"{name}.npy", _with_header(content.getvalue(), random))
            if random.random() < 0.01:
                archive.writestr(random.choice(["../x.npy", "x", "pickle.pkl", "/a.npy"]), b"\x80\x04.")
    return stream.getvalue()


_HEADERS = [
    (
        rb"'descr': '[^']*'",
        [b"'descr': '|O'", b"'descr': '<f8'", b"'descr': '|S0'", b"'descr': '<M8[s]'", b"'descr': 3"],
    ),
    (rb"'shape': \([^)]*\)", [b"'shape': (10**12,)", b"'shape': (1000000000000,)", b"'shape': (-1,)", b"'shape': ()"]),
    (rb"'fortran_order': \w+", [b"'fortran_order': True", b"'fortran_order': __import__('os')"]),
    (rb"\{.*\}", [b"__import__('os').system('true')", b"{}", b"(" * 3000]),
]


def _with_header(content: bytes, random: Random) -> bytes:
    if random.random() < 0.8:
        return content
    pattern, choices = random.choice(_HEADERS)
    length = struct.unpack("<H", content[8:10])[0]
    header = re.sub(pattern, random.choice(choices).replace(b"\\", b"\\\\"), content[10 : 10 + length])
    return content[:8] + struct.pack("<H", len(header)) + header + content[10 + length :]


def _changed(arrays: dict[str, Any], random: Random) -> dict[str, Any]:
    arrays = dict(arrays)
    if arrays and random.random() < 0.5:
        name = random.choice(sorted(arrays))
        others: list[Any] = [np.zeros(3), np.array([b"x"]), np.array("y"), np.array([{}], object), np.zeros(2, "c8")]
        others += [np.zeros((0, 2)), np.full(2, np.nan), np.array(2**62), np.zeros(2, "V4"), np.ones(3, bool)]
        arrays[random.choice([name, "x", "../x", "a/b"])] = random.choice(others)
        if random.random() < 0.3:
            del arrays[name]
    return arrays


def _archive(contents: Files, random: Random) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for name, content in contents.items():
            if random.random() < 0.995:
                archive.writestr(name, content)
    return stream.getvalue()


def _loaded(content: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(content)) as arrays:
        return {name: arrays[name] for name in arrays.files}


# ---- models


def _models() -> list[Any]:
    inputs = keras.Input((4,), name="input_layer")
    hidden = keras.layers.Dense(3, activation="relu", name="dense")(inputs)
    with patch.dict(os.environ, {LEGACY: "1"}):  # an op is a step of a model for Keras 2
        total = tf.reduce_sum(hidden, -1, keepdims=True)
    functional = keras.Model(
        inputs, keras.layers.Dense(2, name="outputs")(hidden * 2.0 + total + keras.activations.elu(hidden))
    )
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    functional.compile(keras.optimizers.Adam(schedule), "mse", ["mae"])
    stack = keras.Sequential(
        [keras.Input((4, 2)), keras.layers.Bidirectional(keras.layers.LSTM(2)), keras.layers.Dense(1)]
    )
    picture = [keras.Input((6, 6, 1)), keras.layers.Conv2D(2, 3), keras.layers.Flatten(), keras.layers.Dropout(0.5)]
    words = [
        keras.Input((), dtype="string"),
        keras.layers.StringLookup(vocabulary=["a", "b"]),
        keras.layers.Embedding(4, 2),
    ]
    switched = keras.Sequential([keras.Input((3,)), keras.layers.Lambda(keras.activations.relu), keras.layers.Dense(1)])
    switched.compile("sgd", keras.losses.Huber(), [keras.metrics.MeanMetricWrapper(keras.losses.mse)])
    return [functional, *map(keras.Sequential, (stack, picture, words)), switched]


def _make_models(folder: Path) -> Callable[[Random], Files]:
    seeds: list[tuple[dict[str, Any], Files, dict[str, Any], bytes]] = []
    for model in _models():
        model.save(folder / "seed.keras")
        parts = packing.read(folder / "seed.keras", (METADATA, CONFIG, WEIGHTS))
        whole = (folder / "seed.keras").read_bytes()
        seeds.append((json.loads(parts[CONFIG]), parts, _loaded(parts[WEIGHTS]), whole))

    def hostile(random: Random) -> Files:
        document, parts, arrays, whole = random.choice(seeds)
        choice = random.randrange(10)
        if choice == 0:
            return {"m.keras": grammar.damaged(whole, random)}
        if choice == 1:
            return {"m.keras": _archive({**parts, WEIGHTS: npz(_changed(arrays, random), random)}, random)}
        if choice == 2:
            damaged = {name: grammar.damaged(part, random) for name, part in parts.items() if random.random() < 0.5}
            return {"m.keras": _archive({**parts, **damaged}, random)}
        changed = {**document, **grammar.named(random)} if choice == 3 else grammar.mutated(document, random)
        return {"m.keras": _archive({**parts, CONFIG: json.dumps(changed).encode()}, random)}

    return hostile


def _make_weights(folder: Path) -> Callable[[Random], Files]:
    model = _weighted()
    model.save_weights(folder / "seed.weights.h5")
    model.save(folder / "seed.keras")
    content, whole = (folder / "seed.weights.h5").read_bytes(), (folder / "seed.keras").read_bytes()
    arrays = _loaded(content)

    def hostile(random: Random) -> Files:
        if random.random() < 0.4:
            return {"w": grammar.damaged(random.choice([content, whole]), random)}
        return {"w": npz(_changed(arrays, random), random)}

    return hostile


def _weighted() -> Any:
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(2), keras.layers.BatchNormalization()])


_WEIGHTED: list[Any] = []


def _read_weights(folder: Path) -> None:
    if not _WEIGHTED:
        _WEIGHTED.append(_weighted())
    _WEIGHTED[0].load_weights(folder / "w")


# ---- folders and checkpoints


def _make_saved_models(folder: Path) -> Callable[[Random], Files]:
    seeds: list[tuple[Any, dict[str, Any], Files]] = []
    for number, value in enumerate([Line(), _models()[0], tf.train.Checkpoint(v=tf.Variable([1.0]), line=Line())]):
        tf.saved_model.save(value, folder / str(number))
        parts = folders.read(folder / str(number), (OBJECTS, VALUES))
        seeds.append((json.loads(parts[OBJECTS]), _loaded(parts[VALUES]), parts))

    def hostile(random: Random) -> Files:
        document, arrays, parts = random.choice(seeds)
        choice = random.randrange(10)
        if choice == 0:
            return {name: grammar.damaged(part, random) for name, part in parts.items()}
        if choice == 1:
            return {**parts, VALUES: npz(_changed(arrays, random), random)}
        changed = grammar.mutated(document, random)
        if choice < 5 and isinstance(changed.get("nodes"), list):
            changed = _led_elsewhere(changed, random)
        return {**parts, OBJECTS: json.dumps(changed).encode()}

    return hostile


def _led_elsewhere(document: Any, random: Random) -> Any:
    """Has nodes, attributes and signatures name what no file may name."""
    place = [random.choice(grammar.MODULES), random.choice(grammar.NAMES)]
    described = random.choice(
        [
            {"place": place},
            {"method": [{"node": random.randrange(-1, 9)}, random.choice(grammar.NAMES)]},
            {"function": {"place": place}, "signature": None},
            {"attribute": random.choice(grammar.NAMES)},
            {"node": random.choice([0, 1, len(document["nodes"]), -1, 10**9])},
        ]
    )
    config = grammar.named(random)
    keras_node = {"kind": "keras", "classes": {"X": place}, "config": config, "build": None, "compile": None}
    node = random.choice(
        [
            {**keras_node, "seeds": [], "values": {}},
            {"kind": "object", "class": place, "attributes": [[random.choice(grammar.TEXTS), described]]},
            {"kind": random.choice(["list", "dict"]), "items": [[described, described]]},
            {"kind": "function", **described},
        ]
    )
    document["nodes"].append(node)
    number = len(document["nodes"]) - 1
    for each in document["nodes"]:
        if isinstance(each, dict) and isinstance(each.get("attributes"), list):
            each["attributes"].append(["extra", random.choice([described, {"node": number}])])
    if isinstance(document.get("signatures"), dict) and random.random() < 0.3:
        document["signatures"]["extra"] = described
    return document


def _make_checkpoints(folder: Path) -> Callable[[Random], Files]:
    prefix = _checkpoint().save(folder / "seed")
    parts = {file.name.replace(Path(prefix).name, "c"): file.read_bytes() for file in files_of(prefix)}
    table = parse_table(parts["c.index"])
    content = as_older(prefix).read_bytes()
    arrays = _loaded(content)
    graph = next(name for name, array in arrays.items() if b'"nodes"' in array.tobytes())
    document = json.loads(arrays[graph].tobytes())

    def hostile(random: Random) -> Files:
        choice = random.randrange(5)
        if choice == 0:
            return {"c.npz": grammar.damaged(content, random)}
        if choice == 1:
            return {"c.npz": npz(_changed(arrays, random), random)}
        if choice == 2:
            text = json.dumps(grammar.mutated(document, random)).encode()
            return {"c.npz": npz({**arrays, graph: np.frombuffer(text, arrays[graph].dtype.str[:2] + "1")}, random)}
        name = random.choice([*parts])
        if choice == 3:
            return {**parts, name: grammar.damaged(parts[name], random)}
        key = random.choice([*table])
        return {**parts, "c.index": as_table({**table, key: grammar.damaged(table[key], random)})}

    return hostile


def _checkpoint() -> Any:
    return tf.train.Checkpoint(v=tf.Variable([1.0, 2.0]), line=Line(), optimizer=keras.optimizers.SGD(momentum=0.9))


def _read_checkpoint(folder: Path) -> None:
    prefix = str(folder / "c")
    for name, _ in tf.train.list_variables(prefix):
        tf.train.load_variable(prefix, name)
    _checkpoint().restore(prefix).expect_partial()


def _make_states(folder: Path) -> Callable[[Random], Files]:
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(1.0)), folder, 2)
    for _ in range(2):
        manager.save()
    content = (folder / "checkpoint").read_bytes()
    older = json.loads(with_older_state(folder).read_bytes())

    def hostile(random: Random) -> Files:
        if random.random() < 0.5:
            return {"checkpoint": grammar.damaged(content, random)}
        return {"checkpoint": json.dumps(grammar.mutated(older, random)).encode()}

    return hostile


def _read_state(folder: Path) -> None:
    found = tf.train.latest_checkpoint(folder)
    assert found is None or Path(found).parent == folder
    for path in tf.train.CheckpointManager(tf.train.Checkpoint(), folder, 2).checkpoints:
        assert Path(path).resolve().is_relative_to(folder.resolve())


# ---- what the commands read


_CELL = {"cell_type": "code", "execution_count": 1, "metadata": {"tags": ["a"]}, "id": "a", "source": ["x\n", "y"]}
_STREAM = {"output_type": "stream", "name": "stdout", "text": ["x"]}
_RESULT = {"output_type": "execute_result", "data": {"text/plain": "1"}, "metadata": {}, "execution_count": 1}
_NOTEBOOK: dict[str, Any] = {
    "cells": [
        {**_CELL, "outputs": [_STREAM, _RESULT]},
        {"cell_type": "markdown", "metadata": {}, "source": "# A", "id": "b"},
    ],
    "metadata": {"kernelspec": {"language": "python", "name": "p", "display_name": "P"}, "nbtf": {"language": "ja"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
_CATALOGUE = """\
# A comment.
msgid ""
msgstr ""
"Language: ja\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"

#, fuzzy
msgid "# A"
msgstr "# B"

#~ msgid "old"
#~ msgstr "alt"
"""


def _make_notebooks(folder: Path) -> Callable[[Random], Files]:
    content = json.dumps(_NOTEBOOK).encode()

    def hostile(random: Random) -> Files:
        if random.random() < 0.2:
            return {"n.ipynb": grammar.damaged(content, random)}
        return {"n.ipynb": json.dumps(grammar.mutated(_NOTEBOOK, random)).encode()}

    return hostile


def _read_notebook(folder: Path) -> None:
    notebook = notebook_file.read(folder / "n.ipynb")
    original_of(folder / "n.ipynb", notebook)
    student_copy(notebook)
    translation.template(notebook)


def _make_catalogues(folder: Path) -> Callable[[Random], Files]:
    def hostile(random: Random) -> Files:
        lines: list[str] = [*_CATALOGUE.splitlines(keepends=True)]
        for _ in range(random.randrange(4)):
            where = random.randrange(len(lines))
            lines[where] = random.choice(
                [
                    "",
                    lines[random.randrange(len(lines))],
                    f'"Content-Type: text/plain; charset={random.choice(["os", "idna", "utf-16", "rot13", ""])}\\n"\n',
                    f'"Language: {random.choice(["../../x", "xx_YY", "ja_JP", "C"])}\\n"\n',
                    f"\"Plural-Forms: nplurals={random.choice([0, 10**9, 'x'])}; plural=__import__('os');\\n\"\n",
                    f'msgid "{random.choice(grammar.NAMES)}"\n',
                ]
            )
        text = "".join(lines).encode()
        return {"n.po": grammar.damaged(text, random) if random.random() < 0.3 else text}

    return hostile


KINDS: dict[str, Kind] = {
    "model": Kind(_make_models, lambda folder: keras.models.load_model(folder / "m.keras")),
    "weights": Kind(
        _make_weights, _read_weights, mismatch="none of the names match|the file has no|has (shape|the dtype)"
    ),
    "saved_model": Kind(_make_saved_models, tf.saved_model.load),
    "checkpoint": Kind(
        _make_checkpoints, _read_checkpoint, mismatch="incompatible tensor|expected dtype|values by name"
    ),
    "state": Kind(_make_states, _read_state),
    "notebook": Kind(_make_notebooks, _read_notebook, CommandError),
    "catalogue": Kind(_make_catalogues, lambda folder: translation.read(folder / "n.po"), CommandError),
}

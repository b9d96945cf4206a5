"""Are checkpoints that TensorFlow or nbtf wrote read by the other with equal arrays?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

PROGRAM = """
import os, sys
import tensorflow as tf, numpy as np
root, part = sys.argv[1:]
keras = tf.keras
r = np.random.default_rng(0 if part == "write" else 1)
KINDS = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128".split()

class Part(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(r.normal(size=(2, 3)))
        self.parts = [tf.Variable(r.normal()), {"a": tf.Variable(r.integers(9))}]
        self.named = {"b.c": tf.Variable(r.normal(size=2)), "d": tf.Module()}
        self.named["d"].x = self.w  # one variable in two places

def several():
    values = {kind: tf.Variable(r.integers(0, 2, (3, 2)).astype(kind), name=kind) for kind in KINDS}
    for kind in ("float32", "int64"):
        values["scalar_" + kind] = tf.Variable(r.integers(9).astype(kind))
        values["empty_" + kind] = tf.Variable(np.zeros((0, 4), kind))
    values["bfloat16"] = tf.Variable(tf.cast(r.normal(size=5), tf.bfloat16))
    values["large"] = tf.Variable(r.normal(size=(300, 401)))
    texts = ["", "é", "x" * int(r.integers(300)), str(r.normal()), "end\\0"]
    values["texts"], values["text"] = tf.Variable(texts), tf.Variable(texts[3])
    inner = tf.train.Checkpoint(part=Part(), inner=tf.train.Checkpoint(v=tf.Variable(r.normal(size=3))))
    return tf.train.Checkpoint(**values, nested=inner), list(values.values()) + [
        inner.inner.v, inner.part.w, inner.part.parts[0], inner.part.parts[1]["a"], inner.part.named["b.c"]]

def trained(model, inputs):
    model.compile(keras.optimizers.Adam(0.01 if part == "write" else 0.5), "mse")
    model.fit(inputs, r.normal(size=(8, 2)), epochs=2, verbose=0)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=model.optimizer)
    return checkpoint, model.weights + model.optimizer.variables

def sequential():
    layers = [keras.layers.Dense(4, activation="relu"), keras.layers.BatchNormalization(), keras.layers.Dropout(0.5)]
    model = keras.Sequential([keras.Input((3,)), *layers, keras.layers.Dense(2)])
    return trained(model, r.normal(size=(8, 3)))

def functional():
    images, words = keras.Input((6, 6, 2)), keras.Input((5,), dtype="int32")
    x = keras.layers.Flatten()(keras.layers.Conv2D(3, 3)(images))
    y = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(7, 4)(words))
    model = keras.Model([images, words], keras.layers.Dense(2)(keras.layers.Concatenate()([x, y])))
    return trained(model, [r.normal(size=(8, 6, 6, 2)), r.integers(0, 7, (8, 5))])

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = keras.layers.Dense(3), keras.layers.LayerNormalization(), Last()

    def call(self, x):
        return self.last(self.norm(self.first(x)))

class Last(keras.layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1], 2), initializer="glorot_uniform")

    def call(self, x):
        return tf.matmul(x, tf.convert_to_tensor(self.scale))

def subclass():
    return trained(Net(), r.normal(size=(8, 3)))

def check(make, folder):
    checkpoint, values = make()
    manager = tf.train.CheckpointManager(checkpoint, folder, 2)
    arrays = lambda: {str(i): np.array(v.numpy()) for i, v in enumerate(values)}
    if part == "write":
        for _ in range(3):
            path = manager.save()
        reader = tf.train.load_checkpoint(path)
        named = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map() if name[0] != "_"}
        dtypes = {name: dtype.name for name, dtype in reader.get_variable_to_dtype_map().items()}
        np.save(folder + "/expected.npy", np.array([arrays(), named, tf.train.list_variables(folder), dtypes], object))
    else:
        expected, named, listed, dtypes = np.load(folder + "/expected.npy", allow_pickle=True)
        same = lambda a, b: np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        assert any((expected[i] != array).any() for i, array in arrays().items())
        path = tf.train.latest_checkpoint(folder)
        assert path == manager.latest_checkpoint == manager.checkpoints[-1] == folder + "/ckpt-3", manager.checkpoints
        assert manager.checkpoints == [folder + "/ckpt-2", path]
        assert tf.train.list_variables(folder) == listed, tf.train.list_variables(folder)
        reader = tf.train.load_checkpoint(path)
        assert {name: dtype.name for name, dtype in reader.get_variable_to_dtype_map().items()} == dtypes
        for name, value in named.items():
            found = tf.train.load_variable(folder, name)
            same(found, value)
            assert np.asarray(found).dtype == np.asarray(value).dtype, name
        checkpoint.restore(path).assert_consumed()
        assert int(checkpoint.save_counter) == 3
        for i, array in arrays().items():
            assert array.dtype == expected[i].dtype
            same(array, expected[i])
        assert manager.save() == folder + "/ckpt-4"
        assert sorted(name for name in os.listdir(folder) if "ckpt-" in name) == [
            f"ckpt-{n}.{end}" for n in (3, 4) for end in ("data-00000-of-00001", "index")], os.listdir(folder)
        print("EQUAL", make.__name__, len(expected), len(named))

for make in (several, sequential, functional, subclass):
    check(make, root + "/" + make.__name__)
"""

TREES = """
import sys
from random import Random
import tensorflow as tf, numpy as np
folder, part = sys.argv[1:]
KINDS = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128".split()
NAMES = ["a", "b", "layer", "x.y", "x/y", "..", "S", "a.S", "字", "a b", "ATTRIBUTES", "kernel_1"]

def array(random, kind):
    shape = [random.choice([0, 1, 2, 3, 5]) for _ in range(random.randrange(4))]
    count = int(np.prod(shape))
    if kind == "string":
        texts = [random.choice(["", "é", "end\\0", "x" * 200]) for _ in range(count)]
        return np.array([*texts, ""], object)[:-1].reshape(shape)
    itemsize = 1 if kind == "bool" else np.dtype(kind).itemsize
    content = np.frombuffer(random.randbytes(count * itemsize), np.uint8)
    return (content % 2 == 1 if kind == "bool" else content.view(kind)).reshape(shape)

def tree(random, values, level=0):
    choice = random.randrange(6 if level < 4 else 2)
    names = random.sample(NAMES, random.randrange(4))
    if choice == 0 and values:
        return random.choice(values)
    if choice < 2:
        kind = random.choice([*KINDS, "string", "bfloat16"])
        content = array(random, "int16" if kind == "bfloat16" else kind)
        value = tf.constant(content, tf.string) if kind == "string" else tf.constant(content)
        values.append(tf.Variable(tf.cast(value, tf.bfloat16) if kind == "bfloat16" else value))
        return values[-1]
    if choice == 2:
        return [tree(random, values, level + 1) for _ in range(random.randrange(4))]
    if choice == 3:
        return {name: tree(random, values, level + 1) for name in names}
    holder = tf.Module() if choice == 4 else tf.train.Checkpoint()
    for name in names:
        setattr(holder, name, tree(random, values, level + 1))
    return holder

def content_of(value):
    found = np.asarray(value, object if isinstance(value, bytes) else None)
    return found.dtype.name, found.shape, found.tolist() if found.dtype == object else found.tobytes()

equal = 0
for seed in range(60):
    random, values = Random(seed), []
    checkpoint = tf.train.Checkpoint(**{name: tree(random, values) for name in ("first", "second", "third")})
    prefix = f"{folder}/{seed}"
    if part == "write":
        checkpoint.write(prefix)
        continue
    expected = [content_of(value.numpy()) for value in values]
    for value in values:
        value.assign(tf.zeros_like(value))
    checkpoint.read(prefix).assert_consumed()
    assert [content_of(value.numpy()) for value in values] == expected, seed
    reader, named = tf.train.load_checkpoint(prefix), []
    for name in reader.get_variable_to_dtype_map():
        named.append(content_of(reader.get_tensor(name)))
        assert list(named[-1][1]) == reader.get_variable_to_shape_map()[name]
    assert all(content in named for content in expected), seed
    equal += len(values)
print("EQUAL", equal)
"""

PRESENTED = "import nbtf\nnbtf.present_as_tensorflow()\n"

SAVER = """
import sys
import tensorflow.compat.v1 as tf, numpy as np
folder, part = sys.argv[1:]
r = np.random.default_rng(part == "write")
with tf.Graph().as_default(), tf.Session() as session:
    values = [tf.get_variable(f"v{i}", initializer=r.normal(size=i + 1)) for i in range(4)]
    values.append(tf.get_variable("layer/step", initializer=r.integers(9)))
    session.run(tf.global_variables_initializer())
    if part == "write":
        tf.train.Saver().save(session, folder + "/model", global_step=7)
        np.savez(folder + "/expected.npz", *session.run(values))
    else:
        expected = np.load(folder + "/expected.npz")
        path = tf.train.latest_checkpoint(folder)
        assert path == folder + "/model-7" and tf.train.checkpoint_exists(path), path
        assert tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths == [path]
        tf.train.Saver().restore(session, path)
        for array, name in zip(session.run(values), expected.files):
            np.testing.assert_array_equal(array, expected[name])
        print("EQUAL", len(expected.files))
"""


def on(library: str, program: str, *arguments: str) -> str:
    """Runs a program on nbtf or on TensorFlow, and returns what it prints."""
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", (PRESENTED if library == "nbtf" else "") + program, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


REAL_KERAS = PROGRAM.replace("keras = tf.keras", "import keras")
both_ways = pytest.mark.parametrize(("writer", "reader"), [("tensorflow", "nbtf"), ("nbtf", "tensorflow")])


@both_ways
def test_objects_models_and_optimizers_are_restored(writer: str, reader: str, tmp_path: Path) -> None:
    on(writer, PROGRAM, str(tmp_path), "write")

    assert on(reader, PROGRAM, str(tmp_path), "read").count("EQUAL") == 4


@pytest.mark.nightly
@both_ways
def test_variables_by_name_are_restored(writer: str, reader: str, tmp_path: Path) -> None:
    on(writer, SAVER, str(tmp_path), "write")

    assert on(reader, SAVER, str(tmp_path), "read").split() == ["EQUAL", "5"]


def test_objects_of_the_real_keras_on_nbtf_are_restored(tmp_path: Path) -> None:
    on("nbtf", REAL_KERAS, str(tmp_path), "write")

    assert on("tensorflow", REAL_KERAS, str(tmp_path), "read").count("EQUAL") == 4


@both_ways
def test_any_objects_are_restored(writer: str, reader: str, tmp_path: Path) -> None:
    on(writer, TREES, str(tmp_path), "write")
    name, count = on(reader, TREES, str(tmp_path), "read").split()

    assert name == "EQUAL"
    assert int(count) > 200

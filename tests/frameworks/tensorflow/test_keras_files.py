"""Are Keras' models and weights that TensorFlow wrote read on nbtf, and the other way round, with equal arrays?"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

MODEL = """
import sys
import keras, numpy as np
folder, part = sys.argv[1:]
def made(seed):
    keras.utils.set_random_seed(seed)
    images, words = keras.Input((6, 6, 2)), keras.Input((5,), dtype="int32")
    x = keras.layers.Conv2D(3, 3, name="conv")(images)
    x = keras.layers.BatchNormalization(name="norm")(x)
    x = keras.layers.Flatten()(x)
    y = keras.layers.Embedding(7, 4, name="words")(words)
    y = keras.layers.Bidirectional(keras.layers.GRU(3), name="both")(y)
    z = keras.layers.Concatenate()([x, y])
    model = keras.Model([images, words], keras.layers.Dense(2, name="last")(z))
    model.compile(keras.optimizers.AdamW(0.01), "mse")
    r = np.random.default_rng(seed)
    model.fit([r.normal(size=(8, 6, 6, 2)), r.integers(0, 7, (8, 5))], r.normal(size=(8, 2)), epochs=2, verbose=0)
    return model
def arrays(model):
    states = model.weights + model.optimizer.variables
    return {str(i): np.asarray(v) for i, v in enumerate(states)}  # Keras gives loaded layers other paths
if part == "write":
    model = made(1)
    model.save(folder + "/model.keras")
    model.save_weights(folder + "/model.weights.h5")
    np.savez(folder + "/arrays.npz", **arrays(model))
else:
    expected = np.load(folder + "/arrays.npz")
    def check(kind, model):
        found = arrays(model)
        assert found.keys() == set(expected), (kind, found.keys() ^ set(expected))
        for name in found:
            np.testing.assert_array_equal(found[name], expected[name], f"{kind} {name}")
    check("keras", keras.saving.load_model(folder + "/model.keras"))
    model = made(2)
    model.load_weights(folder + "/model.weights.h5")
    check("h5", model)
    print("EQUAL", len(expected.files))
"""

PRESENTED = "import nbtf\nnbtf.present_as_tensorflow()\n"


def on(library: str, *arguments: str) -> str:
    """Runs the program on nbtf or on TensorFlow, and returns what it prints."""
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", (PRESENTED if library == "nbtf" else "") + MODEL, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


@pytest.mark.skipif(find_spec("keras") is None, reason="needs Keras, which TensorFlow installs")
@pytest.mark.parametrize(("writer", "reader"), [*permutations(["nbtf", "tensorflow"])])
def test_the_other_library_reads_equal_arrays(tmp_path: Path, writer: str, reader: str) -> None:
    on(writer, str(tmp_path), "write")

    assert on(reader, str(tmp_path), "read").split()[-2] == "EQUAL"

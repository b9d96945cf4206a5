"""Are Keras 3's objects restored from checkpoints and files, also those whose variables appear later?"""

from __future__ import annotations

from tests.frameworks.keras.conftest import on_nbtf

PROGRAM = """
import keras, numpy as np, tempfile, tensorflow as tf
class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(3)
        self.factor = tf.Variable(2.0)
    def call(self, x):
        return self.dense(x) * self.factor
def made():
    model = Own()
    model.compile(keras.optimizers.Adam(0.1), "mse")
    return model
x, y = np.ones((4, 5), "float32"), np.ones((4, 3), "float32")
first = made()
first.fit(x, y, verbose=0)
folder = tempfile.mkdtemp()
path = tf.train.Checkpoint(model=first, optimizer=first.optimizer).save(folder + "/c")
names = sorted(name for name, _ in tf.train.list_variables(path))
later = made()
status = tf.train.Checkpoint(model=later, optimizer=later.optimizer).restore(path).expect_partial()
later(x)
later.optimizer.build(later.trainable_variables)
def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
print(same(first.get_weights(), later.get_weights()), float(later.factor.numpy()),
      same([v.numpy() for v in first.optimizer.variables], [v.numpy() for v in later.optimizer.variables]))
print([name for name in names if "dense" in name])
"""


def test_model_and_optimizer_are_restored_before_they_are_built() -> None:
    lines = on_nbtf(PROGRAM).splitlines()

    assert lines[-2] == "True 2.0 True"
    assert "'model/dense/_kernel/.ATTRIBUTES/VARIABLE_VALUE'" in lines[-1]


FILES = """
import keras, numpy as np, tempfile, tensorflow as tf
@keras.saving.register_keras_serializable()
class Own(keras.Model):
    def __init__(self, **options):
        super().__init__(**options)
        self.dense = keras.layers.Dense(1)
    def call(self, x):
        return self.dense(x)
x, y = np.ones((4, 3), "float32"), np.ones((4, 1), "float32")
model = Own()
model.compile("adam", "mse")
model.fit(x, y, verbose=0)  # built while a function is traced
path = tempfile.mkdtemp() + "/own.keras"
model.save(path)
loaded = keras.saving.load_model(path)
are_equal = all(map(np.array_equal, model.get_weights(), loaded.get_weights()))
print(loaded.built, are_equal, loaded.get_build_config()["input_shape"][1])
def stack(width):
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(width)])
stack(5).save_weights(path + ".weights.h5")
try:
    stack(6).load_weights(path + ".weights.h5")
except ValueError as error:
    print("must match" in str(error))
"""


def test_models_from_files_are_built_and_other_shapes_are_refused() -> None:
    assert on_nbtf(FILES).splitlines()[-2:] == ["True True 3", "True"]

"""Does `tf.train.Checkpoint` restore Keras 3's objects, also those whose variables appear later?"""

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

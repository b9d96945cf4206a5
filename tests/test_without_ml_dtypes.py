"""Where `ml_dtypes` is not installed, is every use of bfloat16 refused, with the extra to install?"""

import subprocess
import sys

WITHOUT = """
import sys
sys.modules["ml_dtypes"] = None
import nbtf as tf
x = tf.constant([1.5])
for use in (
    lambda: tf.constant(1.5, tf.bfloat16), lambda: tf.cast(x, tf.bfloat16), lambda: tf.zeros([2], tf.bfloat16),
    lambda: tf.Variable([1.5], dtype=tf.bfloat16), lambda: tf.bfloat16.as_numpy_dtype, lambda: tf.bfloat16.max,
    lambda: tf.bitcast(tf.constant([1], tf.uint16), tf.bfloat16), lambda: tf.random.normal([2], dtype=tf.bfloat16),
    lambda: tf.function(lambda: tf.cast(x, tf.bfloat16))(), lambda: tf.range(3, dtype=tf.bfloat16),
    lambda: tf.keras.layers.Dense(2, dtype="mixed_bfloat16")(tf.ones([1, 2])),
):
    try:
        print("answered", use())
    except Exception as error:
        print(isinstance(error, (TypeError, tf.errors.UnimplementedError)), '.[bfloat16]"' in str(error))
print(tf.as_dtype("bfloat16"), tf.bfloat16.size, tf.bfloat16.is_floating, tf.bfloat16.is_numpy_compatible)
"""


def test_without_the_package_every_use_is_refused_and_names_the_extra() -> None:
    completed = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    *refusals, name = completed.stdout.splitlines()

    assert ["True True"] * 11 == refusals
    assert "<dtype: 'bfloat16'> 2 True False" == name

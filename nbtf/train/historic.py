"""A TensorFlow 1 optimizer that guides from 2019 still use."""

from __future__ import annotations

from typing import Any

from nbtf.keras.optimizers import SGD


class GradientDescentOptimizer(SGD):
    """Gradient descent: `tf.keras.optimizers.SGD` under its TensorFlow 1 name.

    Args:
      learning_rate: step size.
      use_locking: accepted and ignored.
      name: name of the optimizer.

    >>> v = tf.Variable(1.0)
    >>> optimizer = tf.train.GradientDescentOptimizer(learning_rate=0.1)
    >>> _ = optimizer.apply_gradients([(tf.constant(2.0), v)])
    >>> v.numpy()
    np.float32(0.8)
    """

    def __init__(self, learning_rate: Any = 0.01, use_locking: bool = False, name: str = "GradientDescent") -> None:
        """Stores the step size."""
        super().__init__(learning_rate=learning_rate, name=name)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments for creating a copy."""
        config = super().get_config()
        return {"learning_rate": config["learning_rate"], "name": config["name"]}

"""TensorFlow 1's optimizer that a guide of 2019 still names."""

from __future__ import annotations

from typing import Any

from nbtf.keras.optimizers import SGD


class GradientDescentOptimizer(SGD):
    """Moves variables against their gradients: `tf.keras.optimizers.SGD` under its name in TensorFlow 1.

    Args:
      learning_rate: the length of a step.
      use_locking: accepted and ignored.
      name: of the optimizer.

    >>> v = tf.Variable(1.0)
    >>> optimizer = tf.train.GradientDescentOptimizer(learning_rate=0.1)
    >>> _ = optimizer.apply_gradients([(tf.constant(2.0), v)])
    >>> v.numpy()
    np.float32(0.8)
    """

    def __init__(self, learning_rate: Any = 0.01, use_locking: bool = False, name: str = "GradientDescent") -> None:
        """Takes the length of a step."""
        super().__init__(learning_rate=learning_rate, name=name)

    def get_config(self) -> dict[str, Any]:
        """Returns what it takes to make another."""
        config = super().get_config()
        return {"learning_rate": config["learning_rate"], "name": config["name"]}

"""The strategy for TPUs, which nbtf does not have."""

from __future__ import annotations

from typing import Any, NoReturn

from nbtf.distribute.strategy import Strategy


class TPUStrategy(Strategy):
    """TensorFlow's strategy for TPUs. nbtf has none; programs and Keras ask whether a strategy is one.

    Raises:
      NotImplementedError: always.

    >>> isinstance(tf.distribute.get_strategy(), tf.distribute.TPUStrategy)
    False
    """

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuses, and names the strategy to use."""
        raise NotImplementedError(
            "nbtf has no TPUs. Use tf.distribute.MirroredStrategy(), and tf.runtime.simulate_gpus(8) for its devices."
        )

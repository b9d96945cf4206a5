"""Resets random seeds and the counters of default names."""

from __future__ import annotations

import random as _python_random
import sys

from nbtf._ops.random.streams import set_seed
from nbtf.keras.naming import forget_names
from nbtf.keras.random import forget_global_seed


def set_random_seed(seed: int) -> None:
    """Seeds the generators of Python, NumPy and `tf.random`, from which weights and dropout draw their numbers.

    Args:
      seed: the seed, an integer.

    Raises:
      ValueError: if `seed` is not an integer.

    >>> set_random_seed(1)
    >>> one = tf.keras.initializers.GlorotUniform()((2, 2)).numpy()
    >>> set_random_seed(1)
    >>> bool((tf.keras.initializers.GlorotUniform()((2, 2)).numpy() == one).all())
    True
    """
    if not isinstance(seed, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"Expected `seed` argument to be an integer. Received: seed={seed} (of type {type(seed)})")
    _python_random.seed(seed)
    sys.modules["numpy"].random.seed(seed)
    set_seed(seed)
    forget_global_seed()


def clear_session(free_memory: bool = True) -> None:
    """Resets the counters of default names: the next `Dense` is called `dense`.

    Args:
      free_memory: ignored; memory is freed as soon as nothing refers to it.
    """
    forget_names()
    forget_global_seed()

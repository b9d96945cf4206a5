"""How a program begins anew: with the same random numbers, or with names that nobody has used."""

from __future__ import annotations

import random as _python_random
import sys

from nbtf._ops.random.streams import set_seed
from nbtf.keras.naming import forget_names
from nbtf.keras.random import forget_global_seed


def set_random_seed(seed: int) -> None:
    """Seeds the generators of Python, of NumPy and of `tf.random`, from which weights and dropout take their numbers.

    Args:
      seed: a number.

    Raises:
      ValueError: it is no integer.

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
    """Has names be counted anew: the next `Dense` is called `dense`.

    Args:
      free_memory: accepted and ignored: memory is free as soon as nobody holds it.
    """
    forget_names()
    forget_global_seed()

"""Do seeds make random numbers come again?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.keras.session import clear_session, set_random_seed

R = tf.keras.random


def test_generator_draws_anew_each_time_and_the_same_from_its_seed() -> None:
    one, other = R.SeedGenerator(1), R.SeedGenerator(1)
    ones = np.ones((9, 9), np.float32)
    first, second = R.dropout(ones, 0.5, seed=one).numpy(), R.dropout(ones, 0.5, seed=one).numpy()

    assert not np.array_equal(first, second)
    assert np.array_equal(first, R.dropout(ones, 0.5, seed=other))


def test_seed_must_be_a_number() -> None:
    wrong: Any = "1"

    with pytest.raises(ValueError, match="Argument `seed` must be an integer"):
        R.SeedGenerator(wrong)
    with pytest.raises(ValueError, match="Expected `seed` argument to be an integer"):
        set_random_seed(wrong)


def test_seed_of_the_program_seeds_python_numpy_weights_and_tensors() -> None:
    def drawn() -> list[float]:
        set_random_seed(7)
        dense = tf.keras.layers.Dense(1)
        dense.build((None, 1))
        return [float(dense.kernel.numpy()[0, 0]), float(np.random.rand()), float(tf.random.uniform(()))]

    assert drawn() == drawn()


def test_cleared_session_counts_names_anew() -> None:
    tf.keras.layers.Dense(1)
    clear_session()

    assert "dense" == tf.keras.layers.Dense(1).name

"""Do layers that draw random numbers draw them in training only, and the same ones for the same seed?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.keras.session import set_random_seed

L = tf.keras.layers
ONES = np.ones((4, 50, 8), "float32")


def test_nothing_happens_outside_training() -> None:
    layer = L.Dropout(0.5)

    assert np.array_equal(ONES, layer(ONES))
    assert not np.array_equal(ONES, layer(ONES, training=True))


def test_dropout_scales_what_is_left() -> None:
    made = L.Dropout(0.75, seed=1)(ONES, training=True).numpy()

    assert {0.0, 4.0} == set(np.unique(made).tolist())
    assert 0.25 == pytest.approx((made > 0).mean(), abs=0.05)  # 1600 draws: four standard deviations


def test_dropout_draws_anew_at_each_call() -> None:
    layer = L.Dropout(0.5, seed=1)

    assert not np.array_equal(layer(ONES, training=True), layer(ONES, training=True))


def test_same_seed_draws_the_same() -> None:
    first, second = (L.Dropout(0.5, seed=3)(ONES, training=True).numpy() for _ in range(2))

    assert np.array_equal(first, second)


def test_seed_of_the_program_decides_for_layers_without_one() -> None:
    def drawn() -> Any:
        set_random_seed(5)
        return L.Dense(3)(L.Dropout(0.5)(ONES, training=True)).numpy()

    assert np.array_equal(drawn(), drawn())


def test_noise_shape_drops_whole_steps() -> None:
    made = L.Dropout(0.5, noise_shape=(None, 50, 1), seed=1)(ONES, training=True).numpy()

    assert np.array_equal(made, np.broadcast_to(made[:, :, :1], made.shape))


def test_rate_must_be_a_part() -> None:
    with pytest.raises(ValueError, match=r"Expected a float value between 0 and 1\. Received: rate=2"):
        L.Dropout(2)

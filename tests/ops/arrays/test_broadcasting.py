from __future__ import annotations

import pytest

import nbtf as tf


@pytest.mark.parametrize("shape", [[-2, 1], (1, -3), -2])
def test_only_minus_one_is_left_to_be_found(shape: object) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Size \d must be non-negative, not -"):
        tf.reshape(tf.constant([1.0, 2.0]), shape)


def test_a_shape_may_be_empty_or_a_number() -> None:
    assert () == tuple(tf.reshape([3.0], []).shape)
    assert (2,) == tuple(tf.reshape([[3.0], [4.0]], -1).shape)

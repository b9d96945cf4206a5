"""Do the functions around models do what Keras' do?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

keras = tf.keras
utils = keras.utils


def test_classes_of_a_column_become_rows() -> None:
    assert utils.to_categorical(np.array([[1], [0]]), 3).tolist() == [[0, 1, 0], [1, 0, 0]]


def test_classes_in_a_tensor_become_a_tensor() -> None:
    made = utils.to_categorical(tf.constant([1]))

    assert (made.dtype, made.numpy().tolist()) == (tf.float32, [[0.0, 1.0]])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [[0, 0, 1], [2, 3, 4]]),
        ({"padding": "post"}, [[1, 0, 0], [2, 3, 4]]),
        ({"maxlen": 2}, [[0, 1], [3, 4]]),
        ({"maxlen": 2, "truncating": "post", "value": -1}, [[-1, 1], [2, 3]]),
    ],
)
def test_sequences_are_padded_and_cut(given: dict[str, Any], expected: list[list[int]]) -> None:
    assert keras.preprocessing.sequence.pad_sequences([[1], [2, 3, 4]], **given).tolist() == expected


def test_what_cannot_be_padded_is_refused() -> None:
    with pytest.raises(ValueError, match='Padding type "both" not understood'):
        utils.pad_sequences([[1]], padding="both")
    with pytest.raises(ValueError, match="Found non-iterable: 1"):
        utils.pad_sequences([1])


def test_plot_model_says_that_it_draws_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    utils.plot_model(keras.Sequential([keras.layers.Dense(1)]), show_shapes=True)

    assert capsys.readouterr().out.startswith("plot_model draws no image and writes no file.")


def test_a_picture_without_pillow_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)

    with pytest.raises(ImportError, match="Pillow, which is not installed"):
        keras.preprocessing.image.array_to_img(np.zeros((2, 2, 1)))


@pytest.mark.parametrize("name", ["Progbar", "Sequence", "PyDataset", "get_custom_objects", "custom_object_scope"])
def test_names_from_elsewhere_are_offered(name: str) -> None:
    assert hasattr(utils, name)

"""Do the functions around models do what Keras' do?"""

from __future__ import annotations

from pathlib import Path
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


def test_rows_of_zeros_are_not_divided() -> None:
    assert utils.normalize([[0.0, 0.0], [3.0, 4.0]]).tolist() == [[0, 0], [0.6, 0.8]]


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


def test_a_data_set_is_cut_in_two() -> None:
    left, right = utils.split_dataset(np.arange(5), left_size=3)

    assert [int(one) for one in left] == [0, 1, 2]
    assert [int(one) for one in right] == [3, 4]


def test_shuffled_parts_share_no_element() -> None:
    left, right = utils.split_dataset(tf.data.Dataset.range(10), right_size=0.3, shuffle=True, seed=1)

    assert sorted(int(one) for part in (left, right) for one in part) == list(range(10))
    assert len(list(right)) == 3


def test_parts_that_are_too_large_are_refused() -> None:
    with pytest.raises(ValueError, match="must not be larger"):
        utils.split_dataset(np.arange(5), left_size=3, right_size=3)


def test_plot_model_says_that_it_draws_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    utils.plot_model(keras.Sequential([keras.layers.Dense(1)]), show_shapes=True)

    assert capsys.readouterr().out.startswith("plot_model draws no image.")


def test_edges_of_a_functional_model_are_in_the_text(tmp_path: Path) -> None:
    inputs = keras.Input((3,), name="inputs")
    one, two = keras.layers.Dense(2, name="one")(inputs), keras.layers.Dense(2, name="two")(inputs)
    model = keras.Model(inputs, keras.layers.Add(name="sum")([one, two]))
    utils.plot_model(model, tmp_path / "m.dot")

    text = (tmp_path / "m.dot").read_text()
    edges = {line.strip() for line in text.splitlines() if "->" in line}
    assert edges == {'"inputs" -> "one";', '"inputs" -> "two";', '"one" -> "sum";', '"two" -> "sum";'}


def test_get_file_finds_what_was_fetched_before(tmp_path: Path) -> None:
    (tmp_path / "datasets" / "data").mkdir(parents=True)
    (tmp_path / "datasets" / "one.csv").touch()
    there = "https://example.org/{}"

    assert utils.get_file(origin=there.format("one.csv"), cache_dir=tmp_path) == str(tmp_path / "datasets/one.csv")
    assert utils.get_file("data.tar.gz", there, untar=True, cache_dir=tmp_path) == str(tmp_path / "datasets/data")
    with pytest.raises(FileNotFoundError, match=r"two.csv does not exist, and nbtf downloads nothing"):
        utils.get_file(origin=there.format("two.csv"), cache_dir=tmp_path)


def test_a_picture_without_pillow_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)

    with pytest.raises(ImportError, match="Pillow, which is not installed"):
        keras.preprocessing.image.array_to_img(np.zeros((2, 2, 1)))


def test_an_array_is_a_picture_and_back() -> None:
    pytest.importorskip("PIL")
    picture = utils.array_to_img(np.array([[[0.0], [1.0]]]))

    assert utils.img_to_array(picture).tolist() == [[[0.0], [255.0]]]


def test_batches_are_unpacked() -> None:
    assert utils.unpack_x_y_sample_weight([1]) == (1, None, None)
    assert utils.pack_x_y_sample_weight(1, 2, 3) == (1, 2, 3)
    with pytest.raises(ValueError, match="Data is expected to be in format"):
        utils.unpack_x_y_sample_weight((1, 2, 3, 4))


@pytest.mark.parametrize("name", ["Progbar", "Sequence", "PyDataset", "get_custom_objects", "custom_object_scope"])
def test_names_from_elsewhere_are_offered(name: str) -> None:
    assert hasattr(utils, name)

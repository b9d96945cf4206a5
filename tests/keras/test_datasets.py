"""Are data sets read from the folder of Keras, and is said what to do where they are missing?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nbtf.keras.datasets import cifar10, digits, mnist


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    (tmp_path / "datasets").mkdir()
    return tmp_path / "datasets"


def test_a_file_that_keras_has_fetched_is_read(home: Path) -> None:
    pictures = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28)
    np.savez(home / "mnist.npz", x_train=pictures, y_train=[1, 2], x_test=pictures[:1], y_test=[3])
    (x_train, y_train), (x_test, y_test) = mnist.load_data()

    assert (x_train == pictures).all()
    assert (y_train.tolist(), x_test.shape, y_test.tolist()) == ([1, 2], (1, 28, 28), [3])


def test_a_missing_file_says_what_there_is_instead(home: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"mnist\.npz does not exist.*tf\.keras\.datasets\.digits\.load_data\(\)"
    ):
        mnist.load_data()


def test_colours_come_last(home: Path) -> None:
    folder = home / "cifar-10-batches-bin"
    folder.mkdir()
    red = np.concatenate([[7], np.full(1024, 200), np.zeros(2048)]).astype(np.uint8)
    for name in ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"):
        red.tofile(folder / f"{name}.bin")
    (x_train, y_train), _ = cifar10.load_data()

    assert x_train.shape == (5, 32, 32, 3)
    assert x_train[0, 3, 4].tolist() == [200, 0, 0]
    assert y_train.ravel().tolist() == [7] * 5


def test_digits_need_no_file() -> None:
    (x_train, y_train), (x_test, _) = digits.load_data()

    assert (x_train.shape, x_test.shape, x_train.dtype) == ((1437, 8, 8), (360, 8, 8), np.uint8)
    assert np.bincount(y_train).min() > 120

"""Where do batches come from, and do they belong to nobody else?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime.context import Context, use_context
from nbtf.keras import layers, models
from nbtf.keras.training.feeding import feed_of, split_for_validation, unpack_batch
from nbtf.keras.training.py_dataset import PyDataset

X = np.arange(20.0).reshape(10, 2)
Y = np.arange(10)


def rows(feed: Any) -> list[list[int]]:
    return [np.asarray(unpack_batch(data)[1]).tolist() for data in feed.batches()]


def test_arrays_are_cut_into_batches_of_the_float_type_of_layers() -> None:
    feed = feed_of(X, Y, batch_size=4)
    x = next(feed.batches())[0]

    assert (feed.steps, rows(feed)) == (3, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]])
    assert (x.dtype, np.shares_memory(x, X)) == (np.float32, False)


def test_batches_can_be_taken_from_tensors_lists_and_dictionaries() -> None:
    feed = feed_of({"a": tf.constant(X), "b": [X, Y]}, Y, Y, batch_size=6)
    x, _, weights = list(feed.batches())[1]

    assert (x["a"].shape, x["b"][1].tolist(), weights.tolist()) == ((4, 2), [6, 7, 8, 9], [6, 7, 8, 9])


def test_a_data_frame_is_an_array() -> None:
    class Frame:
        def __init__(self, values: Any) -> None:
            self.values = values

        def to_numpy(self) -> Any:
            return self.values

    x, y = next(feed_of(Frame(X), Frame(Y)).batches())

    assert (x.tolist(), y.shape) == (X.tolist(), (10, 1))


def test_rows_come_in_another_order_in_each_pass_and_all_of_them() -> None:
    tf.random.set_seed(1)
    feed = feed_of(X, Y, batch_size=4, shuffle=True)
    first, second = ([row for batch in rows(feed) for row in batch] for _ in range(2))

    assert first != second
    assert sorted(first) == sorted(second) == list(range(10))


def test_whole_batches_can_be_shuffled() -> None:
    tf.random.set_seed(1)
    found = rows(feed_of(X, Y, batch_size=3, shuffle="batch"))

    assert found != rows(feed_of(X, Y, batch_size=3))
    assert sorted(found) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]


def test_numpy_seeds_the_order_where_tensorflow_has_no_seed() -> None:
    orders: list[Any] = []
    with use_context(Context(environ={})):  # without the seed of all these tests
        for _ in range(2):
            np.random.seed(3)
            orders.append(rows(feed_of(X, Y, shuffle=True)))

    assert orders[0] == orders[1]


def test_generators_and_other_things_to_loop_over_give_batches() -> None:
    class Loader:
        def __iter__(self) -> Iterator[Any]:
            return iter([(X, Y)])

    assert rows(feed_of((X, Y) for _ in range(2))) == [Y.tolist()] * 2
    assert rows(feed_of(Loader())) == [Y.tolist()]


def test_batches_by_number_are_asked_for_and_told_of_the_end() -> None:
    class Numbered(PyDataset):
        ended = 0

        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> Any:
            return X[index : index + 1], Y[index : index + 1]

        def on_epoch_end(self) -> None:
            self.ended += 1

    data = Numbered()
    made: Any = models.Sequential([layers.Dense(1)])
    made.compile("sgd", "mse")
    made.fit(data, epochs=2, verbose=0)

    assert (made.optimizer.iterations.numpy(), data.ended) == (6, 2)


def test_a_step_gets_what_there_is() -> None:
    shapes = [
        [part.shape for part in data] if isinstance(data, tuple) else data.shape
        for data in (
            next(feed_of(X).batches()),
            next(feed_of(X, Y).batches()),
            next(feed_of(X, Y, Y).batches()),
            next(feed_of(iter([(X, Y, Y, X)])).batches()),
        )
    ]

    assert shapes == [(10, 2), [(10, 2), (10,)], [(10, 2), (10,), (10,)], [(10, 2), (10,), (10,), (10, 2)]]


def test_a_tuple_of_more_than_three_is_refused_by_the_usual_step() -> None:
    with pytest.raises(ValueError, match=r"^Data is expected to be in format `x`, `\(x,\)`, `\(x, y\)`, or "):
        unpack_batch((X, Y, Y, X))


def test_steps_go_on_over_the_end_of_arrays() -> None:
    made: Any = models.Sequential([layers.Dense(1)])
    made.compile("sgd", "mse")
    made.fit(X / 20, Y / 10, batch_size=4, epochs=2, steps_per_epoch=4, verbose=0)

    assert made.optimizer.iterations.numpy() == 8


def test_a_generator_that_ends_too_early_is_told_of() -> None:
    made: Any = models.Sequential([layers.Dense(1)])
    made.compile("sgd", "mse")
    with pytest.warns(UserWarning, match=r"^Your input ran out of data; interrupting training\."):
        made.fit(((X / 20, Y / 10) for _ in range(3)), steps_per_epoch=4, verbose=0)

    assert made.optimizer.iterations.numpy() == 3


def test_validation_takes_the_last_rows() -> None:
    (x, y, _), (_, last, weights) = split_for_validation(X, Y, None, 0.2)

    assert (x.shape, y.tolist(), last.tolist(), weights) == ((8, 2), list(range(8)), [8, 9], None)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"x": X, "y": Y[:5]}, "^Data cardinality is ambiguous.*'x' sizes: 10\n'y' sizes: 5\n$"),
        ({"x": 3}, r"^Unrecognized data type: x=3 \(of type <class 'int'>\)$"),
        ({"x": [[1.0, 2.0]]}, r"^Unrecognized data type: x=\[\[1\.0, 2\.0\]\]"),
        ({"x": iter([]), "y": Y}, "^When providing `x` as a generator, `y` should not be passed"),
        ({"x": X, "y": {"a": Y}, "class_weight": {0: 1.0}}, "^`class_weight` is only supported for Models with a "),
        ({"x": X, "y": Y, "sample_weight": Y, "class_weight": {0: 1.0}}, "^You cannot `class_weight` and "),
    ],
)
def test_data_of_the_wrong_kind_is_refused_in_keras_words(arguments: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        feed_of(**arguments)


def test_too_little_to_split_is_refused_in_keras_words() -> None:
    with pytest.raises(ValueError, match=r"^Training data contains 1 samples, which is not sufficient to split it"):
        split_for_validation(X[:1], Y[:1], None, 0.1)
    with pytest.raises(ValueError, match=r"^Argument `validation_split` is only supported for tensors or NumPy"):
        split_for_validation(iter([]), None, None, 0.1)


def test_nothing_warns_for_data_that_suffices() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made: Any = models.Sequential([layers.Dense(1)])
        made.compile("sgd", "mse")
        made.fit(((X / 20, Y / 10) for _ in range(3)), verbose=0)

    assert made.optimizer.iterations.numpy() == 3

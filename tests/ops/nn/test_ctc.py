"""Do CTC losses and decoders give TensorFlow's numbers? They were recorded from TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.errors import FailedPreconditionError, InvalidArgumentError
from tests.ops.refusals import refused

LOGITS = np.round(np.random.RandomState(0).randn(5, 3, 4), 2).astype(np.float32)
LABELS = np.array([[1, 2], [3, 0], [2, 2]], np.int32)
PLACES = [[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]]
FIRST_BLANK, LAST_BLANK = [1, 2, 3, 2, 2], [1, 2, 0, 2, 2]


def sparse(values: list[int]) -> tf.SparseTensor:
    return tf.SparseTensor(PLACES, tf.constant(values, tf.int32), [3, 2])


def of_tensorflow_1(logits: Any, lengths: Sequence[int] = (5, 4, 3), **switches: Any) -> Any:
    return tf.compat.v1.nn.ctc_loss(sparse(LAST_BLANK), logits, lengths, **switches)


LOSSES: list[tuple[Callable[[Any], Any], list[float], list[float]]] = [
    (
        lambda x: tf.nn.ctc_loss(LABELS, x, [2, 1, 2], [5, 4, 3]),
        [4.407235, 1.626473, 7.279607],
        [-2.538782, 1.058382, -0.91425, 2.39465],
    ),
    (
        lambda x: tf.nn.ctc_loss(LABELS, x, [2, 1, 2], [5, 4, 3], blank_index=-1),
        [5.872252, 4.162208, 5.469607],
        [3.957746, 0.914633, -3.245935, -1.626444],
    ),
    (
        lambda x: tf.nn.ctc_loss(LABELS, x, [0, 0, 2], [5, 0, 3]),
        [6.008621, 0.0, 7.279607],
        [-3.745241, 1.61125, -0.373481, 2.507472],
    ),
    (
        lambda x: tf.nn.ctc_loss([[1, 7], [3, 0], [2, 2]], x, [2, 1, 2], [5, 5, 5]),
        [1.055866, 2.084536, 6.110058],
        [-1.769248, 1.695784, -0.35711, 2.931255],
    ),
    (
        lambda x: tf.nn.ctc_loss(sparse(FIRST_BLANK), x, None, [5, 4, 3], blank_index=0),
        [4.407236, 1.626474, 7.279606],
        [-2.538782, 1.058382, -0.91425, 2.39465],
    ),
    (of_tensorflow_1, [5.872252, 1.4842, 5.469607], [1.316528, 0.914634, -1.206835, -1.024327]),
    (
        lambda x: of_tensorflow_1(x, preprocess_collapse_repeated=True),
        [5.872252, 1.4842, 1.257495],
        [1.316528, 0.914634, -0.747748, -1.483413],
    ),
    (
        lambda x: of_tensorflow_1(x, ctc_merge_repeated=False),
        [6.529509, 4.40849, 2.151608],
        [2.957746, 1.169009, -0.80556, -3.321193],
    ),
    (
        lambda x: of_tensorflow_1(x, [1, 4, 2], ignore_longer_outputs_than_inputs=True),
        [0.0, 1.4842, np.inf],
        [-0.806445, 1.146595, 1.203792, 0.456057],
    ),
    (
        lambda x: of_tensorflow_1(x, [5, 4, 2]),
        [5.872252, 1.4842, np.inf],
        [1.147319, 0.857743, 0.502802, -0.507865],
    ),
]


@pytest.mark.parametrize(("loss", "losses", "slopes"), LOSSES)
def test_losses_and_gradients_are_tensorflows(loss: Any, losses: list[float], slopes: list[float]) -> None:
    x = tf.constant(LOGITS)
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = loss(x)

    np.testing.assert_allclose(result.numpy(), losses, 1e-5)
    np.testing.assert_allclose(tf.reduce_sum(tape.gradient(result, x), [0, 1]).numpy(), slopes, 1e-4)
    np.testing.assert_allclose(tf.function(loss)(x).numpy(), losses, 1e-5)


def test_rows_with_too_few_steps_for_dense_labels_have_tensorflows_loss() -> None:
    result = tf.nn.ctc_loss(LABELS, LOGITS, [2, 1, 2], [1, 1, 2])

    np.testing.assert_allclose(result.numpy(), [707.86847, 2.483117, 708.9138], 1e-6)


def spelled(path: tuple[int, ...], blank: int) -> list[int]:
    kept = [label for at, label in enumerate(path) if not at or label != path[at - 1]]
    return [label for label in kept if label != blank]


def test_a_loss_is_the_sum_over_all_paths() -> None:
    random = np.random.default_rng(1)
    for _ in range(5):
        logits = random.normal(size=(4, 1, 3)).astype(np.float32)
        labels = random.integers(1, 3, 2).tolist()
        shares = np.exp(logits[:, 0]) / np.exp(logits[:, 0]).sum(1, keepdims=True)
        paths = [path for path in product(range(3), repeat=4) if spelled(path, 0) == labels]
        probability = sum(np.prod([shares[step, label] for step, label in enumerate(path)]) for path in paths)
        np.testing.assert_allclose(tf.nn.ctc_loss([labels], logits, [2], [4]).numpy(), -np.log(probability), 1e-5)


def test_a_beam_that_holds_all_sequences_finds_the_likeliest() -> None:
    random = np.random.default_rng(2)
    for _ in range(5):
        logits = random.normal(size=(4, 1, 3)).astype(np.float32)
        shares = np.exp(logits[:, 0]) / np.exp(logits[:, 0]).sum(1, keepdims=True)
        totals: dict[tuple[int, ...], float] = {}
        for path in product(range(3), repeat=4):
            key = tuple(spelled(path, 2))
            totals[key] = totals.get(key, 0.0) + np.prod([shares[step, label] for step, label in enumerate(path)])
        best = sorted(totals, key=totals.__getitem__)[::-1][:3]
        decoded, scores = tf.nn.ctc_beam_search_decoder(logits, [4], 100, 3)
        assert best == [tuple(path.values.numpy().tolist()) for path in decoded]
        np.testing.assert_allclose(scores.numpy()[0], np.log([totals[key] for key in best]), 1e-5)


def rows(decoded: tf.SparseTensor) -> list[list[int]]:
    return tf.sparse.to_dense(decoded, default_value=-1).numpy().tolist()


def test_decoders_give_tensorflows_labels() -> None:
    (greedy,), sums = tf.nn.ctc_greedy_decoder(LOGITS, [5, 4, 3])
    assert [[0], [0], [2]] == rows(greedy)
    np.testing.assert_allclose(sums.numpy(), [[-6.89], [-6.84], [-2.47]], 1e-5)
    (unmerged,), _ = tf.nn.ctc_greedy_decoder(LOGITS, [5, 4, 3], merge_repeated=False, blank_index=0)
    assert [[3, 3, -1], [3, -1, -1], [3, 2, 3]] == rows(unmerged)

    decoded, scores = tf.nn.ctc_beam_search_decoder(LOGITS, [5, 4, 3], beam_width=10, top_paths=3)
    assert [[[0, 1], [0, -1], [2, -1]], [[2, 0, 1], [0, 1, -1], [1, -1, -1]]] == [*map(rows, decoded[:2])]
    expected = [[-1.878809, -2.357502, -2.395548], [-1.484326, -1.553117, -2.228529], [-1.257495, -1.771004, -1.812677]]
    np.testing.assert_allclose(scores.numpy(), expected, 1e-5)

    narrow, scores = tf.nn.ctc_beam_search_decoder(LOGITS, [5, 4, 3], beam_width=2, top_paths=2)
    assert [[[0, 1], [0, -1], [2, -1]], [[0, -1], [0, 1], [1, -1]]] == [*map(rows, narrow)]
    expected = [[-2.195213, -2.728514], [-1.614794, -1.840826], [-1.579293, -1.789146]]
    np.testing.assert_allclose(scores.numpy(), expected, 1e-5)


NO_LABELS = "Labels length is zero in batch 1"


@pytest.mark.parametrize(
    ("call", "text", "error"),
    [
        (
            lambda: of_tensorflow_1(LOGITS, [1, 4, 3]),
            "Not enough time for target transition sequence (required: 2, available: 1)0",
            InvalidArgumentError,
        ),
        (lambda: of_tensorflow_1(LOGITS, [6, 4, 3]), "sequence_length(0) <= 5", InvalidArgumentError),
        (lambda: of_tensorflow_1(LOGITS[0]), "inputs is not a 3-Tensor", InvalidArgumentError),
        (
            lambda: tf.compat.v1.nn.ctc_loss(sparse([3, 2, 0, 2, 2]), LOGITS, [5, 4, 3]),
            "Saw a non-null label (index >= num_classes - 1) following a null label, batch: 0 num_classes: 4",
            InvalidArgumentError,
        ),
        (
            lambda: tf.compat.v1.nn.ctc_loss(sparse([1, -1, 0, 2, 2]), LOGITS, [5, 4, 3]),
            "All labels must be nonnegative integers, batch: 0 labels: 1,-1",
            InvalidArgumentError,
        ),
        (
            lambda: tf.compat.v1.nn.ctc_loss(tf.SparseTensor([[0, 0]], [1], [3, 1]), LOGITS, [5, 4, 3]),
            NO_LABELS,
            InvalidArgumentError,
        ),
        (
            lambda: tf.compat.v1.nn.ctc_loss(tf.SparseTensor([[0, 0], [3, 0]], [1, 2], [4, 2]), LOGITS, [5, 4, 3]),
            "label SparseTensor is not valid: indices[1] = [3,0] is out of bounds: need 0 <= index < [3,1]",
            InvalidArgumentError,
        ),
        (
            lambda: tf.compat.v1.nn.ctc_loss(LABELS, LOGITS, [5, 4, 3]),
            "Expected argument `labels` to be a SparseTensor. Received labels=[[1 2]",
            TypeError,
        ),
        (
            lambda: tf.nn.ctc_loss(sparse(LAST_BLANK), LOGITS, None, [5, 4, 3]),
            "Argument `blank_index` must be provided when `labels` is a `SparseTensor`.",
            ValueError,
        ),
        (
            lambda: tf.nn.ctc_loss(LABELS, LOGITS.astype(float), [2, 1, 2], [5, 4, 3]),
            "cannot compute Mul as input #1(zero-based) was expected to be a double tensor but is a float tensor",
            InvalidArgumentError,
        ),
        (
            lambda: tf.nn.ctc_greedy_decoder(LOGITS, [5, 4, 7]),
            "sequence_length(2) <= 5",
            FailedPreconditionError,
        ),
        (
            lambda: tf.nn.ctc_greedy_decoder(LOGITS, [5, 4]),
            "len(sequence_length) != batch_size.  len(sequence_length):  2 batch_size: 3",
            FailedPreconditionError,
        ),
        (
            lambda: tf.nn.ctc_greedy_decoder(LOGITS, [5, 4, 3], blank_index=9),
            "blank_index expected to be between -4 and 3 but was 9",
            InvalidArgumentError,
        ),
        (
            lambda: tf.nn.ctc_beam_search_decoder(LOGITS, [5, 4, 3], 2, 3),
            "requested more paths than the beam width.",
            InvalidArgumentError,
        ),
        (
            lambda: tf.nn.ctc_beam_search_decoder(LOGITS[:1], [1, 1, 1], 10, 6),
            "Less leaves in the beam search than requested.",
            InvalidArgumentError,
        ),
    ],
)
def test_what_tensorflow_refuses_is_refused(call: Callable[[], Any], text: str, error: type[Exception]) -> None:
    refused(call, text, error)


def test_a_loss_has_no_second_derivative() -> None:
    x = tf.constant(LOGITS)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            loss = tf.nn.ctc_loss(LABELS, x, [2, 1, 2], [5, 4, 3])
        slopes = inner.gradient(loss, x)
    with pytest.raises(LookupError, match="cannot be differentiated twice"):
        outer.gradient(slopes, x)

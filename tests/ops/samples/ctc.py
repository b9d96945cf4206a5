"""What CTC losses and decoders are tried on."""

from __future__ import annotations

from typing import Any

import numpy as np

import nbtf as tf
from tests.ops.samples import Made, Sample

LOGITS = np.log(np.array([[[0.5, 0.25, 0.25]], [[0.25, 0.5, 0.25]]], np.float32))
"""Two steps of one row, whose classes have these probabilities."""
LABEL, ONE, TWO = np.array([[1]], np.int32), np.array([1], np.int32), np.array([2], np.int32)
FIRST_BLANK = -np.log([0.5 * 0.5 + 0.25 * 0.25 + 0.25 * 0.5])
LAST_BLANK = -np.log([0.25 * 0.25 + 0.25 * 0.5 + 0.25 * 0.5])


def loss_of_sparse_label(logits: Any) -> Any:
    return tf.nn.ctc_loss(tf.SparseTensor([[0, 0]], [1], [1, 1]), logits, None, TWO, blank_index=-1)


PATHS = ([[0, 0], [0, 1]], [0, 1], [1, 2], np.array([[2 * np.log(2)]]))
"""Places, values and shape of the likeliest labels, and the negative sum of their logits."""
IN_BEAM = ([[0, 0]], [0], [1, 1], np.log([[0.25 * 0.5 + 0.5 * 0.25 + 0.25 * 0.25]]))

SAMPLES = [
    Sample("CTCLossV2", tf.nn.ctc_loss, [LABEL, LOGITS, ONE, TWO], FIRST_BLANK, tolerance=1e-5),
    Sample("CTCLoss", loss_of_sparse_label, [LOGITS], LAST_BLANK, differentiable=[0], tolerance=1e-5),
    Sample(
        "CTCLoss",
        tf.nn.ctc_loss,
        [Made(tf.SparseTensor, [[0, 0]], [1], [1, 1]), LOGITS, None, TWO],
        LAST_BLANK,
        {"blank_index": -1},
        tolerance=1e-5,
    ),
    Sample("CTCGreedyDecoder", tf.nn.ctc_greedy_decoder, [LOGITS, TWO], [*PATHS]),
    Sample("CTCBeamSearchDecoder", tf.nn.ctc_beam_search_decoder, [LOGITS, TWO, 4], [*IN_BEAM], tolerance=1e-5),
]

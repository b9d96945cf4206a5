"""Samples of sums and extremes of segments, and of counts."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

ROWS = np.array([[1.0, 2.0], [1.5, 4.0], [5.0, 0.5], [-3.0, 0.25]])
WITH_ZEROS = np.array([[0.0, 2.0], [1.5, 0.0], [5.0, 0.0], [-3.0, 0.25]])
SORTED = np.array([0, 0, 0, 2])
IDS = np.array([2, -1, 0, 2], np.int32)
INTEGERS = np.array([7, 2, 9, -4], np.int8)

SAMPLES = [
    Sample(
        "HistogramFixedWidth",
        tf.histogram_fixed_width,
        [np.array([-1.0, 0.5, 1.5, 2.0, 9.0]), np.array([0.0, 4.0]), 4],
        np.array([2, 1, 1, 1], np.int32),
    ),
    Sample("SegmentSum", tf.math.segment_sum, [ROWS, SORTED], [[7.5, 6.5], [0, 0], [-3, 0.25]], differentiable=[0]),
    Sample("SegmentSum", tf.math.segment_sum, [INTEGERS, SORTED], np.array([18, 0, -4], np.int8)),
    Sample("SegmentSum", tf.math.segment_sum, [np.zeros((0, 2)), np.zeros(0, np.int32)], np.zeros((0, 2))),
    Sample("SegmentMean", tf.math.segment_mean, [ROWS, SORTED], [[2.5, 6.5 / 3], [0, 0], [-3, 0.25]], {}, [0]),
    Sample("SegmentMean", tf.math.segment_mean, [INTEGERS, SORTED], np.array([6, 0, -4], np.int8)),
    Sample("SegmentMax", tf.math.segment_max, [ROWS, SORTED], [[5, 4], [0, 0], [-3, 0.25]], {}, [0]),
    Sample("SegmentMax", tf.math.segment_max, [INTEGERS, SORTED], np.array([9, 0, -4], np.int8)),
    Sample("SegmentMin", tf.math.segment_min, [ROWS, SORTED], [[1, 0.5], [0, 0], [-3, 0.25]], {}, [0]),
    Sample("SegmentProd", tf.math.segment_prod, [ROWS, SORTED], [[7.5, 4], [1, 1], [-3, 0.25]], {}, [0]),
    Sample("SegmentProd", tf.math.segment_prod, [WITH_ZEROS, SORTED], [[0, 0], [1, 1], [-3, 0.25]], {}, [0]),
    Sample("UnsortedSegmentSum", tf.math.unsorted_segment_sum, [ROWS, IDS, 3], [[5, 0.5], [0, 0], [-2, 2.25]], {}, [0]),
    Sample("UnsortedSegmentSum", tf.math.unsorted_segment_sum, [ROWS, np.array([[0, 1]] * 4), 2], [4.5, 6.75], {}, [0]),
    Sample("UnsortedSegmentSum", tf.math.unsorted_segment_mean, [ROWS, IDS, 3], [[5, 0.5], [0, 0], [-1, 1.125]]),
    Sample(
        "UnsortedSegmentSum",
        tf.math.unsorted_segment_sqrt_n,
        [ROWS, IDS, 3],
        np.array([[5, 0.5], [0, 0], [-2, 2.25]]) / np.sqrt([[1], [1], [2]]),
    ),
    Sample("UnsortedSegmentMax", tf.math.unsorted_segment_max, [INTEGERS, IDS, 3], np.array([9, -128, 7], np.int8)),
    Sample("UnsortedSegmentMax", tf.math.unsorted_segment_max, [ROWS, IDS % 2, 2], [[5, 2], [1.5, 4]], {}, [0]),
    Sample("UnsortedSegmentMin", tf.math.unsorted_segment_min, [INTEGERS, IDS, 3], np.array([9, 127, -4], np.int8)),
    Sample("UnsortedSegmentMin", tf.math.unsorted_segment_min, [ROWS, IDS % 2, 2], [[-3, 0.25], [1.5, 4]], {}, [0]),
    Sample(
        "UnsortedSegmentProd", tf.math.unsorted_segment_prod, [ROWS, IDS, 3], [[5, 0.5], [1, 1], [-3, 0.5]], {}, [0]
    ),
    Sample("UnsortedSegmentProd", tf.math.unsorted_segment_prod, [ROWS, IDS, 3], differentiable=[0]),
    Sample("UnsortedSegmentProd", tf.math.unsorted_segment_prod, [WITH_ZEROS, IDS, 3], differentiable=[0]),
    Sample("DenseBincount", tf.math.bincount, [np.array([1, 1, 3])], np.array([0, 2, 0, 1], np.int32)),
    Sample("DenseBincount", tf.math.bincount, [np.array([1, 1, 3]), np.array([1.0, 2.0, 3.0])], [0.0, 3.0, 0.0, 3.0]),
    Sample(
        "DenseBincount",
        tf.math.bincount,
        [np.array([[1, 1], [0, 2]])],
        np.array([[0, 2, 0], [1, 0, 1]], np.int32),
        {"axis": -1},
    ),
    Sample(
        "DenseBincount",
        tf.math.bincount,
        [np.array([[1, 1], [0, 2]])],
        np.array([[0, 1], [1, 0]], np.int64),
        {"axis": -1, "binary_output": True, "maxlength": 2, "dtype": tf.int64},
    ),
]

"""The feature classes of `tf.io.parse_example`, which describe the expected content of an example."""

from __future__ import annotations

from typing import Any, NamedTuple


class FixedLenFeature(NamedTuple):
    """A feature with the same number of values in each example.

    Attributes:
      shape: the shape of the values.
      dtype: the dtype: float32, int64 or string.
      default_value: the values of an example without the feature; None makes the feature required.

    >>> tf.io.FixedLenFeature([2], tf.int64)
    FixedLenFeature(shape=[2], dtype=tf.int64, default_value=None)
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values, which becomes a sparse tensor.

    Attributes:
      dtype: the dtype: float32, int64 or string.

    >>> tf.io.VarLenFeature(tf.string)
    VarLenFeature(dtype=tf.string)
    """

    dtype: Any


class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of values, which becomes a tensor padded to the longest example.

    Attributes:
      shape: the shape of one step.
      dtype: the dtype: float32, int64 or string.
      allow_missing: must be True; an example without the feature has 0 steps.
      default_value: the padding value; by default zero or the empty string.

    >>> tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True).allow_missing
    True
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class SparseFeature(NamedTuple):
    """A sparse tensor stored in two or more features: its values, and their indices along each axis.

    Attributes:
      index_key: name of the feature with the indices, or a list of names, one per axis.
      value_key: name of the feature with the values.
      dtype: the dtype: float32, int64 or string.
      size: length of the axis, or a list of lengths.
      already_sorted: whether the values are already in the order of their indices; False by default.

    >>> tf.io.SparseFeature("i", "v", tf.int64, 3).size
    3
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False

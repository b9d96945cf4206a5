"""`tf.compat.v1.data` while ops run eagerly: iterators from before `for element in dataset:` was possible."""

from __future__ import annotations

from nbtf._missing import absence
from nbtf.compat._v1._graph.defaults import building
from nbtf.data import Dataset
from nbtf.data.dataset import LOOP
from nbtf.data.iterators import Iterator


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """Returns an iterator over a dataset. In a graph, it raises an error that describes the alternative.

    >>> tf.compat.v1.data.make_one_shot_iterator(tf.data.Dataset.range(2)).get_next()
    <tf.Tensor: shape=(), dtype=int64, numpy=0>
    """
    if building() is not None:
        raise absence("nbtf.compat.v1.data", "make_one_shot_iterator", LOOP)
    return iter(dataset)

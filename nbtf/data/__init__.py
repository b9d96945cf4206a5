"""`tf.data`: datasets, whose elements are created on demand for a training loop."""

from typing import NoReturn

from nbtf import _missing
from nbtf._public import public_names as _public_names
from nbtf.data import experimental as experimental
from nbtf.data.dataset import ITERATORS as _ITERATORS
from nbtf.data.dataset import LOOP as _LOOP
from nbtf.data.dataset import Dataset as Dataset
from nbtf.data.dataset import TextLineDataset as TextLineDataset
from nbtf.data.dataset import TFRecordDataset as TFRecordDataset
from nbtf.data.iterators import Iterator as Iterator
from nbtf.data.iterators import NumpyIterator as NumpyIterator
from nbtf.data.options import Options as Options
from nbtf.data.options import ThreadingOptions as ThreadingOptions
from nbtf.data.specs import DatasetSpec as DatasetSpec

AUTOTUNE = -1
"""Lets the library choose the number of parallel calls."""

INFINITE_CARDINALITY = -1
"""The cardinality of an infinite dataset."""

UNKNOWN_CARDINALITY = -2
"""The cardinality of a dataset whose length is unknown before its end."""


def __dir__() -> list[str]:
    return _public_names(__name__)


def __getattr__(name: str) -> NoReturn:
    if name in _ITERATORS:
        raise _missing.absence(__name__, name, _LOOP)
    raise _missing.of_namespace(__name__, name, _public_names(__name__))

# What type checkers see of `nbtf.compat.v1.data`; written by `python -m tests.compat.v1_types`.
from nbtf.compat._v1._surface.iterators import make_one_shot_iterator as make_one_shot_iterator
from nbtf.data import AUTOTUNE as AUTOTUNE
from nbtf.data import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from nbtf.data import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from nbtf.data import Dataset as Dataset
from nbtf.data import DatasetSpec as DatasetSpec
from nbtf.data import Iterator as Iterator
from nbtf.data import NumpyIterator as NumpyIterator
from nbtf.data import Options as Options
from nbtf.data import TextLineDataset as TextLineDataset
from nbtf.data import TFRecordDataset as TFRecordDataset
from nbtf.data import ThreadingOptions as ThreadingOptions

"""`tf.io`: files, records, and decoding of bytes."""

from typing import NoReturn

from nbtf import _missing
from nbtf._ops.image.decoding import decode_image as decode_image
from nbtf._ops.io.csv import decode_csv as decode_csv
from nbtf._ops.io.encodings import decode_base64 as decode_base64
from nbtf._ops.io.encodings import encode_base64 as encode_base64
from nbtf._ops.io.encodings import parse_tensor as parse_tensor
from nbtf._ops.io.encodings import serialize_tensor as serialize_tensor
from nbtf._ops.io.examples import parse_example as parse_example
from nbtf._ops.io.examples import parse_single_example as parse_single_example
from nbtf._ops.io.features import FixedLenFeature as FixedLenFeature
from nbtf._ops.io.features import FixedLenSequenceFeature as FixedLenSequenceFeature
from nbtf._ops.io.features import SparseFeature as SparseFeature
from nbtf._ops.io.features import VarLenFeature as VarLenFeature
from nbtf._ops.io.files import matching_files as matching_files
from nbtf._ops.io.files import read_file as read_file
from nbtf._ops.io.files import write_file as write_file
from nbtf._ops.strings.splitting import decode_raw as decode_raw
from nbtf.io import gfile as gfile
from nbtf.io._records import TFRecordOptions as TFRecordOptions
from nbtf.io._records import TFRecordWriter as TFRecordWriter

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "SparseFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_base64",
    "decode_csv",
    "decode_image",
    "decode_raw",
    "encode_base64",
    "gfile",
    "matching_files",
    "parse_example",
    "parse_single_example",
    "parse_tensor",
    "read_file",
    "serialize_tensor",
    "write_file",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> NoReturn:
    raise _missing.of_namespace(__name__, name, __all__)

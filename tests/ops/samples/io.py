"""What ops of files, bytes and records are tried on."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

PATH = Path(__file__)
NUMBERS = np.array([[1, 2], [3, 1025]], np.int16)
MESSAGE = b'\x08\x05\x12\x08\x12\x02\x08\x02\x12\x02\x08\x02"\x08\x01\x00\x02\x00\x03\x00\x01\x04'
EXAMPLE = tf.train.Example(
    features=tf.train.Features(feature={"a": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))})
).SerializeToString()


SAMPLES = [
    Sample("ReadFile", tf.io.read_file, [str(PATH)], PATH.read_bytes()),
    Sample("WriteFile", tf.io.write_file, [os.devnull, "text"]),
    Sample("MatchingFiles", tf.io.matching_files, [str(PATH)], np.array([str(PATH).encode()], object)),
    Sample("EncodeBase64", tf.io.encode_base64, ["duck"], base64.urlsafe_b64encode(b"duck").rstrip(b"=")),
    Sample("DecodeBase64", tf.io.decode_base64, ["ZHVjaw"], b"duck"),
    Sample("SerializeTensor", tf.io.serialize_tensor, [NUMBERS], MESSAGE),
    Sample("ParseTensor", tf.io.parse_tensor, [MESSAGE, tf.int16], NUMBERS),
    Sample(
        "DecodeCSV",
        tf.io.decode_csv,
        [["1,2", "3,"], [[0], [0.5]]],
        [np.array([1, 3], np.int32), np.array([2, 0.5], np.float32)],
    ),
    Sample("ParseExampleV2", tf.io.parse_example, [[EXAMPLE], {"a": tf.io.FixedLenFeature([2], tf.int64)}]),
]

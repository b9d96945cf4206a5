"""Are `tf.train.Example` and its kin TensorFlow's messages? Bytes and texts of TensorFlow 2.21 are recorded here."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._storage.messages.encoding import DecodeError

Example, Features, Feature = tf.train.Example, tf.train.Features, tf.train.Feature
BytesList, FloatList, Int64List = tf.train.BytesList, tf.train.FloatList, tf.train.Int64List

VALUES = {
    "b": Feature(bytes_list=BytesList(value=[b"x\x00\xff", "é".encode(), b'"q"\n'])),
    "a": Feature(int64_list=Int64List(value=[1, -2])),
    "f": Feature(float_list=FloatList(value=[1.5, 0.1, 1e30, float("nan"), float("inf")])),
}
EXAMPLE = Example(features=Features(feature=VALUES))
BYTES = (
    b"\nM\n\x14\n\x01a\x12\x0f\x1a\r\n\x0b\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\n\x16\n\x01b\x12\x11\n\x0f\n"
    b'\x03x\x00\xff\n\x02\xc3\xa9\n\x04"q"\n\n\x1d\n\x01f\x12\x18\x12\x16\n\x14\x00\x00\xc0?\xcd\xcc\xcc=\xca\xf2Iq'
    b"\x00\x00\xc0\x7f\x00\x00\x80\x7f"
)
TEXT = r"""features {
  feature {
    key: "a"
    value {
      int64_list {
        value: 1
        value: -2
      }
    }
  }
  feature {
    key: "b"
    value {
      bytes_list {
        value: "x\000\377"
        value: "\303\251"
        value: "\"q\"\n"
      }
    }
  }
  feature {
    key: "f"
    value {
      float_list {
        value: 1.5
        value: 0.1
        value: 1e+30
        value: nan
        value: inf
      }
    }
  }
}
"""


def test_bytes_and_text_are_those_of_tensorflow() -> None:
    assert BYTES == EXAMPLE.SerializeToString(deterministic=True)
    assert TEXT == str(EXAMPLE)


@pytest.mark.parametrize("way", [Example.FromString, lambda data: pickle.loads(pickle.dumps(Example.FromString(data)))])
def test_bytes_are_read_again(way: Callable[[bytes], Any]) -> None:
    example = way(BYTES)

    assert EXAMPLE == example == copy.deepcopy(example)
    assert [1, -2] == example.features.feature["a"].int64_list.value


def test_lists_may_stand_packed_or_one_by_one() -> None:
    assert [1, 2] == Int64List.FromString(b"\x08\x01\x08\x02").value == Int64List.FromString(b"\n\x02\x01\x02").value


@pytest.mark.parametrize("data", [b"\xff", BYTES[:-3], b"\n\x05ab", b"\x08" + b"\xff" * 11])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        Example.FromString(data)


def test_fields_of_another_wire_type_are_left_out() -> None:
    assert b"" == BytesList.FromString(b"\x08\xff\xff\xff\xff\xff\x7f").SerializeToString()


def test_one_of_the_lists_is_there() -> None:
    feature = Feature(int64_list=Int64List(value=[1]))
    feature.float_list.value.append(2.0)

    assert ("float_list", "float_list {\n  value: 2\n}\n") == (feature.WhichOneof("kind"), str(feature))
    assert (False, True, True) == tuple(map(feature.HasField, ("int64_list", "float_list", "kind")))
    assert (None, b"\x1a\x00") == (Feature().WhichOneof("kind"), Feature(int64_list=Int64List()).SerializeToString())


def test_a_look_at_a_name_makes_a_feature() -> None:
    features = Features()
    features.feature["z"].int64_list.value.extend(np.array([1, 2]))

    assert (["z"], None) == (list(features.feature), features.feature.get("other"))
    with pytest.raises(ValueError, match="Message objects may not be assigned"):
        features.feature["q"] = Feature()


def test_merging_replaces_features_and_appends_lists() -> None:
    example = Example.FromString(BYTES)
    example.MergeFrom(Example(features=Features(feature={"a": Feature(int64_list=Int64List(value=[9]))})))

    assert [9] == example.features.feature["a"].int64_list.value
    assert ["a", "b", "f"] == sorted(example.features.feature)


def test_sequences_hold_lists_of_features() -> None:
    sequence = tf.train.SequenceExample(context=Features(feature={"a": VALUES["a"]}))
    for values in ([1], [2, 3]):
        sequence.feature_lists.feature_list["s"].feature.add().int64_list.value.extend(values)

    data = (
        b"\n\x16\n\x14\n\x01a\x12\x0f\x1a\r\n\x0b\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
        b"\x12\x16\n\x14\n\x01s\x12\x0f\n\x05\x1a\x03\n\x01\x01\n\x06\x1a\x04\n\x02\x02\x03"
    )
    assert data == sequence.SerializeToString()
    assert sequence == tf.train.SequenceExample.FromString(data)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: BytesList(value=["text"]), TypeError, "expected bytes, str found"),
        (lambda: Int64List(value=[1.5]), TypeError, "'float' object cannot be interpreted as an integer"),
        (lambda: Int64List(value=3), TypeError, "must assign iterable"),
        (lambda: Int64List(value=[2**63]), ValueError, "Value out of range: 9223372036854775808"),
        (lambda: Int64List(value=[True]), TypeError, "Expected an int, got a boolean."),
        (lambda: FloatList(value=["a"]), TypeError, "must be real number, not str"),
        (lambda: Feature(value=[1]), ValueError, 'Protocol message Feature has no "value" field.'),
        (lambda: Feature().WhichOneof("kin"), ValueError, 'Protocol message Feature has no "kin" field.'),
        (lambda: hash(Example()), TypeError, "unhashable type"),
    ],
)
def test_misuse_raises_what_protocol_buffers_raise(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error) as raised:
        call()

    assert text in str(raised.value)


# Their tensors


def example(**values: list[Any]) -> bytes:
    lists = {int: ("int64_list", Int64List), float: ("float_list", FloatList), bytes: ("bytes_list", BytesList)}
    features: dict[str, Any] = {}
    for name, listed in values.items():
        field, list_class = lists[type(listed[0])]
        features[name] = Feature(**{field: list_class(value=listed)})
    return Example(features=Features(feature=features)).SerializeToString()


A, B = example(i=[1, 2], f=[0.5], s=[b"x"]), example(i=[3, 4], f=[1.5], s=[b"y", b"z"])
Fixed, Steps = tf.io.FixedLenFeature, tf.io.FixedLenSequenceFeature

DENSE: dict[str, tuple[Any, Any, Any]] = {
    "fixed": ([A, B], Fixed([2], tf.int64), [[1, 2], [3, 4]]),
    "one": (A, Fixed([1, 2], tf.int64), [[1, 2]]),
    "default": ([A, b""], Fixed([2], tf.int64, [7, 8]), [[1, 2], [7, 8]]),
    "steps": ([A, B], Steps([2], tf.int64, allow_missing=True), [[[1, 2]], [[3, 4]]]),
    "no steps": ([b"", A], Steps([], tf.int64, allow_missing=True, default_value=9), [[9, 9], [1, 2]]),
    "none": (np.array([], object), Fixed([2], tf.int64), np.zeros((0, 2))),
}


@pytest.mark.parametrize("name", DENSE)
@pytest.mark.parametrize("way", [lambda f: f, tf.function], ids=["at once", "in a function"])
def test_dense_features_are_read(name: str, way: Any) -> None:
    serialized, feature, expected = DENSE[name]
    parse = way(lambda texts: tf.io.parse_example(texts, {"i": feature})["i"])

    np.testing.assert_array_equal(expected, parse(tf.constant(serialized, tf.string)).numpy())


def sparse_of(result: Any) -> list[Any]:
    return [part.numpy().tolist() for part in (result.indices, result.values, result.dense_shape)]


SPARSE: dict[str, tuple[Any, Any, Any]] = {
    "batch": ([A, B], tf.io.VarLenFeature(tf.string), [[[0, 0], [1, 0], [1, 1]], [b"x", b"y", b"z"], [2, 2]]),
    "missing": ([A, b""], tf.io.VarLenFeature(tf.string), [[[0, 0]], [b"x"], [2, 1]]),
    "one": (B, tf.io.VarLenFeature(tf.string), [[[0], [1]], [b"y", b"z"], [2]]),
    "indices": (
        [example(k=[3, 1], v=[0.5, 0.25])],
        tf.io.SparseFeature("k", "v", tf.float32, 5),
        [[[0, 1], [0, 3]], [0.25, 0.5], [1, 5]],
    ),
    "one with indices": (
        example(k=[3, 1], v=[0.5, 0.25]),
        tf.io.SparseFeature(["k"], "v", tf.float32, [5], already_sorted=True),
        [[[3], [1]], [0.5, 0.25], [5]],
    ),
}


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_features_are_read(name: str) -> None:
    serialized, feature, expected = SPARSE[name]

    assert expected == sparse_of(tf.io.parse_example(serialized, {"s": feature})["s"])


ERRORS: dict[str, tuple[Any, Any, Any, str]] = {
    "length": (
        [A],
        Fixed([3], tf.int64),
        tf.errors.InvalidArgumentError,
        "Name: <unknown>, Key: i, Index: 0.  Number of int64 values != expected.  Values size: 2 but output shape: [3]",
    ),
    "length of one": (
        A,
        Fixed([3], tf.int64),
        tf.errors.InvalidArgumentError,
        "Key: i.  Can't parse serialized Example: Some int64_list slice was not parsed.",
    ),
    "dtype": (
        [A],
        Fixed([2], tf.float32),
        tf.errors.InvalidArgumentError,
        "Key: i, Index: 0.  Data types don't match. Data type: int64 but expected type: float",
    ),
    "dtype of values": (
        [A],
        tf.io.VarLenFeature(tf.string),
        tf.errors.InvalidArgumentError,
        "Data types don't match. Expected type: string, Actual type: int64",
    ),
    "missing": (
        [b""],
        Fixed([2], tf.int64),
        tf.errors.InvalidArgumentError,
        "Name: <unknown>, Feature: i (data type: int64) is required but could not be found.",
    ),
    "stride": ([A], Steps([3], tf.int64, True), tf.errors.InvalidArgumentError, "is not a multiple of stride length"),
    "steps": ([A], Steps([], tf.int64), ValueError, "FixedLenSequenceFeature requires allow_missing to be True."),
    "open shape": ([A], Fixed([None], tf.int64), ValueError, "First dimension of shape for feature i unknown."),
    "other class": ([A], 3, ValueError, "Unsupported int 3 for key 'i'"),
    "int32": ([A], Fixed([2], tf.int32), tf.errors.InvalidArgumentError, "is not in the list of allowed values"),
    "no example": (["zzz"], Fixed([2], tf.int64), tf.errors.InvalidArgumentError, "Could not parse example input"),
    "matrix": ([[A]], Fixed([2], tf.int64), tf.errors.InvalidArgumentError, "to be a scalar or vector, got shape"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_examples_that_do_not_fit_are_refused(name: str) -> None:
    serialized, feature, error, text = ERRORS[name]

    with pytest.raises(error) as raised:
        tf.io.parse_example(serialized, {"i": feature})

    assert text in str(raised.value)


def test_features_are_needed_and_one_example_is_a_scalar() -> None:
    with pytest.raises(ValueError, match="cannot be None or falsy"):
        tf.io.parse_example([A], {})
    with pytest.raises(ValueError, match="Input serialized must be a scalar"):
        tf.io.parse_single_example([A], {"i": Fixed([2], tf.int64)})

"""`tf.train.Example` and related messages: named lists of values, in the wire format of protocol buffers.

Source: TensorFlow, `tensorflow/core/example/example.proto` and `feature.proto`.
"""

from __future__ import annotations

from typing import ClassVar

from nbtf._storage.messages.field_types import BYTES, FLOAT, INT64, STRING
from nbtf._storage.messages.fields import OneOf
from nbtf._storage.messages.message import Fields, Message


class BytesList(Message):
    """A list of bytes.

    >>> tf.train.BytesList(value=[b"a", b"b"]).value
    [b'a', b'b']
    """

    FIELDS: ClassVar[Fields] = {"value": (1, [BYTES])}


class FloatList(Message):
    """A list of 32-bit floats.

    >>> tf.train.FloatList(value=[0.5, 2]).value
    [0.5, 2.0]
    """

    FIELDS: ClassVar[Fields] = {"value": (1, [FLOAT])}


class Int64List(Message):
    """A list of 64-bit integers.

    >>> tf.train.Int64List(value=[1, -2]).value
    [1, -2]
    """

    FIELDS: ClassVar[Fields] = {"value": (1, [INT64])}


class Feature(Message):
    """One of three lists: `bytes_list`, `float_list` or `int64_list`. Setting one clears the others.

    >>> tf.train.Feature(int64_list=tf.train.Int64List(value=[1])).WhichOneof("kind")
    'int64_list'
    """

    FIELDS: ClassVar[Fields] = {
        "bytes_list": (1, OneOf("kind", BytesList)),
        "float_list": (2, OneOf("kind", FloatList)),
        "int64_list": (3, OneOf("kind", Int64List)),
    }


class Features(Message):
    """A map `feature` from names to features.

    >>> features = tf.train.Features()
    >>> features.feature["a"].int64_list.value.append(1)
    >>> list(features.feature)
    ['a']
    """

    FIELDS: ClassVar[Fields] = {"feature": (1, {STRING: Feature})}


class FeatureList(Message):
    """A list `feature` of features, one per step of a sequence.

    >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[1]))
    >>> len(tf.train.FeatureList(feature=[feature, feature]).feature)
    2
    """

    FIELDS: ClassVar[Fields] = {"feature": (1, [Feature])}


class FeatureLists(Message):
    """A map `feature_list` from names to lists of features.

    >>> lists = tf.train.FeatureLists(feature_list={"words": tf.train.FeatureList()})
    >>> list(lists.feature_list)
    ['words']
    """

    FIELDS: ClassVar[Fields] = {"feature_list": (1, {STRING: FeatureList})}


class Example(Message):
    """One example of a data set: its `features` by name.

    >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"a": feature}))
    >>> tf.train.Example.FromString(example.SerializeToString()).features.feature["a"].int64_list.value
    [1, 2]
    """

    FIELDS: ClassVar[Fields] = {"features": (1, Features)}


class SequenceExample(Message):
    """One sequence of a data set: its `context`, and `feature_lists` with a list of features for each name.

    >>> sequence = tf.train.SequenceExample()
    >>> sequence.feature_lists.feature_list["words"].feature.add().bytes_list.value.append(b"one")
    >>> len(sequence.feature_lists.feature_list["words"].feature)
    1
    """

    FIELDS: ClassVar[Fields] = {"context": (1, Features), "feature_lists": (2, FeatureLists)}


_VALUES = {"bytes_list": "string", "float_list": "float", "int64_list": "int64"}


def values_by_name(data: bytes) -> dict[str, tuple[str, list[float] | list[bytes]]]:
    """Returns the features in the bytes of an example: for each name, the kind of its values and the values.

    Raises:
      DecodeError: if the bytes are not an example.
    """
    features: dict[str, tuple[str, list[float] | list[bytes]]] = {}
    for name, feature in Example.FromString(data).features.feature.items():
        list_name = feature.WhichOneof("kind")
        if list_name is not None:
            features[name] = _VALUES[list_name], [*getattr(feature, list_name).value]
    return features

"""What a session may be asked for and given: names as bytes, and structures of all kinds."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, UserDict, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import nbtf as tf

tf1: Any = tf.compat.v1


class Pair(NamedTuple):
    a: Any
    b: Any


@pytest.fixture
def session() -> Iterator[Any]:
    with tf.Graph().as_default(), tf1.Session() as session:
        a = tf1.placeholder(tf.float32, [], name="a")
        b = tf.constant(3.0, name="b")
        tf1.add(a, b, name="c")
        tf1.placeholder_with_default(5.0, [], name="d")
        tf1.no_op("n")
        yield session


FORMS: dict[str, tuple[Any, Any]] = {
    "bytes": (b"c:0", 4.0),
    "bytes of a node": (b"n", None),
    "name of a node": ("n", None),
    "name of a node with outputs": ("c", None),
    "list": (["c:0", b"b:0"], [4.0, 3.0]),
    "tuple": (("c:0", "n"), (4.0, None)),
    "nested": ({"x": ["c:0", {"y": b"b:0"}], "z": ("n",)}, {"x": [4.0, {"y": 3.0}], "z": (None,)}),
    "namedtuple": (Pair("c:0", ["b:0", "n"]), Pair(4.0, [3.0, None])),
    "ordered": (OrderedDict([("q", "b:0"), ("p", "c:0")]), OrderedDict([("q", 3.0), ("p", 4.0)])),
    "defaultdict": (defaultdict(list, {"k": "c:0"}), defaultdict(list, {"k": 4.0})),
    "mapping": (UserDict({"k": "c:0"}), UserDict({"k": 4.0})),
    "empty parts": ([[], "c:0", {}], [[], 4.0, {}]),
    "twice": (["c:0", "c:0", b"c:0"], [4.0, 4.0, 4.0]),
}


@pytest.mark.parametrize("form", FORMS)
def test_values_come_in_the_structure_of_the_fetches(session: Any, form: str) -> None:
    fetches, expected = FORMS[form]

    values = session.run(fetches, {b"a:0": 1.0})

    assert expected == values
    assert isinstance(values, type(expected)) or np.isscalar(values)


def test_a_default_dictionary_keeps_its_factory(session: Any) -> None:
    assert list is session.run(defaultdict(list, {"k": "b:0"})).default_factory


@pytest.mark.parametrize(
    ("fetches", "error", "message"),
    [
        (b"zzz:0", ValueError, "Argument `fetch` = b'zzz:0' cannot be interpreted as a Tensor."),
        (b"zzz", ValueError, "refers to an Operation not in the graph"),
        (b"c:5", ValueError, "exists but only has 1 outputs"),
        (bytearray(b"c:0"), TypeError, 'has invalid type "bytearray" must be a string or Tensor'),
        ({"c:0"}, TypeError, 'has invalid type "set" must be a string or Tensor'),
        (["b:0", None], TypeError, 'has invalid type "NoneType". Cannot be None'),
        (dataclasses.make_dataclass("Data", ["a"])("c:0"), TypeError, 'has invalid type "Data"'),
        (np.array(["c:0"]), TypeError, 'has invalid type "ndarray"'),
    ],
    ids=["bytes", "node", "output", "bytearray", "set", "none", "dataclass", "array"],
)
def test_other_fetches_are_refused(session: Any, fetches: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message.replace("(", r"\(")):
        session.run(fetches, {"a:0": 1.0})


@pytest.mark.parametrize("key", ["a:0", b"a:0"])
def test_a_feed_is_named_by_text_or_bytes(session: Any, key: Any) -> None:
    graph = session.graph
    tensor = graph.get_tensor_by_name("c:0")

    assert 5.0 == session.run("c:0", {key: 2.0}) == tensor.eval({key: 2.0}) == session.make_callable(b"c:0", [key])(2.0)


def test_a_key_may_be_a_tuple_of_tensors(session: Any) -> None:
    a, d = (session.graph.get_tensor_by_name(name) for name in ("a:0", "d:0"))

    assert [4.0, 2.0] == session.run(["c:0", "d:0"], {(a, d): (1.0, 2.0)})
    with pytest.raises(ValueError, match="has 2 tensors, but 1 values were fed"):
        session.run("c:0", {(a, d): (1.0,)})


def test_what_is_fed_is_fetched_as_the_array_that_was_fed(session: Any) -> None:
    assert isinstance(session.run("c:0", {"c:0": 2.0}), np.ndarray)


@pytest.mark.parametrize("feeds", [[("a:0", 1.0)], "a:0", {b"a": 1.0}, {b"zzz:0": 1.0}, {None: 1.0}])
def test_other_feeds_are_refused(session: Any, feeds: Any) -> None:
    with pytest.raises(TypeError):
        session.run("c:0", feeds)

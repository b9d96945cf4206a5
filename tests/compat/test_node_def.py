from __future__ import annotations

import re
from typing import Any

import pytest

import nbtf.compat.v1 as tf1


def attrs_in(node: Any) -> dict[str, str]:
    """The attributes in a node's text, each on one line."""
    flat = re.sub(r"\s+", " ", str(node))
    return dict(re.findall(r'attr \{ key: "(\w+)" value \{ (.*?) \} \}(?= attr|$| $)', flat))


def test_a_constant_is_its_value() -> None:
    text = """\
name: "a"
op: "Const"
attr {
  key: "value"
  value {
    tensor {
      dtype: DT_FLOAT
      tensor_shape {
        dim {
          size: 2
        }
      }
      tensor_content: "\\000\\000\\200?\\000\\000\\000@"
    }
  }
}
attr {
  key: "dtype"
  value {
    type: DT_FLOAT
  }
}
"""
    assert text == str(tf1.constant([1.0, 2.0], name="a").op)


# Source: TensorFlow 2.21.
ORDERS = {
    "Sum": ["keep_dims", "T", "Tidx"],
    "ConcatV2": ["T", "Tidx", "N"],
    "Placeholder": ["shape", "dtype"],
}


def test_attributes_stand_in_the_order_of_protocol_buffers() -> None:
    x = tf1.placeholder(tf1.float32, [2])
    nodes = [tf1.reduce_sum(x, 0).op, tf1.concat([x, x], 0).op, x.op]

    assert ORDERS == {node.type: re.findall('key: "(.*)"', str(node)) for node in nodes}


def test_a_graph_tells_its_version() -> None:
    tf1.constant(1)

    assert str(tf1.get_default_graph().as_graph_def()).endswith("}\nversions {\n  producer: 2474\n}\n")
    assert "" == str(tf1.GraphDef())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, "int_val: 5"),
        (1.5, "float_val: 1.5"),
        ("hi", 'string_val: "hi"'),
        (True, "bool_val: true"),
        ('a"b\n', r'string_val: "a\"b\n"'),
    ],
)
def test_a_scalar_is_written_out(value: Any, expected: str) -> None:
    assert expected in str(tf1.constant(value).op)


def test_a_node_tells_inputs_device_and_attributes() -> None:
    x = tf1.placeholder(tf1.float32, [None, 2], name="x")
    with tf1.device("/gpu:1"), tf1.control_dependencies([tf1.no_op(name="first")]):
        node = tf1.matmul(x, x, transpose_b=True, name="m").op

    assert ['input: "x"', 'input: "x"', 'input: "^first"', 'device: "/device:GPU:1"'] == str(node).splitlines()[2:6]
    assert {"T": "type: DT_FLOAT", "transpose_a": "b: false", "transpose_b": "b: true"} == attrs_in(node)


def test_shapes_and_lists_are_written_out() -> None:
    x = tf1.placeholder(tf1.float32, [None, 2], name="x")

    assert "shape { dim { size: -1 } dim { size: 2 } }" == attrs_in(x.op)["shape"]
    assert "shape { unknown_rank: true }" == attrs_in(tf1.placeholder(tf1.int32).op)["shape"]
    assert {"N": "i: 2", "T": "type: DT_FLOAT", "Tidx": "type: DT_INT32"} == attrs_in(tf1.concat([x, x], 0).op)


def test_a_node_tells_beside_which_it_stands() -> None:
    a = tf1.constant(1.0, name="a")
    with tf1.colocate_with(a):
        b = tf1.identity(a)

    assert 'list { s: "loc:@a" }' == attrs_in(b.op)["_class"]


def test_seeds_are_attributes() -> None:
    node = next(one for one in _nodes_of(tf1.random_uniform([2], seed=1)) if one.type == "RandomUniform")

    assert (87654321, 1) == (node.get_attr("seed"), node.get_attr("seed2"))


def _nodes_of(tensor: Any) -> list[Any]:
    return tensor.graph.get_operations()


def test_attributes_are_asked_for_by_name() -> None:
    node = tf1.reduce_sum(tf1.zeros([2, 3]), 1, keepdims=True).op

    assert (tf1.float32, True) == (node.get_attr("T"), node.get_attr("keep_dims"))
    with pytest.raises(ValueError, match="Operation 'Sum' has no attr named 'nonsense'"):
        node.get_attr("nonsense")


def test_a_graph_is_its_nodes() -> None:
    tf1.constant(1, name="a")
    before = tf1.get_default_graph().version
    tf1.constant(2, name="b")
    graph = tf1.get_default_graph()

    assert [("a", "Const"), ("b", "Const")] == [(one.name, one.op) for one in graph.as_graph_def().node]
    assert ["b"] == [one.name for one in graph.as_graph_def(from_version=before).node]
    assert str(graph.as_graph_def()).startswith('node {\n  name: "a"\n  op: "Const"\n  attr {\n')
    assert 3 == graph.as_graph_def().node[0].attr["dtype"].type

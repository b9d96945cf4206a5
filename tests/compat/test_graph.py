from __future__ import annotations

import pytest

import nbtf as tf
from nbtf.compat._v1._graph.defaults import constant, get_default_graph, placeholder, reset_default_graph
from nbtf.compat._v1._graph.graph import Graph


def test_ops_are_noted_down_while_a_graph_is_open() -> None:
    with Graph().as_default() as graph:
        a = constant([[1.0, 2.0]], name="a")
        product = tf.matmul(a, [[1.0], [2.0]])

    nodes = [(node.name, node.type) for node in graph.get_operations()]

    assert [("a", "Const"), ("MatMul/b", "Const"), ("MatMul", "MatMul")] == nodes
    assert (1, 1) == product.shape


def test_ops_run_at_once_again_when_the_graph_is_closed() -> None:
    with Graph().as_default():
        pass

    assert 3.0 == tf.add(1.0, 2.0).numpy()


def test_graphs_nest() -> None:
    outer, inner = Graph(), Graph()

    with outer.as_default():
        with inner.as_default():
            assert inner is get_default_graph()
        assert outer is get_default_graph()


def test_the_process_has_one_graph_until_it_is_reset() -> None:
    before = get_default_graph()
    assert before is get_default_graph()

    reset_default_graph()

    assert before is not get_default_graph()


def test_an_open_graph_cannot_be_reset() -> None:
    with Graph().as_default(), pytest.raises(AssertionError, match="to clear nested graphs"):
        reset_default_graph()


def test_an_eager_tensor_becomes_a_constant() -> None:
    eager = tf.constant([1.0, 2.0])

    with Graph().as_default():
        squared = tf.square(eager)

    (source,) = squared.op.inputs
    assert ("Square/x", [1.0, 2.0]) == (source.op.name, source.op.get_attr("value").tolist())


def test_an_op_belongs_to_the_graph_of_its_inputs() -> None:
    first, second = Graph(), Graph()
    with first.as_default():
        a = constant(1.0)
    with second.as_default():
        assert first is tf.square(a).graph


def test_tensors_of_two_graphs_do_not_mix() -> None:
    with Graph().as_default():
        a = constant(1.0)
    with Graph().as_default():
        b = constant(1.0)

        with pytest.raises(ValueError, match="must be from the same graph as"):
            tf.add(a, b)


def test_a_finalized_graph_takes_no_nodes() -> None:
    with Graph().as_default() as graph:
        graph.finalize()

        with pytest.raises(RuntimeError, match=r"^Graph is finalized and cannot be modified\.$"):
            constant(1.0)


def test_the_version_counts_nodes() -> None:
    graph = Graph()
    assert 0 == graph.version

    with graph.as_default():
        tf.square(constant(1.0))

    assert 2 == graph.version


def test_dtypes_must_agree() -> None:
    with Graph().as_default(), pytest.raises(TypeError, match=r"^Input 'y' of 'AddV2' Op has type int32 that"):
        _ = constant(1.0) + constant(1)


def test_shapes_must_fit() -> None:
    with (
        Graph().as_default(),
        pytest.raises(
            ValueError, match=r"Dimensions must be equal, but are 2 and 3 for .add. .op: .AddV2.. with input"
        ),
    ):
        _ = constant([1.0, 2.0]) + constant([1.0, 2.0, 3.0])


def test_lengths_that_are_not_known_stay_so() -> None:
    with Graph().as_default():
        x = placeholder(tf.float32, [None, 2])

        assert [None, 2] == tf.add(x, [1.0, 2.0]).shape.as_list()


def test_a_rank_that_is_not_known_stays_so() -> None:
    with Graph().as_default():
        assert (placeholder(tf.float32) * 2.0).shape.rank is None


def test_a_constant_repeats_its_last_element() -> None:
    with Graph().as_default():
        assert [1, 2, 2, 2] == constant([1, 2], shape=[4]).op.get_attr("value").tolist()


def test_a_constant_with_too_many_elements_is_refused() -> None:
    with (
        Graph().as_default(),
        pytest.raises(ValueError, match=r"^Too many elements provided\. Takes at most 1, but got 2"),
    ):
        constant([1, 2], shape=[1])


def test_a_name_with_a_number_stands_for_a_tensor_and_one_without_for_a_node() -> None:
    with Graph().as_default() as graph:
        a = constant(1.0, name="a")

    assert a is graph.get_tensor_by_name("a:0")
    assert a.op is graph.get_operation_by_name("a")
    assert [a.op, a, a] == [graph.as_graph_element(one) for one in ("a", "a:0", a)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nope:0", "'nope:0' refers to a Tensor which does not exist. The operation, 'nope', does not exist in the"),
        ("a:1", "'a:1' refers to a Tensor which does not exist. The operation, 'a', exists but only has 1 outputs"),
        ("nope", "'nope' refers to an Operation not in the graph"),
    ],
)
def test_a_name_that_nothing_has_is_a_key_error(name: str, text: str) -> None:
    with Graph().as_default() as graph:
        constant(1.0, name="a")

    with pytest.raises(KeyError, match=text):
        graph.as_graph_element(name)


def test_the_other_kind_is_refused() -> None:
    with Graph().as_default() as graph:
        constant(1.0, name="a")

    with pytest.raises(ValueError, match=r"^The name 'a' refers to an Operation, not a Tensor\. Tensor names must be"):
        graph.get_tensor_by_name("a")
    with pytest.raises(ValueError, match=r"^Name 'a:0' appears to refer to a Tensor, not a Operation\.$"):
        graph.get_operation_by_name("a:0")


def test_a_tensor_of_another_graph_is_no_element() -> None:
    with Graph().as_default():
        a = constant(1.0)

    with pytest.raises(ValueError, match="is not an element of this graph"):
        Graph().as_graph_element(a)


def test_a_number_is_no_element() -> None:
    with pytest.raises(TypeError, match=r"^Can not convert a int into a Tensor or Operation\.$"):
        Graph().as_graph_element(3)


def test_collections_keep_values_by_name() -> None:
    graph = Graph()

    graph.add_to_collections(["a", "b", "a"], 1)

    assert ([1], [1], []) == tuple(map(graph.get_collection, "abc"))


def test_a_scope_picks_values_of_a_collection() -> None:
    with Graph().as_default() as graph:
        with graph.name_scope("s"):
            inner = constant(1.0)
        for tensor in (inner, constant(2.0)):
            graph.add_to_collection("losses", tensor)

    assert [inner] == graph.get_collection("losses", scope="s/")

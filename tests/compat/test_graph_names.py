from __future__ import annotations

import operator as operators
from typing import Any

import pytest

import nbtf as tf
from nbtf._graph.names import Names
from nbtf._ops.op import OPS
from nbtf.compat._v1._graph.defaults import constant, placeholder
from nbtf.compat._v1._graph.gradients import gradients
from nbtf.compat._v1._graph.graph import Graph


def test_the_second_of_a_name_gets_a_number() -> None:
    names = Names()

    assert ["x", "x_1", "x_2"] == [names.unique("x") for _ in range(3)]


def test_case_does_not_distinguish_names_but_is_kept() -> None:
    names = Names()

    assert ["Add", "add_1", "ADD_2"] == [names.unique(name) for name in ("Add", "add", "ADD")]


def test_a_number_that_is_taken_is_left_out() -> None:
    names = Names()

    assert ["x_1", "x", "x_2"] == [names.unique(name) for name in ("x_1", "x", "x")]


def test_a_name_can_be_asked_for_without_taking_it() -> None:
    graph = Graph()

    assert ["foo", "foo_1", "foo_1"] == [graph.unique_name("foo", marked) for marked in (True, False, True)]


def test_public_names_of_ops_hide_the_versions_of_their_types() -> None:
    assert ["Add", "MatMul", "Square"] == [
        OPS[type].form.node_name or type for type in ("AddV2", "BatchMatMulV2", "Square")
    ]


@pytest.mark.parametrize("name", ["a b", "_a", "a:0"])
def test_a_node_name_is_made_of_few_characters(name: str) -> None:
    with Graph().as_default(), pytest.raises(ValueError, match=f"^`{name}` is not a valid node name"):
        constant(1.0, name=name)


def test_nodes_are_called_after_their_op_or_operator() -> None:
    with Graph().as_default():
        a, b = constant(1.0), constant(2.0)
        made = [tf.add(a, b), a + b, a - b, a / b, -a, a**b]

    assert ["Add", "add_1", "sub", "truediv", "Neg", "pow"] == [tensor.op.name for tensor in made]


def test_a_value_becomes_a_constant_called_after_what_takes_it() -> None:
    with Graph().as_default() as graph:
        a = constant(1.0, name="a")
        _ = a + 2.0
        _ = 3.0 * a

    assert ["a", "add/y", "add", "mul/x", "mul"] == [node.name for node in graph.get_operations()]


def test_a_constant_that_nothing_takes_is_called_const() -> None:
    with Graph().as_default() as graph:
        tf.constant([1.0, 2.0])

    assert ["Const"] == [node.name for node in graph.get_operations()]


def test_a_name_of_ones_own_goes_to_the_node() -> None:
    with Graph().as_default():
        product = tf.matmul([[1.0]], [[2.0]], name="product")

    assert ["product/a:0", "product/b:0"] == [tensor.name for tensor in product.op.inputs]


def test_scopes_stand_in_front_and_are_numbered_when_repeated() -> None:
    with Graph().as_default() as graph:
        found = list[str]()
        for _ in range(2):
            with graph.name_scope("tower") as scope:
                found += [scope, constant(1.0).name]

    assert ["tower/", "tower/Const:0", "tower_1/", "tower_1/Const:0"] == found


def test_a_scope_with_a_slash_is_opened_again() -> None:
    with Graph().as_default() as graph:
        with graph.name_scope("s") as scope:
            constant(1.0)
        with graph.name_scope(scope):
            assert "s/Const_1:0" == constant(1.0).name


def test_no_name_leaves_all_scopes() -> None:
    with Graph().as_default() as graph, graph.name_scope("s"), graph.name_scope(None) as scope:
        assert ("", "a:0") == (scope, constant(1.0, name="a").name)


def test_nodes_and_scopes_share_their_names() -> None:
    with Graph().as_default() as graph:
        constant(1.0, name="s")
        with graph.name_scope("s") as scope:
            assert "s_1/" == scope


def test_a_scope_at_the_root_begins_like_a_node() -> None:
    with pytest.raises(ValueError, match=r"^'_a' is not a valid root scope name"), Graph().name_scope("_a"):
        pass


def test_a_scope_inside_another_may_begin_with_an_underscore() -> None:
    graph = Graph()

    with graph.name_scope("s"), graph.name_scope("_a") as scope:
        assert "s/_a/" == scope


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (tf.abs, "Abs_grad/mul"),
        (tf.acos, "Acos_grad/mul"),
        (tf.asin, "Asin_grad/mul"),
        (tf.atan, "Atan_grad/mul"),
        (tf.cos, "Cos_grad/mul"),
        (tf.cosh, "Cosh_grad/mul"),
        (tf.exp, "Exp_grad/mul"),
        (tf.math.erf, "Erf_grad/mul_1"),
        (tf.math.expm1, "Expm1_grad/mul"),
        (tf.math.log1p, "Log1p_grad/mul"),
        (tf.math.softplus, "Softplus_grad/mul"),
        (tf.nn.l2_loss, "L2Loss_grad/mul"),
        (tf.nn.log_softmax, "LogSoftmax_grad/sub"),
        (tf.nn.softmax, "Softmax_grad/mul_1"),
        (tf.reduce_max, "Max_grad/mul"),
        (tf.sign, "Sign_grad/zeros_like"),
        (tf.sin, "Sin_grad/mul"),
        (tf.sinh, "Sinh_grad/mul"),
        (tf.square, "Square_grad/Mul_1"),
        (tf.tan, "Tan_grad/mul"),
    ],
)
def test_the_gradient_of_a_function_is_called_as_in_tensorflow(function: Any, name: str) -> None:
    with Graph().as_default():
        x = placeholder("float32", [2, 2])
        (grad,) = gradients(function(x), [x])

    assert f"gradients/{name}:0" == grad.name


@pytest.mark.parametrize(
    ("operator", "names"),
    [
        ("mul", ["mul_grad/Mul", "mul_grad/Mul_1"]),
        ("pow", ["pow_grad/mul_1", "pow_grad/mul_3"]),
        ("truediv", ["truediv_grad/RealDiv", "truediv_grad/mul"]),
        ("mod", ["grad_ys_0", "mod_grad/mul"]),
    ],
)
def test_the_gradients_of_an_operator_are_called_as_in_tensorflow(operator: str, names: list[str]) -> None:
    with Graph().as_default():
        pair = [placeholder("float32", [2]), placeholder("float32", [2])]
        grads = gradients(getattr(operators, operator)(*pair), pair)

    assert [f"gradients/{name}:0" for name in names] == [grad.name for grad in grads]


@pytest.mark.parametrize(("operator", "name"), [("and_", "and"), ("or_", "or"), ("xor", "xor")])
def test_operators_on_bits_are_nodes_below_the_name_of_the_operator(operator: str, name: str) -> None:
    with Graph().as_default():
        bits, truths = placeholder("int32", []), placeholder("bool", [])
        apply = getattr(operators, operator)

        assert f"{name}/Bitwise{name.title()}:0" == apply(bits, bits).name
        assert f"{name}_1:0" == apply(truths, truths).name


def test_gradients_begin_with_ones_of_their_own() -> None:
    with Graph().as_default() as graph:
        x = placeholder("float32", [2], name="x")
        gradients([x * 2.0], [x])

    assert ["gradients/Shape", "gradients/grad_ys_0/Const", "gradients/grad_ys_0"] == [
        node.name for node in graph.get_operations() if "grad_ys" in node.name or "Shape" in node.name
    ]

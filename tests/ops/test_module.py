"""Does `tf.Module` find what TensorFlow's finds, in its order?"""

from __future__ import annotations

import copy
from typing import Any

import pytest

import nbtf as tf


class Dense(tf.Module):
    def __init__(self, inputs: int, outputs: int, name: str | None = None) -> None:
        super().__init__(name=name)
        self.w = tf.Variable(tf.ones([inputs, outputs]), name="w")
        self.b = tf.Variable(tf.zeros([outputs]), name="b", trainable=False)

    def __call__(self, x: Any) -> Any:
        return x @ self.w + self.b


class Stack2(tf.Module):
    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name)
        with self.name_scope:
            self.layers = [Dense(2, 3), Dense(3, 1)]
        self.table = {"z": tf.Variable(1.0), "a": (tf.Variable(2.0), None, 3)}
        self.again = self.layers[0]
        self.me = self

    @tf.Module.with_name_scope
    def __call__(self, x: Any) -> Any:
        self.late = tf.Variable(5.0)
        for layer in self.layers:
            x = layer(x)
        return x


def names(variables: Any) -> list[str]:
    return [one.name for one in variables]


def test_its_own_variables_come_first_and_then_those_of_its_modules() -> None:
    stack = Stack2()

    expected = ["Variable:0", "Variable:0", "stack2/b:0", "stack2/w:0", "stack2/b:0", "stack2/w:0"]
    assert expected == names(stack.variables)
    assert ["Variable:0", "Variable:0", "stack2/w:0", "stack2/w:0"] == names(stack.trainable_variables)
    assert ["stack2/b:0", "stack2/b:0"] == names(stack.non_trainable_variables)
    assert isinstance(stack.variables, tuple)


def test_each_variable_and_module_is_found_once() -> None:
    stack = Stack2()

    assert [stack.again, stack.layers[1]] == list(stack.submodules)
    assert stack.table["a"][0] is stack.variables[0]


def test_paths_lead_to_every_place() -> None:
    found = [path for path, _ in Stack2()._flatten(predicate=lambda one: isinstance(one, tf.Variable), with_path=True)]

    assert [
        ("table", "a", 0),
        ("table", "z"),
        ("again", "b"),
        ("again", "w"),
        ("layers", 0, "b"),
        ("layers", 0, "w"),
        ("layers", 1, "b"),
        ("layers", 1, "w"),
        ("me", "table", "a", 0),
        ("me", "table", "z"),
    ] == found


def test_without_recursion_modules_stay_closed() -> None:
    stack = Stack2()

    assert 2 == len([one for one in stack._flatten(recursive=False) if isinstance(one, tf.Variable)])


def test_names_come_from_the_class() -> None:
    class HTTPServer2X(tf.Module):
        pass

    assert ("http_server2_x", "module", "mine") == (HTTPServer2X().name, tf.Module().name, tf.Module(name="mine").name)


def test_a_name_scope_holds_the_names_of_the_modules_around() -> None:
    stack = Stack2("outer")

    assert "outer/" == stack.name_scope.name
    assert ["outer/dense/"] * 2 == [one.name_scope.name for one in stack.submodules]
    stack(tf.ones([1, 2]))
    assert "outer/Variable:0" == stack.late.name
    assert "__call__" == Stack2.__call__.__name__


@pytest.mark.parametrize("name", ["a b", "1a", ""])
def test_a_name_is_an_identifier(name: str) -> None:
    with pytest.raises(ValueError, match="is not a valid module name") as caught:
        tf.Module(name=name)

    assert str(caught.value).startswith(
        f"{name!r} is not a valid module name. Module names must be valid Python identi"
    )


def test_without_the_constructor_it_finds_variables_but_has_no_name() -> None:
    class Bare(tf.Module):
        def __init__(self) -> None:
            self.v = tf.Variable(1.0)

    bare = Bare()
    assert 1 == len(bare.variables)
    with pytest.raises(AttributeError, match="_name"):
        bare.name  # noqa: B018


def test_attributes_come_and_go() -> None:
    module: Any = tf.Module()
    module.x = tf.Variable(1.0)
    module.list = []
    module.list.append(tf.Variable(2.0))
    del module.x

    assert [2.0] == [one.numpy() for one in module.variables]


def test_keys_without_order_say_which_attribute() -> None:
    module: Any = tf.Module()
    module.w = {1: tf.Variable(1.0), "a": tf.Variable(2.0)}

    with pytest.raises(ValueError, match=r"^Error processing property 'w' of \{1: <tf\.Variable"):
        module.variables  # noqa: B018


def test_a_copy_has_variables_of_its_own() -> None:
    stack = Stack2()
    twin = copy.deepcopy(stack)

    assert twin.layers[0].w is not stack.layers[0].w
    assert len(stack.variables) == len(twin.variables)


def test_it_can_be_trained() -> None:
    layer = Dense(2, 1)
    x = tf.constant([[1.0, 2.0], [3.0, -1.0]])
    losses: list[float] = []
    for _ in range(20):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((layer(x) - [[1.0], [2.0]]) ** 2)
        for variable, slope in zip(
            layer.trainable_variables, tape.gradient(loss, layer.trainable_variables), strict=True
        ):
            variable.assign_sub(0.1 * slope)
        losses.append(loss.numpy().item())

    assert losses[-1] < 0.01 < losses[0]

"""Do name scopes stand in front of the names of variables as in TensorFlow?"""

from __future__ import annotations

import copy
from typing import Any

import pytest

import nbtf as tf


def named(name: str | None = None) -> str:
    return tf.Variable(1.0, name=name).name


def test_names_of_variables_begin_with_the_scope() -> None:
    with tf.name_scope("a") as whole:
        assert ("a/", "a/v:0", "a/Variable:0") == (whole, named("v"), named())
    assert "v:0" == named("v")


def test_scopes_nest() -> None:
    with tf.name_scope("a"), tf.name_scope("b") as whole:
        assert ("a/b/", "a/b/v:0") == (whole, named("v"))


@pytest.mark.parametrize(("name", "whole"), [("c/", "c/"), ("", "")])
def test_a_slash_and_an_empty_name_leave_the_outer_scopes_out(name: str, whole: str) -> None:
    with tf.name_scope("a"), tf.name_scope(name) as found:
        assert (whole, f"{whole}v:0") == (found, named("v"))


def test_a_scope_can_be_opened_again() -> None:
    scope = tf.name_scope("z")
    found = []
    for _ in range(2):
        with scope:
            found.append(named())

    assert ("z", ["z/Variable:0"] * 2) == (scope.name, found)


def test_device_blocks_and_tapes_keep_the_names() -> None:
    with tf.name_scope("a"), tf.device("CPU:0"), tf.GradientTape():
        assert "a/v:0" == named("v")


def test_a_copy_keeps_its_name() -> None:
    v = tf.Variable(1.0, name="v")
    with tf.name_scope("a"):
        assert "v:0" == copy.deepcopy(v).name


def test_ops_in_a_scope_take_the_lane() -> None:
    tf.constant(1.0)
    with tf.name_scope("a"):
        from nbtf._runtime.scopes import HERE, SCOPE

        scope = SCOPE()
        assert scope is not None
        assert scope.lane is HERE.device is not None


@pytest.mark.parametrize("name", [None, 3])
def test_names_are_strings(name: Any) -> None:
    with pytest.raises(ValueError, match=r"^name for name_scope must be a string\.$"):
        tf.name_scope(name)
